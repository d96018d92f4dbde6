//! What threads were woken for: the run of softirqs that ended just before each wake-up, and what the thread ran first.
//!
//! ```text
//!   softirqs of a CPU   | run, told | run, told | the last one may go on |
//!   wake-ups                       ^ within near_ns
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::handovers::stays::Stays;
use crate::intern::NONE;
use crate::ledger::cpu::Found;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{known, SoftirqRow};
use crate::pairing::irqs::Irqs;
use crate::pairing::rows::{Irq, Softirq};
use crate::pairing::runs::{Run, Runs};
use crate::pairing::tables::Table;

/// A wake-up, its stay, and the last run that ended shortly before it.
struct Wake {
    at_ns: i64,
    stay: usize,
    run: Option<Run>,
}

/// The wake-ups on a CPU, in order.
#[derive(Default)]
struct InOrder {
    wakes: Vec<Wake>,
    /// The first wake-up not before the end of the last run.
    next: usize,
}

/// The wake-ups on a CPU, and its softirqs so far.
#[derive(Default)]
struct OfCpu {
    woken: InOrder,
    irqs: Irqs,
    runs: Runs,
}

/// Start of a stay whose thread was woken, and entry and raise of the first softirq in it.
struct First {
    in_ns: i64,
    stay: usize,
    ran: Option<(i64, Option<i64>)>,
}

/// The wake-ups of all stays.
pub struct Wakes {
    near_ns: i64,
    cpus: BTreeMap<i64, OfCpu>,
    /// By task, in order of start.
    firsts: FxHashMap<i64, Vec<First>>,
    stays: usize,
}

impl Wakes {
    /// From the stays whose wake-up was seen.
    pub fn new(stays: &Stays, near_ns: i64) -> Wakes {
        let (mut cpus, mut firsts) = (BTreeMap::<i64, OfCpu>::new(), FxHashMap::<i64, Vec<First>>::default());
        for (place, stay) in stays.rows.iter().enumerate() {
            let Some(at_ns) = stay.wake_ns else { continue };
            cpus.entry(stay.cpu).or_default().woken.wakes.push(Wake { at_ns, stay: place, run: None });
            firsts.entry(stay.tid).or_default().push(First { in_ns: stay.in_ns, stay: place, ran: None });
        }
        cpus.values_mut().for_each(|of| of.woken.wakes.sort_by_key(|wake| wake.at_ns));
        firsts.values_mut().for_each(|of| of.sort_by_key(|first| first.in_ns));
        Wakes { near_ns, cpus, firsts, stays: stays.rows.len() }
    }

    /// Adds rows of a CPU.
    pub fn add(&mut self, names: &Names, found: &Found) {
        for row in found.rows.softirqs.slices().flatten() {
            self.run_first(names, row);
        }
        let Some(of) = self.cpus.get_mut(&i64::from(found.number)) else { return };
        let irqs = found.rows.hardirqs.slices().flatten();
        of.irqs.add_plain(irqs.map(|row| Irq::of(row, names)).collect());
        let softirqs = found.rows.softirqs.slices().flatten().map(|row| Softirq::of(row, names));
        of.add(softirqs.filter(|softirq| softirq.is_whole).collect(), self.near_ns);
        of.irqs.forget();
    }

    fn run_first(&mut self, names: &Names, row: &SoftirqRow) {
        let (Some((tid @ 1.., _)), Some(entry_ns)) = (names.victim(row.victim), known(row.entry_ns)) else { return };
        let Some(of) = self.firsts.get_mut(&i64::from(tid)) else { return };
        // Rows of a batch are in order per CPU, not per task.
        let after = of.partition_point(|first| first.in_ns <= entry_ns);
        let is_earlier = |first: &&mut First| first.ran.is_none_or(|ran| ran.0 > entry_ns);
        let ran = Some((entry_ns, known(row.raise_ns)));
        of[..after].iter_mut().rev().take_while(is_earlier).for_each(|first| first.ran = ran);
    }

    /// Reports the remaining runs at the end.
    pub fn finish(&mut self) {
        for of in self.cpus.values_mut() {
            for run in of.runs.rest().collect::<Vec<Run>>() {
                of.woken.told(run, self.near_ns);
            }
        }
    }

    /// A row per stay: the run before its wake-up, unless the thread's first softirq was raised after that run; and
    /// when that softirq was raised.
    pub fn columns<'n>(&self, table: Table<'n>) -> Table<'n> {
        let mut raised = vec![None; self.stays];
        for first in self.firsts.values().flatten() {
            raised[first.stay] = first.ran.and_then(|ran| ran.1);
        }
        let mut runs = vec![None; self.stays];
        for wake in self.cpus.values().flat_map(|of| &of.woken.wakes) {
            let is_later = |run: &&Run| raised[wake.stay].is_some_and(|at| at > run.end_ns && at <= wake.at_ns);
            runs[wake.stay] = wake.run.as_ref().filter(|run| !is_later(run));
        }
        table
            .maybe("call_ns", runs.iter().map(|run| run.map(|run| run.end_ns - run.start_ns)))
            .maybe("rounds", runs.iter().map(|run| run.map(|run| run.rounds)))
            .names("on_comm", runs.iter().map(|run| run.map_or(NONE, |run| run.comm)))
            .maybe("raised_ns", raised.iter().copied())
    }
}

impl OfCpu {
    /// Adds whole softirqs of the CPU.
    fn add(&mut self, mut softirqs: Vec<Softirq>, near_ns: i64) {
        softirqs.sort_by_key(|softirq| (softirq.entry_ns, softirq.ordinal));
        let mut ended = self.irqs.ended();
        for softirq in softirqs {
            let before = ended.before(softirq.entry_ns);
            if let Some(run) = self.runs.take(&softirq, before).told {
                self.woken.told(run, near_ns);
            }
        }
    }
}

impl InOrder {
    /// Takes a run that is fully known. Runs end in order, or nearly so.
    fn told(&mut self, run: Run, near_ns: i64) {
        while self.next > 0 && self.wakes[self.next - 1].at_ns >= run.end_ns {
            self.next -= 1;
        }
        while self.wakes.get(self.next).is_some_and(|wake| wake.at_ns < run.end_ns) {
            self.next += 1;
        }
        let near = self.wakes[self.next..].iter_mut().take_while(|wake| wake.at_ns - run.end_ns <= near_ns);
        near.filter(|wake| wake.run.as_ref().is_none_or(|last| last.end_ns <= run.end_ns))
            .for_each(|wake| wake.run = Some(run.clone()));
    }
}
