//! How often each length occurred, by group: each value separately, or in bins once there are many.

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::tables::{batch, plain};

/// Distinct values, over all groups, up to which each is counted separately.
const MOST: usize = 200_000;

/// Log2 of the parts of an octave: a bin is at most a 128th of its values wide.
const PARTS_BITS: u32 = 7;

#[derive(Debug, Default)]
pub struct Lengths {
    /// Number and sum of values, by group and value, or by the lowest value of the bin.
    counts: FxHashMap<(usize, i64), (i64, i64)>,
    /// The least and the most value of each group.
    ends: Vec<Option<(i64, i64)>>,
    is_binned: bool,
}

/// Integers of one bin differ only in this many low bits. Values below twice the number of parts have a bin each.
fn bits(value: i64) -> u32 {
    value.checked_ilog2().unwrap_or(0).saturating_sub(PARTS_BITS)
}

fn lowest(value: i64) -> i64 {
    value >> bits(value) << bits(value)
}

impl Lengths {
    /// The least and the most value of a group; `None` if it has none.
    pub fn ends(&self, group: usize) -> Option<(i64, i64)> {
        self.ends.get(group).copied().flatten()
    }

    /// Adds a value, 0 or more, to a group.
    #[inline(always)]
    pub fn add(&mut self, group: usize, value: i64) {
        if self.ends.len() <= group {
            self.ends.resize(group + 1, None);
        }
        let (least, most) = self.ends[group].unwrap_or((value, value));
        self.ends[group] = Some((least.min(value), most.max(value)));
        let low = if self.is_binned { lowest(value) } else { value };
        let cell = self.counts.entry((group, low)).or_default();
        (cell.0, cell.1) = (cell.0 + 1, cell.1 + value);
        if self.counts.len() > MOST && !self.is_binned {
            self.put_into_bins();
        }
    }

    #[cold]
    fn put_into_bins(&mut self) {
        self.is_binned = true;
        for ((group, value), (count, total)) in std::mem::take(&mut self.counts) {
            let cell = self.counts.entry((group, lowest(value))).or_default();
            (cell.0, cell.1) = (cell.0 + count, cell.1 + total);
        }
    }

    /// A row per group and length. `order`: the place of each group.
    pub fn finish(&self, order: &[usize]) -> Result<RecordBatch> {
        let of =
            |(&(group, low), &(count, total)): (&(usize, i64), &(i64, i64))| [order[group] as i64, low, count, total];
        let mut rows: Vec<[i64; 4]> = self.counts.iter().map(of).collect();
        rows.sort_unstable();
        let column = |number: usize| plain::<Int64Type>(rows.iter().map(move |row| row[number]));
        let high = |row: &[i64; 4]| if self.is_binned { row[1] + (1 << bits(row[1])) - 1 } else { row[1] };
        batch(vec![
            ("group".to_owned(), column(0)),
            ("low".to_owned(), column(1)),
            ("high".to_owned(), plain::<Int64Type>(rows.iter().map(high))),
            ("count".to_owned(), column(2)),
            ("total".to_owned(), column(3)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_every_recording() {
        for value in [0, 1, 127, 128, 255, 256, 257, 511, 512, 1_000_003, i64::MAX] {
            let (low, width) = (lowest(value), 1i64 << bits(value));
            assert!(low <= value && value - low < width && (width == 1 || low / width >= 128), "{value}");
        }
        assert_eq!((lowest(255), lowest(257), lowest(513)), (255, 256, 512));
    }

    #[test]
    fn many_values_go_into_bins_and_none_is_lost() {
        let mut lengths = Lengths::default();
        let all = 2 * MOST as i64;
        (0..all).for_each(|value| lengths.add(0, value));
        assert!(lengths.is_binned && lengths.counts.len() < 3_000);
        let total = lengths.counts.values().fold((0, 0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        assert_eq!(total, (all, all * (all - 1) / 2));
    }
}
