//! What a row says only next to earlier ones: those of an interrupt's line, a softirq's polls, a task's last stay.
//!
//! ```text
//!   line 25 on CPU 0   | irq |--- gap ---| irq |        task 7   stay on CPU 0 |- asleep -|- waits -| stay on CPU 1
//! ```

use std::ops::Deref;

use rustc_hash::FxHashMap;

use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{HardirqRow, PollRow, SliceRow, SoftirqRow};
use crate::ledger::segment::Packed;
use crate::lives::slice::is_asleep;

/// A row that is grouped.
pub trait Row: Sized + 'static {
    /// What the rows before it add.
    type Beside;
}

/// A row, with what earlier rows add.
pub struct Told<'r, R: Row> {
    pub told: &'r R,
    pub beside: R::Beside,
}

impl<R: Row> Deref for Told<'_, R> {
    type Target = R;

    fn deref(&self) -> &R {
        self.told
    }
}

impl Row for PollRow {
    type Beside = ();
}

impl Row for Migrated {
    type Beside = ();
}

impl Row for Packed {
    type Beside = Ended;
}

pub struct Ended {
    pub end_ns: i64,
}

impl Row for HardirqRow {
    type Beside = Gap;
}

/// Time since the previous entry on the same line and CPU. `None` for the first, and across a gap in the record.
#[derive(Default)]
pub struct Gap {
    pub gap_ns: Option<i64>,
}

/// Last entries on the lines of all CPUs.
#[derive(Default)]
pub struct Lines {
    /// By CPU, context, number and name.
    last: FxHashMap<(u32, u32, Option<i64>, u32), i64>,
    /// Gaps in each CPU's record, as (end, start), in order of their ends.
    lost: FxHashMap<u32, Vec<(i64, i64)>>,
}

impl Lines {
    /// Takes a CPU's gaps in coverage, before its rows are asked about.
    pub fn lose(&mut self, cpu: &Found) {
        if !cpu.rows.coverage.is_empty() {
            let lost = self.lost.entry(cpu.number).or_default();
            lost.extend(cpu.rows.coverage.iter().map(|row| (row.end_ns, row.start_ns)));
            lost.sort_unstable();
        }
    }

    /// Takes the next interrupt of a CPU.
    pub fn gap(&mut self, names: &Names, cpu: u32, row: &HardirqRow) -> Gap {
        let Some(entry_ns) = row.entry_ns else { return Gap::default() };
        let line = names.known(row.thief);
        let Some(last_ns) = self.last.insert((cpu, line.context, line.id, line.name), entry_ns) else {
            return Gap::default();
        };
        let lost = self.lost.get(&cpu).map_or(&[][..], |lost| lost);
        let behind = &lost[lost.partition_point(|&(end_ns, _)| end_ns <= last_ns)..];
        let is_crossed = behind.iter().any(|&(_, start_ns)| start_ns < entry_ns);
        Gap { gap_ns: (!is_crossed).then_some(entry_ns - last_ns) }
    }
}

impl Row for SoftirqRow {
    type Beside = OfPolls;
}

/// Facts about a softirq's polls.
#[derive(Default, Clone, Copy)]
pub struct OfPolls {
    /// End of the last one.
    pub last_poll_ns: Option<i64>,
    /// Number of polls that used up their budget.
    pub full_polls: i64,
}

/// Softirqs, over all CPUs, whose polls are kept before the lost ones are sought: those never claim their polls.
const MOST_AWAITED: usize = 1 << 16;

/// Polls of softirqs that are yet to come. No poll comes after its softirq.
#[derive(Default)]
pub struct Polled {
    awaited: FxHashMap<(u32, u32), OfPolls>,
    /// How many were left after the last search for lost ones. The next search waits for twice as many.
    found: usize,
}

impl Polled {
    /// Takes the next poll of a CPU.
    pub fn poll(&mut self, cpu: u32, row: &PollRow) {
        let Some(softirq) = row.softirq else { return };
        let of = self.awaited.entry((cpu, softirq)).or_default();
        of.last_poll_ns = of.last_poll_ns.max(Some(row.end_ns));
        of.full_polls += i64::from(row.work == row.budget && row.budget.is_some_and(|budget| budget > 0));
    }

    /// Takes the next softirq of a CPU.
    pub fn softirq(&mut self, cpu: u32, row: &SoftirqRow) -> OfPolls {
        if self.awaited.len() > MOST_AWAITED.max(2 * self.found) {
            self.awaited.retain(|&(of, ordinal), _| of != cpu || ordinal >= row.ordinal);
            self.found = self.awaited.len();
        }
        self.awaited.remove(&(cpu, row.ordinal)).unwrap_or_default()
    }
}

