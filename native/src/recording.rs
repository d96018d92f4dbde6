//! What every format says about a capture before its first event, and the source of its events.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::bytes::Order;
use crate::chains::{Chains, Selection, Sums, Wanted};
use crate::error::{bad, Error, Result};
use crate::format::Format;
use crate::host::{Buffer, Host, Session};
use crate::progress::Progress;
use crate::visit::{Tally, Visitor};
use crate::watched::{unchanged, Watched};

/// perf's `PERF_TYPE_TRACEPOINT`.
pub const TYPE_TRACEPOINT: u32 = 2;

/// The unit of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles of a length that the capture does not give.
    Cycles,
    /// An order of events, without durations.
    Order,
}

/// How often an event was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Number of occurrences per sample.
    Period(u64),
    /// Target rate in samples per second; 0 if unknown.
    Frequency(u64),
}

/// One event of the recording.
#[derive(Debug, Clone)]
pub struct Event {
    /// `irq:softirq_entry`, `cycles`, or type and number if no name was recorded.
    pub name: String,
    /// perf's `PERF_TYPE_*`; `u32::MAX` for texts that do not give it.
    pub kind: u32,
    /// Its number among events of its kind. A tracepoint's is the ID of its format. In texts they count from 1.
    pub config: u64,
    /// How often it was recorded.
    pub rate: Rate,
    /// Whether samples have a time.
    pub has_time: bool,
    /// Whether samples have a CPU.
    pub has_cpu: bool,
    /// Whether samples have call chains.
    pub has_callchain: bool,
    /// Whether samples carry the tracepoint's payload.
    pub has_payload: bool,
    /// Whether it followed one command instead of whole CPUs.
    pub follows_command: bool,
    /// Whether each ring's records are stored newest first.
    pub newest_first: bool,
    /// Fields of the payload; tracepoints only.
    pub format: Option<Arc<Format>>,
    /// The filter set on the recorder's command line.
    pub filter: Option<String>,
    /// Process id of the guest in which it was recorded, if `perf inject` merged it into the host's recording.
    pub guest: Option<i32>,
}

impl Event {
    /// A tracepoint recorded on all CPUs at every occurrence.
    pub fn of_format(format: Format) -> Event {
        Event {
            name: format.full_name(),
            kind: TYPE_TRACEPOINT,
            config: format.id,
            rate: Rate::Period(1),
            has_time: true,
            has_cpu: true,
            has_callchain: false,
            has_payload: true,
            follows_command: false,
            newest_first: false,
            format: Some(Arc::new(format)),
            filter: None,
            guest: None,
        }
    }

    /// Whether this event is a tracepoint.
    pub fn is_tracepoint(&self) -> bool {
        self.kind == TYPE_TRACEPOINT
    }

    /// Whether some occurrences were not recorded: by frequency, or by a period above one.
    pub fn is_sampled(&self) -> bool {
        !matches!(self.rate, Rate::Period(0 | 1))
    }
}

/// A capture, opened.
#[derive(Debug)]
pub struct Recording {
    /// `perf.data`, `trace.dat`, `tracefs` or `text`.
    pub format: &'static str,
    /// `file`, `pipe` or `directory`; for a text, its writer.
    pub mode: &'static str,
    /// Version of the format.
    pub version: u32,
    /// Byte order of the recorder.
    pub order: Order,
    /// Whether events are compressed.
    pub compressed: bool,
    /// Compression of the file as a whole.
    pub wrapping: Option<&'static str>,
    /// Whether the recorder closed the file properly.
    pub finished: bool,
    /// Whether the file ends before its header says so.
    pub cut: bool,
    /// Every recorded event.
    pub events: Arc<Vec<Event>>,
    /// The machine and the recorder.
    pub host: Host,
    /// The clock of the timestamps, by its kernel name.
    pub clock: String,
    /// Whether the recorder was told to follow tasks rather than CPUs.
    pub follows_tasks: bool,
    /// The unit of times.
    pub unit: Unit,
    /// The resolution of times.
    pub resolution_ns: u64,
    /// Peculiarities met while opening.
    pub notes: Vec<String>,
    /// Buffers (ftrace instances) that the capture holds.
    pub buffers: Vec<Buffer>,
    /// The buffer that is read; empty for the top one.
    pub buffer: String,
    /// The tracing session, if several captures belong to one.
    pub session: Session,
    /// The files that every pass reads.
    pub files: Vec<Watched>,
    /// Where the events come from.
    pub source: Box<dyn Source>,
}

