//! Captures without a file of their own: compressed as a whole, or read from a pipe. They are unpacked into an unnamed
//! temporary file, because captures are read more than once.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use tempfile::tempfile;

use crate::error::{bad, Error, Result};
use crate::input::wait_for;
use crate::progress::Waiting;

/// How a whole file was compressed, and how unpacking ended.
#[derive(Debug)]
pub struct Wrapping {
    /// `gzip` or `zstd`.
    pub name: &'static str,
    /// Why it could not be fully unpacked.
    pub problem: Option<Error>,
}

/// The file itself, or its contents if it is compressed; standard input for `None`.
pub fn unwrapped(file: Option<Arc<File>>, waiting: Waiting<'_>) -> Result<(Arc<File>, Option<Wrapping>)> {
    let file = match file {
        None => Arc::new(spool(io::stdin().lock(), Some(io::stdin().as_fd()), u64::MAX, waiting)?.0),
        Some(file) if file.metadata()?.file_type().is_fifo() => {
            Arc::new(spool(&*file, Some(file.as_fd()), u64::MAX, waiting)?.0)
        }
        Some(file) if !file.metadata()?.is_file() => {
            return Err(bad!(NotACapture, "not a capture: a device or socket, not a regular file"))
        }
        Some(file) => file,
    };
    let limit = most(file.metadata()?.len());
    let Some((name, source)) = unpacker(Arc::clone(&file))? else { return Ok((file, None)) };
    let (inside, problem) = spool(source, None, limit, waiting)?;
    let length = inside.metadata()?.len();
    if length >= limit {
        return Err(bad!(
            Refused,
            "{name}-compressed, and expands from {} bytes to more than {limit}: if you trust it, unpack it first",
            file.metadata()?.len()
        ));
    }
    if length == 0 {
        let why = problem.map_or("it is empty".to_owned(), |problem| problem.to_string());
        return Err(bad!(
            Damaged(0),
            "not readable: the file is {name}-compressed and cannot be unpacked, from byte 0 on: {why}"
        ));
    }
    let packed = file.metadata()?.len();
    let problem = problem.map(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            bad!(CutShort(packed), "the {name} stream around the capture is damaged or cut short ({error})")
        }
        _ => bad!(Damaged(0), "the {name} stream around the capture is damaged or cut short ({error})"),
    });
    Ok((Arc::new(inside), Some(Wrapping { name, problem })))
}

/// The compression of a file and its contents; `None` if it is not compressed.
pub fn unpacker(file: Arc<File>) -> io::Result<Option<(&'static str, Box<dyn Read + Send>)>> {
    let mut start = [0; 4];
    let known = file.read_at(&mut start, 0)?;
    let packed = BufReader::with_capacity(1 << 17, From { file, at: 0 });
    Ok(match &start[..known] {
        [0x1f, 0x8b, ..] => Some(("gzip", Box::new(MultiGzDecoder::new(packed)))),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(("zstd", Box::new(zstd::stream::read::Decoder::with_buffer(packed)?))),
        _ => None,
    })
}

/// Most bytes that this many may unpack to. Captures shrink to a tenth or a fiftieth, a bomb to a thousandth.
pub fn most(packed: u64) -> u64 {
    packed.saturating_mul(200).saturating_add(64 << 20)
}

/// Reads a file from its beginning without moving a shared file position.
pub struct From {
    /// The file.
    pub file: Arc<File>,
    /// Position of the next read.
    pub at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Copies what can be read, up to a limit, into an unnamed file; also returns what ended it. `input`: where reading may
/// have to wait.
fn spool(
    mut source: impl Read,
    input: Option<BorrowedFd<'_>>,
    limit: u64,
    waiting: Waiting<'_>,
) -> Result<(File, Option<io::Error>)> {
    let mut file = tempfile()?;
    let mut buffer = vec![0; 1 << 18];
    let mut left = limit;
    let problem = loop {
        let goes_on = match input {
            Some(input) => wait_for(input, waiting)?,
            None => waiting(),
        };
        if !goes_on {
            return Err(bad!(Interrupted, "interrupted"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match source.read(&mut buffer[..most]) {
            Ok(0) => break None,
            Ok(read) => {
                file.write_all(&buffer[..read])?;
                left -= read as u64;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => continue,
            Err(error) => break Some(error),
        }
    };
    file.flush()?;
    file.rewind()?;
    Ok((file, problem))
}
