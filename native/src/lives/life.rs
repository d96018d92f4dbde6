//! What a task had under a name, and what it did between its slices.

/// What a task had under a name, in ns. Columns are documented in Python's `lives_of`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Life {
    /// Without time at either end in which it may not have existed.
    pub lifetime: i64,
    /// With that time.
    pub lifetime_max: i64,
    /// According to the sums.
    pub on_cpu: i64,
    /// Runnable without a CPU.
    pub waited: i64,
    /// Neither on a CPU nor runnable.
    pub asleep: i64,
    /// Time in which it may have been on a CPU without a known owner.
    pub unseen: i64,
    /// Time for which it appears on two CPUs at once.
    pub twice: i64,
    /// Number of tasks that had this tid and name.
    pub tasks: i64,
    /// The span in which it certainly existed.
    pub ends: Option<(i64, i64)>,
    /// Under any name: its longest life, and how much of that was within or between losses.
    pub(super) whole: i64,
    pub(super) lost: i64,
    pub(super) last_task: Option<usize>,
}

/// What a task did before a slice.
#[derive(Debug, Clone, Copy)]
pub struct Away {
    /// Its name at that time.
    pub comm: u32,
    /// Start and end of its wait, within the window, if `waited` is not 0.
    pub start_ns: i64,
    /// See `start_ns`.
    pub end_ns: i64,
    /// How long it waited.
    pub waited: i64,
    /// How much of the slice overlaps the task's time elsewhere.
    pub twice: i64,
}

/// A tid and a name.
pub type Named = (i64, u32);
/// A row of the table lives.
pub type LifeOf = (Named, Life);
