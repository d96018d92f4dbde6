//! Episodes: interrupts on top of one task, in which the task did not run. Reports how many there are and the longest.
//! See docs/definitions.md.
//!
//! ```text
//!   softirqs -> entered --v
//!   segments -> open: of each CPU the episode that goes on -> told: how many, and the longest
//!   polls    -> polled ------------------------------------^
//! ```

mod beside;
mod cpu;
mod open;
mod rows;
mod settings;
mod tables;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::known;
use crate::ledger::shown::{Shown, Tables};
use cpu::{Cpu, Side};
use rows::Whose;
pub use settings::{Settings, Victim};
use told::Told;

/// Takes segments, softirqs and polls. Polls must come no later than the segments in which they ended, and a CPU's
/// softirqs in order of entry.
pub struct Episodes {
    gap_ns: i64,
    whose: Whose,
    cpus: BTreeMap<u32, Cpu>,
    told: Told,
}

impl Episodes {
    /// Nothing seen yet.
    pub fn new(settings: &Arc<Settings>, names: &Names) -> Episodes {
        let Settings { victim, most, gap_ns } = &**settings;
        let (whose, told) = (Whose::of(victim, names), Told::new(*most));
        Episodes { gap_ns: *gap_ns, whose, cpus: BTreeMap::new(), told }
    }
}

impl Aggregate for Episodes {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for found in cpus {
            let cpu = self.cpus.entry(found.number).or_default();
            let side = &mut Side { cpu: found.number, gap_ns: self.gap_ns, whose: &self.whose, told: &mut self.told };
            let softirqs = found.rows.softirqs.slices().flatten();
            cpu.entered.extend(softirqs.filter_map(|row| Some((known(row.entry_ns)?, known(row.raise_ns)))));
            let polls = found.rows.polls.slices().flatten();
            cpu.polled.extend(polls.map(|row| (row.end_ns, row.work.map(i64::from))));
            cpu.resume(side);
            rows::each_near(&found.finished, names, |row| cpu.add(row, side));
            cpu.forget();
        }
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Tables> {
        let Episodes { gap_ns, whose, cpus, told } = &mut *self;
        for (&number, cpu) in cpus {
            cpu.finish(&mut Side { cpu: number, gap_ns: *gap_ns, whose, told });
        }
        tables::tables(told, names)
    }
}

#[cfg(test)]
mod tests;
