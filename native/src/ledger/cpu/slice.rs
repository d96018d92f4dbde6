//! The time that a task is on a CPU without a break, and what of it went to what.

use crate::ledger::rows::SliceRow;
use crate::ledger::thief::Class;

/// Kinds of softirq time that slices in the window have: the table has a column for each.
#[derive(Debug, Default)]
pub struct Kinds {
    /// Each once.
    pub known: Vec<(u8, Class)>,
    /// Those of the first slice, which may reach into the window by what is known only in the end.
    pub first: Option<Vec<(u8, Class)>>,
}

impl Kinds {
    /// A slice's.
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
    /// Its row, where they are kept.
    pub row: usize,
    /// When it began.
    pub in_ns: i64,
    pub task_ns: i64,
    pub hardirq_ns: i64,
    softirq_ns: i64,
    pub poll_ns: i64,
    pub unknown_ns: i64,
    by_softirq: Vec<(u8, Class, i64)>,
}

impl Slice {
    /// A task is switched in.
    pub fn begin(&mut self, now: i64, row: usize) {
        let mut by_softirq = std::mem::take(&mut self.by_softirq);
        by_softirq.clear();
        *self = Slice { row, in_ns: now, by_softirq, ..Slice::default() };
    }

    /// Time of a softirq in it, or less of it.
    #[inline(always)]
    pub fn add_softirq(&mut self, vec: u8, class: Class, ns: i64) {
        self.softirq_ns += ns;
        match self.by_softirq.iter_mut().find(|entry| (entry.0, entry.1) == (vec, class)) {
            Some(entry) => entry.2 += ns,
            None => self.by_softirq.push((vec, class, ns)),
        }
    }

    /// Kinds of softirq time in it.
    pub fn kinds(&self) -> impl Iterator<Item = (u8, Class)> + '_ {
        self.by_softirq.iter().map(|entry| (entry.0, entry.1))
    }

    /// It ends: what its row says.
    pub fn end(&self, row: &mut SliceRow, victim: u32, out_ns: i64, prev_state: Option<i64>) {
        (row.victim, row.out_ns, row.prev_state) = (victim, out_ns, prev_state);
        (row.task_ns, row.hardirq_ns, row.softirq_ns) = (self.task_ns, self.hardirq_ns, self.softirq_ns);
        (row.poll_ns, row.unknown_ns) = (self.poll_ns, self.unknown_ns);
        row.by_softirq.clone_from(&self.by_softirq);
    }
}
