//! Files as a moving window of bytes: memory stays bounded whatever the file's size, and a file
//! that shrinks under us is a short read, not a signal.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes read at a time: large enough to make reading cheap, small enough to stay in cache.
const CHUNK: usize = 1 << 20;

/// A range of a file, read front to back.
#[derive(Debug)]
pub struct Window {
    file: Arc<File>,
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
}

impl Window {
    /// The bytes `from..end` of `file`.
    pub fn new(file: &Arc<File>, from: u64, end: u64) -> Window {
        Window { file: Arc::clone(file), next: from, end, buffer: Vec::new(), start: 0, filled: 0 }
    }

    /// What is buffered, after making sure that it is `want` bytes or all that is left.
    pub fn peek(&mut self, want: usize) -> io::Result<&[u8]> {
        while self.filled - self.start < want && self.next < self.end {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.filled, 0);
                self.filled -= self.start;
                self.start = 0;
            }
            let left = self.end - self.next;
            let room = CHUNK.max(want - self.filled);
            let room = usize::try_from(left).map_or(room, |left| room.min(left));
            if self.buffer.len() < self.filled + room {
                self.buffer.resize(self.filled + room, 0);
            }
            let target = &mut self.buffer[self.filled..self.filled + room];
            match self.file.read_at(target, self.next) {
                Ok(0) => self.end = self.next,
                Ok(read) => {
                    self.filled += read;
                    self.next += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[self.start..self.filled])
    }

    /// Moves on by `size` bytes, buffered or not.
    pub fn advance(&mut self, size: u64) {
        let buffered = (self.filled - self.start) as u64;
        if size <= buffered {
            self.start += size as usize;
        } else {
            self.start = self.filled;
            self.next = self.next.saturating_add(size - buffered).min(self.end);
        }
    }

    /// Position in the file of the first byte that `peek` shows.
    pub fn offset(&self) -> u64 {
        self.next - (self.filled - self.start) as u64
    }

    /// Where the range ends.
    pub fn end(&self) -> u64 {
        self.end
    }
}

/// Reads exactly `size` bytes at `offset`; `None` where the file is shorter.
pub fn read_at(file: &File, offset: u64, size: usize) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    if offset.checked_add(size as u64).is_none_or(|end| end > length) {
        return Ok(None);
    }
    let mut bytes = vec![0; size];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Standard input, copied to a temporary file that has no name any more: captures are read more
/// than once.
pub fn spool_stdin() -> io::Result<File> {
    let directory = std::env::temp_dir();
    let mut attempt = 0u32;
    let (path, mut file) = loop {
        let path = directory.join(format!("netcost-stdin-{}-{attempt}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => break (path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(error) => return Err(error),
        }
    };
    std::fs::remove_file(&path)?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}
