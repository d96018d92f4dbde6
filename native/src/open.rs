//! Detects the format of a capture, and opens it.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::input::{self, read_at, read_up_to};
use crate::perf::header::Magic;
use crate::progress::Waiting;
use crate::recording::Recording;
use crate::text::encoding::plain;
use crate::text::{looks_like, Text, LOOKED_AT};
use crate::watched::{unchanged, Watched};
use crate::wrapped::unwrapped;
use crate::{perf, tracedat, tracefs};

/// Opens a file, a folder made by `perf record --threads`, a copy of tracefs, or `-` for standard input. `buffer` names
/// one of several ftrace instances; `None` is the top one. `waiting` is called while waiting for input.
pub fn open(path: &str, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
    if path == "-" {
        return from_unwrapped(None, buffer, waiting);
    }
    let folder = Path::new(path);
    if !folder.is_dir() {
        return from_unwrapped(Some(Arc::new(input::open(folder)?)), buffer, waiting);
    }
    if folder.join("data").is_file() {
        refuse_buffer("a perf.data", buffer)?;
        return Ok(perf::open::of_folder(folder)?.into());
    }
    if tracefs::looks_like(folder) {
        refuse_buffer("a copy of tracefs", buffer)?;
        return tracefs::open(folder);
    }
    let found = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = found.take(4).collect();
    found.sort();
    let found = match found.is_empty() {
        true => "an empty folder".to_owned(),
        false => format!("a folder with {}", found.join(", ")),
    };
    Err(bad!(
        NotACapture,
        "not a capture: {found}; expected a capture file, a perf.data folder (with 'data' inside), a copy of tracefs (with header_page and per_cpu) or a bundle (with manifest.json)"
    ))
}

/// Reads the headers of an open file.
pub fn of_file(file: Arc<File>) -> Result<Recording> {
    from_unwrapped(Some(file), None, &mut || true)
}

fn from_unwrapped(file: Option<Arc<File>>, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
    let is_copied = file.is_none();
    let input = match &file {
        Some(file) => Arc::clone(file),
        None => Arc::new(std::io::stdin().as_fd().try_clone_to_owned()?.into()),
    };
    let watched = match input.metadata()?.is_file() {
        true => vec![Watched::new(&input, String::new())?],
        false => Vec::new(),
    };
    let mut recording = unchanged(&watched, read(file, buffer, waiting))?;
    if !is_copied && recording.wrapping.is_none() {
        recording.files.extend(watched);
    }
    Ok(recording)
}

fn read(file: Option<Arc<File>>, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
    let (file, wrapping) = unwrapped(file, waiting)?;
    let length = file.metadata()?.len();
    let mut recording = of_format(file, buffer, waiting)?;
    if let Some(wrapping) = wrapping {
        recording.cut |= wrapping.problem.is_some();
        let note = |problem| format!("{problem}: the {length} bytes before that are read");
        recording.notes.extend(wrapping.problem.map(note));
        recording.wrapping = Some(wrapping.name);
    }
    Ok(recording)
}

fn of_format(file: Arc<File>, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
    let length = file.metadata()?.len();
    let Some(start) = read_at(&file, 0, 16)? else {
        return Err(bad!(NotACapture, "not a capture: the file has {length} bytes, too few for any header"));
    };
    if Magic::parse(&start).is_some() {
        refuse_buffer("a perf.data", buffer)?;
        return Ok(perf::open::of_file(file)?.into());
    }
    if start.starts_with(tracedat::MAGIC) {
        return tracedat::open(file, buffer);
    }
    let (file, notes) = plain(file, waiting)?;
    if looks_like(&read_up_to(&file, LOOKED_AT)?) {
        let mut recording = Recording::from(Text::open(file, buffer)?);
        recording.notes.splice(0..0, notes);
        return Ok(recording);
    }
    const ACCEPTED: &str = "perf.data, trace.dat, and the text of perf script, trace-cmd report and ftrace are read";
    Err(match kind_of(&start) {
        Some(kind) => bad!(NotACapture(0), "not a capture: {kind}; {ACCEPTED}"),
        None => bad!(NotACapture(0), "not a capture: the file starts with {:02x?}; {ACCEPTED}", &start[..8]),
    })
}

/// Most formats have only one buffer, the top one.
fn refuse_buffer(kind: &str, buffer: Option<&str>) -> Result<()> {
    match buffer.filter(|buffer| !buffer.is_empty()) {
        Some(buffer) => Err(bad!(Missing, "no buffer '{buffer}': {kind} has no ftrace instances")),
        None => Ok(()),
    }
}

/// What a file that is not a capture may be, by its first bytes.
fn kind_of(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 12] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "a program or library (ELF)"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"\xfd7zXZ", "xz-compressed; unxz it first"),
        (b"BZh", "bzip2-compressed; bunzip2 it first"),
        (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
        (b"PAR1", "a Parquet file"),
        (b"\x0a\x0d\x0d\x0a", "a pcapng capture of packets"),
        (b"\xd4\xc3\xb2\xa1", "a pcap capture of packets"),
    ];
    KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind)
}
