//! Settled rows on their way out, and the tables made from them.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::frames;
use crate::ledger::migrated::Migrated;
use crate::ledger::request::Want;
use crate::ledger::resolve::Names;
use crate::ledger::survey::sort_kinds;
use crate::ledger::thief::Class;

/// Tables by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;

/// Takes rows that can no longer change; returns whether to go on.
pub type Sink<'s> = &'s mut dyn FnMut(&Names, &[Found], &[Migrated], &Shown<'_>) -> Result<bool>;

/// How rows are shown.
pub struct Shown<'s> {
    /// The tables to make.
    pub want: Want,
    /// The accounted window.
    pub window: (i64, i64),
    /// Columns of softirq time in slices.
    pub kinds: &'s [(u8, Class)],
    /// Reasons for gaps, sorted.
    pub reasons: &'s [&'static str],
}

pub fn tables(names: &Names, cpus: &[Found], migrated: &[Migrated], shown: &Shown<'_>) -> Result<Tables> {
    let Shown { want, window, kinds, reasons } = *shown;
    let mut tables = Tables::new();
    if want.segments {
        tables.push(("segments", frames::segments(names, cpus)?));
    }
    if want.softirqs {
        tables.push(("softirqs", frames::softirqs(names, cpus)?));
    }
    if want.hardirqs {
        tables.push(("hardirqs", frames::hardirqs(names, cpus)?));
    }
    if want.polls {
        tables.push(("polls", frames::polls(names, cpus)?));
    }
    if want.migrations {
        tables.push(("migrations", frames::migrations(names, migrated)?));
    }
    if want.slices {
        tables.push(("slices", frames::slices(names, cpus, kinds)?));
    }
    if want.coverage {
        tables.push(("coverage", frames::coverage(cpus, window, reasons)?));
    }
    Ok(tables)
}

/// The kinds of softirq time in slices, in column order.
pub fn kinds(cpus: &[Found]) -> Vec<(u8, Class)> {
    let mut kinds: Vec<(u8, Class)> = Vec::new();
    for entry in cpus.iter().flat_map(|cpu| cpu.rows.slices.rows()).flat_map(|row| &row.by_softirq) {
        if !kinds.contains(&(entry.0, entry.1)) {
            kinds.push((entry.0, entry.1));
        }
    }
    sort_kinds(&mut kinds);
    kinds
}
