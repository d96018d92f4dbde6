//! What the events do not say, and what of them is shown.

use rustc_hash::FxHashMap;

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
    /// Across which nothing is measured.
    pub gaps: Gaps,
    /// napi_poll was recorded.
    pub has_polls: bool,
    /// softirq_raise was recorded.
    pub has_raises: bool,
    /// MAX_SOFTIRQ_TIME, from and to: docs/definitions.md.
    pub limit_ns: (i64, i64),
    /// Rows.
    pub shown: Shown,
}

/// Gaps of the record.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    /// By CPU when they begin and when they end, each in order.
    of: FxHashMap<i64, [Vec<i64>; 2]>,
}

impl Gaps {
    /// Of CPU, start and end of each.
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

    /// Whether a gap of a CPU's record has more than an end in common with a stretch.
    pub fn are_crossed(&self, cpu: i64, start_ns: i64, end_ns: i64) -> bool {
        let Some([starts, ends]) = self.of.get(&cpu) else { return false };
        // More have begun than ended.
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
