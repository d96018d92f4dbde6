//! Opening a recording: everything that is known before the first sample.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::{slice, text, u32_at, u64_at};
use crate::error::{bad, Result};
use crate::format::Format;
use crate::perf::attr::{Attr, Layout, TYPE_TRACEPOINT};
use crate::perf::header::{fits, Features, FileHeader, Section, MAGIC};
use crate::perf::ids::Ids;
use crate::perf::input::{read_at, spool_stdin, Window};
use crate::perf::record::{self, kind};

/// How the records are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A seekable file with sections.
    File,
    /// `perf record -o -`: one stream.
    Pipe,
    /// `perf record --threads`: a folder with a file per thread.
    Directory,
}

/// A run of records in one file.
#[derive(Debug, Clone)]
pub struct Part {
    /// The file.
    pub file: Arc<File>,
    /// First byte of the first record.
    pub start: u64,
    /// End of the last record.
    pub end: u64,
}

/// One event of the recording.
#[derive(Debug, Clone)]
pub struct Event {
    /// `irq:softirq_entry`, `cycles`, or type and number where no name was recorded.
    pub name: String,
    /// How it was recorded.
    pub attr: Attr,
    /// Where its samples keep what.
    pub layout: Layout,
    /// Fields of the payload; tracepoints only.
    pub format: Option<Arc<Format>>,
    /// The filter set on the recorder's command line.
    pub filter: Option<String>,
}

/// A recording, opened: header, events and formats are known; samples have not been read.
#[derive(Debug)]
pub struct Recording {
    /// How the records are stored.
    pub mode: Mode,
    /// Whether the recorder closed the file properly.
    pub finished: bool,
    /// Whether the file ends before its header says so.
    pub cut: bool,
    /// Events, in the order of their attrs.
    pub events: Vec<Event>,
    /// Sample id to event.
    pub ids: Ids,
    /// What the features say.
    pub features: Features,
    /// Where the records are.
    pub parts: Vec<Part>,
    /// Peculiarities met while opening.
    pub notes: Vec<String>,
}

#[derive(Default)]
struct Gathered {
    attrs: Vec<(Attr, Vec<u64>)>,
    names: Vec<(u64, String)>,
    features: Features,
    notes: Vec<String>,
    cut: bool,
}

impl Recording {
    /// Opens a file, a folder that `perf record --threads` made, or `-` for standard input.
    pub fn open(path: &str) -> Result<Recording> {
        if path == "-" {
            return Self::from_file(Arc::new(spool_stdin()?));
        }
        if Path::new(path).is_dir() {
            return Self::from_directory(Path::new(path));
        }
        Self::from_file(Arc::new(File::open(path)?))
    }

    fn from_directory(path: &Path) -> Result<Recording> {
        let main = path.join("data");
        if !main.is_file() {
            let found = std::fs::read_dir(path)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let mut found: Vec<String> = found.take(4).collect();
            found.sort();
            let found = if found.is_empty() {
                "an empty folder".to_owned()
            } else {
                format!("a folder with {}", found.join(", "))
            };
            return Err(bad!(
                "no capture here: {found}; expected a perf.data file, a perf.data folder (with 'data' inside) or a bundle (with manifest.json)"
            ));
        }
        let mut extra = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(number) = name.strip_prefix("data.").and_then(|number| number.parse::<u32>().ok()) {
                if !entry.path().is_file() {
                    return Err(bad!(
                        "'{name}' in the perf.data folder is no regular file; take it away to read the rest"
                    ));
                }
                extra.push((number, entry.path()));
            }
        }
        extra.sort();
        let files = extra.into_iter().map(|(_, path)| File::open(path)).collect::<std::io::Result<Vec<File>>>()?;
        Self::from_files(Arc::new(File::open(main)?), Some(files))
    }

    /// Reads the headers of an open file.
    pub fn from_file(file: Arc<File>) -> Result<Recording> {
        Self::from_files(file, None)
    }

    fn from_files(file: Arc<File>, more: Option<Vec<File>>) -> Result<Recording> {
        let length = file.metadata()?.len();
        let Some(start) = read_at(&file, 0, 16)? else {
            return Err(bad!("not a capture: the file has {length} bytes, too few for a perf.data header"));
        };
        if &start[..8] != MAGIC {
            return Err(unknown_magic(&start));
        }
        let mut gathered = Gathered::default();
        let (mode, part, finished) = match u64_at(&start, 8) {
            Some(16) => (Mode::Pipe, gathered.read_pipe(&file, length)?, true),
            Some(104..) => gathered.read_file(&file, length, more.is_some())?,
            size => {
                return Err(bad!(
                    "perf.data header claims {} bytes at offset 8; expected 16 (pipe) or 104 (file)",
                    size.unwrap_or(0)
                ))
            }
        };
        let mut parts = vec![part];
        let mode = if let Some(more) = more {
            for file in more {
                let end = file.metadata()?.len();
                parts.push(Part { file: Arc::new(file), start: 0, end });
            }
            Mode::Directory
        } else {
            mode
        };
        gathered.finish(mode, finished, parts)
    }
}

