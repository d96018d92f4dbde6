//! Captures that do not lie in a file of their own: compressed as a whole, or coming from a pipe.
//! They are unpacked into a temporary file without a name, since captures are read more than once.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::{bad, Result};
use crate::input::wait_for;
use crate::progress::Waiting;

/// What a whole file was compressed with, and how that ended.
#[derive(Debug, Clone)]
pub struct Wrapping {
    /// `gzip` or `zstd`.
    pub name: &'static str,
    /// Why it could not be unpacked to its end.
    pub problem: Option<String>,
}

/// The file itself, or what it holds where it is no capture but a wrapping around one; standard
/// input for `None`.
pub fn unwrapped(file: Option<Arc<File>>, waiting: Waiting<'_>) -> Result<(Arc<File>, Option<Wrapping>)> {
    let file = match file {
        None => Arc::new(spool(io::stdin().lock(), Some(io::stdin().as_fd()), u64::MAX, waiting)?.0),
        Some(file) if file.metadata()?.file_type().is_fifo() => {
            Arc::new(spool(&*file, Some(file.as_fd()), u64::MAX, waiting)?.0)
        }
        Some(file) if !file.metadata()?.is_file() => {
            return Err(bad!("not a capture: no regular file, but a device or socket"))
        }
        Some(file) => file,
    };
    let mut start = [0; 4];
    // A file too short for this has a better message waiting for it.
    let known = file.read_at(&mut start, 0).unwrap_or(0);
    let limit = most(file.metadata()?.len());
    let source = || From { file: Arc::clone(&file), at: 0 };
    let (name, unpacked) = match &start[..known] {
        [0x1f, 0x8b, ..] => ("gzip", spool(MultiGzDecoder::new(source()), None, limit, waiting)?),
        [0x28, 0xb5, 0x2f, 0xfd] => ("zstd", spool(zstd::stream::read::Decoder::new(source())?, None, limit, waiting)?),
        _ => return Ok((file, None)),
    };
    let (inside, problem) = unpacked;
    let length = inside.metadata()?.len();
    if length >= limit {
        return Err(bad!(
            "{name}-compressed, and expands from {} bytes to more than {limit}: unpack it first if it is to be trusted",
            file.metadata()?.len()
        ));
    }
    if length == 0 {
        let why = problem.map_or("it is empty".to_owned(), |problem| problem.to_string());
        return Err(bad!(
            "not readable: the file is {name}-compressed, and nothing can be unpacked from byte 0 on: {why}"
        ));
    }
    let problem = problem.map(|error| {
        format!("the {name} stream around the capture is damaged or cut short ({error}): the {length} bytes before that are read")
    });
    Ok((Arc::new(inside), Some(Wrapping { name, problem })))
}

/// What so many bytes may unpack to: captures shrink to a tenth or a fiftieth, a bomb to a thousandth.
pub fn most(packed: u64) -> u64 {
    packed.saturating_mul(200).saturating_add(64 << 20)
}

/// A file from its beginning, without moving anybody else's place in it.
pub struct From {
    /// The file.
    pub file: Arc<File>,
    /// What is read next.
    pub at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Copies what can be read, up to a limit, into a file that has no name any more; and what ended it.
/// `input`: where somebody may let us wait.
fn spool(
    mut source: impl Read,
    input: Option<BorrowedFd<'_>>,
    limit: u64,
    waiting: Waiting<'_>,
) -> Result<(File, Option<io::Error>)> {
    let mut file = nameless()?;
    let mut buffer = vec![0; 1 << 18];
    let mut left = limit;
    let problem = loop {
        let goes_on = match input {
            Some(input) => wait_for(input, waiting)?,
            None => waiting(),
        };
        if !goes_on {
            return Err(bad!("interrupted"));
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

/// A temporary file that has no name any more.
pub fn nameless() -> io::Result<File> {
    let directory = std::env::temp_dir();
    let mut attempt = 0u32;
    let (path, file) = loop {
        let path = directory.join(format!("netcost-unpacked-{}-{attempt}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => break (path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(error) => return Err(error),
        }
    };
    std::fs::remove_file(&path)?;
    Ok(file)
}
