//! What a pass over a recording shows, whatever its format: samples, the records between them, and what else it met.

use std::ops::ControlFlow;

use crate::progress::flow;

/// More CPUs than any kernel supports. A larger number is damage, or perf's -1 for "unknown".
pub const MAX_CPUS: u32 = 1 << 16;

/// One sample. Positions count from the start of its block of records.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Index of the event in the recording's list.
    pub event: u32,
    /// Time on the capture's clock; 0 if the event has none (`Event::has_time`).
    pub time_ns: i64,
    /// CPU; 0 if the event has none (`Event::has_cpu`).
    pub cpu: u32,
    /// Start of the tracepoint's payload.
    pub raw: u32,
    /// Size of the payload, in bytes; 0 if there is none.
    pub raw_size: u32,
    /// Start of the record.
    pub record: u32,
    /// Size of the record, in bytes.
    pub record_size: u32,
    /// Whether a guest was running.
    pub in_guest: bool,
}

impl Sample {
    /// The tracepoint's payload.
    #[inline(always)]
    pub fn payload<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        crate::bytes::slice(block, self.raw as usize, self.raw_size as usize).unwrap_or_default()
    }

    /// The whole record.
    #[inline(always)]
    pub fn bytes<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        crate::bytes::slice(block, self.record as usize, self.record_size as usize).unwrap_or_default()
    }
}

/// A record that is not a sample, with the trailer's time and CPU if it has them.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// `PERF_RECORD_*`; 0 in other formats.
    pub kind: u32,
    /// The record without its trailer.
    pub bytes: &'a [u8],
    /// Whether a guest was running.
    pub guest: bool,
    /// Time of the record.
    pub time_ns: Option<i64>,
    /// CPU whose ring held it.
    pub cpu: Option<u32>,
    /// The contents, for the kinds that are read.
    pub what: What,
}

impl Side<'static> {
    /// A side record for formats other than perf's.
    pub fn of(what: What, time_ns: Option<i64>, cpu: Option<u32>) -> Side<'static> {
        Side { kind: 0, bytes: &[], guest: false, time_ns, cpu, what }
    }
}

/// Contents of the side records that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A task got a name (`exec` if by exec rather than prctl).
    Comm {
        /// Thread id.
        tid: i32,
        /// New name.
        comm: String,
    },
    /// The recorder knew a task by this name, at an unknown time.
    Known {
        /// Thread id.
        tid: i32,
        /// Its name.
        comm: String,
    },
    /// A task was created.
    Fork {
        /// The new thread.
        tid: i32,
        /// The thread that created it.
        parent: i32,
    },
    /// The ring had no room for this many samples here.
    Lost(u64),
    /// An unknown number of samples was lost here.
    LostUnknown,
    /// The ring kept this CPU's newest events, which begin here, and dropped this many before; 0 if not counted.
    Overwritten(u64),
    /// Parts of the recording here could not be read. They may have been samples.
    PassedOver,
    /// Total of lost samples, without a place.
    LostSamples(u64),
    /// An event was throttled (true) or resumed (false); its index.
    Throttle(bool, Option<u32>),
    /// End of one pass over all rings.
    Round,
    /// Anything else.
    Other,
}

impl What {
    /// Whether samples after it cannot repeat samples before it.
    pub fn ends_repeats(&self) -> bool {
        !matches!(
            self,
            What::Known { .. } | What::Fork { .. } | What::Throttle(..) | What::LostSamples(_) | What::Other
        )
    }

    /// Whether it marks a time at which something is missing or begins. That is a time within the recording.
    pub fn is_place(&self) -> bool {
        use What::{Lost, LostUnknown, Overwritten, PassedOver, Throttle};
        matches!(self, Lost(_) | LostUnknown | Overwritten(_) | PassedOver | Throttle(..))
    }
}

