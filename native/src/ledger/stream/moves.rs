//! Migrations that wait for more facts: the slices that held either CPU, and whether an exec followed.
//!
//! ```text
//!   CPU 0   | openssl ..... |  sh  |          holder of CPU 0: known when a later slice of it is
//!   CPU 1        | swapper ....... | ...
//!   CPU 2           migrate 7: 0 -> 1
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use crate::intern::NONE;
use crate::ledger::migrated::{is_for_exec, Execs, Migrated, EXEC_WITHIN_NS};
use crate::ledger::rows::{Cause, MigrationRow, SliceRow};

/// Time and order. No two events share both.
type Key = (i64, u32);

#[derive(Debug)]
struct Waiting {
    migrated: Migrated,
    /// Number of holders that are not known yet.
    unknown: u8,
}

/// Recent slices of a CPU, and the migrations that wait for more.
#[derive(Debug, Default)]
struct Stays {
    /// Start, end, victim.
    known: VecDeque<(i64, i64, u32)>,
    /// Start of the last one, whether in the window or not.
    last_ns: Option<i64>,
    /// Migrations that wait; true if this CPU is their destination.
    waiting: BinaryHeap<Reverse<(Key, bool)>>,
}

impl Stays {
    fn holder(&self, time_ns: i64) -> u32 {
        let after = self.known.partition_point(|stay| stay.0 <= time_ns);
        let stay = after.checked_sub(1).map(|place| self.known[place]);
        stay.filter(|stay| time_ns <= stay.1).map_or(NONE, |stay| stay.2)
    }

    /// Drops those that no question about `from_ns` or later needs.
    fn forget(&mut self, from_ns: i64) {
        let after = self.known.partition_point(|stay| stay.0 <= from_ns);
        self.known.drain(..after.saturating_sub(1));
    }
}

#[derive(Debug, Default)]
pub struct Moves {
    waiting: BTreeMap<Key, Waiting>,
    stays: FxHashMap<u32, Stays>,
    execs: Execs,
}

impl Moves {
    /// Takes a CPU's migrations and execs. `is_told`: whether a CPU's slices come.
    pub fn take(&mut self, rows: Vec<MigrationRow>, execs: &mut Vec<(i64, i32)>, is_told: impl Fn(u32) -> bool) {
        self.execs.extend(execs.drain(..).map(|exec| (exec.1, exec.0)));
        for row in rows {
            let key = (row.time_ns, row.order);
            let mut unknown = 0;
            for (cpu, is_dest) in [(row.orig_cpu, false), (row.dest_cpu, true)] {
                if let Some(cpu) = u32::try_from(cpu).ok().filter(|&cpu| is_told(cpu)) {
                    unknown += 1;
                    self.stays.entry(cpu).or_default().waiting.push(Reverse((key, is_dest)));
                }
            }
            self.waiting.insert(key, Waiting { migrated: Migrated { row, orig: NONE, dest: NONE }, unknown });
        }
    }

    pub fn take_slices(&mut self, cpu: u32, slices: &[SliceRow], window: (i64, i64)) {
        let stays = self.stays.entry(cpu).or_default();
        stays.last_ns = slices.last().map(|last| last.in_ns).or(stays.last_ns);
        let shown = slices.iter().filter(|row| row.is_in(window));
        stays.known.extend(shown.map(|row| (row.in_ns, row.out_ns, row.victim)));
    }

    /// Returns the migrations with all facts, in order. Nothing comes before `known_ns` any more.
    pub fn settle(&mut self, known_ns: i64) -> Vec<Migrated> {
        let Moves { waiting, stays, execs } = self;
        for stays in stays.values_mut() {
            while let Some(&Reverse(((time_ns, order), is_dest))) = stays.waiting.peek() {
                if known_ns != i64::MAX && stays.last_ns.is_none_or(|last_ns| last_ns <= time_ns) {
                    break;
                }
                stays.waiting.pop();
                let holder = stays.holder(time_ns);
                if let Some(of) = waiting.get_mut(&(time_ns, order)) {
                    *if is_dest { &mut of.migrated.dest } else { &mut of.migrated.orig } = holder;
                    of.unknown -= 1;
                }
            }
            stays.forget(stays.waiting.peek().map_or(known_ns, |first| first.0 .0 .0.min(known_ns)));
        }
        let mut told = Vec::new();
        while let Some(first) = waiting.first_entry() {
            let row = &first.get().migrated.row;
            let by_stopper = row.cause == Cause::Stopper;
            let until = row.time_ns.saturating_add(if by_stopper { EXEC_WITHIN_NS } else { 0 });
            if first.get().unknown > 0 || until > known_ns {
                break;
            }
            let mut migrated = first.remove().migrated;
            if is_for_exec(&migrated.row, execs) {
                migrated.row.cause = Cause::Exec;
            }
            told.push(migrated);
        }
        let oldest = waiting.first_key_value().map_or(known_ns, |first| first.0 .0.min(known_ns));
        execs.retain(|exec| exec.1 >= oldest);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(in_ns: i64, out_ns: i64, victim: u32) -> SliceRow {
        SliceRow { in_ns, out_ns, victim, ..SliceRow::default() }
    }

    fn moved(time_ns: i64, cause: Cause) -> MigrationRow {
        MigrationRow { time_ns, order: 1, tid: 7, victim: 70, orig_cpu: 0, dest_cpu: 1, cause }
    }

    fn told(moves: &mut Moves, known_ns: i64) -> Vec<(i64, u32, u32, Cause)> {
        let told = moves.settle(known_ns).into_iter();
        told.map(|one| (one.row.time_ns, one.orig, one.dest, one.row.cause)).collect()
    }

    const EVER: (i64, i64) = (i64::MIN, i64::MAX);

    #[test]
    fn a_migration_waits_for_the_next_slice_of_either_cpu() {
        let mut moves = Moves::default();
        moves.take(vec![moved(50, Cause::Balance)], &mut vec![], |_| true);
        moves.take_slices(0, &[slice(0, 60, 1), slice(60, 70, 2)], EVER);
        moves.take_slices(1, &[slice(10, 40, 3)], EVER);
        assert_eq!(told(&mut moves, 80), []);
        // Nobody was seen on CPU 1 from 40 to 90.
        moves.take_slices(1, &[slice(90, 95, 4)], EVER);
        assert_eq!(told(&mut moves, 100), [(50, 1, NONE, Cause::Balance)]);
        assert_eq!(moves.stays[&0].known.len(), 1);
    }

    #[test]
    fn what_a_stopper_does_waits_for_an_exec() {
        let mut moves = Moves::default();
        moves.take(vec![moved(50, Cause::Stopper)], &mut vec![(60, 8)], |_| false);
        assert_eq!(told(&mut moves, 1000), []);
        moves.take(vec![], &mut vec![(900, 7), (EXEC_WITHIN_NS + 50, 7)], |_| false);
        assert_eq!(told(&mut moves, EXEC_WITHIN_NS + 50), [(50, NONE, NONE, Cause::Exec)]);
        assert_eq!(moves.execs, Execs::from([(7, EXEC_WITHIN_NS + 50)]));
    }

    #[test]
    fn at_the_end_nothing_more_comes() {
        let mut moves = Moves::default();
        moves.take(vec![moved(50, Cause::Stopper)], &mut vec![], |_| true);
        moves.take_slices(0, &[slice(0, 60, 1)], EVER);
        assert_eq!(told(&mut moves, i64::MAX), [(50, 1, NONE, Cause::Stopper)]);
    }
}