impl Row for SliceRow {
    type Beside = Before;
}

/// What a task did before one of its stays on a CPU, without what the window cuts off.
#[derive(Default, Clone, Copy)]
pub struct Before {
    /// The state in which it left its last stay.
    pub left_state: Option<i64>,
    /// How long it then neither ran nor waited; `None` if that is no time or not known.
    pub asleep_ns: Option<i64>,
    /// How long it waited.
    pub waited_ns: Option<i64>,
}

/// The last stay of each task: its end, and the state in which the task left.
#[derive(Default)]
pub struct Stays(FxHashMap<i32, (i64, Option<i64>)>);

impl Stays {
    /// What preceded each of these stays, by CPU. A task's stays are taken in order of time, whatever the CPU.
    pub fn before(&mut self, names: &Names, cpus: &[Found], window: (i64, i64)) -> Vec<Vec<Before>> {
        let mut found: Vec<Vec<Before>> =
            cpus.iter().map(|cpu| vec![Before::default(); cpu.rows.slices.rows().len()]).collect();
        let places = |(place, cpu): (usize, &Found)| {
            cpu.rows
                .slices
                .rows()
                .iter()
                .enumerate()
                .map(move |(row, stay)| (stay.in_ns, place, row))
                .collect::<Vec<_>>()
        };
        let mut order: Vec<(i64, usize, usize)> = cpus.iter().enumerate().flat_map(places).collect();
        order.sort_unstable();
        let within = |time_ns: i64| time_ns.clamp(window.0, window.1);
        for (_, place, row) in order {
            let stay = &cpus[place].rows.slices.rows()[row];
            let begun_ns = stay.in_ns - stay.wait_ns.unwrap_or(0);
            let before = &mut found[place][row];
            before.waited_ns = stay.wait_ns.map(|_| within(stay.in_ns) - within(begun_ns));
            let Some(tid) = names.victim(stay.victim).map(|of| of.0).filter(|&tid| tid != 0) else { continue };
            if let Some((out_ns, state)) = self.0.insert(tid, (stay.out_ns, stay.prev_state)) {
                before.left_state = state;
                // A runnable task whose wait is not known may have waited all along.
                let is_known = state.is_some_and(|state| stay.wait_ns.is_some() || is_asleep(state));
                before.asleep_ns = Some(within(begun_ns) - within(out_ns)).filter(|&ns| is_known && ns > 0);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::thief::Class;

    const MANY: u32 = 8 * MOST_AWAITED as u32;

    fn poll(ordinal: u32) -> PollRow {
        let (work, softirq) = (Some(64), Some(ordinal));
        let (start_ns, end_ns, self_ns, thief, victim) = (1, 2, 1, 0, 0);
        PollRow { start_ns, end_ns, self_ns, thief, work, budget: work, softirq, victim, class: Class::None }
    }

    fn softirq(ordinal: u32) -> SoftirqRow {
        let (raise_ns, entry_ns, exit_ns, self_ns, poll_ns) = (0, 1, 3, 1, 1);
        let (victim, polls, packets, vec, origin) = (0, 1, 64, 3, 0);
        let (class, in_kthread) = (Class::None, false);
        SoftirqRow {
            raise_ns,
            entry_ns,
            exit_ns,
            self_ns,
            poll_ns,
            ordinal,
            victim,
            polls,
            packets,
            vec,
            origin,
            class,
            in_kthread,
        }
    }

    /// In a kept window all polls precede all softirqs: a search through them at each softirq would never end.
    #[test]
    fn many_softirqs_have_their_polls_however_many_wait() {
        let mut polled = Polled::default();
        (0..MANY).for_each(|ordinal| polled.poll(0, &poll(ordinal)));
        assert!((0..MANY).all(|ordinal| polled.softirq(0, &softirq(ordinal)).full_polls == 1));
    }

    #[test]
    fn polls_whose_softirq_is_lost_do_not_stay() {
        let mut polled = Polled::default();
        for ordinal in 0..MANY {
            polled.poll(0, &poll(ordinal));
            if ordinal % 64 == 63 {
                polled.softirq(0, &softirq(ordinal));
            }
        }
        assert!(polled.awaited.len() <= MOST_AWAITED + 64);
    }
}
