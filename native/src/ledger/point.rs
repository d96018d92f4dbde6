//! What one CPU reports to the stage that joins CPUs.

use crate::ledger::left::Left;

/// Something that happened to a task.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// Its wake-up began.
    Waking,
    /// It became runnable on a CPU.
    Wake(u32),
    /// It began to run. The row of its slice on its CPU, and the victim to charge.
    In(usize, u32),
    /// It left the CPU; whether it is still runnable.
    Out(bool),
    /// It moved from one CPU to another.
    Migrate(u32, u32),
    /// It runs, but its switch-in was not recorded: the end of its wait is unknown.
    Unseen,
}

/// Something that happened to a task, and the CPU whose clock says when.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub time_ns: i64,
    /// See `Event::order`.
    pub order: u32,
    pub tid: i32,
    /// The CPU that recorded it.
    pub cpu: u32,
    pub what: What,
}

/// A NAPI thread's absence from a CPU in mid-poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Absence {
    pub tid: i32,
    pub out_ns: i64,
    /// Its number on its CPU.
    pub number: usize,
}

/// One CPU's report about a stretch of the recording.
#[derive(Debug, Default)]
pub struct Part {
    pub cpu: u32,
    /// What happened to tasks.
    pub points: Vec<Point>,
    /// Stretches in which scheduled network work held the CPU.
    pub held: Vec<(i64, i64)>,
    /// Losses. Who was waiting across one is unknown. What was settled before a loss is reported stays as it is: a ring
    /// that overflows was full for as long as it was silent.
    pub gaps: Vec<(i64, i64)>,
    /// When each NAPI thread began to run.
    pub napi_slices: Vec<(i64, i32)>,
    /// Threads that came back to a poll, and when.
    pub back: Vec<(Absence, i64)>,
    /// Threads that are still away.
    pub away: Vec<Absence>,
    /// Whether it has recorded anything so far.
    pub has_events: bool,
    /// Since when it is not settled whether scheduled work held the CPU.
    pub unsettled_since: i64,
    /// Whatever began before this is final. Set if a pass may end before the recording does.
    pub final_until: i64,
    /// Rows, if they are dealt in batches.
    pub left: Left,
}
