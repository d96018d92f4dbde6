//! Where packets go, and that they could not.

use std::io::{self, Write};

use crate::error::Result;
use crate::perfetto::proto;

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// `Trace.packet`.
const PACKET: u32 = 1;

/// The file.
pub struct Out<'w> {
    to: &'w mut dyn Write,
    waiting: Vec<u8>,
    written: u64,
    failed: Option<io::Error>,
}

impl<'w> Out<'w> {
    /// Nothing written yet.
    pub fn new(to: &'w mut dyn Write) -> Out<'w> {
        Out { to, waiting: Vec::with_capacity(2 * AT_ONCE), written: 0, failed: None }
    }

    /// One packet. What fails is kept until `settle` tells it.
    #[inline(always)]
    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        proto::message(&mut self.waiting, PACKET, fill);
        if self.waiting.len() >= AT_ONCE {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.waiting).err();
        }
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
    }

    /// Whether something could not be written.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// What could not be written.
    pub fn settle(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> Result<()> {
        self.write();
        self.settle()?;
        Ok(self.to.flush()?)
    }
}
