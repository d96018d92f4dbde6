//! What a task under a name had, and what it did between its slices on CPUs.

/// What a task under a name had, in ns; docs of the columns: `lives_of` in Python.
#[derive(Debug, Clone, Copy, Default)]
pub struct Life {
    /// Without the time at either end in which it may not have existed.
    pub lifetime: i64,
    /// With that.
    pub lifetime_max: i64,
    /// As the sums have it.
    pub on_cpu: i64,
    /// Runnable without a CPU.
    pub waited: i64,
    /// Neither.
    pub asleep: i64,
    /// Time in which it may have been on a CPU of which no owner is known.
    pub unseen: i64,
    /// Time in which it is shown on two CPUs at once.
    pub twice: i64,
    /// How many tasks had the number and the name.
    pub tasks: i64,
    /// From when to when it surely was there.
    pub ends: Option<(i64, i64)>,
    /// Under any name: its longest life, and what of it was within or between losses.
    pub(super) whole: i64,
    pub(super) lost: i64,
    pub(super) last_task: Option<usize>,
}

/// What a task did before a slice.
#[derive(Debug, Clone, Copy)]
pub struct Away {
    /// Its name then.
    pub comm: u32,
    /// From when to when it waited, within the window, where `waited` is not 0.
    pub start_ns: i64,
    /// See `start_ns`.
    pub end_ns: i64,
    /// How long it waited.
    pub waited: i64,
    /// Of the slice, what its task is shown elsewhere at the same time.
    pub twice: i64,
}

/// A task's number, and its name.
pub type Named = (i64, u32);
/// A row of the table lives.
pub type LifeOf = (Named, Life);
