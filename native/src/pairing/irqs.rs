//! The interrupts of a CPU: the time between those of a line, and which of them surround a softirq.

use rustc_hash::FxHashMap;

use crate::ledger::thief::Context;
use crate::narrow::Narrow;
use crate::pairing::rows::Irq;
use crate::pairing::settings::Settings;

/// A softirq's raiser is sought among this many interrupts before its exit. The samples need three at most.
const BACK: usize = 4_096;
/// Hardirqs nest: the interrupt that holds a raise may be interrupted by this many others.
const NESTED: usize = 4;

/// An interrupt that was seen whole.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    pub entry_ns: i64,
    pub exit_ns: i64,
    pub of: Irq,
}

/// The last interrupts, by entry.
#[derive(Default)]
pub struct Irqs {
    rows: Vec<Whole>,
    /// Last entry on each line, by context, number and name.
    lines: FxHashMap<(Context, Option<i64>, u32), i64>,
}

impl Irqs {
    /// Adds interrupts, and the time since the previous one of each line.
    pub fn add(&mut self, irqs: Vec<Irq>, cpu: i64, settings: &Settings) {
        let known = self.rows.len();
        self.push(irqs);
        self.rows[known..].sort_by_key(|row| row.entry_ns);
        for row in &mut self.rows[known..] {
            let line = (row.of.context, row.of.irq, row.of.name);
            let before = self.lines.insert(line, row.entry_ns);
            let measured = before.filter(|&before| !settings.gaps.are_crossed(cpu, before, row.entry_ns));
            row.of.gap_ns = measured.map(|before| row.entry_ns - before);
        }
        self.rows.sort_by_key(|row| row.entry_ns);
    }

    /// Adds interrupts when their lines are not needed.
    pub fn add_plain(&mut self, irqs: Vec<Irq>) {
        self.push(irqs);
        self.rows.sort_by_key(|row| row.entry_ns);
    }

    fn push(&mut self, irqs: Vec<Irq>) {
        let whole = |of: Irq| Some(Whole { entry_ns: of.entry_ns?, exit_ns: of.exit_ns?, of });
        self.rows.extend(irqs.into_iter().filter_map(whole));
    }

    /// Entry of the last one.
    pub fn latest(&self) -> Option<i64> {
        self.rows.last().map(|row| row.entry_ns)
    }

    /// The innermost one that holds this raise of a softirq that ended at `exit_ns`.
    pub fn holding(&self, raise_ns: i64, exit_ns: i64) -> Option<Whole> {
        let begun = |at: i64| self.rows.partition_point(|row| row.entry_ns <= at);
        let after = begun(raise_ns);
        let mut places = (after.saturating_sub(NESTED)..after).rev();
        let which = places.find(|&place| self.rows[place].exit_ns >= raise_ns)?;
        let is_far = self.rows.len() > BACK && begun(exit_ns) > which + BACK;
        (!is_far).then(|| self.rows[which])
    }

    /// In order of their exits.
    pub fn ended(&self) -> Ended<'_> {
        let mut order: Vec<u32> = (0..self.rows.len().narrow()).collect();
        order.sort_by_key(|&place| self.rows[place as usize].exit_ns);
        Ended { rows: &self.rows, order, after: 0 }
    }

    /// Drops all but those among which raisers are sought.
    pub fn forget(&mut self) {
        self.rows.drain(..self.rows.len().saturating_sub(BACK));
    }
}

/// The interrupts by exit, for softirqs in order of entry.
pub struct Ended<'i> {
    rows: &'i [Whole],
    order: Vec<u32>,
    after: usize,
}

impl Ended<'_> {
    /// The last one that had ended by `at_ns`, which must not decrease between calls.
    #[inline]
    pub fn before(&mut self, at_ns: i64) -> Option<Whole> {
        while self.order.get(self.after).is_some_and(|&place| self.rows[place as usize].exit_ns <= at_ns) {
            self.after += 1;
        }
        let last = self.after.checked_sub(1)?;
        Some(self.rows[self.order[last] as usize])
    }
}
