//! Reading a packed file within bounds: of what comes out of it, and of headers before a file.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::error::{bad, Error};
use crate::wrapped::{unpacker, From};

/// What an archive may hold.
pub(super) struct Bounds {
    /// A large host's bundle with a copy of tracefs has about ten thousand.
    pub(super) files: usize,
    /// Before more bytes than this are written, a dry run decompresses everything to check the total.
    pub(super) unchecked: u64,
}

pub(super) const BOUNDS: Bounds = Bounds { files: 100_000, unchecked: 256 << 20 };

/// The compression of a file, if any, and what is inside.
pub fn decompressed(path: &Path) -> io::Result<(Option<&'static str>, Box<dyn Read + Send>)> {
    let file = Arc::new(File::open(path)?);
    Ok(match unpacker(Arc::clone(&file))? {
        Some((name, source)) => (Some(name), source),
        None => (None, Box::new(From { file, at: 0 })),
    })
}

/// Reads what is inside a file, up to a limit on the total, and another on headers.
pub(super) struct Bounded<'b> {
    pub(super) path: &'b Path,
    pub(super) source: Box<dyn Read + Send>,
    pub(super) bounds: &'b Bounds,
    pub(super) limit: u64,
    pub(super) left: &'b Cell<u64>,
    /// What is left for headers while they are read.
    pub(super) headers: &'b Cell<Option<u64>>,
    /// Why reading ended, if not for the file's own fault.
    pub(super) refusal: &'b RefCell<Option<Error>>,
    pub(super) is_checked: bool,
}

impl Bounded<'_> {
    /// Decompresses everything and discards the data, before more of it is written.
    fn check(&self) -> io::Result<()> {
        let (_, source) = decompressed(self.path)?;
        match io::copy(&mut source.take(self.limit + 1), &mut io::sink())? > self.limit {
            true => Err(self.refuse(too_large(self.limit))),
            false => Ok(()),
        }
    }

    fn refuse(&self, why: Error) -> io::Error {
        self.refusal.replace(Some(why));
        io::Error::other("refused")
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let Some(left) = self.left.get().checked_sub(read as u64) else {
            return Err(self.refuse(too_large(self.limit)));
        };
        self.left.set(left);
        if !self.is_checked && self.limit - left > self.bounds.unchecked {
            self.check()?;
            self.is_checked = true;
        }
        if let Some(headers) = self.headers.get() {
            let rest = headers.checked_sub(read as u64);
            self.headers.set(rest);
            if rest.is_none() {
                return Err(self.refuse(bad!(Refused, "damaged: it has more headers than the files of a bundle need")));
            }
        }
        Ok(read)
    }
}

pub(super) fn too_large(limit: u64) -> Error {
    bad!(Refused, "it unpacks to more than {limit} bytes: if you trust it, unpack it with tar")
}
