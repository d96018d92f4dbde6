//! Which episodes to report.

/// Whose episodes.
#[derive(Debug, Clone)]
pub enum Victim {
    /// Anybody's.
    All,
    /// Those of these tasks.
    Tids(Vec<i64>),
    /// Those of tasks while they have this name.
    Comm(String),
}

/// What to report.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whose episodes.
    pub victim: Victim,
    /// Number of longest episodes.
    pub most: usize,
    /// Most ns of the task's own time between two interrupts of one episode.
    pub gap_ns: i64,
}
