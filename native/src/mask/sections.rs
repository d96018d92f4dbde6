//! A trace.dat of version 7 as it is written: sections, and pages in packed pieces.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;

use super::repack::pack;
use crate::bytes::Order;
use crate::error::Result;
use crate::narrow::Narrow;
use crate::ring::Packed;
use crate::tracedat::id;
use crate::tracedat::sections::FLAG_COMPRESSED;

/// The file being written.
pub struct Writer {
    pub out: BufWriter<File>,
    pub order: Order,
    pub packed: Option<Packed>,
    /// What sections are called.
    pub strings: Vec<u8>,
}

impl Writer {
    pub fn at(&mut self) -> Result<u64> {
        Ok(self.out.stream_position()?)
    }

    /// Number, flags, name and size of a section.
    pub fn head(&mut self, section: u16, packed: bool, size: u64, called: &str) -> Result<()> {
        let place = self.strings.len().narrow();
        self.strings.extend_from_slice(called.as_bytes());
        self.strings.push(0);
        let flags = if packed { FLAG_COMPRESSED } else { 0 };
        self.out.write_all([self.order.u16_bytes(section), self.order.u16_bytes(flags)].as_flattened())?;
        self.out.write_all(&self.order.u32_bytes(place))?;
        Ok(self.out.write_all(&self.order.u64_bytes(size))?)
    }

    /// A whole section; where it begins.
    pub fn section(&mut self, section: u16, body: &[u8], packed: bool) -> Result<u64> {
        let start = self.at()?;
        let body = match self.packed.filter(|_| packed) {
            Some(packed) => block(packed, body, self.order)?,
            None => body.to_vec(),
        };
        self.head(section, packed, body.len() as u64, id::section_name(section))?;
        self.out.write_all(&body)?;
        Ok(start)
    }

    /// What `fill` writes, in packed pieces of so many bytes behind their count; or as it is.
    pub fn pieces(
        &mut self,
        packed: Option<Packed>,
        each: usize,
        fill: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let Some(packed) = packed else { return fill(&mut self.out) };
        let (begin, order) = (self.at()?, self.order);
        self.out.write_all(&[0; 4])?;
        let mut pieces = Pieces { out: &mut self.out, order, packed, room: Vec::new(), each, count: 0 };
        fill(&mut pieces)?;
        pieces.flush()?;
        let count = pieces.count;
        self.patch(begin, &order.u32_bytes(count))
    }

    pub fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.out.flush()?;
        Ok(self.out.get_ref().write_all_at(bytes, at)?)
    }

    /// Zeros up to a multiple of `size`.
    pub fn align(&mut self, size: u64) -> Result<()> {
        let missing = self.at()?.next_multiple_of(size.max(1)) - self.at()?;
        Ok(self.out.write_all(&vec![0; missing.narrow()])?)
    }
}

/// Sizes, then packed bytes.
fn block(packed: Packed, plain: &[u8], order: Order) -> io::Result<Vec<u8>> {
    let bytes = pack(packed, plain)?;
    let sizes = [order.u32_bytes(bytes.len().narrow()), order.u32_bytes(plain.len().narrow())];
    Ok([sizes.as_flattened(), &bytes].concat())
}

/// Bytes on their way into packed pieces.
struct Pieces<'w> {
    out: &'w mut BufWriter<File>,
    order: Order,
    packed: Packed,
    room: Vec<u8>,
    /// Bytes of a piece.
    each: usize,
    count: u32,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.each - self.room.len());
        self.room.extend_from_slice(&bytes[..taken]);
        if self.room.len() == self.each {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.room.is_empty() {
            self.out.write_all(&block(self.packed, &self.room, self.order)?)?;
            self.room.clear();
            self.count += 1;
        }
        Ok(())
    }
}
