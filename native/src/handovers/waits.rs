//! Who waited, runnable, for a CPU that one of the threads had. Each wait is cut where the task was moved, and its
//! parts count on the CPU that the task then waited for.

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::handovers::stays::Stays;
use crate::intern::{Interner, NONE};
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::lives::read::{comms, numbers};
use crate::lives::slice::NOBODY;
use crate::lives::Slice;
use crate::pairing::tables::Table;

/// A wait, or part of one.
#[derive(Debug, Clone, Copy)]
struct Wait {
    cpu: i64,
    tid: i64,
    comm: u32,
    start_ns: i64,
    end_ns: i64,
}

/// Per task: when it was moved, and from which CPU.
type Moves = FxHashMap<i64, Vec<(i64, i64)>>;

/// CPU, task and start of a stay to the task's name before it.
pub type Renamed = FxHashMap<(i64, i64, i64), u32>;

/// From tables.
pub fn renamed(tables: &[RecordBatch], strings: &mut Interner) -> Result<Renamed> {
    let mut found = Renamed::default();
    for table in tables {
        let (cpu, tid, begin) = (numbers(table, "cpu")?, numbers(table, "tid")?, numbers(table, "in_ns")?);
        let key = |row: usize| (cpu.value(row), tid.value(row), begin.value(row));
        found.extend(comms(table, "comm", strings)?.into_iter().enumerate().map(|(row, comm)| (key(row), comm)));
    }
    Ok(found)
}

/// Waits so far.
#[derive(Debug)]
pub struct Waits {
    /// Names of the waiting tasks.
    pub strings: Interner,
    nobody: u32,
    /// The ledger's code of a name to the code used here; `None` for a thread's.
    codes: FxHashMap<u32, Option<u32>>,
    /// Last slice per task.
    last: FxHashMap<i64, Slice>,
    moves: Moves,
    /// Whole waits that overlap a stay on any CPU. Moves may come later.
    found: Vec<Wait>,
}

impl Waits {
    /// `strings`: those of `Renamed`.
    pub fn new(strings: &Interner) -> Waits {
        let mut strings = strings.clone();
        let nobody = strings.code(NOBODY);
        let (codes, last, moves) = (FxHashMap::default(), FxHashMap::default(), Moves::default());
        Waits { strings, nobody, codes, last, moves, found: Vec::new() }
    }

    /// Adds migrations.
    pub fn add_moves(&mut self, migrated: &[Migrated]) {
        for Migrated { row, .. } in migrated {
            self.moves.entry(row.tid.into()).or_default().push((row.time_ns, row.orig_cpu.into()));
        }
    }

    /// Adds slices of a CPU. `threads`: how the threads' names begin.
    pub fn add(&mut self, names: &Names, found: &Found, stays: &Stays, renamed: &Renamed, threads: &[String]) {
        let cpu = i64::from(found.number);
        for row in found.rows.slices.rows() {
            let Some((tid, comm)) = names.victim(row.victim) else { continue };
            let Waits { strings, nobody, codes, .. } = self;
            let comm = *codes.entry(comm).or_insert_with(|| {
                let name = names.reader.strings.get(comm);
                let is_thread = threads.iter().any(|begin| name.starts_with(begin.as_str()));
                (!is_thread).then(|| if comm == NONE { *nobody } else { strings.code(name.as_bytes()) })
            });
            let (tid, in_ns, out_ns, wait_ns) = (i64::from(tid), row.in_ns, row.out_ns, row.wait_ns);
            // The threads' own waits do not count, and idle tasks never wait.
            let Some(comm) = comm.filter(|_| tid != 0) else { continue };
            let slice = Slice { cpu, tid, comm, in_ns, out_ns, wait_ns, ..Slice::default() };
            self.add_slice(slice.left(row.prev_state), stays, renamed);
        }
    }

    fn add_slice(&mut self, slice: Slice, stays: &Stays, renamed: &Renamed) {
        if let Some(wait_ns @ 1..) = slice.wait_ns {
            let (start_ns, end_ns) = (slice.in_ns - wait_ns, slice.in_ns);
            if stays.meet_anywhere(start_ns, end_ns) {
                let comm = *renamed.get(&(slice.cpu, slice.tid, slice.in_ns)).unwrap_or(&slice.comm);
                self.found.push(Wait { cpu: slice.cpu, tid: slice.tid, comm, start_ns, end_ns });
            }
        }
        // By end: if a switch was not recorded, a stay can begin too early.
        let last = self.last.entry(slice.tid).or_insert(slice);
        if slice.out_ns >= last.out_ns {
            *last = slice;
        }
    }

    /// A row per part that overlaps a stay.
    pub fn columns<'n>(&self, table: Table<'n>, stays: &Stays, end_ns: Option<i64>) -> Table<'n> {
        let mut rows = Vec::new();
        for &wait in &self.found {
            cut(wait, &self.moves, stays, &mut rows);
        }
        if let Some(end_ns) = end_ns {
            for last in self.last.values().filter(|last| last.runnable && last.out_ns < end_ns) {
                let wait = Wait { cpu: last.cpu, tid: last.tid, comm: last.comm, start_ns: last.out_ns, end_ns };
                cut(wait, &self.moves, stays, &mut rows);
            }
        }
        rows.sort_by_key(|wait| (wait.cpu, wait.tid, wait.start_ns, wait.end_ns));
        let number = |value: fn(&Wait) -> i64| rows.iter().map(value);
        table
            .numbers("cpu", number(|wait| wait.cpu))
            .numbers("tid", number(|wait| wait.tid))
            .names("comm", rows.iter().map(|wait| if wait.comm == self.nobody { NONE } else { wait.comm }))
            .numbers("start_ns", number(|wait| wait.start_ns))
            .numbers("end_ns", number(|wait| wait.end_ns))
    }
}

/// Finds the parts of a wait that lie in stays.
fn cut(wait: Wait, moves: &Moves, stays: &Stays, found: &mut Vec<Wait>) {
    let own = moves.get(&wait.tid).into_iter().flatten();
    let mut inside: Vec<_> = own.filter(|of| of.0 > wait.start_ns && of.0 < wait.end_ns).copied().collect();
    inside.sort_by_key(|of| of.0);
    let mut start_ns = wait.start_ns;
    for (end_ns, cpu) in inside.into_iter().chain([(wait.end_ns, wait.cpu)]) {
        if stays.meet(cpu, start_ns, end_ns) {
            found.push(Wait { cpu, start_ns, end_ns, ..wait });
        }
        start_ns = end_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handovers::stays::tests::stays;

    #[test]
    fn a_wait_is_cut_where_its_task_was_moved() {
        let stays = stays(&[(0, 7, 0, 100, None), (1, 8, 150, 400, None)]);
        let wait = Wait { cpu: 1, tid: 500, comm: 0, start_ns: 50, end_ns: 300 };
        let moves = Moves::from_iter([(500, vec![(200, 0), (300, 1), (50, 1)]), (501, vec![(120, 1)])]);
        let mut found = Vec::new();
        cut(wait, &moves, &stays, &mut found);
        let parts: Vec<_> = found.iter().map(|part| (part.cpu, part.start_ns, part.end_ns)).collect();
        assert_eq!(parts, [(0, 50, 200), (1, 200, 300)]);
    }
}
