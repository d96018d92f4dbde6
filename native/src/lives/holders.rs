//! For whom tasks waited: who had the CPU meanwhile.

use rustc_hash::FxHashMap;

/// A wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// The CPU that it waited for.
    pub cpu: i64,
    /// The waiting task.
    pub tid: i64,
    /// Its name at that time.
    pub comm: u32,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// A slice of any task: CPU, start, end and name.
pub type Held = (i64, i64, i64, u32);
/// A waiting task, its name, and who had the CPU.
pub type Waiter = (i64, u32, Option<u32>);

/// Time by waiting task, its name, and who had the CPU; `None` if that is unknown.
pub fn holders(waits: Vec<Wait>, moves: &[(i64, i64, i64)], slices: &[Held]) -> FxHashMap<Waiter, i64> {
    let mut on: FxHashMap<i64, Vec<Held>> = FxHashMap::default();
    for &slice in slices {
        on.entry(slice.0).or_default().push(slice);
    }
    on.values_mut().for_each(|slices| slices.sort_by_key(|slice| slice.1));
    let mut found: FxHashMap<Waiter, i64> = FxHashMap::default();
    for wait in cut(waits, moves) {
        let mut rest = wait.end_ns - wait.start_ns;
        let held = on.get(&wait.cpu).map_or(&[][..], Vec::as_slice);
        let first = held.partition_point(|slice| slice.2 <= wait.start_ns);
        for &(_, begins, ends, name) in held[first..].iter().take_while(|slice| slice.1 < wait.end_ns) {
            let ns = ends.min(wait.end_ns) - begins.max(wait.start_ns);
            if ns > 0 {
                *found.entry((wait.tid, wait.comm, Some(name))).or_default() += ns;
                rest -= ns;
            }
        }
        *found.entry((wait.tid, wait.comm, None)).or_default() += rest;
    }
    found.retain(|_, ns| *ns > 0);
    found
}

/// Cuts waits where the task was moved, so that each part has the CPU that it waited for. `moves`: task, time, and the
/// CPU that it left.
fn cut(waits: Vec<Wait>, moves: &[(i64, i64, i64)]) -> Vec<Wait> {
    let mut of_task: FxHashMap<i64, Vec<(i64, i64)>> = FxHashMap::default();
    for &(tid, at, from) in moves {
        of_task.entry(tid).or_default().push((at, from));
    }
    of_task.values_mut().for_each(|moves| moves.sort_by_key(|one| one.0));
    let mut parts = Vec::with_capacity(waits.len());
    for mut wait in waits {
        let moves = of_task.get(&wait.tid).map_or(&[][..], Vec::as_slice);
        let first = moves.partition_point(|one| one.0 <= wait.start_ns);
        for &(at, cpu) in moves[first..].iter().take_while(|one| one.0 < wait.end_ns) {
            parts.push(Wait { cpu, end_ns: at, ..wait });
            wait.start_ns = at;
        }
        parts.push(wait);
    }
    parts
}
