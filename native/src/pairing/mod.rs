//! Softirqs with the interrupts that raised them, their runs and rounds, and their polls: the first rows, and sums over
//! all. See docs/definitions.md for the terms.
//!
//! ```text
//!   hardirqs -> irqs: gaps of their lines, the last ones of each CPU
//!   softirqs -> wait until no interrupt around them is yet to come -> runs -> chains: a NET_RX with all of that
//!   polls    -> polled: sums by size, by softirq ------------------------------^
//! ```

mod chain;
pub(crate) mod irqs;
mod line;
mod polled;
pub(crate) mod rows;
pub(crate) mod runs;
mod settings;
mod sums;
pub(crate) mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{self, Tables};
use chain::{Chain, Place};
use irqs::Irqs;
use polled::Polled;
use rows::{Irq, Poll, Softirq};
use runs::Runs;
pub use settings::{Gaps, Settings, Shown};
use sums::Sums;

/// A softirq may run inside an interrupt, as in scheduler_ipi() before Linux 5.8. It then waits for that interrupt's
/// exit, or for this many other softirqs.
const INSIDE: usize = 256;

/// State of one CPU.
#[derive(Default)]
struct Cpu {
    irqs: Irqs,
    waiting: Vec<Softirq>,
    polled: Polled,
    runs: Runs,
}

/// Takes softirqs, hardirqs and polls. Polls must come no later than their softirq, and a CPU's softirqs in order of
/// their ordinals.
pub struct Pairing {
    settings: Arc<Settings>,
    cpus: BTreeMap<i64, Cpu>,
    sums: Sums,
}

impl Pairing {
    /// Nothing seen yet.
    pub fn new(settings: &Arc<Settings>) -> Pairing {
        Pairing { settings: Arc::clone(settings), cpus: BTreeMap::new(), sums: Sums::new(settings) }
    }
}

impl Aggregate for Pairing {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &shown::Shown<'_>) {
        for found in cpus {
            let number = found.number.into();
            let mut side = Side { number, settings: &self.settings, sums: &mut self.sums };
            self.cpus.entry(number).or_default().add(found, names, &mut side);
        }
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Tables> {
        for (number, mut cpu) in std::mem::take(&mut self.cpus) {
            cpu.finish(&mut Side { number, settings: &self.settings, sums: &mut self.sums });
        }
        tables::tables(&mut self.sums, names)
    }
}

/// Where a CPU's results go.
struct Side<'p> {
    number: i64,
    settings: &'p Settings,
    sums: &'p mut Sums,
}

impl Cpu {
    fn add(&mut self, found: &Found, names: &Names, side: &mut Side<'_>) {
        let polls: Vec<Poll> = found.rows.polls.slices().flatten().map(|row| Poll::of(row, names)).collect();
        side.sums.polls.add(side.number, &polls, side.settings.window);
        for poll in &polls {
            self.polled.add(poll);
        }
        let irqs: Vec<Irq> = found.rows.hardirqs.slices().flatten().map(|row| Irq::of(row, names)).collect();
        for irq in &irqs {
            side.sums.add_line(side.number, irq);
        }
        self.irqs.add(irqs, side.number, side.settings);
        for softirq in found.rows.softirqs.slices().flatten().map(|row| Softirq::of(row, names)) {
            if softirq.is_whole {
                self.waiting.push(softirq);
            } else {
                side.sums.add_polled(side.number, self.polled.take(softirq.ordinal), None);
            }
        }
        self.waiting.sort_by_key(|softirq| (softirq.entry_ns, softirq.ordinal));
        let latest = self.irqs.latest();
        let many = self.waiting.len().saturating_sub(INSIDE);
        let rest = self.waiting[many..].iter().rposition(|one| latest.is_some_and(|latest| latest > one.exit_ns));
        self.take(many + rest.map_or(0, |place| place + 1), side);
        self.irqs.forget();
    }

    fn finish(&mut self, side: &mut Side<'_>) {
        self.take(self.waiting.len(), side);
        for run in self.runs.rest() {
            side.sums.add_run(side.number, run, side.settings);
        }
        for of in self.polled.rest() {
            side.sums.add_polled(side.number, of, None);
        }
    }

    /// Takes the first `many` waiting softirqs: everything that they depend on has come.
    fn take(&mut self, many: usize, side: &mut Side<'_>) {
        let mut ended = self.irqs.ended();
        for softirq in self.waiting.drain(..many) {
            let before = ended.before(softirq.entry_ns);
            let of = self.runs.take(&softirq, before);
            if let Some(run) = of.told {
                side.sums.add_run(side.number, run, side.settings);
            }
            let polled = self.polled.take(softirq.ordinal);
            if !softirq.is_net_rx {
                side.sums.add_polled(side.number, polled, None);
                continue;
            }
            let raiser = match softirq.raise_ns {
                Some(raise_ns) => self.irqs.holding(raise_ns, softirq.exit_ns),
                None => of.began_at.filter(|_| softirq.at_exit && !softirq.in_kthread && of.round == 1),
            };
            let place = Place { cpu: side.number, call: of.call, round: of.round };
            let chain = Chain::of(softirq, place, raiser, polled.as_ref());
            side.sums.add_polled(side.number, polled, Some(&chain));
            side.sums.add_chain(chain, side.settings);
        }
    }
}
