//! Facts from other tables about a CPU: softirqs that entered, and polls that ended.

/// Those of one CPU since the first unfinished episode: ascending times, each with a value.
#[derive(Default)]
pub struct Timed {
    rows: Vec<(i64, Option<i64>)>,
    /// Number of rows that `first` has passed.
    passed: usize,
}

impl Timed {
    /// Adds rows that are roughly in order.
    pub fn extend(&mut self, rows: impl Iterator<Item = (i64, Option<i64>)>) {
        self.rows.extend(rows);
        if !self.rows.is_sorted_by_key(|row| row.0) {
            self.rows.sort_by_key(|row| row.0);
            self.passed = 0;
        }
    }

    /// Drops rows before a time.
    pub fn forget(&mut self, before_ns: i64) {
        let many = self.rows.partition_point(|row| row.0 < before_ns);
        self.rows.drain(..many);
        self.passed = self.passed.saturating_sub(many);
    }

    /// The first row at or after a time, which must not decrease between calls.
    pub fn first(&mut self, from_ns: i64) -> Option<(i64, Option<i64>)> {
        self.passed += self.rows[self.passed..].iter().take_while(|row| row.0 < from_ns).count();
        self.rows.get(self.passed).copied()
    }

    /// Number of rows after a time, up to another, and the sum of their values; `None` if a value is unknown.
    pub fn within(&self, after_ns: i64, until_ns: i64) -> (i64, Option<i64>) {
        let [from, to] = [after_ns, until_ns].map(|at| self.rows.partition_point(|row| row.0 <= at));
        let rows = &self.rows[from..to.max(from)];
        (rows.len() as i64, rows.iter().map(|row| row.1).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_a_time_up_to_another() {
        let mut timed = Timed::default();
        timed.extend([(10, Some(1)), (20, None)].into_iter());
        timed.extend([(15, Some(4)), (30, Some(2))].into_iter());
        assert_eq!(timed.within(10, 15), (1, Some(4)));
        assert_eq!(timed.within(9, 15), (2, Some(5)));
        assert_eq!(timed.within(10, 20), (2, None));
        assert_eq!(timed.within(30, 40), (0, Some(0)));
        assert_eq!(timed.within(30, 20), (0, Some(0)));
        timed.forget(15);
        assert_eq!(timed.within(0, 15), (1, Some(4)));
        assert_eq!((timed.first(15), timed.first(16), timed.first(31)), (Some((15, Some(4))), Some((20, None)), None));
    }
}