/// The receiver of what a pass shows.
pub trait Visitor {
    /// Whether samples should come in order of time if the format allows it, rather than many of one CPU in sequence.
    fn by_time(&self) -> bool {
        false
    }
    /// The CPUs whose samples are wanted, ascending, if others may be left out: a format may store CPUs separately.
    fn cpus(&self) -> Option<&[u32]> {
        None
    }
    /// Samples without another record between them, in a block of whole records. `Break` ends the pass.
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()>;
    /// A record that is not a sample.
    fn side(&mut self, _side: &Side<'_>) {}
    /// The bytes of `block` are about to be dropped.
    fn block_end(&mut self, _block: &[u8]) {}
    /// Called now and then with the fraction done; `Break` ends the pass.
    fn progress(&mut self, _fraction: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Collects samples into batches. A pass is compiled once, not once per visitor, and makes one dynamic call per batch.
pub struct Feed<'v> {
    visitor: &'v mut dyn Visitor,
    waiting: Vec<Sample>,
    enough: bool,
}

impl<'v> Feed<'v> {
    /// Samples per batch: few enough to stay in the first-level cache.
    const AT_ONCE: usize = 256;

    pub fn new(visitor: &'v mut dyn Visitor) -> Feed<'v> {
        Feed { visitor, waiting: Vec::with_capacity(Self::AT_ONCE), enough: false }
    }

    /// See `Visitor::by_time`.
    pub fn by_time(&self) -> bool {
        self.visitor.by_time()
    }

    /// See `Visitor::cpus`.
    pub fn wants(&self, cpu: u32) -> bool {
        self.visitor.cpus().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
    }

    /// Adds a sample in `block`, to be shown in a batch. `Break` ends the pass.
    #[inline(always)]
    pub fn sample(&mut self, block: &[u8], sample: Sample) -> ControlFlow<()> {
        self.waiting.push(sample);
        match self.waiting.len() < Self::AT_ONCE && !self.enough {
            true => ControlFlow::Continue(()),
            false => self.show(block),
        }
    }

    fn show(&mut self, block: &[u8]) -> ControlFlow<()> {
        if !self.enough && !self.waiting.is_empty() {
            self.enough = self.visitor.samples(block, &self.waiting).is_break();
        }
        self.waiting.clear();
        flow(!self.enough)
    }

    /// Shows a record that is not a sample, after the samples of `block` so far.
    pub fn side(&mut self, block: &[u8], side: &Side<'_>) {
        if self.show(block).is_continue() {
            self.visitor.side(side);
        }
    }

    /// The bytes of `block` are about to be dropped. `Break` ends the pass.
    pub fn block_end(&mut self, block: &[u8]) -> ControlFlow<()> {
        let flow = self.show(block);
        self.visitor.block_end(block);
        flow
    }

    /// See `Visitor::progress`. With damaged sizes, more may be read than was expected.
    pub fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        self.visitor.progress(fraction.min(1.0))
    }
}

/// What a pass counted besides what it showed.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Records by the name of their type.
    pub records: std::collections::BTreeMap<String, u64>,
    /// Samples whose event or fields could not be found.
    pub unreadable: u64,
    /// Most of a CPU's samples are earlier than the one before. Only lines of text can be in such an order.
    pub reversed: bool,
    /// Where and why reading stopped early. Without notes, all records were read.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        batches: Vec<usize>,
        sides: Vec<usize>,
        done: f64,
    }

    impl Visitor for Seen {
        fn samples(&mut self, _block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
            self.batches.push(samples.len());
            flow(self.batches.len() < 3)
        }

        fn side(&mut self, _side: &Side<'_>) {
            self.sides.push(self.batches.iter().sum());
        }

        fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
            self.done = fraction;
            ControlFlow::Continue(())
        }
    }

    const SAMPLE: Sample =
        Sample { event: 0, time_ns: 0, cpu: 0, raw: 0, raw_size: 0, record: 0, record_size: 0, in_guest: false };

    #[test]
    fn a_side_record_comes_after_the_samples_before_it() {
        let mut seen = Seen::default();
        let mut feed = Feed::new(&mut seen);
        assert!((0..Feed::AT_ONCE + 1).all(|_| feed.sample(&[], SAMPLE).is_continue()));
        feed.side(&[], &Side::of(What::Round, None, None));
        assert!(feed.progress(1.0046).is_continue());
        assert!(feed.sample(&[], SAMPLE).is_continue());
        // The visitor stops at the third batch, so nothing is shown after it.
        assert!(feed.block_end(&[]).is_break());
        assert!(feed.sample(&[], SAMPLE).is_break());
        feed.side(&[], &Side::of(What::Round, None, None));
        assert_eq!((seen.batches, seen.sides), (vec![Feed::AT_ONCE, 1, 1], vec![Feed::AT_ONCE + 1]));
        assert_eq!(seen.done, 1.0);
    }
}
