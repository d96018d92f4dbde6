//! Rows of the tables, as the walk finds them. Names and devices are resolved when it is over.

use crate::chunks::Chunks;
use crate::ledger::numbered::Numbered;
use crate::ledger::thief::Class;

/// A time that is not known. Rows say it so rather than with an `Option`, which takes twice the room.
pub const ABSENT: i64 = i64::MIN;

/// The time, if it is known.
#[inline(always)]
pub fn known(time_ns: i64) -> Option<i64> {
    (time_ns != ABSENT).then_some(time_ns)
}

/// One softirq invocation. There are hundreds of thousands a second: its fields are as small as
/// their values allow.
#[derive(Debug, Clone)]
pub struct SoftirqRow {
    pub raise_ns: i64,
    pub entry_ns: i64,
    pub exit_ns: i64,
    pub self_ns: i64,
    pub poll_ns: i64,
    pub ordinal: u32,
    pub victim: u32,
    pub polls: u32,
    pub packets: u32,
    pub vec: i32,
    /// Number in `ORIGINS`.
    pub origin: u8,
    pub class: Class,
    pub in_kthread: bool,
}

/// One interrupt: a device's or a vector's.
#[derive(Debug, Clone)]
pub struct HardirqRow {
    pub entry_ns: Option<i64>,
    pub exit_ns: Option<i64>,
    pub thief: u32,
    pub victim: u32,
    pub self_ns: i64,
}

/// One NAPI poll; without a start where no begin can be known.
#[derive(Debug, Clone)]
pub struct PollRow {
    pub start_ns: i64,
    pub end_ns: i64,
    pub self_ns: i64,
    pub thief: u32,
    pub work: Option<i32>,
    pub budget: Option<i32>,
    pub softirq: Option<u32>,
    pub victim: u32,
    pub class: Class,
}

/// The time that a task was on a CPU without a break.
#[derive(Debug, Clone, Default)]
pub struct SliceRow {
    pub victim: u32,
    pub in_ns: i64,
    pub out_ns: i64,
    pub task_ns: i64,
    pub hardirq_ns: i64,
    pub softirq_ns: i64,
    pub poll_ns: i64,
    pub unknown_ns: i64,
    pub wake_ns: Option<i64>,
    pub wait_ns: Option<i64>,
    pub prev_state: Option<i64>,
    /// Softirq time by (vec, class); few per slice.
    pub by_softirq: Vec<(u8, Class, i64)>,
}

impl SliceRow {
    /// What is known of the wait for it.
    pub fn answer(&mut self, answer: &Answer) {
        (self.wake_ns, self.wait_ns) = (answer.wake_ns, Some(answer.wait_ns));
    }

    /// Whether any of it is in a window.
    pub fn is_in(&self, window: (i64, i64)) -> bool {
        self.in_ns <= window.1 && self.out_ns >= window.0
    }
}

/// Answers about one slice.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// CPU of the slice.
    pub cpu: u32,
    /// Its row among that CPU's.
    pub row: usize,
    /// When the task was woken; not if it was only preempted.
    pub wake_ns: Option<i64>,
    /// How long it was runnable before this slice.
    pub wait_ns: i64,
}

/// Why a task was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Placed while being woken.
    WakeUp,
    /// By load balancing.
    Balance,
    /// By the stopper thread: affinity, active balance.
    Stopper,
    /// By the stopper thread on exec.
    Exec,
}

impl Cause {
    /// All, by number.
    pub const ALL: [Cause; 4] = [Cause::WakeUp, Cause::Balance, Cause::Stopper, Cause::Exec];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Cause::WakeUp => "wake-up",
            Cause::Balance => "balance",
            Cause::Stopper => "stopper",
            Cause::Exec => "stopper: exec",
        }
    }
}

/// One sched_migrate_task.
#[derive(Debug, Clone)]
pub struct MigrationRow {
    pub time_ns: i64,
    /// See `Event::order`.
    pub order: u32,
    pub tid: i32,
    pub victim: u32,
    pub orig_cpu: i32,
    pub dest_cpu: i32,
    pub cause: Cause,
}

/// A stretch that the capture cannot account for.
#[derive(Debug, Clone)]
pub struct CoverageRow {
    pub start_ns: i64,
    pub end_ns: i64,
    pub why: &'static str,
    pub lost: u64,
}

impl CoverageRow {
    /// Whether any of it is in a window.
    pub fn is_in(&self, window: (i64, i64)) -> bool {
        self.end_ns >= window.0 && self.start_ns <= window.1
    }
}

/// Rows that one CPU gathers, nearly in the order of its time.
#[derive(Debug, Default)]
pub struct Rows {
    pub softirqs: Chunks<SoftirqRow>,
    pub hardirqs: Chunks<HardirqRow>,
    pub polls: Chunks<PollRow>,
    pub slices: Numbered<SliceRow>,
    pub migrations: Numbered<MigrationRow>,
    pub coverage: Vec<CoverageRow>,
    /// Time and tid of every exec, to tell why a stopper moved a task.
    pub execs: Vec<(i64, i32)>,
    /// By thief.
    pub ended: Vec<Ended>,
}

/// A thief's interrupts, or softirqs: the own time of the longest, `ABSENT` where it had none, and of how many it is
/// known, with its sum.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub longest_ns: i64,
    pub sum_ns: i64,
    pub count: i64,
}

const NONE_ENDED: Ended = Ended { longest_ns: ABSENT, sum_ns: 0, count: 0 };

impl Rows {
    /// An interrupt or softirq has ended. `self_ns`: 0 where its time is not known, or not in the window.
    #[inline(always)]
    pub fn ended(&mut self, thief: u32, self_ns: i64) {
        let place = thief as usize;
        if self.ended.len() <= place {
            self.ended.resize(place + 1, NONE_ENDED);
        }
        let of = &mut self.ended[place];
        of.longest_ns = of.longest_ns.max(self_ns);
        of.sum_ns += self_ns;
        of.count += i64::from(self_ns > 0);
    }

    /// The places in `ended` that have something.
    pub fn ended_places(&self) -> impl Iterator<Item = usize> + '_ {
        self.ended.iter().enumerate().filter(|(_, of)| known(of.longest_ns).is_some()).map(|(place, _)| place)
    }

    /// Makes `ns` of what a finished slice had for its own unknown: of the one that holds `at_ns`, at or
    /// before row `row`. Returns its row, to go on from.
    pub fn doubt_slice(&mut self, row: usize, at_ns: i64, ns: i64) -> usize {
        let (first, here) = (self.slices.first(), self.slices.rows());
        let known = row.saturating_add(1).saturating_sub(first).min(here.len());
        let place = here[..known].iter().rposition(|slice| slice.in_ns <= at_ns).map(|place| first + place);
        let Some(slice) = place.and_then(|place| self.slices.get_mut(place)) else { return row };
        slice.task_ns -= ns;
        slice.unknown_ns += ns;
        place.unwrap_or(row)
    }

    /// Makes `ns` of a slice's own time its polls'.
    pub fn make_polled(&mut self, row: usize, ns: i64) {
        if let Some(slice) = self.slices.get_mut(row) {
            (slice.task_ns, slice.poll_ns) = (slice.task_ns - ns, slice.poll_ns + ns);
        }
    }
}
