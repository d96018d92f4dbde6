//! What the scheduler's events say of one task, as waits and the comparison of clocks take it.

/// Something that happened to a task.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// Somebody began to wake it.
    Waking,
    /// Made runnable on a CPU.
    Wake(u32),
    /// Began to run; the row of its slice, and the victim to charge.
    In(usize, u32),
    /// Left the CPU, still runnable or not.
    Out(bool),
    /// Moved from a CPU to another.
    Migrate(u32, u32),
    /// Came to its CPU unseen: since when it no longer waits nobody knows.
    Unseen,
}

/// Something that happened to a task, and the CPU whose clock says when.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// When.
    pub time_ns: i64,
    /// To whom.
    pub tid: i32,
    /// CPU that recorded it.
    pub cpu: u32,
    /// What.
    pub what: What,
}
