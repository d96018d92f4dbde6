//! Moments that are asked about.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Moments of CPUs or tasks, by these and time, each with its place among those asked about.
#[derive(Debug, Default)]
pub struct Moments {
    /// CPU or tid, time, and the place.
    pub rows: Vec<(i64, i64, usize)>,
    /// Where those of each CPU or task are.
    pub of: FxHashMap<i64, Range<usize>>,
}

impl Moments {
    /// Of CPUs' numbers or tids, and when.
    pub fn new(asked: impl IntoIterator<Item = (i64, i64)>) -> Moments {
        let placed = asked.into_iter().enumerate().map(|(place, (of, time_ns))| (of, time_ns, place));
        let mut rows: Vec<(i64, i64, usize)> = placed.collect();
        rows.sort_unstable();
        let (mut of, mut first) = (FxHashMap::default(), 0);
        for own in rows.chunk_by(|one, next| one.0 == next.0) {
            of.insert(own[0].0, first..first + own.len());
            first += own.len();
        }
        Moments { rows, of }
    }

    /// Where a CPU's or a task's are: nowhere, if it has none.
    pub fn of(&self, of: i64) -> Range<usize> {
        self.of.get(&of).cloned().unwrap_or_default()
    }

    /// The first of these that is later than a time, or not before it; where there is none, behind them.
    pub fn first(&self, of: &Range<usize>, is_earlier: impl Fn(i64) -> bool) -> usize {
        of.start + self.rows[of.clone()].partition_point(|row| is_earlier(row.1))
    }

    /// What was found of each, as they were asked about.
    pub fn asked<T: Copy + Default>(&self, found: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut asked = vec![T::default(); self.rows.len()];
        self.rows.iter().zip(found).for_each(|(row, one)| asked[row.2] = one);
        asked
    }
}
