//! Rows on their way into batches, in the order of their table.
//!
//! ```text
//!   row      A 10-90    B 20-30    C 40-50    D 95-99
//!   due at   90         90         90         99           B and C come after A, which ends at 90
//! ```
//! This cuts batches by time: rows of a batch ended before those of the next, unless an earlier row delayed them.

use std::collections::VecDeque;

#[derive(Debug)]
pub struct Queue<T> {
    rows: VecDeque<(i64, T)>,
    last_due: i64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { rows: VecDeque::new(), last_due: i64::MIN }
    }
}

impl<T> Queue<T> {
    /// Adds the table's next row, which ends at `end_ns`.
    pub fn push(&mut self, end_ns: i64, row: T) {
        self.last_due = self.last_due.max(end_ns);
        self.rows.push_back((self.last_due, row));
    }

    /// Number of rows that are due at a time and wanted. Unwanted ones come last.
    pub fn due(&self, at_ns: i64, wanted: impl Fn(&T) -> bool) -> usize {
        self.rows.partition_point(|(due, row)| *due <= at_ns && wanted(row))
    }

    /// When each row is due.
    pub fn times(&self) -> impl Iterator<Item = i64> + '_ {
        self.rows.iter().map(|row| row.0)
    }

    pub fn take(&mut self, count: usize) -> Vec<T> {
        self.rows.drain(..count.min(self.rows.len())).map(|row| row.1).collect()
    }

    pub fn first(&self) -> Option<&T> {
        self.rows.front().map(|row| &row.1)
    }

    /// The row with this key, if rows are sorted by key.
    pub fn find_mut<K: Ord>(&mut self, key: &K, of: impl Fn(&T) -> K) -> Option<&mut T> {
        let place = self.rows.binary_search_by_key(key, |row| of(&row.1)).ok()?;
        self.rows.get_mut(place).map(|row| &mut row.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_due_when_those_before_it_have_ended() {
        let mut queue = Queue::default();
        [(90, 'A'), (30, 'B'), (50, 'C'), (99, 'D')].into_iter().for_each(|(end_ns, row)| queue.push(end_ns, row));
        assert_eq!(queue.times().collect::<Vec<_>>(), [90, 90, 90, 99]);
        assert_eq!((queue.due(89, |_| true), queue.due(90, |_| true), queue.due(99, |row| *row < 'C')), (0, 3, 2));
        assert_eq!(queue.find_mut(&'C', |row| *row), Some(&mut 'C'));
        assert_eq!(queue.take(2), ['A', 'B']);
        assert_eq!(queue.first(), Some(&'C'));
        assert_eq!(queue.take(9), ['C', 'D']);
    }
}
