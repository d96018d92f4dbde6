//! When events were lost on any CPU: what a task did across such a stretch is unknown.
//!
//! ```text
//!   CPU 0     |-- A --|              |- C -|       C lies in D and says nothing more: A, B and D are kept, in
//!   CPU 1         |-- B --|     |---- D ------|    order of begin and of end, and one look finds the last of all
//!                                                  that had begun by a time, which reaches furthest
//! ```

use std::collections::BTreeMap;

/// Stretches with loss; none lies within another.
#[derive(Debug, Default)]
pub struct Losses {
    /// Start to end. Both ascend.
    stretches: BTreeMap<i64, i64>,
}

impl Losses {
    pub fn add(&mut self, start: i64, end: i64) {
        if self.stretches.range(..=start).next_back().is_some_and(|(_, &latest)| latest >= end) {
            return;
        }
        while let Some((&inside, _)) = self.stretches.range(start..).next().filter(|(_, &other)| other <= end) {
            self.stretches.remove(&inside);
        }
        self.stretches.insert(start, end);
    }

    /// Whether no stretch overlaps this time.
    #[inline]
    pub fn none_between(&self, since: i64, until: i64) -> bool {
        self.stretches.range(..until).next_back().is_none_or(|(_, &latest)| latest <= since)
    }

    /// Drops stretches that ended by this time.
    pub fn forget(&mut self, until: i64) {
        while self.stretches.first_key_value().is_some_and(|(_, &end)| end <= until) {
            self.stretches.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All stretches within 0 to 9, in an order that depends on `step`.
    fn stretches(step: usize) -> Vec<(i64, i64)> {
        let every: Vec<_> = (0..10).flat_map(|start| (start..10).map(move |end| (start, end))).collect();
        (0..every.len()).map(|place| every[place * step % every.len()]).collect()
    }

    #[test]
    fn it_says_the_same_as_a_look_at_each() {
        for step in [1, 2, 3, 7, 13, 27, 54] {
            let mut losses = Losses::default();
            let mut each: Vec<(i64, i64)> = Vec::new();
            for (count, (start, end)) in stretches(step).into_iter().step_by(5).enumerate() {
                losses.add(start, end);
                each.push((start, end));
                if count % 4 == 3 {
                    losses.forget(3);
                    each.retain(|loss| loss.1 > 3);
                }
                for (since, until) in stretches(1) {
                    let none = !each.iter().any(|loss| loss.0 < until && loss.1 > since);
                    assert_eq!(losses.none_between(since, until), none, "{each:?}: {since} to {until}");
                }
            }
        }
    }

    #[test]
    fn what_lies_in_another_is_not_kept() {
        let mut losses = Losses::default();
        for (start, end) in [(20, 30), (50, 60), (10, 40), (12, 13), (10, 40)] {
            losses.add(start, end);
        }
        assert_eq!(losses.stretches.into_iter().collect::<Vec<_>>(), [(10, 40), (50, 60)]);
    }
}
