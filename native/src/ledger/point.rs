//! What one CPU tells the stage that joins CPUs.

use crate::ledger::left::Left;

/// Something that happened to a task.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// Somebody began to wake it.
    Waking,
    /// Made runnable on a CPU.
    Wake(u32),
    /// Began to run; the row of its slice among its CPU's, and the victim to charge.
    In(usize, u32),
    /// Left the CPU, still runnable or not.
    Out(bool),
    /// Moved from a CPU to another.
    Migrate(u32, u32),
    /// It runs, and its switch was not recorded: when its wait ended is not known.
    Unseen,
}

/// Something that happened to a task, and the CPU whose clock says when.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// When.
    pub time_ns: i64,
    /// See `Event::order`.
    pub order: u32,
    /// To whom.
    pub tid: i32,
    /// CPU that recorded it.
    pub cpu: u32,
    /// What.
    pub what: What,
}

/// A NAPI thread was away from a CPU in the middle of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Absence {
    /// The thread.
    pub tid: i32,
    /// When it left the CPU.
    pub out_ns: i64,
    /// Its number among those of its CPU.
    pub number: usize,
}

/// What one CPU tells of a stretch of the recording.
#[derive(Debug, Default)]
pub struct Part {
    /// Which CPU.
    pub cpu: u32,
    /// What happened to tasks.
    pub points: Vec<Point>,
    /// Stretches that scheduled network work held the CPU for.
    pub held: Vec<(i64, i64)>,
    /// Losses: who was waiting when one lay in between is not known. What was settled before one is told stays as it
    /// is: a ring that overflows was full for as long as it was silent.
    pub gaps: Vec<(i64, i64)>,
    /// When which NAPI threads began to run.
    pub napi_slices: Vec<(i64, i32)>,
    /// Those that came back to a poll, and when.
    pub back: Vec<(Absence, i64)>,
    /// Those that are still away.
    pub away: Vec<Absence>,
    /// Whether it has recorded anything so far.
    pub has_events: bool,
    /// Since when it is not settled yet whether scheduled work held the CPU.
    pub unsettled_since: i64,
    /// Nothing that began before this can change any more, where a pass may end before the recording does.
    pub final_until: i64,
    /// Rows, where they are dealt in batches.
    pub left: Left,
}