/// Ids of 8 bytes, one per event and CPU: enough for a thousand events on four thousand CPUs.
const MOST_ID_BYTES: u64 = 32 << 20;
/// Some ten thousand events.
const MOST_ATTR_BYTES: u64 = 2 << 20;

fn unknown_magic(start: &[u8]) -> crate::error::Error {
    let hint = match start {
        [b'2', b'E', b'L', b'I', b'F', b'R', b'E', b'P', ..] => {
            "a big-endian perf.data, which this version does not read"
        }
        [b'P', b'E', b'R', b'F', b'F', b'I', b'L', b'E', ..] => {
            "a perf.data of version 1 (perf before 2.6.34), which this version does not read"
        }
        [0x17, 0x08, 0x44, b't', b'r', b'a', b'c', ..] => "a trace-cmd trace.dat, which this version does not read",
        [0x1f, 0x8b, ..] => "gzip-compressed; gunzip it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd-compressed; unzstd it first",
        _ => return bad!("not a capture: the file starts with {:02x?} where perf.data has 'PERFILE2'", &start[..8]),
    };
    bad!("not readable: {hint}")
}

impl Gathered {
    fn read_file(&mut self, file: &Arc<File>, length: u64, directory: bool) -> Result<(Mode, Part, bool)> {
        let header = read_at(file, 0, 104)?.and_then(|bytes| FileHeader::parse(&bytes));
        let header =
            header.ok_or_else(|| bad!("perf.data header cut short: the file has {length} bytes, the header 104"))?;
        self.read_attrs(file, &header)?;
        // A directory's main file may hold no records of its own and still be finished.
        let finished = header.data.size != 0 || directory;
        let end = if finished { header.data.end().min(length) } else { length };
        if header.data.end() > length {
            self.cut = true;
            self.notes.push(format!(
                "file cut short: its data should end at byte {}, the file does at {length}; whole records are kept",
                header.data.end()
            ));
        }
        if finished {
            self.read_features(file, &header)?;
        } else {
            self.notes.push("the recording was never finished (data size 0): records are read to the end of the file, event formats may be missing".into());
        }
        let start = header.data.offset.min(end);
        Ok((Mode::File, Part { file: Arc::clone(file), start, end }, finished))
    }

    fn read_attrs(&mut self, file: &File, header: &FileHeader) -> Result<()> {
        let damaged = || {
            bad!(
                "perf.data attr table damaged: {} bytes of {}-byte entries at offset {}",
                header.attrs.size,
                header.attr_size,
                header.attrs.offset
            )
        };
        if header.attr_size < 64 + 16 || header.attr_size > 1 << 16 || header.attrs.size > MOST_ATTR_BYTES {
            return Err(damaged());
        }
        let table = read_at(file, header.attrs.offset, header.attrs.size as usize)?.ok_or_else(damaged)?;
        let mut bytes_of_ids = 0u64;
        for entry in table.chunks_exact(header.attr_size as usize) {
            let attr = Attr::parse(entry).ok_or_else(damaged)?;
            let ids = Section::parse(entry, entry.len() - 16).ok_or_else(damaged)?;
            bytes_of_ids = bytes_of_ids.saturating_add(ids.size);
            let ids = if bytes_of_ids > MOST_ID_BYTES { None } else { read_at(file, ids.offset, ids.size as usize)? };
            self.attrs.push((attr, words(&ids.ok_or_else(damaged)?)));
        }
        Ok(())
    }

    fn read_features(&mut self, file: &File, header: &FileHeader) -> Result<()> {
        let table = read_at(file, header.data.end(), header.features.len() * 16)?;
        let mut left_out: Vec<String> = Vec::new();
        for (index, &feature) in header.features.iter().enumerate() {
            let section = table.as_ref().and_then(|table| Section::parse(table, index * 16));
            if !Features::wants(feature) {
                continue;
            }
            match section.filter(|section| section.size <= 1 << 28) {
                Some(section) => match read_at(file, section.offset, section.size as usize)? {
                    Some(bytes) => self.features.read(feature, &bytes),
                    None => left_out.push(feature.to_string()),
                },
                None => left_out.push(feature.to_string()),
            }
        }
        if !left_out.is_empty() {
            self.notes
                .push(format!("header features {} lie outside the file or are damaged: left out", left_out.join(", ")));
        }
        Ok(())
    }

