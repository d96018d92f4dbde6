//! Files as a moving window of bytes. Memory stays bounded whatever the file's size, and a file that shrinks during
//! reading causes a short read, not a signal.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::narrow::Narrow;
use crate::progress::Waiting;

/// Bytes per read: enough to make reading cheap, few enough to stay in cache.
const CHUNK: usize = 1 << 20;
/// Room before a chunk for the rest of the previous one. No record is larger.
const HEADROOM: usize = 1 << 16;
/// From this size on, a second thread reads ahead.
const WORTH_A_THREAD: u64 = 8 << 20;

/// A range of a file, read front to back.
#[derive(Debug)]
pub struct Window {
    source: Source,
    /// Headroom, then bytes of the file.
    buffer: Vec<u8>,
    start: usize,
    /// File position of `buffer[start]`.
    offset: u64,
}

#[derive(Debug)]
enum Source {
    Here(Reader),
    Ahead { full: Receiver<io::Result<Vec<u8>>>, empty: SyncSender<Vec<u8>> },
}

#[derive(Debug)]
struct Reader {
    file: Arc<File>,
    next: u64,
    end: u64,
}

impl Reader {
    /// The next chunk after its headroom; without bytes at the end.
    fn chunk(&mut self, mut buffer: Vec<u8>) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        buffer.resize(HEADROOM + left.min(CHUNK), 0);
        let mut filled = HEADROOM;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], self.next) {
                Ok(0) => self.end = self.next,
                Ok(read) => (filled, self.next) = (filled + read, self.next + read as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if self.next == self.end {
                break;
            }
        }
        buffer.truncate(filled);
        Ok(buffer)
    }

    fn ahead(mut self) -> Source {
        let (full_sender, full) = sync_channel(2);
        let (empty, empty_receiver) = sync_channel::<Vec<u8>>(4);
        std::thread::spawn(move || loop {
            let chunk = self.chunk(empty_receiver.try_recv().unwrap_or_default());
            let last = chunk.as_ref().map_or(true, |chunk| chunk.len() == HEADROOM);
            if full_sender.send(chunk).is_err() || last {
                break;
            }
        });
        Source::Ahead { full, empty }
    }
}

impl Window {
    /// The bytes `from..end` of `file`.
    pub fn new(file: &Arc<File>, from: u64, end: u64) -> Window {
        let reader = Reader { file: Arc::clone(file), next: from, end: end.max(from) };
        let source = if end.saturating_sub(from) < WORTH_A_THREAD { Source::Here(reader) } else { reader.ahead() };
        Window { source, buffer: Vec::new(), start: 0, offset: from }
    }

    /// The buffered bytes: at least `want` (at most a record's size), or all that are left.
    pub fn peek(&mut self, want: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < want {
            let mut chunk = match &mut self.source {
                Source::Here(reader) => reader.chunk(Vec::new())?,
                Source::Ahead { full, .. } => match full.recv() {
                    Ok(chunk) => chunk?,
                    Err(_) => break, // the reader has reported the end
                },
            };
            if chunk.len() == HEADROOM {
                break;
            }
            let left = self.buffer.len() - self.start;
            chunk[HEADROOM - left..HEADROOM].copy_from_slice(&self.buffer[self.start..]);
            let used = std::mem::replace(&mut self.buffer, chunk);
            self.start = HEADROOM - left;
            if let Source::Ahead { empty, .. } = &self.source {
                // If the queue of empty buffers is full, this one is freed.
                let _ = empty.try_send(used);
            }
        }
        Ok(&self.buffer[self.start..])
    }

    /// Skips `size` bytes, buffered or not.
    pub fn advance(&mut self, size: u64) -> io::Result<()> {
        let mut left = size;
        while left > 0 {
            let buffered = (self.buffer.len() - self.start) as u64;
            let step = left.min(buffered);
            self.start += step.narrow::<usize>();
            self.offset += step;
            left -= step;
            if let (true, Source::Here(reader)) = (left > 0, &mut self.source) {
                let skipped = left.min(reader.end - reader.next);
                reader.next += skipped;
                self.offset += skipped;
                left -= skipped;
            }
            if left > 0 && self.peek(1)?.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// File position of the first byte that `peek` returns.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// Opens a file for reading. A FIFO that nobody writes to yet opens at once; `wait_for` then waits.
pub fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

/// Opens a file that must be a regular one.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{} is not a regular file", path.display()))),
    }
}

/// Waits until there is something to read or no writer is left; returns whether to go on. It polls, because a signal
/// that arrives just before the system call does not interrupt it.
pub fn wait_for(input: BorrowedFd<'_>, waiting: Waiting<'_>) -> io::Result<bool> {
    const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while waiting() {
        match poll(&mut [PollFd::from_borrowed_fd(input, PollFlags::IN)], Some(&PATIENCE)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Creates a file that is read while it is written.
pub fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

/// Reads exactly `size` bytes at `offset`; `None` if the file is shorter.
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

/// Reads the start of a file, up to `most` bytes.
pub fn read_up_to(file: &File, most: usize) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.metadata()?.len()).map_or(most, |length| length.min(most));
    Ok(read_at(file, 0, size)?.unwrap_or_default())
}
