//! One stay of a task on a CPU, and how its time is divided.
//!
//! ```text
//!   event     switch to A    irq 25     exit    NET_RX     exit    exit 26 (its entry is missing)   switch to B
//!   goes to        | task     | hardirq  | task  | softirq  | task  ->  unknown                      |
//! ```
//! Time that proves doubtful, or proves to be a NAPI thread's poll, is taken from where it was first booked.

use crate::ledger::rows::SliceRow;
use crate::ledger::thief::Class;

/// Kinds of softirq time in the window's slices. The table has a column for each.
#[derive(Debug, Default)]
pub struct Kinds {
    /// Each kind once.
    pub known: Vec<(u8, Class)>,
    /// Kinds of the first slice. Only the end shows whether it reaches into the window.
    pub first: Option<Vec<(u8, Class)>>,
}

impl Kinds {
    pub fn add(&mut self, kinds: impl Iterator<Item = (u8, Class)>) {
        for kind in kinds {
            if !self.known.contains(&kind) {
                self.known.push(kind);
            }
        }
    }
}

/// The slice of the running task.
#[derive(Debug, Default)]
pub struct Slice {
    row: usize,
    in_ns: i64,
    task_ns: i64,
    hardirq_ns: i64,
    softirq_ns: i64,
    poll_ns: i64,
    unknown_ns: i64,
    by_softirq: Vec<(u8, Class, i64)>,
}

impl Slice {
    pub fn begin(&mut self, now: i64, row: usize) {
        let mut by_softirq = std::mem::take(&mut self.by_softirq);
        by_softirq.clear();
        *self = Slice { row, in_ns: now, by_softirq, ..Slice::default() };
    }

    /// Its row, if rows are kept.
    pub fn row(&self) -> usize {
        self.row
    }

    pub fn in_ns(&self) -> i64 {
        self.in_ns
    }

    /// Adds time of the task itself; may be negative.
    #[inline(always)]
    pub fn add_task(&mut self, ns: i64) {
        self.task_ns += ns;
    }

    /// Adds time of interrupts in it; may be negative.
    #[inline(always)]
    pub fn add_hardirq(&mut self, ns: i64) {
        self.hardirq_ns += ns;
    }

    /// Adds time of a softirq in it; may be negative.
    #[inline(always)]
    pub fn add_softirq(&mut self, vec: u8, class: Class, ns: i64) {
        self.softirq_ns += ns;
        match self.by_softirq.iter_mut().find(|entry| (entry.0, entry.1) == (vec, class)) {
            Some(entry) => entry.2 += ns,
            None => self.by_softirq.push((vec, class, ns)),
        }
    }

    /// Adds time whose owner is unknown.
    pub fn add_unknown(&mut self, ns: i64) {
        self.unknown_ns += ns;
    }

    /// Turns task time into poll time.
    pub fn make_polled(&mut self, ns: i64) {
        self.task_ns -= ns;
        self.poll_ns += ns;
    }

    /// Kinds of softirq time in it.
    pub fn kinds(&self) -> impl Iterator<Item = (u8, Class)> + '_ {
        self.by_softirq.iter().map(|entry| (entry.0, entry.1))
    }

    /// Ends it and fills its row.
    pub fn end(&self, row: &mut SliceRow, victim: u32, out_ns: i64, prev_state: Option<i64>) {
        (row.victim, row.out_ns, row.prev_state) = (victim, out_ns, prev_state);
        (row.task_ns, row.hardirq_ns, row.softirq_ns) = (self.task_ns, self.hardirq_ns, self.softirq_ns);
        (row.poll_ns, row.unknown_ns) = (self.poll_ns, self.unknown_ns);
        row.by_softirq.clone_from(&self.by_softirq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NET_RX: u8 = 3;

    #[test]
    fn the_drawn_case() {
        let mut slice = Slice::default();
        slice.add_softirq(NET_RX, Class::Scheduled, 9);
        slice.begin(100, 4);
        slice.add_task(10);
        slice.add_hardirq(2);
        slice.add_task(3);
        slice.add_softirq(NET_RX, Class::Stolen, 20);
        slice.add_softirq(NET_RX, Class::Stolen, 1);
        slice.add_task(5);
        slice.add_task(-5);
        slice.add_unknown(5);
        let mut row = SliceRow { in_ns: 100, ..SliceRow::default() };
        slice.end(&mut row, 7, 141, Some(1));
        assert_eq!((slice.row(), slice.in_ns()), (4, 100));
        assert_eq!((row.task_ns, row.hardirq_ns, row.softirq_ns, row.unknown_ns), (13, 2, 21, 5));
        assert_eq!(row.task_ns + row.hardirq_ns + row.softirq_ns + row.unknown_ns, row.out_ns - row.in_ns);
        assert_eq!(row.by_softirq, [(NET_RX, Class::Stolen, 21)]);
    }

    #[test]
    fn a_poll_was_the_tasks_time() {
        let mut slice = Slice::default();
        slice.add_task(10);
        slice.make_polled(7);
        let mut row = SliceRow::default();
        slice.end(&mut row, 7, 10, None);
        assert_eq!((row.task_ns, row.poll_ns), (3, 7));
    }
}