    /// Reads a stream's own records up to its first sample.
    fn read_pipe(&mut self, file: &Arc<File>, length: u64) -> Result<Part> {
        let mut window = Window::new(file, 16, length);
        while let Some((kind, size)) = record::header(window.peek(8)?) {
            if size < 8 || matches!(kind, kind::SAMPLE | kind::COMPRESSED | kind::COMPRESSED2) {
                break;
            }
            let bytes = window.peek(size)?;
            let Some(bytes) = bytes.get(..size) else { break };
            let mut skip = size as u64;
            match kind {
                kind::HEADER_ATTR => self.pipe_attr(bytes),
                kind::EVENT_UPDATE if u64_at(bytes, 8) == Some(2) => {
                    self.names.extend(u64_at(bytes, 16).map(|id| (id, text(&bytes[24.min(size)..]))));
                }
                kind::HEADER_FEATURE => {
                    let feature = u64_at(bytes, 8).and_then(|feature| usize::try_from(feature).ok());
                    self.features.read(feature.unwrap_or(usize::MAX), &bytes[16.min(size)..]);
                }
                kind::AUXTRACE => skip = skip.saturating_add(u64_at(bytes, 8).unwrap_or(0)),
                kind::TRACING_DATA => {
                    let extra = u32_at(bytes, 8).unwrap_or(0);
                    skip += u64::from(extra);
                    let at = window.offset() + size as u64;
                    if let Some(section) = read_at(file, at, extra as usize)? {
                        self.features.read(1, &section);
                    } else {
                        self.notes.push(format!("event formats cut short at byte {at}"));
                    }
                }
                _ => {}
            }
            window.advance(skip)?;
        }
        Ok(Part { file: Arc::clone(file), start: 16, end: length })
    }

    fn pipe_attr(&mut self, bytes: &[u8]) {
        let Some(attr) = bytes.get(8..).and_then(Attr::parse) else { return };
        let size = u32_at(bytes, 12).map_or(64, |size| if size == 0 { 64 } else { size as usize });
        self.attrs.push((attr, words(bytes.get(8 + size..).unwrap_or_default())));
    }

    fn finish(mut self, mode: Mode, finished: bool, parts: Vec<Part>) -> Result<Recording> {
        if self.attrs.is_empty() {
            return Err(bad!("no events: the perf.data header names none, so no sample can be read"));
        }
        self.notes.extend(self.features.tracing.problem.take());
        let mut ids = Ids::default();
        let formats = std::mem::take(&mut self.features.tracing.formats).into_iter();
        let formats: FxHashMap<u64, Arc<Format>> = formats.map(|format| (format.id, Arc::new(format))).collect();
        let described = self.features.event_desc.iter();
        let described_by_id: FxHashMap<u64, &String> =
            described.flat_map(|(name, ids)| ids.iter().map(move |&id| (id, name))).collect();
        let filters = self.features.filters();
        let mut events = Vec::new();
        for (index, (attr, own_ids)) in self.attrs.into_iter().enumerate() {
            for &id in &own_ids {
                ids.add(id, index as u32);
            }
            let format = formats.get(&attr.config).filter(|_| attr.kind == TYPE_TRACEPOINT).cloned();
            let described = own_ids.first().and_then(|id| described_by_id.get(id));
            let described = described.copied().or_else(|| self.features.event_desc.get(index).map(|found| &found.0));
            let described = described.cloned();
            let updated = self.names.iter().find(|(id, _)| own_ids.contains(id)).map(|found| found.1.clone());
            let name = format.as_ref().map(|format| format.full_name());
            let name = name
                .or(described)
                .or(updated)
                .unwrap_or_else(|| format!("type {} config {:#x}", attr.kind, attr.config));
            let filter = filters.iter().find(|(event, _)| fits(event, &name)).map(|found| found.1.clone());
            events.push(Event { name, layout: attr.layout(), attr, format, filter });
        }
        ids.seal();
        Ok(Recording { mode, finished, cut: self.cut, events, ids, features: self.features, parts, notes: self.notes })
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|word| u64_at(word, 0)).collect()
}

impl Recording {
    /// The clock of the timestamps, by the kernel's name in lower case without `CLOCK_`;
    /// `perf` for perf's own (`local_clock`, usually the scheduler's).
    pub fn clock(&self) -> &'static str {
        let attr_clock = self.events.iter().find_map(|event| event.attr.clockid);
        match attr_clock.or(self.features.clockid.map(|clock| clock as i32)) {
            None => "perf",
            Some(0) => "realtime",
            Some(1) => "monotonic",
            Some(4) => "monotonic_raw",
            Some(7) => "boottime",
            Some(11) => "tai",
            Some(_) => "unknown",
        }
    }

    /// The event a record belongs to, by the id where it keeps one.
    #[inline(always)]
    pub fn event_of_sample(&self, bytes: &[u8]) -> Option<u32> {
        if self.events.len() == 1 {
            return Some(0);
        }
        let at = self.events[0].layout.id?;
        self.ids.find(u64_at(slice(bytes, at, 8)?, 0)?)
    }
}
