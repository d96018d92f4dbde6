//! Whether the files of a capture are unchanged since it was opened.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use crate::error::{bad, Result};
use crate::input::read_at;
use crate::narrow::Narrow;

/// Number of places in a file, and bytes at each, that tell a file that grew from one that was rewritten.
const PLACES: u64 = 16;
const SIZE: u64 = 256;
/// Size of a perf.data's header. perf rewrites the header when it ends, without changing what follows it.
const HEADER: u64 = 104;

/// A file as it was when it was opened. A recorder may still append to it. A file that was replaced under its name is
/// unchanged for those who have it open.
#[derive(Debug)]
pub struct Watched {
    /// The file.
    pub file: Arc<File>,
    /// Its name within a folder; empty for the capture itself.
    name: String,
    length: u64,
    modified: SystemTime,
    seen: Vec<Option<Vec<u8>>>,
}

impl Watched {
    /// Notes the file's present state.
    pub fn new(file: &Arc<File>, name: String) -> io::Result<Watched> {
        let metadata = file.metadata()?;
        let (length, modified) = (metadata.len(), metadata.modified()?);
        Ok(Watched { file: Arc::clone(file), name, length, modified, seen: seen(file, length)? })
    }

    /// Fails if what was read may differ from what was opened.
    pub fn check(&self) -> Result<()> {
        let metadata = self.file.metadata()?;
        let (now, then) = (metadata.len(), self.length);
        let what = match now < then {
            true => format!("shrank while it was read: {now} of {then} bytes are left"),
            false if now == then && metadata.modified()? == self.modified => return Ok(()),
            false if now > then && seen(&self.file, then)? == self.seen => return Ok(()),
            false => "was rewritten while it was read".to_owned(),
        };
        let name = if self.name.is_empty() { "the file" } else { &self.name };
        Err(bad!(Changed, "{name} {what}; copy it when nothing writes to it any more, and read the copy"))
    }
}

/// Samples of a file's first `length` bytes, including the last ones.
fn seen(file: &File, length: u64) -> io::Result<Vec<Option<Vec<u8>>>> {
    let last = length.saturating_sub(SIZE);
    let places = (1..=PLACES).map(|place| (last / PLACES * place).max(HEADER.min(last)));
    places.chain([last]).map(|at| read_at(file, at, SIZE.min(length).narrow())).collect()
}

/// The result of reading these files; an error if one of them changed meanwhile.
pub fn unchanged<T>(files: &[Watched], read: Result<T>) -> Result<T> {
    files.iter().try_for_each(Watched::check)?;
    read
}
