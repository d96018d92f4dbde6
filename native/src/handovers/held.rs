//! When scheduled network work had the CPU during a stay.

use std::collections::BTreeMap;

use crate::handovers::stays::Stays;
use crate::ledger::cpu::Found;
use crate::ledger::resolve::Names;
use crate::ledger::thief::{Class, Context};
use crate::pairing::tables::Table;

/// Stretches by CPU. Adjacent ones are joined.
#[derive(Debug, Default)]
pub struct Held {
    spans: BTreeMap<i64, Vec<(i64, i64)>>,
}

impl Held {
    /// Adds the next segments of a CPU.
    pub fn add(&mut self, names: &Names, found: &Found, stays: &Stays) {
        let cpu = i64::from(found.number);
        found.finished.each(|row, end_ns| {
            // In most captures hardly any segment passes.
            if row.class() != Class::Scheduled || names.known(row.thief()).network != 0 {
                return;
            }
            let context = names.thief(row.thief()).context;
            let is_work = matches!(context, Context::Task | Context::Softirq | Context::Poll);
            if !is_work || !stays.meet(cpu, row.start, end_ns) {
                return;
            }
            let own = self.spans.entry(cpu).or_default();
            match own.last_mut().filter(|last| last.1 == row.start) {
                Some(last) => last.1 = end_ns,
                None => own.push((row.start, end_ns)),
            }
        });
    }

    /// A row per stretch.
    pub fn columns<'n>(&self, table: Table<'n>) -> Table<'n> {
        let rows = || self.spans.iter().flat_map(|(&cpu, own)| own.iter().map(move |span| (cpu, span)));
        table
            .numbers("cpu", rows().map(|row| row.0))
            .numbers("start_ns", rows().map(|row| row.1 .0))
            .numbers("end_ns", rows().map(|row| row.1 .1))
    }
}
