//! A trace.dat of version 7 as it is written: sections, and pages in packed pieces.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;

use super::repack::pack;
use crate::bytes::Order;
use crate::error::Result;
use crate::ring::Packed;
use crate::tracedat::sections::{id, FLAG_COMPRESSED};

pub const STRINGS: u16 = 15;
pub const PRINTK: u16 = 20;
/// What trace-cmd calls its sections.
const CALLED: [(u16, &str); 8] = [
    (id::OPTIONS, "options"),
    (id::HEADER_INFO, "headers"),
    (id::FTRACE_EVENTS, "ftrace events"),
    (id::EVENT_FORMATS, "events format"),
    (id::KALLSYMS, "kallsyms"),
    (PRINTK, "printk"),
    (id::CMDLINES, "command lines"),
    (STRINGS, "strings"),
];

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
        let place = self.strings.len() as u32;
        self.strings.extend_from_slice(called.as_bytes());
        self.strings.push(0);
        let flags = if packed { FLAG_COMPRESSED } else { 0 };
        self.out.write_all([self.order.u16_bytes(section), self.order.u16_bytes(flags)].as_flattened())?;
        self.out.write_all(&self.order.u32_bytes(place))?;
        Ok(self.out.write_all(&self.order.u64_bytes(size))?)
    }

    /// Sizes, then packed bytes.
    pub fn block(&self, packed: Packed, plain: &[u8]) -> Result<Vec<u8>> {
        let bytes = pack(packed, plain)?;
        let sizes = [self.order.u32_bytes(bytes.len() as u32), self.order.u32_bytes(plain.len() as u32)];
        Ok([sizes.as_flattened(), &bytes].concat())
    }

    /// A whole section; where it begins.
    pub fn section(&mut self, section: u16, body: &[u8], packed: bool) -> Result<u64> {
        let start = self.at()?;
        let called = CALLED.iter().find(|found| found.0 == section).map_or("", |found| found.1);
        let body = match self.packed.filter(|_| packed) {
            Some(packed) => self.block(packed, body)?,
            None => body.to_vec(),
        };
        self.head(section, packed, body.len() as u64, called)?;
        self.out.write_all(&body)?;
        Ok(start)
    }

    pub fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.out.flush()?;
        Ok(self.out.get_ref().write_all_at(bytes, at)?)
    }

    /// Zeros up to a multiple of `size`.
    pub fn align(&mut self, size: u64) -> Result<()> {
        let missing = self.at()?.next_multiple_of(size.max(1)) - self.at()?;
        Ok(self.out.write_all(&vec![0; missing as usize])?)
    }
}

/// Pages on their way into packed pieces.
pub struct Chunks<'w> {
    pub writer: &'w mut Writer,
    pub packed: Packed,
    pub room: Vec<u8>,
    /// Bytes of a piece.
    pub each: usize,
    pub count: u32,
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.room.extend_from_slice(bytes);
        if self.room.len() >= self.each {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.room.is_empty() {
            let block =
                self.writer.block(self.packed, &self.room).map_err(|error| std::io::Error::other(error.to_string()))?;
            self.writer.out.write_all(&block)?;
            self.room.clear();
            self.count += 1;
        }
        Ok(())
    }
}
