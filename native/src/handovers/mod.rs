//! Work handed over to kernel threads. For given stays of threads: what each was woken for and what it polled, when
//! scheduled network work had the CPU, and who waited for it meanwhile.
//!
//! ```text
//!   softirqs, hardirqs -> wakes:   runs (of pairing) -> the one right before each wake-up
//!   softirqs           -> wakes:   what each thread ran first
//!   polls              -> polled:  sums by stay
//!   segments           -> held:    those within stays
//!   migrations, slices -> waits:   cut where the task was moved; the parts within stays
//! ```

mod held;
mod polled;
mod stays;
mod waits;
mod wakes;

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};
use crate::pairing::tables::Table;
use held::Held;
use polled::Polled;
use stays::Stays;
use waits::Waits;
use wakes::Wakes;

/// What to report.
#[derive(Debug)]
pub struct Wanted {
    stays: Stays,
    renamed: waits::Renamed,
    strings: Interner,
    threads: Vec<String>,
    near_ns: i64,
    end_ns: Option<i64>,
}

impl Wanted {
    /// `stays`: cpu, tid, in_ns, out_ns and wake_ns of the threads' stays. `renamed`: other tasks' stays (cpu, tid,
    /// in_ns) with the name (comm) under which the task waited for them, if that differs. `threads`: how the threads'
    /// names begin. `near_ns`: how long before a wake-up the work that caused it may have ended. `end_ns`: the end of
    /// waits of tasks that have not come back; without it they are left out.
    pub fn of(
        stays: &[RecordBatch],
        renamed: &[RecordBatch],
        threads: Vec<String>,
        near_ns: i64,
        end_ns: Option<i64>,
    ) -> Result<Wanted> {
        let mut strings = Interner::default();
        let renamed = waits::renamed(renamed, &mut strings)?;
        Ok(Wanted { stays: Stays::of(stays)?, renamed, strings, threads, near_ns, end_ns })
    }
}

/// What was handed over so far.
pub struct Handovers {
    wanted: Arc<Wanted>,
    wakes: Wakes,
    polled: Polled,
    held: Held,
    waits: Waits,
}

impl Handovers {
    /// Nothing seen yet.
    pub fn new(wanted: &Arc<Wanted>) -> Handovers {
        let (wakes, polled) = (Wakes::new(&wanted.stays, wanted.near_ns), Polled::new(&wanted.stays));
        Handovers {
            wanted: Arc::clone(wanted),
            wakes,
            polled,
            held: Held::default(),
            waits: Waits::new(&wanted.strings),
        }
    }
}

impl Aggregate for Handovers {
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], _: &Shown<'_>) {
        let Wanted { stays, renamed, threads, .. } = &*self.wanted;
        if stays.rows.is_empty() {
            return;
        }
        self.waits.add_moves(migrated);
        for cpu in cpus {
            self.wakes.add(names, cpu);
            self.polled.add(names, cpu, stays);
            self.held.add(names, cpu, stays);
            self.waits.add(names, cpu, stays, renamed, threads);
        }
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Tables> {
        let Wanted { stays, end_ns, .. } = &*self.wanted;
        self.wakes.finish();
        // Softirqs name their tasks by key.
        let (labels, waiting) = (&names.strings.and(&[]), &Labels::new(self.waits.strings.values()));
        Ok(vec![
            ("stays", self.wakes.columns(self.polled.columns(Table::new(labels))).batch()?),
            ("held", self.held.columns(Table::new(labels)).batch()?),
            ("waits", self.waits.columns(Table::new(waiting), stays, *end_ns).batch()?),
        ])
    }
}
