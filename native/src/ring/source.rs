//! Where one CPU's pages come from: a range of a file, plain or in compressed chunks.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use flate2::read::ZlibDecoder;

use crate::bytes::Order;
use crate::error::{bad, Error, Result};
use crate::input::read_at;
use crate::wrapped::most;

/// How chunks of pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// zstd frames that do not tell their size.
    Zstd,
    /// zlib streams.
    Zlib,
}

impl Packed {
    /// Unpacks what claims to have `size` bytes, and gives no more than those.
    pub fn unpack(self, bytes: &[u8], size: usize) -> io::Result<Vec<u8>> {
        match self {
            Packed::Zstd => zstd::bulk::decompress(bytes, size),
            Packed::Zlib => {
                let mut found = Vec::new();
                ZlibDecoder::new(bytes).take(size as u64).read_to_end(&mut found)?;
                Ok(found)
            }
        }
    }
}

/// A run of pages, read front to back.
#[derive(Debug, Clone)]
pub struct Pages {
    file: Arc<File>,
    start: u64,
    next: u64,
    end: u64,
    chunks: Option<Chunks>,
}

#[derive(Debug, Clone)]
struct Chunks {
    packed: Packed,
    order: Order,
    /// How many follow; `None` before the first.
    left: Option<u32>,
    /// What is unpacked, and how much of it was handed out.
    unpacked: Vec<u8>,
    given: usize,
    total: u64,
}

/// A chunk holds some ten pages; trace-cmd never makes large ones.
const MAX_CHUNK: usize = 16 << 20;

impl Pages {
    /// The pages in `start..end` of a file.
    pub fn new(file: &Arc<File>, start: u64, end: u64) -> Pages {
        Pages { file: Arc::clone(file), start, next: start, end, chunks: None }
    }

    /// The same, where chunks lie there: their count, then sizes and data of each.
    pub fn packed(file: &Arc<File>, start: u64, end: u64, packed: Packed, order: Order) -> Pages {
        let chunks = Chunks { packed, order, left: None, unpacked: Vec::new(), given: 0, total: 0 };
        Pages { chunks: Some(chunks), ..Pages::new(file, start, end) }
    }

    /// Whether they lie in compressed chunks.
    pub fn are_packed(&self) -> bool {
        self.chunks.is_some()
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Bytes of the file read so far.
    pub fn done(&self) -> u64 {
        self.next - self.start
    }

    /// Fills `region` as far as there are pages: bytes filled, fewer only at the end, and what made
    /// that the end.
    pub fn fill(&mut self, region: &mut [u8]) -> (usize, Option<Error>) {
        let mut filled = 0;
        while filled < region.len() {
            let got = match self.chunks.is_some() {
                true => self.unpacked(&mut region[filled..]),
                false => self.plain(&mut region[filled..]),
            };
            match got {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) => return (filled, Some(error)),
            }
        }
        (filled, None)
    }

    fn plain(&mut self, room: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(room.len());
        let got = match self.file.read_at(&mut room[..left], self.next) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return self.plain(room),
            got => got?,
        };
        self.next += got as u64;
        Ok(got)
    }

    fn unpacked(&mut self, room: &mut [u8]) -> Result<usize> {
        loop {
            let Some(chunks) = &mut self.chunks else { return Ok(0) };
            let rest = &chunks.unpacked[chunks.given..];
            if !rest.is_empty() {
                let got = rest.len().min(room.len());
                room[..got].copy_from_slice(&rest[..got]);
                chunks.given += got;
                return Ok(got);
            }
            if !self.next_chunk()? {
                return Ok(0);
            }
        }
    }

    /// Unpacks the next chunk, if there is one.
    fn next_chunk(&mut self) -> Result<bool> {
        let (file, at) = (Arc::clone(&self.file), self.next);
        let Some(chunks) = &mut self.chunks else { return Ok(false) };
        let order = chunks.order;
        let damaged = |why: &str| bad!(Damaged(at), "compressed pages at byte {at} are damaged ({why})");
        let left = match chunks.left {
            Some(left) => left,
            None => {
                let bytes = read_at(&file, self.next, 4)?.ok_or_else(|| damaged("cut short"))?;
                self.next += 4;
                order.u32(&bytes, 0).unwrap_or(0)
            }
        };
        chunks.left = Some(left.saturating_sub(1));
        if left == 0 || self.next >= self.end {
            return Ok(false);
        }
        let sizes = read_at(&file, self.next, 8)?.ok_or_else(|| damaged("cut short"))?;
        let size = |at| order.u32(&sizes, at).map_or(0, |size| size as usize);
        let (packed, unpacked) = (size(0), size(4));
        chunks.total += unpacked as u64;
        if unpacked > MAX_CHUNK || chunks.total > most(self.end - self.start) {
            return Err(damaged("they claim to expand too far"));
        }
        let bytes = read_at(&file, self.next + 8, packed.min(MAX_CHUNK))?.ok_or_else(|| damaged("cut short"))?;
        self.next += 8 + packed as u64;
        chunks.given = 0;
        chunks.unpacked = chunks.packed.unpack(&bytes, unpacked).map_err(|error| damaged(&error.to_string()))?;
        Ok(true)
    }
}

/// Whether ranges of a file of this length lie apart: only damage lets one byte of a file be several CPUs'.
pub fn check_apart(ranges: &[(u64, u64)], length: u64) -> Result<()> {
    let mut ranges: Vec<&(u64, u64)> = ranges.iter().filter(|range| range.0 < range.1).collect();
    ranges.sort_unstable();
    match ranges.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        Some(&[_, &(at, _)]) => {
            Err(bad!(Damaged(at.min(length)), "damaged: the data of two CPUs overlap at byte {at}"))
        }
        _ => Ok(()),
    }
}
