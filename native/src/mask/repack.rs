//! Compressing again what had to be unpacked.

use std::fs::File;
use std::io::{self, copy, BufWriter, Write};
use std::path::Path;

use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::Compression;
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

use crate::bytes::Order;
use crate::error::Result;
use crate::input::create;
use crate::perf::record::{self, kind};
use crate::ring::Packed;

const LEVEL: i32 = 3;
/// Of whole files, which are read once and sent around.
const FILE_LEVEL: i32 = 12;
/// A record's size has 16 bits; this much is in one.
const MAX: usize = 65_504;

/// Compresses a whole file.
pub fn compress(from: &Path, to: &Path, name: &str) -> Result<()> {
    let mut from = File::open(from)?;
    let out = BufWriter::new(create(to)?);
    let mut out = match name {
        "gzip" => {
            let mut packed = GzEncoder::new(out, Compression::default());
            copy(&mut from, &mut packed)?;
            packed.finish()?
        }
        _ => {
            let mut packed = zstd::stream::write::Encoder::new(out, FILE_LEVEL)?;
            copy(&mut from, &mut packed)?;
            packed.finish()?
        }
    };
    Ok(out.flush()?)
}

/// Compresses a piece by itself.
pub fn pack(packed: Packed, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match packed {
        Packed::Zstd => zstd::bulk::compress(bytes, LEVEL),
        Packed::Zlib => {
            let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
            out.write_all(bytes)?;
            out.finish()
        }
    }
}

/// The one zstd stream of a recording's compressed records.
pub struct Stream {
    encoder: Encoder<'static>,
}

impl Stream {
    pub fn new() -> Result<Stream> {
        Ok(Stream { encoder: Encoder::new(LEVEL)? })
    }

    /// Records of this kind that hold `plain`; none for nothing.
    pub fn records(&mut self, plain: &[u8], kind: u32, order: Order) -> Result<Vec<u8>> {
        let mut records = Vec::new();
        if plain.is_empty() {
            return Ok(records);
        }
        for piece in self.packed(plain)?.chunks(MAX) {
            if kind == kind::COMPRESSED {
                records.extend(record::header_bytes(kind, 8 + piece.len(), order));
                records.extend(piece);
            } else {
                let padded = piece.len().next_multiple_of(8);
                records.extend(record::header_bytes(kind, 16 + padded, order));
                records.extend(order.u64_bytes(piece.len() as u64));
                records.extend(piece);
                records.resize(records.len() + padded - piece.len(), 0);
            }
        }
        Ok(records)
    }

    fn packed(&mut self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = Vec::new();
        let mut room = vec![0; 1 << 16];
        let mut input = InBuffer::around(plain);
        while input.pos() < plain.len() {
            let mut output = OutBuffer::around(&mut room[..]);
            self.encoder.run(&mut input, &mut output)?;
            packed.extend_from_slice(output.as_slice());
        }
        loop {
            let mut output = OutBuffer::around(&mut room[..]);
            let left = self.encoder.flush(&mut output)?;
            packed.extend_from_slice(output.as_slice());
            if left == 0 {
                return Ok(packed);
            }
        }
    }
}
