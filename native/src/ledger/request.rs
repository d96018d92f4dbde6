//! What a pass of the ledger is asked for.

/// What a pass is to produce besides the sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct Want {
    /// The segments table.
    pub segments: bool,
    /// The softirqs table.
    pub softirqs: bool,
    /// The hardirqs table.
    pub hardirqs: bool,
    /// The polls table.
    pub polls: bool,
    /// The slices table (migrations need it too).
    pub slices: bool,
    /// The migrations table.
    pub migrations: bool,
    /// The coverage table; a whole pass gives it anyway.
    pub coverage: bool,
    /// Displaced time.
    pub displaced: bool,
}

/// What a pass is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Tables besides the sums.
    pub want: Want,
    /// Absolute times; `None`: the whole capture.
    pub window: Option<(i64, i64)>,
    /// CPUs to show, ascending; `None`: all.
    pub cpus: Option<Vec<u32>>,
    /// Width of the sums' time bins; `None`: one bin.
    pub bin_ns: Option<i64>,
    /// Why CPUs of this machine may not agree on the time.
    pub clock_doubt: Option<String>,
    /// Network devices of interrupt lines, by number, as files beside the recording have them.
    pub lines: Vec<(i64, String)>,
}

impl Request {
    /// Whether a CPU is shown.
    pub fn shows(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
    }

    /// The part of a capture that is shown.
    pub fn window_in(&self, capture: (i64, i64)) -> (i64, i64) {
        self.window.map_or(capture, |window| (window.0.max(capture.0), window.1.min(capture.1)))
    }
}
