//! When scheduled network work had the CPU in a stay.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::handovers::stays::Stays;
use crate::intern::Interner;
use crate::lives::read::{numbers, required, Texts};
use crate::pairing::tables::Table;

/// By CPU the stretches; of those that meet one is made.
#[derive(Debug)]
pub struct Held {
    scheduled: u32,
    contexts: [u32; 3],
    yes: u32,
    spans: BTreeMap<i64, Vec<(i64, i64)>>,
}

impl Held {
    /// None yet.
    pub fn new(names: &mut Interner) -> Held {
        let mut code = |name: &str| names.code(name.as_bytes());
        let contexts = [code("task"), code("softirq"), code("poll")];
        Held { scheduled: code("scheduled"), contexts, yes: code("yes"), spans: BTreeMap::new() }
    }

    /// The next segments.
    pub fn add(&mut self, table: &RecordBatch, stays: &Stays, names: &mut Interner) -> Result<()> {
        let (cpu, start, end) = (numbers(table, "cpu")?, numbers(table, "start_ns")?, numbers(table, "end_ns")?);
        let mut texts = |name: &str| required(Texts::of(table, name, names), name);
        let (class, context, network) = (texts("cost_class")?, texts("context")?, texts("is_network")?);
        for row in 0..table.num_rows() {
            // Hardly any is, of most captures.
            if class.code(row) != Some(self.scheduled) || network.code(row) != Some(self.yes) {
                continue;
            }
            let (cpu, start_ns, end_ns) = (cpu.value(row), start.value(row), end.value(row));
            let is_work = context.code(row).is_some_and(|context| self.contexts.contains(&context));
            if !is_work || !stays.meet(cpu, start_ns, end_ns) {
                continue;
            }
            let own = self.spans.entry(cpu).or_default();
            match own.last_mut().filter(|last| last.1 == start_ns) {
                Some(last) => last.1 = end_ns,
                None => own.push((start_ns, end_ns)),
            }
        }
        Ok(())
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
