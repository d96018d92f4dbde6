//! A perf.data, opened: everything that is known before the first sample.

use std::fs::File;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::{slice, Order};
use crate::perf::attr::Attr;
use crate::perf::header::{Features, Section};
use crate::perf::ids::Ids;
use crate::perf::layout::Layout;
use crate::recording::Event;
use crate::watched::Watched;

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

/// What stands before and behind the records of a file.
#[derive(Debug, Default)]
pub struct Around {
    /// Its header and the table of events, then their ids and names by number.
    pub before: Vec<Section>,
    /// Where records should begin; a stream may have features there first, as records of other types.
    pub records_at: u64,
    /// The parts of the header behind them by their numbers, and where each is.
    pub features: Vec<(usize, Option<Section>)>,
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
    /// Whether a sample of each event is whole where its payload has the size that its format tells.
    pub size_tells: Vec<bool>,
    /// The same events as every format has them.
    pub events: Arc<Vec<Event>>,
    /// Sample id to event.
    pub ids: Ids,
    /// What the features say.
    pub features: Features,
    /// What is around them in the first file.
    pub around: Around,
    /// Where the records are.
    pub parts: Vec<Part>,
    /// The files of a folder, where it is one.
    pub files: Vec<Watched>,
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
