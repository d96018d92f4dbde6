//! What the events do not say, and what of them is shown.

/// Which rows are shown beside the sums.
#[derive(Debug, Clone)]
pub struct Shown {
    /// So many rows of a table, the first.
    pub most: usize,
    /// So many of the longest chains.
    pub longest: usize,
    /// Those that took as long, with fewer packets than this.
    pub longer_ns: i64,
    /// See `longer_ns`.
    pub fewer_packets: i64,
}

/// What is known beside the tables.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it cuts is not summed with what lies whole in it.
    pub window: (i64, i64),
    /// CPU, start, end: gaps of the record, across which nothing is measured.
    pub gaps: Vec<(i64, i64, i64)>,
    /// napi_poll was recorded.
    pub has_polls: bool,
    /// softirq_raise was recorded.
    pub has_raises: bool,
    /// MAX_SOFTIRQ_TIME, from and to: docs/definitions.md.
    pub limit_ns: (i64, i64),
    /// Rows.
    pub shown: Shown,
}

impl Settings {
    /// Whether a gap of a CPU's record has more than an end in common with a stretch.
    pub fn is_crossed(&self, cpu: i64, start_ns: i64, end_ns: i64) -> bool {
        let own = || self.gaps.iter().filter(|gap| gap.0 == cpu);
        // More have begun than ended.
        own().filter(|gap| gap.1 < end_ns).count() > own().filter(|gap| gap.2 <= start_ns).count()
    }
}
