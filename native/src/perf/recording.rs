//! A perf.data, opened: everything that is known before the first sample.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::bytes::{slice, Order};
use crate::error::{bad, Result};
use crate::host::{Host, Session};
use crate::perf::attr::Attr;
use crate::perf::gather::gather;
use crate::perf::header::Features;
use crate::perf::ids::Ids;
use crate::perf::layout::sample;
use crate::perf::layout::Layout;
use crate::perf::samples::samples;
use crate::progress::Progress;
use crate::recording::{Event, Recording, Source, Unit};
use crate::visit::{Tally, Visitor};

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

/// A recording, opened: header, events and formats are known; samples have not been read.
#[derive(Debug)]
pub struct PerfData {
    /// How the records are stored.
    pub mode: Mode,
    /// Version of the file's layout, 1 or 2.
    pub version: u8,
    /// Byte order of the recorder.
    pub order: Order,
    /// Whether the recorder closed the file properly.
    pub finished: bool,
    /// Whether the file ends before its header says so.
    pub cut: bool,
    /// How each event was recorded.
    pub attrs: Vec<Attr>,
    /// Where each event's samples keep what.
    pub layouts: Vec<Layout>,
    /// The same events as every format has them.
    pub events: Arc<Vec<Event>>,
    /// Sample id to event.
    pub ids: Ids,
    /// What the features say.
    pub features: Features,
    /// Where the records are.
    pub parts: Vec<Part>,
    /// Peculiarities met while opening.
    pub notes: Vec<String>,
    /// Where samples keep their event's id; the same for all that have one.
    pub id_at: Option<usize>,
    /// Whether all events' samples and trailers are laid out alike.
    pub uniform: bool,
    /// Tracepoints by the number in their payload.
    pub by_common_type: FxHashMap<u64, u32>,
}

impl PerfData {
    /// Reads the headers of an open file.
    pub fn from_file(file: Arc<File>) -> Result<PerfData> {
        gather(file, None)
    }

    /// Reads the folder that `perf record --threads` made.
    pub fn from_directory(path: &Path) -> Result<PerfData> {
        let main = path.join("data");
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
        let missing =
            (0..).zip(&extra).find(|(expected, (number, _))| expected != number).map(|(expected, _)| expected);
        let files = extra.into_iter().map(|(_, path)| File::open(path)).collect::<std::io::Result<Vec<File>>>()?;
        let count = files.len();
        let mut recording = gather(Arc::new(File::open(main)?), Some(files))?;
        let one_each = recording.features.cmdline.iter().flatten().any(|argument| argument == "--threads");
        let expected = recording.features.nr_cpus.filter(|_| one_each).map_or(count, |(_, online)| online as usize);
        if let Some(number) = missing.or((count < expected).then_some(count as u32)) {
            recording.cut = true;
            recording.notes.push(format!("data.{number} is missing in the folder: the events of its CPU are lost"));
        }
        Ok(recording)
    }
}

impl PerfData {
    /// The clock of the timestamps, by the kernel's name in lower case without `CLOCK_`;
    /// `perf` for perf's own (`local_clock`, usually the scheduler's).
    pub fn clock(&self) -> &'static str {
        match self.attrs.iter().find_map(|attr| attr.clockid) {
            None => "perf",
            Some(0) => "realtime",
            Some(1) => "monotonic",
            Some(4) => "monotonic_raw",
            Some(7) => "boottime",
            Some(11) => "tai",
            Some(_) => "unknown",
        }
    }

    /// The event a sample belongs to, by the id where it keeps one.
    #[inline(always)]
    pub fn event_of_sample(&self, bytes: &[u8], order: Order) -> Option<u32> {
        if self.events.len() == 1 {
            return Some(0);
        }
        let id = self.id_at.and_then(|at| order.u64(bytes, at));
        match id.and_then(|id| self.ids.find(id)) {
            Some(event) => Some(event),
            None => self.event_without_id(bytes, id, order),
        }
    }

    /// Recorders that kept no ids leave the payload to tell; perf's own additions have id 0 and
    /// stand for the first event.
    #[cold]
    fn event_without_id(&self, bytes: &[u8], id: Option<u64>, order: Order) -> Option<u32> {
        let layout = self.layouts.first().filter(|_| self.uniform)?;
        let common_type = layout.parts(bytes, order).0.raw.and_then(|(at, _)| order.u16(bytes, at));
        let by_type = common_type.and_then(|number| self.by_common_type.get(&number.into()).copied());
        by_type.or(id.filter(|&id| id == 0).map(|_| 0))
    }

    /// How the end of a record that is no sample is laid out.
    #[inline]
    pub fn layout_of_trailer(&self, bytes: &[u8], order: Order) -> Layout {
        let first = self.layouts[0];
        if self.uniform {
            return first;
        }
        let at = first.trailer_id.and_then(|back| bytes.len().checked_sub(back)).filter(|&at| at >= 8);
        let event = at.and_then(|at| self.ids.find(order.u64(slice(bytes, at, 8)?, 0)?));
        event.and_then(|event| self.layouts.get(event as usize)).copied().unwrap_or(first)
    }
}

impl Source for PerfData {
    fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        self.walk_records(visitor)
    }

    fn samples(&self, name: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<Option<RecordBatch>> {
        samples(self, name, limit, progress).map(Some)
    }

    fn may_repeat(&self) -> bool {
        true
    }

    fn is_whole(&self, event: u32, record: &[u8]) -> bool {
        // The payload's size tells of all others.
        const BEFORE_RAW: u64 = sample::READ | sample::CALLCHAIN;
        const FIXED: u64 = (sample::RAW - 1) | sample::RAW | sample::IDENTIFIER;
        let layout = &self.layouts[event as usize];
        layout.sample_type & (BEFORE_RAW | !FIXED) == 0 || layout.parts(record, Order::Little).1
    }
}

impl From<PerfData> for Recording {
    fn from(mut perf: PerfData) -> Recording {
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
            source: Box::new(perf),
        }
    }
}