/// The source of a capture's events.
pub trait Source: Debug + Send + Sync {
    /// Shows every event to `visitor`.
    fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally>;

    /// The samples of the events of this name, if addresses and call chains were kept.
    fn samples(&self, _name: &str, _limit: Option<usize>, _progress: Progress<'_>) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// The same samples with each distinct chain once, if possible.
    fn chains(&self, _wanted: Wanted<'_>, _progress: Progress<'_>) -> Result<Option<Chains<RecordBatch>>> {
        Ok(None)
    }

    /// Sums of some of them by chain, if possible.
    fn sums(&self, _wanted: Wanted<'_>, _of: Selection, _progress: Progress<'_>) -> Result<Option<Chains<Sums>>> {
        Ok(None)
    }

    /// Whether the recorder may have written a record twice at the end of a flush.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Whether a sample's record has all fields of its event.
    fn is_whole(&self, _event: u32, _record: &[u8]) -> bool {
        true
    }

    /// The recorder ran in a rolling buffer until told to keep it: what a ring lost before its oldest event is no loss.
    fn set_rolling(&mut self) {}

    /// Converts cycles of the clock to nanoseconds at this frequency; false if the source cannot.
    fn set_cycles_per_s(&mut self, _hertz: u64) -> bool {
        false
    }
}

impl Recording {
    /// Shows every event to `visitor`.
    pub fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        unchanged(&self.files, self.source.walk(visitor))
    }

    /// The samples of the events of this name as a table with addresses and call chains, `limit` at most.
    pub fn samples(&self, name: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<RecordBatch> {
        let format = self.format;
        unchanged(&self.files, self.source.samples(name, limit, progress))?.ok_or_else(|| {
            bad!(Missing, "a {format} capture has no samples with addresses and callchains: its events are in events()")
        })
    }

    /// The same samples with each distinct chain once.
    pub fn chains(&self, wanted: Wanted<'_>, progress: Progress<'_>) -> Result<Chains<RecordBatch>> {
        unchanged(&self.files, self.source.chains(wanted, progress))?.ok_or_else(|| self.without_stacks())
    }

    /// Sums of some of them, by chain.
    pub fn sums(&self, wanted: Wanted<'_>, of: Selection, progress: Progress<'_>) -> Result<Chains<Sums>> {
        unchanged(&self.files, self.source.sums(wanted, of, progress))?.ok_or_else(|| self.without_stacks())
    }

    fn without_stacks(&self) -> Error {
        bad!(Missing, "a {} capture has no samples with addresses: they have no stacks", self.format)
    }

    /// Declares that the recorder ran in a rolling buffer, so overwriting is no loss, where the recording does not say.
    pub fn set_rolling(&mut self) {
        self.source.set_rolling();
    }

    /// Sets the clock's cycles per second, if the capture does not give them.
    pub fn set_cycles_per_s(&mut self, hertz: u64) -> Result<()> {
        if self.unit != Unit::Cycles || !self.source.set_cycles_per_s(hertz) {
            return Err(bad!(
                Refused, "cycles per second (--tsc-hz) apply only to a trace.dat or a copy of tracefs whose clock counts cycles of unknown length: clock {} counts {}",
                self.clock,
                if self.unit == Unit::Nanoseconds { "ns" } else { "an order alone" }
            ));
        }
        self.unit = Unit::Nanoseconds;
        self.notes.push(format!("clock {} counts cycles: {hertz} per second, as given", self.clock));
        Ok(())
    }
}
