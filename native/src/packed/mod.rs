//! A bundle or an experiment in one tar archive, compressed or not, as `netcost-pack` writes it.
//!
//! ```text
//!   file -> unpacker -> Bounded -> tar -> files in a folder and their digests -> compared with SHA256SUMS
//! ```
//! An archive may come from a stranger: nothing is written outside the folder, and no more than a file of its size may
//! hold.

mod bounded;
mod sums;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{create_dir_all, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tar::{Archive, Entry, Header};

use crate::error::{bad, said, Error, Result};
use crate::progress::Waiting;
use crate::wrapped::most;
pub use bounded::decompressed;
use bounded::{too_large, Bounded, Bounds, BOUNDS};
use sums::{shown, sums_of, whole, Sums, SUMS};

const CHUNK: usize = 1 << 20;
/// The most header bytes before a file.
const MAX_HEADERS: u64 = 1 << 20;
const MAX_SUMS: u64 = 64 << 20;

/// Whether a file begins as a tar archive. False for an unreadable file: opening it gives a better message.
pub fn is_archive(path: &Path) -> bool {
    let mut header = Header::new_old();
    let read = decompressed(path).and_then(|(_, mut source)| source.read_exact(header.as_mut_bytes()));
    let told = header.cksum();
    header.set_cksum();
    read.is_ok() && told.ok() == header.cksum().ok()
}

/// The names in an archive's checksums; none if these do not come first.
pub fn named_first(path: &Path) -> Result<Option<Vec<Vec<u8>>>> {
    let mut named = None;
    each(path, &BOUNDS, &mut |name, entry| {
        if entry.header().entry_type().is_dir() {
            return Ok(true);
        }
        if name.inside == SUMS.as_bytes() && entry.size() <= MAX_SUMS {
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            named = Some(sums_of(&text).into_keys().collect());
        }
        Ok(false)
    })?;
    Ok(named)
}

/// Writes what an archive holds into a folder, and compares it with the archive's checksums. Returns the one folder
/// in it.
pub fn unpack(path: &Path, folder: &Path, waiting: Waiting<'_>) -> Result<PathBuf> {
    unpack_within(path, folder, &BOUNDS, waiting)
}

fn unpack_within(path: &Path, folder: &Path, bounds: &Bounds, waiting: Waiting<'_>) -> Result<PathBuf> {
    let (mut sums, mut digests) = (None, Sums::new());
    let mut tops = BTreeSet::new();
    each(path, bounds, &mut |name, entry| {
        if digests.len() >= bounds.files {
            return Err(bad!(Refused, "it holds more than {} files: not a bundle", bounds.files));
        }
        if digests.contains_key(&name.inside) {
            return Err(bad!(Refused, "it holds {} twice", shown(&name.inside)));
        }
        let told = shown(&entry.path_bytes());
        let target = folder.join(OsStr::from_bytes(&name.top)).join(OsStr::from_bytes(&name.inside));
        tops.insert(name.top);
        if entry.header().entry_type().is_dir() {
            create_dir_all(target).map_err(|error| unwritten(error, &told))?;
            return Ok(true);
        }
        if name.inside.is_empty() {
            return Err(bad!(Refused, "{told} in it is not in the bundle's folder"));
        }
        let digest = write(entry, &target, &told, waiting)?;
        if name.inside == SUMS.as_bytes() {
            if entry.size() > MAX_SUMS {
                return Err(bad!(Refused, "its {SUMS} is larger than {} MiB", MAX_SUMS >> 20));
            }
            sums = Some(sums_of(&std::fs::read(&target)?));
        }
        digests.insert(name.inside, digest);
        Ok(true)
    })?;
    whole(&tops, digests, sums).map_err(|error| of_file(error, path))?;
    Ok(folder.join(OsStr::from_bytes(tops.first().map_or(b"", Vec::as_slice))))
}

/// A place in the archive: its first folder, and the rest.
struct Name {
    top: Vec<u8>,
    inside: Vec<u8>,
}

impl Name {
    /// Of a plain file or a folder inside the bundle's folder.
    fn of<R: Read>(entry: &mut Entry<'_, R>) -> Result<Name> {
        let path = entry.path_bytes().into_owned();
        let told = shown(&path);
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            return Err(bad!(Refused, "{told} in it is a link: a bundle has no links"));
        }
        let is_hole = |key: &[u8]| key.starts_with(b"GNU.sparse");
        let is_sparse =
            entry.pax_extensions()?.into_iter().flatten().flatten().any(|extension| is_hole(extension.key_bytes()));
        // A sparse file can claim any size with no data behind it.
        if is_sparse || kind.is_gnu_sparse() {
            return Err(bad!(Refused, "{told} in it is a sparse file: netcost-pack writes none"));
        }
        if !(kind.is_file() || kind.is_contiguous() || kind.is_dir()) {
            return Err(bad!(Refused, "{told} in it is not a regular file"));
        }
        let is_part = |part: &&[u8]| !matches!(*part, b"" | b".");
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(is_part).collect();
        let leads_out = path.starts_with(b"/") || parts.iter().any(|part| *part == b"..") || path.contains(&0);
        match parts.split_first() {
            Some((top, rest)) if !leads_out => Ok(Name { top: top.to_vec(), inside: rest.join(&b'/') }),
            _ => Err(bad!(Refused, "{told} in it points outside the bundle")),
        }
    }
}

