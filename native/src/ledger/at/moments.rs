//! Moments to answer questions about.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Moments by CPU or task, then by time, each with its place in the question.
#[derive(Debug, Default)]
pub struct Moments {
    /// CPU or tid, time, and place.
    pub rows: Vec<(i64, i64, usize)>,
    /// The range of `rows` of each CPU or task.
    pub of: FxHashMap<i64, Range<usize>>,
}

impl Moments {
    /// Takes pairs of a CPU number or tid and a time.
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

    /// The range of a CPU or task; empty if it has none.
    pub fn of(&self, of: i64) -> Range<usize> {
        self.of.get(&of).cloned().unwrap_or_default()
    }

    /// The first moment in `of` for which `is_earlier` is false, or the end of `of`.
    pub fn first(&self, of: &Range<usize>, is_earlier: impl Fn(i64) -> bool) -> usize {
        of.start + self.rows[of.clone()].partition_point(|row| is_earlier(row.1))
    }

    /// Puts one result per row of `rows` into the order of the question.
    pub fn asked<T: Copy + Default>(&self, found: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut asked = vec![T::default(); self.rows.len()];
        self.rows.iter().zip(found).for_each(|(row, one)| asked[row.2] = one);
        asked
    }
}
