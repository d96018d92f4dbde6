//! What was handed over to kernel threads: of given stays of theirs what each was woken for and what it polled, when
//! scheduled network work had the CPU in them, and who waited for it meanwhile.
//!
//! ```text
//!   softirqs, hardirqs -> wakes:  runs (of pairing) -> the one right before each wake-up
//!   softirqs           -> wakes:  what each thread ran first
//!   polls              -> polled: sums by stay
//!   segments           -> held:   those within stays
//!   migrations, slices -> waits:  cut where the task was moved; the parts within stays
//! ```

mod held;
mod polled;
mod stays;
mod waits;
mod wakes;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::pairing::tables::Table;
use held::Held;
use polled::Polled;
use stays::Stays;
use waits::Waits;
use wakes::Wakes;

/// Tables of one batch.
#[derive(Debug)]
pub struct Tables<'t> {
    /// Stays of all tasks.
    pub slices: &'t [RecordBatch],
    /// Whose each CPU's time was.
    pub segments: &'t [RecordBatch],
    /// Whole ones and others.
    pub softirqs: &'t [RecordBatch],
    /// Interrupts and vectors.
    pub hardirqs: &'t [RecordBatch],
    /// Of NAPI.
    pub polls: &'t [RecordBatch],
    /// Of tasks.
    pub migrations: &'t [RecordBatch],
}

/// Takes the tables in batches, whichever way they are cut: each row comes in the batch in which it ends or later, those of
/// a CPU in the order of their table.
pub struct Handovers {
    names: Interner,
    stays: Stays,
    wakes: Wakes,
    polled: Polled,
    held: Held,
    waits: Waits,
}

impl Handovers {
    /// Nothing seen yet. `stays`: cpu, tid, in_ns, out_ns and wake_ns of the threads' stays; `renamed`: of other tasks' stays
    /// (cpu, tid, in_ns) under which name (comm) they had waited for them, where that is not theirs; `threads`: how the
    /// threads' names begin; `near_ns`: how long before a wake-up what it was for may have ended.
    pub fn new(
        stays: &[RecordBatch],
        renamed: &[RecordBatch],
        threads: Vec<String>,
        near_ns: i64,
    ) -> Result<Handovers> {
        let mut names = Interner::default();
        let stays = Stays::of(stays)?;
        let wakes = Wakes::new(&stays, near_ns, &mut names);
        let polled = Polled::new(&stays);
        let held = Held::new(&mut names);
        let waits = Waits::new(renamed, threads, &mut names)?;
        Ok(Handovers { names, stays, wakes, polled, held, waits })
    }

    /// The next batch.
    pub fn add(&mut self, tables: &Tables<'_>) -> Result<()> {
        if self.stays.rows.is_empty() {
            return Ok(());
        }
        self.wakes.add(tables.softirqs, tables.hardirqs, &mut self.names)?;
        for table in tables.polls {
            self.polled.add(table, &self.stays)?;
        }
        for table in tables.segments {
            self.held.add(table, &self.stays, &mut self.names)?;
        }
        self.waits.add(tables.slices, tables.migrations, &self.stays, &mut self.names)
    }

    /// What all of it comes to, by name; nothing comes any more. `end_ns`: until when those wait who had not come back;
    /// without it they are left out.
    pub fn tables(&mut self, end_ns: Option<i64>) -> Result<Vec<(&'static str, RecordBatch)>> {
        self.wakes.finish();
        let labels = Labels::new(self.names.values());
        Ok(vec![
            ("stays", self.wakes.columns(self.polled.columns(Table::new(&labels))).batch()?),
            ("held", self.held.columns(Table::new(&labels)).batch()?),
            ("waits", self.waits.columns(Table::new(&labels), &self.stays, end_ns).batch()?),
        ])
    }
}
