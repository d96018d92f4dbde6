//! Why tasks were moved, and who held the CPUs between which they were.

use crate::intern::NONE;
use crate::ledger::cpu::Found;
use crate::ledger::rows::{Cause, MigrationRow};

/// A stopper that moves a task on exec runs just before the exec is recorded.
pub const EXEC_WITHIN_NS: i64 = 50_000_000;

/// A row of the table.
#[derive(Debug)]
pub struct Migrated {
    /// What the event says, and the cause as later events show it.
    pub row: MigrationRow,
    /// The victim that held the CPU it left, or `NONE`.
    pub orig: u32,
    /// The one that held the CPU it came to.
    pub dest: u32,
}

/// Whether an exec, of a time and a tid, follows so soon that a task was moved for it.
pub fn is_soon(row: &MigrationRow, exec: &(i64, i32)) -> bool {
    exec.1 == row.tid && (0..EXEC_WITHIN_NS).contains(&(exec.0 - row.time_ns))
}

/// Who held a CPU at a time.
fn holder(cpus: &[Found], cpu: i32, time_ns: i64) -> u32 {
    let found = cpus.binary_search_by_key(&i64::from(cpu), |cpu| cpu.number.into());
    let Ok(slices) = found.map(|place| cpus[place].rows.slices.rows()) else { return NONE };
    let after = slices.partition_point(|row| row.in_ns <= time_ns);
    let row = after.checked_sub(1).map(|index| &slices[index]);
    row.filter(|row| time_ns <= row.out_ns).map_or(NONE, |row| row.victim)
}

/// By time. `cpus`: all, for who held those that are not shown.
pub fn migrated(cpus: &[Found], shown: impl Fn(u32) -> bool) -> Vec<Migrated> {
    let on_shown = |row: &&MigrationRow| [row.orig_cpu, row.dest_cpu].iter().any(|&cpu| shown(cpu as u32));
    let mut kept: Vec<&MigrationRow> =
        cpus.iter().flat_map(|cpu| cpu.rows.migrations.rows()).filter(on_shown).collect();
    kept.sort_by_key(|row| (row.time_ns, row.order));
    let execs: Vec<(i64, i32)> = cpus.iter().flat_map(|cpu| cpu.rows.execs.iter().copied()).collect();
    let told = |row: &MigrationRow| {
        let on_exec = row.cause == Cause::Stopper && execs.iter().any(|exec| is_soon(row, exec));
        let row = MigrationRow { cause: if on_exec { Cause::Exec } else { row.cause }, ..row.clone() };
        let (orig, dest) = (holder(cpus, row.orig_cpu, row.time_ns), holder(cpus, row.dest_cpu, row.time_ns));
        Migrated { row, orig, dest }
    };
    kept.into_iter().map(told).collect()
}
