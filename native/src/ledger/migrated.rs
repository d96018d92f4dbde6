//! Why tasks migrated, and who held the two CPUs.

use std::collections::BTreeSet;

use crate::intern::NONE;
use crate::ledger::cpu::Found;
use crate::ledger::rows::{Cause, MigrationRow};

/// A stopper that moves a task for an exec runs just before the exec is recorded.
pub const EXEC_WITHIN_NS: i64 = 50_000_000;

#[derive(Debug)]
pub struct Migrated {
    /// The event, with the cause as later events show it.
    pub row: MigrationRow,
    /// Victim that held the CPU it left, or `NONE`.
    pub orig: u32,
    /// Victim that held the CPU it moved to, or `NONE`.
    pub dest: u32,
}

/// Tid and time of each exec.
pub type Execs = BTreeSet<(i32, i64)>;

/// Whether a stopper moved the task for an exec: if so, one follows soon.
pub fn is_for_exec(row: &MigrationRow, execs: &Execs) -> bool {
    let soon = (row.tid, row.time_ns)..(row.tid, row.time_ns.saturating_add(EXEC_WITHIN_NS));
    row.cause == Cause::Stopper && execs.range(soon).next().is_some()
}

/// Who held a CPU at a time.
fn holder(cpus: &[Found], cpu: i32, time_ns: i64) -> u32 {
    let found = cpus.binary_search_by_key(&i64::from(cpu), |cpu| cpu.number.into());
    let Ok(slices) = found.map(|place| cpus[place].rows.slices.rows()) else { return NONE };
    let after = slices.partition_point(|row| row.in_ns <= time_ns);
    let row = after.checked_sub(1).map(|index| &slices[index]);
    row.filter(|row| time_ns <= row.out_ns).map_or(NONE, |row| row.victim)
}

/// By time. `cpus`: all of them, because CPUs that are not shown have holders too.
pub fn migrated(cpus: &[Found], shown: impl Fn(u32) -> bool) -> Vec<Migrated> {
    let on_shown = |row: &&MigrationRow| [row.orig_cpu, row.dest_cpu].iter().any(|&cpu| shown(cpu as u32));
    let mut kept: Vec<&MigrationRow> =
        cpus.iter().flat_map(|cpu| cpu.rows.migrations.rows()).filter(on_shown).collect();
    kept.sort_by_key(|row| (row.time_ns, row.order));
    let execs: Execs = cpus.iter().flat_map(|cpu| &cpu.rows.execs).map(|exec| (exec.1, exec.0)).collect();
    let told = |row: &MigrationRow| {
        let cause = if is_for_exec(row, &execs) { Cause::Exec } else { row.cause };
        let row = MigrationRow { cause, ..row.clone() };
        let (orig, dest) = (holder(cpus, row.orig_cpu, row.time_ns), holder(cpus, row.dest_cpu, row.time_ns));
        Migrated { row, orig, dest }
    };
    kept.into_iter().map(told).collect()
}
