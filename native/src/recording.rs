//! A capture of any format, opened: what is known before its first event, and the pass over it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::format::Format;
use crate::input::read_at;
use crate::perf::attr::{Attr, TYPE_TRACEPOINT};
use crate::perf::header::Magic;
use crate::perf::layout::Layout;
use crate::perf::recording::{Mode, PerfData};
use crate::visit::{Tally, Visitor};
use crate::wrapped::unwrapped;

/// One event of the recording.
#[derive(Debug, Clone)]
pub struct Event {
    /// `irq:softirq_entry`, `cycles`, or type and number where no name was recorded.
    pub name: String,
    /// How it was recorded, in perf's terms; other recorders record every occurrence.
    pub attr: Attr,
    /// Where its samples keep what; perf.data only.
    pub layout: Layout,
    /// Fields of the payload; tracepoints only.
    pub format: Option<Arc<Format>>,
    /// The filter set on the recorder's command line.
    pub filter: Option<String>,
    /// Process id of the guest it was recorded in, which `perf inject` merged into the host's.
    pub guest: Option<i32>,
}

/// The machine that was recorded, and what recorded it. Recorders differ in what they note.
#[derive(Debug, Default, Clone)]
pub struct Host {
    /// Name of the recorded host.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// Version of the recorder.
    pub tool_version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs that the host has.
    pub nr_cpus: Option<u32>,
    /// The recorder's command line.
    pub cmdline: Option<Vec<String>>,
    /// Bytes of a `long`.
    pub long_bytes: Option<u8>,
    /// `/proc/kallsyms`.
    pub kallsyms: Option<String>,
}

/// A capture, opened.
#[derive(Debug)]
pub struct Recording {
    /// `perf.data`.
    pub format: &'static str,
    /// `file`, `pipe` or `directory`.
    pub mode: &'static str,
    /// Version of the format.
    pub version: u32,
    /// Byte order of the recorder.
    pub order: Order,
    /// Whether events were compressed.
    pub compressed: bool,
    /// What the file as a whole was compressed with.
    pub wrapping: Option<&'static str>,
    /// Whether the recorder closed the file properly.
    pub finished: bool,
    /// Whether the file ends before its header says so.
    pub cut: bool,
    /// Every event that was recorded.
    pub events: Arc<Vec<Event>>,
    /// Where and by what.
    pub host: Host,
    /// The clock of the timestamps, by the kernel's name.
    pub clock: String,
    /// Whether the recorder was told to follow tasks rather than CPUs.
    pub follows_tasks: bool,
    /// Peculiarities met while opening.
    pub notes: Vec<String>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Perf(PerfData),
}

impl Recording {
    /// Opens a file, a folder that `perf record --threads` made, or `-` for standard input.
    pub fn open(path: &str) -> Result<Recording> {
        if path == "-" {
            return Self::from_unwrapped(None);
        }
        let folder = Path::new(path);
        if !folder.is_dir() {
            return Self::from_file(Arc::new(File::open(path)?));
        }
        if folder.join("data").is_file() {
            return Ok(of_perf(PerfData::from_directory(folder)?));
        }
        let found = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut found: Vec<String> = found.take(4).collect();
        found.sort();
        let found = match found.is_empty() {
            true => "an empty folder".to_owned(),
            false => format!("a folder with {}", found.join(", ")),
        };
        Err(bad!(
            "no capture here: {found}; expected a perf.data file, a perf.data folder (with 'data' inside) or a bundle (with manifest.json)"
        ))
    }

    /// Reads the headers of an open file.
    pub fn from_file(file: Arc<File>) -> Result<Recording> {
        Self::from_unwrapped(Some(file))
    }

    fn from_unwrapped(file: Option<Arc<File>>) -> Result<Recording> {
        let (file, wrapping) = unwrapped(file)?;
        let mut recording = Self::of_format(file)?;
        if let Some(wrapping) = wrapping {
            recording.cut |= wrapping.problem.is_some();
            recording.notes.extend(wrapping.problem);
            recording.wrapping = Some(wrapping.name);
        }
        Ok(recording)
    }

    fn of_format(file: Arc<File>) -> Result<Recording> {
        let length = file.metadata()?.len();
        let Some(start) = read_at(&file, 0, 16)? else {
            return Err(bad!("not a capture: the file has {length} bytes, too few for a perf.data header"));
        };
        if Magic::parse(&start).is_some() {
            return Ok(of_perf(PerfData::from_file(file)?));
        }
        Err(match start[..] {
            [0x17, 0x08, 0x44, b't', b'r', b'a', b'c', ..] => {
                bad!("not readable: a trace-cmd trace.dat, which this version does not read")
            }
            _ => bad!("not a capture: the file starts with {:02x?} where perf.data has 'PERFILE2'", &start[..8]),
        })
    }

    /// Shows every event to `visitor`.
    pub fn walk<V: Visitor>(&self, visitor: &mut V) -> Result<Tally> {
        match &self.source {
            Source::Perf(perf) => perf.walk(visitor),
        }
    }

    /// Whether the recorder may have written the same record twice at the end of a flush.
    pub fn may_repeat(&self) -> bool {
        matches!(self.source, Source::Perf(_))
    }

    /// The event that perf gave this id.
    pub fn event_of_id(&self, id: u64) -> Option<u32> {
        match &self.source {
            Source::Perf(perf) => perf.ids.find(id),
        }
    }

    /// Whether this event is a tracepoint.
    pub fn is_tracepoint(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|event| event.attr.kind == TYPE_TRACEPOINT)
    }
}

fn of_perf(mut perf: PerfData) -> Recording {
    let features = &mut perf.features;
    let host = Host {
        hostname: features.hostname.take(),
        os_release: features.os_release.take(),
        tool_version: features.version.take(),
        arch: features.arch.take(),
        nr_cpus: features.nr_cpus.map(|count| count.0.max(count.1)),
        cmdline: features.cmdline.clone(),
        long_bytes: features.tracing.long_bytes,
        kallsyms: features.tracing.kallsyms.take(),
    };
    Recording {
        format: "perf.data",
        mode: match perf.mode {
            Mode::File => "file",
            Mode::Pipe => "pipe",
            Mode::Directory => "directory",
        },
        version: perf.version.into(),
        order: perf.order,
        compressed: perf.features.compressed,
        wrapping: None,
        finished: perf.finished,
        cut: perf.cut,
        events: Arc::clone(&perf.events),
        host,
        clock: perf.clock().to_owned(),
        follows_tasks: perf.features.follows_tasks(),
        notes: std::mem::take(&mut perf.notes),
        source: Source::Perf(perf),
    }
}
