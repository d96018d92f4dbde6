//! Episodes: interrupts on top of one task, in which it did not run, and the longest of them. What one is:
//! docs/definitions.md.
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

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::intern::Interner;
use crate::lives::read::{at, numbers, pieces, runs};
use beside::Timed;
use cpu::{Cpu, Side};
use rows::{Codes, Segments};
pub use settings::{Settings, Victim};
use told::Told;

/// Takes the tables segments, softirqs and polls in batches, whichever way they are cut.
pub struct Episodes {
    settings: Settings,
    names: Interner,
    codes: Codes,
    cpus: BTreeMap<i64, Cpu>,
    told: Told,
}

impl Episodes {
    /// Nothing seen yet.
    pub fn new(settings: Settings) -> Episodes {
        let mut names = Interner::default();
        let codes = Codes::new(&mut names, &settings.victim);
        let told = Told::new(settings.most);
        Episodes { settings, names, codes, cpus: BTreeMap::new(), told }
    }

    /// The next batch. Polls come no later than the segments in which they ended, softirqs of a CPU in the order of their
    /// entries.
    pub fn add(&mut self, segments: &[RecordBatch], softirqs: &[RecordBatch], polls: &[RecordBatch]) -> Result<()> {
        for table in softirqs {
            self.read_timed(table, "entry_ns", "raise_ns", |cpu| &mut cpu.entered)?;
        }
        for table in polls {
            self.read_timed(table, "end_ns", "work", |cpu| &mut cpu.polled)?;
        }
        self.each_cpu(Cpu::resume);
        for table in segments.iter().flat_map(pieces) {
            self.read_segments(&table)?;
        }
        self.cpus.values_mut().for_each(Cpu::forget);
        Ok(())
    }

    /// What all of it comes to, by name; nothing comes any more.
    pub fn tables(&mut self) -> Result<Vec<(&'static str, RecordBatch)>> {
        self.each_cpu(Cpu::finish);
        self.cpus.clear();
        tables::tables(&mut self.told, &self.names)
    }

    fn read_timed(
        &mut self,
        table: &RecordBatch,
        time: &str,
        value: &str,
        of: fn(&mut Cpu) -> &mut Timed,
    ) -> Result<()> {
        let (cpus, times, values) = (numbers(table, "cpu")?, numbers(table, time)?, numbers(table, value)?);
        for run in runs(cpus.values()) {
            let cpu = self.cpus.entry(cpus.value(run.start)).or_default();
            of(cpu).extend(run.filter_map(|row| Some((at(&times, row)?, at(&values, row)))));
        }
        Ok(())
    }

    fn read_segments(&mut self, table: &RecordBatch) -> Result<()> {
        let rows = Segments::read(table, &self.codes, &mut self.names)?;
        for run in runs(rows.cpu.values()) {
            let number = rows.cpu.value(run.start);
            let mut side = Side { cpu: number, settings: &self.settings, codes: &self.codes, told: &mut self.told };
            let cpu = self.cpus.entry(number).or_default();
            for row in run.clone().filter(|&row| rows.is_near(row, &run)) {
                cpu.add(rows.segment(row, &self.codes), &mut side);
            }
        }
        Ok(())
    }

    fn each_cpu(&mut self, have: fn(&mut Cpu, &mut Side<'_>)) {
        for (&number, cpu) in &mut self.cpus {
            have(cpu, &mut Side { cpu: number, settings: &self.settings, codes: &self.codes, told: &mut self.told });
        }
    }
}
