//! Rows of the tables, as the walk finds them. Names and devices are resolved when it is over.

use crate::chunks::Chunks;
use crate::ledger::numbered::Numbered;
use crate::ledger::thief::Class;

/// An unknown time. An `Option` would take twice the space in rows.
pub const ABSENT: i64 = i64::MIN;

#[inline(always)]
pub fn known(time_ns: i64) -> Option<i64> {
    (time_ns != ABSENT).then_some(time_ns)
}

/// One softirq invocation. There are hundreds of thousands a second, so its fields are as small as their values allow.
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
    /// Index into `ORIGINS`.
    pub origin: u8,
    pub class: Class,
    pub in_kthread: bool,
}

/// One interrupt, of a device or a vector.
#[derive(Debug, Clone)]
pub struct HardirqRow {
    pub entry_ns: Option<i64>,
    pub exit_ns: Option<i64>,
    pub thief: u32,
    pub victim: u32,
    pub self_ns: i64,
}

/// One NAPI poll. It has no start if its beginning cannot be known.
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

/// One stay of a task on a CPU.
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
    /// Softirq time by (vec, class). There are few per slice.
    pub by_softirq: Vec<(u8, Class, i64)>,
}

impl SliceRow {
    /// Fills in what is known of the wait before it.
    pub fn answer(&mut self, answer: &Answer) {
        (self.wake_ns, self.wait_ns) = (answer.wake_ns, Some(answer.wait_ns));
    }

    /// Whether it overlaps a window.
    pub fn is_in(&self, window: (i64, i64)) -> bool {
        self.in_ns <= window.1 && self.out_ns >= window.0
    }
}

/// What is known of the wait before one slice.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// CPU of the slice.
    pub cpu: u32,
    /// Its row on that CPU.
    pub row: usize,
    /// When the task was woken; `None` if it was only preempted.
    pub wake_ns: Option<i64>,
    /// How long the task was runnable before this slice.
    pub wait_ns: i64,
}

/// Why a task migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Placed during a wake-up.
    WakeUp,
    /// Load balancing.
    Balance,
    /// The stopper thread: affinity, active balance.
    Stopper,
    /// The stopper thread, on exec.
    Exec,
}

impl Cause {
    /// All causes, by number.
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

/// One sched_migrate_task event.
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
    /// Whether it overlaps a window.
    pub fn is_in(&self, window: (i64, i64)) -> bool {
        self.end_ns >= window.0 && self.start_ns <= window.1
    }
}

/// Rows that one CPU gathers, nearly in order of time.
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

/// A thief's interrupts or softirqs: the own time of the longest (`ABSENT` if there was none), the sum of the known
/// times, and how many are known.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub longest_ns: i64,
    pub sum_ns: i64,
    pub count: i64,
}

const NONE_ENDED: Ended = Ended { longest_ns: ABSENT, sum_ns: 0, count: 0 };

impl Rows {
    /// Notes the end of an interrupt or softirq. `self_ns`: 0 if its time is unknown or outside the window.
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

    /// The thieves in `ended` that had any.
    pub fn ended_places(&self) -> impl Iterator<Item = usize> + '_ {
        self.ended.iter().enumerate().filter(|(_, of)| known(of.longest_ns).is_some()).map(|(place, _)| place)
    }

    /// Turns `ns` of a finished slice's own time into unknown time. The slice is the one that holds `at_ns`, at or
    /// before row `row`. Returns its row, to continue from.
    pub fn doubt_slice(&mut self, row: usize, at_ns: i64, ns: i64) -> usize {
        let (first, here) = (self.slices.first(), self.slices.rows());
        let known = row.saturating_add(1).saturating_sub(first).min(here.len());
        let place = here[..known].iter().rposition(|slice| slice.in_ns <= at_ns).map(|place| first + place);
        let Some(slice) = place.and_then(|place| self.slices.get_mut(place)) else { return row };
        slice.task_ns -= ns;
        slice.unknown_ns += ns;
        place.unwrap_or(row)
    }

    /// Turns `ns` of a slice's own time into poll time.
    pub fn make_polled(&mut self, row: usize, ns: i64) {
        if let Some(slice) = self.slices.get_mut(row) {
            (slice.task_ns, slice.poll_ns) = (slice.task_ns - ns, slice.poll_ns + ns);
        }
    }
}
