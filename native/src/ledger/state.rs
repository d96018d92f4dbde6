//! What a CPU has open: interrupts, a softirq, a poll, a stay, and how much of it is known.

use crate::ledger::network::Network;
use crate::ledger::raise::Origin;
use crate::ledger::segment::Segment;
use crate::ledger::thief::Class;

/// An interrupt handler that is running.
#[derive(Debug, Clone, Copy)]
pub struct Hardirq {
    /// irq, or vector number of the tracepoint list; told apart by `is_vector`.
    pub key: i64,
    /// Whether it is no device's.
    pub is_vector: bool,
    /// Whether it is the network's, as far as its name tells.
    pub network: Network,
    /// Its thief.
    pub thief: u32,
    /// Class of its time.
    pub class: Class,
    /// When it began.
    pub entry_ns: i64,
    /// Own time so far.
    pub self_ns: i64,
    /// Its entry's flags said hardirq: later events in it must too.
    pub flagged: bool,
    /// Exits of its kind had been recorded when it began: its own will be.
    pub ends: bool,
    /// What this run of a vector proved to be, other than its thief says.
    pub turned: Option<Network>,
}

/// A softirq that is running, or parked with its task.
#[derive(Debug, Clone)]
pub struct Softirq {
    pub vec: u8,
    pub thief: u32,
    pub class: Class,
    pub origin: Origin,
    pub inherited: bool,
    pub ordinal: u32,
    pub raise_ns: Option<i64>,
    pub entry_ns: i64,
    pub self_ns: i64,
    pub poll_ns: i64,
    pub polls: u32,
    pub packets: u32,
    /// Where the next poll begins.
    pub poll_from: i64,
    /// Segments since then, and their time in the window.
    pub pending: Vec<u64>,
    pub pending_ns: i64,
    pub flagged: bool,
    /// What this run proved to be, other than its thief says.
    pub turned: Option<Network>,
    /// Interrupt lines that raised it, and the devices that they have been credited with.
    pub lines: Vec<i64>,
    pub polled: Vec<u32>,
}

/// Lists of the softirq that ended last, emptied, for the next one: every packet may be one.
#[derive(Debug, Default)]
pub struct Spare {
    pub pending: Vec<u64>,
    pub lines: Vec<i64>,
    pub polled: Vec<u32>,
}

/// A NAPI thread's poll in the making.
#[derive(Debug, Clone, Default)]
pub struct ThreadPoll {
    pub from: i64,
    pub pending: Vec<u64>,
    /// Time in the present stay.
    pub pending_ns: i64,
    /// What there was of it before the thread was preempted in the middle.
    pub earlier: Option<Earlier>,
}

/// The part of a NAPI thread's poll in earlier stays.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// When the thread left the CPU first, and when it came back last.
    pub since_ns: i64,
    pub until_ns: i64,
    /// Its time by row of the slice.
    pub slices: Vec<(usize, i64)>,
    /// How many of the pending segments are from then.
    pub pending: usize,
}

/// A poll with an earlier part that may prove to be none of it: the thread may have polled elsewhere.
#[derive(Debug)]
pub struct ResumedPoll {
    pub earlier: Earlier,
    /// The thread's own time.
    pub own: u32,
    /// Its row, where there is one.
    pub row: Option<usize>,
    /// The segments of the earlier part.
    pub segments: Vec<Segment>,
}

/// What a task left behind when it was switched out in the middle of it.
#[derive(Debug)]
pub struct Parked {
    pub victim: u32,
    pub softirq: Option<Softirq>,
    pub poll: Option<ThreadPoll>,
}

/// The stay of the running task.
#[derive(Debug, Clone, Default)]
pub struct Stay {
    pub row: usize,
    pub in_ns: i64,
    pub task_ns: i64,
    pub hardirq_ns: i64,
    pub softirq_ns: i64,
    pub poll_ns: i64,
    pub unknown_ns: i64,
    pub by_softirq: Vec<(u8, Class, i64)>,
}

/// Whether the present owner is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Nothing recorded yet.
    Never,
    /// Records were lost up to this time; the next event tells who runs.
    Lost(i64),
    /// Known.
    Clear,
    /// A needed event is throttled since this time.
    Throttled(i64),
}

/// The stretch from the window's start to a CPU's first event.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub end_ns: i64,
    pub victim: u32,
    pub thief: u32,
    pub class: Class,
    pub slice: Option<usize>,
    /// Why it is unknown, if it is, and how many records were lost in it.
    pub unknown: Option<&'static str>,
    pub lost: u64,
}
