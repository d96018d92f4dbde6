//! How long tasks had run by given moments, and where they ran next. Rows may come in any order.
//!
//! ```text
//!   segments    |---| |--|   |-----|     each is added to the first moment that is not before its start: sums follow
//!   moments       0        0    0        when all are there
//!   stays             |--    |--         each is kept at the last moment that is not behind its start
//! ```

use std::sync::Arc;

use arrow_array::types::Int64Type;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::at::moments::Moments;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::thief::Context;
use crate::tables::{optional, plain, Plan};

/// How long tasks had run, and softirqs on top of them.
pub struct Passed {
    moments: Arc<Moments>,
    own: Vec<Cell>,
    softirq: Vec<Cell>,
}

/// Total length of the segments that began between two moments, and the last segment: its start, CPU and end.
#[derive(Clone, Default)]
struct Cell {
    ns: i64,
    last: Option<(i64, u32, i64)>,
}

impl Passed {
    pub fn new(moments: &Arc<Moments>) -> Passed {
        let cells = vec![Cell::default(); moments.rows.len()];
        Passed { moments: Arc::clone(moments), own: cells.clone(), softirq: cells }
    }
}

fn add(cells: &mut [Cell], moments: &Moments, tid: i64, (start_ns, cpu, end_ns): (i64, u32, i64)) {
    let of = moments.of(tid);
    let place = moments.first(&of, |time_ns| time_ns < start_ns);
    if let Some(cell) = cells[..of.end].get_mut(place) {
        cell.ns += end_ns - start_ns;
        cell.last = cell.last.max(Some((start_ns, cpu, end_ns)));
    }
}

/// How much of the segments precedes each moment. A task's segments do not overlap, so at most one spans the moment.
fn summed(cells: &[Cell], moments: &Moments) -> Vec<i64> {
    let (mut of, mut sum) = (None, Cell::default());
    let before = moments.rows.iter().zip(cells).map(|(&(tid, time_ns, _), cell)| {
        if of.replace(tid) != Some(tid) {
            sum = Cell::default();
        }
        sum = Cell { ns: sum.ns + cell.ns, last: sum.last.max(cell.last) };
        sum.ns - sum.last.map_or(0, |last| (last.2 - time_ns).max(0))
    });
    moments.asked(before)
}

impl Aggregate for Passed {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            cpu.finished.each(|row, end_ns| {
                let cells = match names.thief(row.thief()).context {
                    Context::Task => &mut self.own,
                    Context::Softirq | Context::Poll => &mut self.softirq,
                    _ => return,
                };
                if let Some((tid, _)) = names.victim(row.victim) {
                    add(cells, &self.moments, tid.into(), (row.start, cpu.number, end_ns));
                }
            });
        }
    }

    fn finish(self: Box<Self>, _: &Names) -> Result<Tables> {
        let column = |cells: &[Cell]| plain::<Int64Type>(summed(cells, &self.moments).into_iter());
        let mut plan = Plan::new();
        plan.add("own_ns", || column(&self.own)).add("softirq_ns", || column(&self.softirq));
        Ok(vec![("moments", plan.batch()?)])
    }
}

/// Start of a stay, and its CPU.
type Stay = (i64, u32);

/// Where tasks ran next: the first stay so far that began after each moment and not after the next.
pub struct Next {
    moments: Arc<Moments>,
    found: Vec<Option<Stay>>,
}

impl Next {
    pub fn new(moments: &Arc<Moments>) -> Next {
        Next { moments: Arc::clone(moments), found: vec![None; moments.rows.len()] }
    }

    fn add(&mut self, tid: i64, stay: Stay) {
        let of = self.moments.of(tid);
        let behind = self.moments.first(&of, |time_ns| time_ns <= stay.0);
        if behind > of.start {
            let found = &mut self.found[behind - 1];
            *found = earlier(*found, Some(stay));
        }
    }

    /// The first stay of all after each moment.
    fn settle(mut self) -> Vec<Option<Stay>> {
        for of in self.moments.of.values() {
            let mut next = None;
            for stay in self.found[of.clone()].iter_mut().rev() {
                next = earlier(*stay, next);
                *stay = next;
            }
        }
        self.moments.asked(self.found)
    }
}

fn earlier(one: Option<Stay>, other: Option<Stay>) -> Option<Stay> {
    one.into_iter().chain(other).min()
}

impl Aggregate for Next {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            for row in cpu.rows.slices.rows() {
                // The idle tasks of all CPUs share one tid.
                if let Some((tid, _)) = names.victim(row.victim).filter(|victim| victim.0 != 0) {
                    self.add(tid.into(), (row.in_ns, cpu.number));
                }
            }
        }
    }

    fn finish(self: Box<Self>, _: &Names) -> Result<Tables> {
        let found = self.settle();
        let mut plan = Plan::new();
        plan.add("in_ns", || optional::<Int64Type>(found.iter().map(|stay| Some(stay.as_ref()?.0))))
            .add("ran_on", || optional::<Int64Type>(found.iter().map(|stay| Some(stay.as_ref()?.1.into()))));
        Ok(vec![("moments", plan.batch()?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_a_moment_is_summed_in_any_order() {
        let asked = [(7, 30), (7, 10), (7, 15), (9, 15), (7, 20), (7, 99), (7, 15)];
        let moments = Moments::new(asked);
        let mut segments = [(7, (10, 0, 20)), (7, (25, 1, 40)), (9, (5, 1, 12)), (7, (99, 0, 100)), (8, (0, 0, 9))];
        for _ in 0..2 {
            let mut cells = vec![Cell::default(); asked.len()];
            segments.iter().for_each(|&(tid, span)| add(&mut cells, &moments, tid, span));
            assert_eq!(summed(&cells, &moments), [15, 0, 5, 7, 10, 25, 5]);
            segments.reverse();
        }
    }

    #[test]
    fn the_next_stay_is_found_in_any_order() {
        let moments = Arc::new(Moments::new([(7, 20), (7, 5), (9, 0), (7, 20), (7, 31), (7, 21)]));
        let mut stays = [(7, (20, 1)), (7, (20, 0)), (7, (30, 2)), (8, (1, 0)), (7, (1, 3))];
        for _ in 0..2 {
            let mut next = Next::new(&moments);
            stays.iter().for_each(|&(tid, stay)| next.add(tid, stay));
            let (at_20, at_30) = (Some((20, 0)), Some((30, 2)));
            assert_eq!(next.settle(), [at_20, at_20, None, at_20, None, at_30]);
            stays.reverse();
        }
    }
}
