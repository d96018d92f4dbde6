//! What the events do not say, and what to show of them.

use rustc_hash::FxHashMap;

/// Which rows to show besides the sums.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Number of first rows of a table.
    pub most: usize,
    /// Number of longest chains.
    pub longest: usize,
    /// Also chains that took at least this long for fewer packets than `fewer_packets`.
    pub longer_ns: i64,
    /// See `longer_ns`.
    pub fewer_packets: i64,
}

/// Facts besides the tables.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the window cuts is not summed with what lies entirely in it.
    pub window: (i64, i64),
    /// Gaps in the record. Nothing is measured across them.
    pub gaps: Gaps,
    /// napi_poll was recorded.
    pub has_polls: bool,
    /// softirq_raise was recorded.
    pub has_raises: bool,
    /// MAX_SOFTIRQ_TIME, lower and upper bound: docs/definitions.md.
    pub limit_ns: (i64, i64),
    /// Rows to show.
    pub shown: Shown,
}

/// Gaps in the record.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    /// Starts and ends per CPU, each sorted.
    of: FxHashMap<i64, [Vec<i64>; 2]>,
}

impl Gaps {
    /// From the CPU, start and end of each.
    pub fn new(rows: &[(i64, i64, i64)]) -> Gaps {
        let mut gaps = Gaps::default();
        for &(cpu, start_ns, end_ns) in rows {
            let [starts, ends] = gaps.of.entry(cpu).or_default();
            starts.push(start_ns);
            ends.push(end_ns);
        }
        gaps.of.values_mut().flatten().for_each(|times| times.sort_unstable());
        gaps
    }

    /// Whether a gap in a CPU's record shares more than an end with a stretch.
    pub fn are_crossed(&self, cpu: i64, start_ns: i64, end_ns: i64) -> bool {
        let Some([starts, ends]) = self.of.get(&cpu) else { return false };
        // More gaps have begun than ended.
        starts.partition_point(|&at| at < end_ns) > ends.partition_point(|&at| at <= start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_crosses_a_gap_that_it_shares_time_with() {
        let gaps = Gaps::new(&[(0, 50, 60), (0, 10, 20), (0, 15, 30), (1, 70, 80)]);
        let stretches = [(0, 10), (0, 11), (20, 25), (30, 50), (30, 51), (60, 99), (70, 80)];
        let expected = [false, true, true, false, true, false, false];
        assert_eq!(stretches.map(|(start, end)| gaps.are_crossed(0, start, end)), expected);
        assert!(!gaps.are_crossed(2, 0, 99));
    }
}
