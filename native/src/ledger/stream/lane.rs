//! Rows that have left one CPU and are not yet in a batch.

use crate::chunks::Chunks;
use crate::ledger::cpu::Found;
use crate::ledger::join::Settled;
use crate::ledger::left::Left;
use crate::ledger::numbered::Numbered;
use crate::ledger::rows::{known, Answer, CoverageRow, HardirqRow, PollRow, Rows, SliceRow, SoftirqRow};
use crate::ledger::segment::{Finished, Packed};
use crate::ledger::stream::queue::Queue;

/// Tables whose rows belong to a CPU. Rows due at the same time leave in this order: no poll comes after its softirq.
pub const TABLES: usize = 6;

#[derive(Debug, Default)]
pub struct Lane {
    segments: Queue<Packed>,
    segments_end: i64,
    hardirqs: Queue<HardirqRow>,
    polls: Queue<PollRow>,
    softirqs: Queue<SoftirqRow>,
    /// With their numbers.
    slices: Queue<(usize, SliceRow)>,
    /// Number of the next slice to come.
    next_slice: usize,
    /// Answers about slices that are yet to come.
    early: Vec<Answer>,
    coverage: Queue<CoverageRow>,
}

impl Lane {
    /// Takes what left the CPU. Slices are only taken if they are wanted.
    pub fn take(&mut self, left: Left, window: (i64, i64), wants_slices: bool) {
        let ends = left.segments.iter().skip(1).map(|next| next.start).chain([left.segments_end]);
        left.segments.iter().zip(ends).for_each(|(row, end_ns)| self.segments.push(end_ns, *row));
        self.segments_end = left.segments_end;
        let hardirqs = left.hardirqs.into_iter();
        hardirqs.for_each(|row| self.hardirqs.push(row.exit_ns.or(row.entry_ns).unwrap_or(i64::MIN), row));
        left.polls.into_iter().for_each(|row| self.polls.push(row.end_ns, row));
        let softirqs = left.softirqs.into_iter();
        softirqs.for_each(|row| self.softirqs.push(known(row.exit_ns).unwrap_or(row.entry_ns), row));
        left.coverage.into_iter().for_each(|row| self.coverage.push(row.end_ns, row));
        self.take_slices(left.slices, window, wants_slices);
    }

    fn take_slices(&mut self, mut left: Numbered<SliceRow>, window: (i64, i64), wanted: bool) {
        self.next_slice = left.next();
        for answer in std::mem::take(&mut self.early) {
            match left.get_mut(answer.row) {
                Some(row) => row.answer(&answer),
                None => self.early.push(answer),
            }
        }
        let numbered = (left.first()..).zip(std::mem::take(left.rows_mut()));
        for (number, row) in numbered.filter(|(_, row)| wanted && row.is_in(window)) {
            self.slices.push(row.out_ns, (number, row));
        }
    }

    /// Takes what is known of the wait before a slice.
    pub fn answer(&mut self, answer: Answer) {
        if answer.row >= self.next_slice {
            self.early.push(answer);
        } else if let Some((_, row)) = self.slices.find_mut(&answer.row, |row| row.0) {
            row.answer(&answer);
        }
    }

    /// Number of settled rows in each table.
    pub fn due(&self, settled: Settled) -> [usize; TABLES] {
        let Settled { known_ns, waits_ns } = settled;
        [
            self.segments.due(known_ns, |_| true),
            self.hardirqs.due(known_ns, |_| true),
            self.polls.due(known_ns, |_| true),
            self.softirqs.due(known_ns, |_| true),
            self.slices.due(known_ns, |row| row.1.in_ns < waits_ns),
            self.coverage.due(known_ns, |_| true),
        ]
    }

    /// When the first rows of each table are due, with the table's number.
    pub fn times(&self, counts: [usize; TABLES]) -> impl Iterator<Item = (i64, u8)> + '_ {
        fn of(times: impl Iterator<Item = i64>, count: usize, table: u8) -> impl Iterator<Item = (i64, u8)> {
            times.take(count).map(move |due| (due, table))
        }
        of(self.segments.times(), counts[0], 0)
            .chain(of(self.hardirqs.times(), counts[1], 1))
            .chain(of(self.polls.times(), counts[2], 2))
            .chain(of(self.softirqs.times(), counts[3], 3))
            .chain(of(self.slices.times(), counts[4], 4))
            .chain(of(self.coverage.times(), counts[5], 5))
    }

    /// Takes the first rows of each table.
    pub fn leave(&mut self, number: u32, counts: [usize; TABLES]) -> Found {
        let table = Chunks::from(self.segments.take(counts[0]));
        let end = self.segments.first().map_or(self.segments_end, |next| next.start);
        let rows = Rows {
            hardirqs: self.hardirqs.take(counts[1]).into(),
            polls: self.polls.take(counts[2]).into(),
            softirqs: self.softirqs.take(counts[3]).into(),
            slices: Numbered::from(0, self.slices.take(counts[4]).into_iter().map(|row| row.1).collect()),
            coverage: self.coverage.take(counts[5]),
            ..Rows::default()
        };
        Found { number, finished: Finished::of(table, end), rows, ..Found::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(first: usize, stays: &[(i64, i64)]) -> Left {
        let row = |&(in_ns, out_ns): &(i64, i64)| SliceRow { in_ns, out_ns, ..SliceRow::default() };
        Left { slices: Numbered::from(first, stays.iter().map(row).collect()), ..Left::default() }
    }

    /// A slice may end before it is known who waited for it, or after.
    #[test]
    fn an_answer_finds_its_slice_before_and_after_it_comes() {
        let mut lane = Lane::default();
        let answer = |row: usize| Answer { cpu: 0, row, wake_ns: None, wait_ns: 10 + row as i64 };
        lane.take(slices(0, &[(0, 5), (10, 20)]), (8, 100), true);
        [0, 1, 2].into_iter().for_each(|row| lane.answer(answer(row)));
        assert_eq!(lane.due(Settled { known_ns: 20, waits_ns: 9 })[4], 0);
        lane.take(slices(2, &[(20, 30)]), (8, 100), true);
        assert_eq!(lane.due(Settled { known_ns: 30, waits_ns: 21 })[4], 2);
        let found = lane.leave(0, [0, 0, 0, 0, 2, 0]);
        let waits: Vec<_> = found.rows.slices.rows().iter().map(|row| (row.in_ns, row.wait_ns)).collect();
        assert_eq!(waits, [(10, Some(11)), (20, Some(12))]);
        assert!(lane.early.is_empty());
    }
}