type Taking<'t> = &'t mut dyn FnMut(Name, &mut Entry<'_, Bounded<'_>>) -> Result<bool>;

/// Calls `take` for each file and folder of an archive, until it returns false.
fn each(path: &Path, bounds: &Bounds, take: Taking<'_>) -> Result<()> {
    let limit = most(std::fs::metadata(path)?.len());
    let (left, headers, refusal) = (Cell::new(limit), Cell::new(None), RefCell::new(None));
    let (_, source) = decompressed(path)?;
    let source =
        Bounded { path, source, bounds, limit, left: &left, headers: &headers, refusal: &refusal, is_checked: false };
    let mut archive = Archive::new(source);
    let mut walk = || -> Result<()> {
        let mut entries = archive.entries()?;
        loop {
            headers.set(Some(MAX_HEADERS));
            let next = entries.next();
            headers.set(None);
            let Some(mut entry) = next.transpose()? else { return Ok(()) };
            // It describes all that follow, and is no file.
            if entry.header().entry_type().is_pax_global_extensions() {
                continue;
            }
            let name = Name::of(&mut entry)?;
            if i64::try_from(entry.size()).is_err() {
                return Err(bad!(Damaged(0), "damaged: {} in it has a negative size", shown(&entry.path_bytes())));
            }
            if entry.size() > left.get() {
                return Err(too_large(limit));
            }
            if !take(name, &mut entry)? {
                return Ok(());
            }
        }
    };
    let done = walk();
    match (refusal.take(), done) {
        (Some(refusal), _) => Err(of_file(refusal, path)),
        // The system's errors have a number, those of the archive's reader have none.
        (None, Err(Error::Io(error))) if error.raw_os_error().is_none() => {
            Err(of_file(bad!(Damaged(0), "damaged or cut short ({error})"), path))
        }
        (None, done) => done.map_err(|error| of_file(error, path)),
    }
}

/// Writes a new file; returns its digest.
fn write<R: Read>(entry: &mut Entry<'_, R>, target: &Path, told: &str, waiting: Waiting<'_>) -> Result<String> {
    // A new file follows no link, and overwrites nothing.
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(target);
    let mut file = create()
        .or_else(|error| match (error.kind(), target.parent()) {
            (io::ErrorKind::NotFound, Some(parent)) => create_dir_all(parent).and_then(|()| create()),
            _ => Err(error),
        })
        .map_err(|error| unwritten(error, told))?;
    let mut buffer = vec![0; usize::try_from(entry.size()).unwrap_or(CHUNK).clamp(1, CHUNK)];
    let (mut digest, mut left) = (Sha256::new(), entry.size());
    loop {
        let read = match entry.read(&mut buffer)? {
            0 if left > 0 => {
                return Err(bad!(CutShort(0), "cut short in {told}: {left} of its {} bytes are missing", entry.size()))
            }
            0 => break,
            read => read,
        };
        digest.update(&buffer[..read]);
        file.write_all(&buffer[..read])?;
        let before = left / CHUNK as u64;
        left = left.saturating_sub(read as u64);
        // Decompressors return a block at a time, which may be smaller.
        if left / CHUNK as u64 != before && !waiting() {
            return Err(bad!(Interrupted, "interrupted"));
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The error for a file that cannot be created. A name that is not possible is the archive's fault.
fn unwritten(error: io::Error, shown: &str) -> Error {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    match error.kind() {
        AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory => {
            bad!(Refused, "{shown} in it cannot be written: {}", said(&error))
        }
        _ => Error::Io(error),
    }
}

fn of_file(mut error: Error, path: &Path) -> Error {
    if let Error::Capture { message, .. } = &mut error {
        *message = format!("{}: {message}", path.display());
    }
    error
}

#[cfg(test)]
mod tests;
