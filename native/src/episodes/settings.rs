//! Which episodes are told.

/// Whose episodes.
#[derive(Debug, Clone)]
pub enum Victim {
    /// Anybody's.
    All,
    /// Those of tasks.
    Tids(Vec<i64>),
    /// Those of tasks while they are called so.
    Comm(String),
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whose.
    pub victim: Victim,
    /// So many, the longest.
    pub most: usize,
    /// So much of the task's own time between two interrupts may be part of an episode.
    pub gap_ns: i64,
}
