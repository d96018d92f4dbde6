//! A capture of any format, opened: what is known before its first event, and the pass over it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::format::Format;
use crate::host::{Buffer, Host, Session};
use crate::input::{open, read_at, read_up_to};
use crate::perf::attr::{Attr, TYPE_TRACEPOINT};
use crate::perf::command::follows_tasks;
use crate::perf::header::Magic;
use crate::perf::layout::Layout;
use crate::perf::recording::{Mode, PerfData};
use crate::progress::Waiting;
use crate::ring::{Clock, Ring, Unit};
use crate::text::encoding::plain;
use crate::text::{looks_like, Text, LOOKED_AT};
use crate::visit::{Tally, Visitor};
use crate::wrapped::unwrapped;
use crate::{tracedat, tracefs};

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

/// A capture, opened.
#[derive(Debug)]
pub struct Recording {
    /// `perf.data`, `trace.dat`, `tracefs` or `text`.
    pub format: &'static str,
    /// `file`, `pipe` or `directory`; of a text, who wrote it.
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
    /// What times count.
    pub unit: Unit,
    /// The least distance between times.
    pub resolution_ns: u64,
    /// Peculiarities met while opening.
    pub notes: Vec<String>,
    /// Buffers (ftrace instances) that the capture holds.
    pub buffers: Vec<Buffer>,
    /// The one that is read; empty for the top one.
    pub buffer: String,
    /// The tracing session, where several captures belong to one.
    pub session: Session,
    /// Where the events come from.
    pub source: Source,
}

/// Where a capture's events come from.
#[derive(Debug)]
pub enum Source {
    /// Records of perf.
    Perf(PerfData),
    /// Pages of ftrace's rings.
    Ring(Ring),
    /// Lines of text.
    Text(Text),
}

impl Recording {
    /// Opens a file, a folder that `perf record --threads` made, a copy of tracefs, or `-` for
    /// standard input. `buffer` names one of several ftrace instances, the top one where `None`. `waiting`:
    /// asked while input is waited for.
    pub fn open(path: &str, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
        if path == "-" {
            return Self::from_unwrapped(None, buffer, waiting);
        }
        let folder = Path::new(path);
        if !folder.is_dir() {
            return Self::from_unwrapped(Some(Arc::new(open(folder)?)), buffer, waiting);
        }
        if folder.join("data").is_file() {
            refuse_buffer("a perf.data", buffer)?;
            return Ok(of_perf(PerfData::from_directory(folder)?));
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
            "no capture here: {found}; expected a capture file, a perf.data folder (with 'data' inside), a copy of tracefs (with header_page and per_cpu) or a bundle (with manifest.json)"
        ))
    }

    /// Reads the headers of an open file.
    pub fn from_file(file: Arc<File>) -> Result<Recording> {
        Self::from_unwrapped(Some(file), None, &mut || true)
    }

    fn from_unwrapped(file: Option<Arc<File>>, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
        let (file, wrapping) = unwrapped(file, waiting)?;
        let mut recording = Self::of_format(file, buffer, waiting)?;
        if let Some(wrapping) = wrapping {
            recording.cut |= wrapping.problem.is_some();
            recording.notes.extend(wrapping.problem);
            recording.wrapping = Some(wrapping.name);
        }
        Ok(recording)
    }

    fn of_format(file: Arc<File>, buffer: Option<&str>, waiting: Waiting<'_>) -> Result<Recording> {
        let length = file.metadata()?.len();
        let Some(start) = read_at(&file, 0, 16)? else {
            return Err(bad!("not a capture: the file has {length} bytes, too few for any header"));
        };
        if Magic::parse(&start).is_some() {
            refuse_buffer("a perf.data", buffer)?;
            return Ok(of_perf(PerfData::from_file(file)?));
        }
        if start.starts_with(tracedat::MAGIC) {
            return tracedat::open(file, buffer);
        }
        let (file, notes) = plain(file, waiting)?;
        if looks_like(&read_up_to(&file, LOOKED_AT)?) {
            let mut recording = of_text(Text::open(file, buffer)?);
            recording.notes.splice(0..0, notes);
            return Ok(recording);
        }
        const ACCEPTED: &str =
            "perf.data, trace.dat, and the text of perf script, trace-cmd report and ftrace are read";
        Err(match kind_of(&start) {
            Some(kind) => bad!("not a capture: {kind}; {ACCEPTED}"),
            None => bad!("not a capture: the file starts with {:02x?}; {ACCEPTED}", &start[..8]),
        })
    }

    /// Says how many cycles of the clock make a second, where the capture does not.
    pub fn set_cycles_per_s(&mut self, hertz: u64) -> Result<()> {
        match &mut self.source {
            Source::Ring(ring) if self.unit == Unit::Cycles => {
                ring.clock.tsc = Some(Clock::tsc_of(hertz));
                self.unit = ring.clock.unit();
                self.notes.push(format!("clock {} counts cycles: {hertz} a second, as given", self.clock));
                Ok(())
            }
            _ => Err(bad!(
                "cycles a second are for a trace.dat or a copy of tracefs whose clock counts cycles of unknown length: clock {} counts {}",
                self.clock,
                if self.unit == Unit::Nanoseconds { "ns" } else { "an order alone" }
            )),
        }
    }

    /// Shows every event to `visitor`.
    pub fn walk<V: Visitor>(&self, visitor: &mut V) -> Result<Tally> {
        match &self.source {
            Source::Perf(perf) => perf.walk(visitor),
            Source::Text(text) => text.walk(visitor),
            Source::Ring(ring) => ring.walk(&self.events, visitor),
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
            Source::Ring(_) | Source::Text(_) => None,
        }
    }

    /// Whether this event is a tracepoint.
    pub fn is_tracepoint(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|event| event.attr.kind == TYPE_TRACEPOINT)
    }
}

/// Most captures are of one buffer, the top one.
fn refuse_buffer(kind: &str, buffer: Option<&str>) -> Result<()> {
    match buffer.filter(|buffer| !buffer.is_empty()) {
        Some(buffer) => Err(bad!("no buffer '{buffer}': {kind} has no ftrace instances")),
        None => Ok(()),
    }
}

/// What a file that is no capture may be, by its first bytes.
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
        uname: None,
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
        unit: Unit::Nanoseconds,
        resolution_ns: 1,
        buffers: Vec::new(),
        buffer: String::new(),
        session: Session::default(),
        source: Source::Perf(perf),
    }
}

/// A text as a recording.
pub fn of_text(mut text: Text) -> Recording {
    Recording {
        format: "text",
        mode: text.writer,
        version: 0,
        unit: if text.resolution_ns.is_some() { Unit::Nanoseconds } else { Unit::Order },
        resolution_ns: text.resolution_ns.map_or(1, u64::from),
        buffers: std::mem::take(&mut text.buffers),
        buffer: text.buffer.clone(),
        session: Session::default(),
        order: Order::Little,
        compressed: false,
        wrapping: None,
        finished: true,
        cut: false,
        events: Arc::clone(&text.events),
        clock: text.clock.take().unwrap_or_else(|| "unknown".to_owned()),
        follows_tasks: text.host.cmdline.as_deref().is_some_and(follows_tasks),
        host: std::mem::take(&mut text.host),
        notes: std::mem::take(&mut text.notes),
        source: Source::Text(text),
    }
}
