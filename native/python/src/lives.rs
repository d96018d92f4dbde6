//! Lives and waits, of tables that a timeline has.

use std::collections::BTreeSet;

use arrow_array::{Array, RecordBatch};
use netcost::lives::facts::Known;
use netcost::lives::holders::{self, Held, Wait};
use netcost::lives::read::{self, Events};
use netcost::lives::{of_slices, tables, Slice, Sum};
use netcost::parts::Interner;
use netcost::Result;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::{raised, table};

/// Events of one kind, and which of their fields tell whom, its name, and the CPU that it comes to.
#[derive(FromPyObject)]
struct TaskEvents {
    table: Option<PyTable>,
    tid: String,
    comm: Option<String>,
    cpu: Option<String>,
}

impl TaskEvents {
    /// `None` where the table lacks the fields; none where it is not there.
    fn events(&self, strings: &mut Interner) -> Option<Events> {
        let mut found = Events::default();
        for batch in self.table.iter().flat_map(|table| table.batches()) {
            let more = Events::of(batch, &self.tid, self.comm.as_deref(), self.cpu.as_deref(), strings)?;
            found.rows.extend(more.rows);
        }
        Some(found)
    }
}

/// What is known beside slices and sums; each kind of events as those that may tell it, the best first.
#[derive(FromPyObject)]
pub struct Facts {
    window: (i64, i64),
    cpus: Vec<i64>,
    born: Vec<TaskEvents>,
    died: Vec<TaskEvents>,
    woken: Vec<TaskEvents>,
    moved: Vec<TaskEvents>,
    of_bundle: Option<(i64, i64, i64)>,
    all_cpus: bool,
    moves_known: bool,
    lost: bool,
}

impl Facts {
    fn known(&self, strings: &mut Interner) -> Known {
        let mut first = |kinds: &[TaskEvents]| kinds.iter().find_map(|kind| kind.events(strings));
        let (born, died, woken) = (first(&self.born), first(&self.died), first(&self.woken));
        Known {
            window: self.window,
            cpus: self.cpus.iter().copied().collect(),
            born,
            died,
            woken,
            moved: self.moved.iter().filter_map(|kind| kind.events(strings)).collect(),
            of_bundle: self.of_bundle,
            all_cpus: self.all_cpus,
            moves_known: self.moves_known,
            lost: self.lost,
        }
    }
}

fn sums(batch: &RecordBatch, strings: &mut Interner) -> Result<Vec<Sum>> {
    let (tid, ns) = (read::numbers(batch, "tid")?, read::numbers(batch, "ns")?);
    let comm = read::comms(batch, "comm", strings)?;
    let context = read::comms(batch, "context", strings)?;
    let class = read::comms(batch, "cost_class", strings)?;
    let (task, scheduled) = (strings.code(b"task"), strings.code(b"scheduled"));
    let sum = |row: usize| {
        let known = tid.is_valid(row) && tid.value(row) != 0;
        let own = context[row] == task && class[row] != scheduled;
        known.then(|| Sum { tid: tid.value(row), comm: comm[row], ns: ns.value(row), own })
    };
    Ok((0..batch.num_rows()).filter_map(sum).collect())
}

/// What is read of the pieces of a table, each of which is gone before the next is made.
fn read_each<T>(pieces: &Bound<'_, PyAny>, mut read: impl FnMut(&RecordBatch) -> Result<Vec<T>>) -> PyResult<Vec<T>> {
    let mut found = Vec::new();
    for piece in pieces.try_iter()? {
        for batch in piece?.extract::<PyTable>()?.batches() {
            found.extend(read(batch).map_err(raised)?);
        }
    }
    Ok(found)
}

/// When each task was there, as the tables lives and away. `slices`: pieces of the table, of all CPUs.
#[pyfunction]
pub fn lives<'py>(
    py: Python<'py>,
    slices: Bound<'py, PyAny>,
    sums: PyTable,
    facts: Facts,
) -> PyResult<Bound<'py, PyDict>> {
    let mut strings = Interner::default();
    let read_slices: Vec<Slice> = read_each(&slices, |batch| read::slices(batch, &mut strings))?;
    let found = py.detach(|| -> Result<_> {
        let mut rows = Vec::new();
        for batch in sums.batches() {
            rows.extend(self::sums(batch, &mut strings)?);
        }
        let known = facts.known(&mut strings);
        let (lives, slices, away) = of_slices(read_slices, &rows, &known, &strings);
        Ok((tables::lives(&lives, &strings)?, tables::away(&slices, &away, &strings)?))
    });
    let (lives, away) = found.map_err(raised)?;
    let found = PyDict::new(py);
    found.set_item("lives", table(py, lives)?)?;
    found.set_item("away", table(py, away)?)?;
    Ok(found)
}

/// No CPU has this number.
const NOWHERE: i64 = -1;

/// Task, when, and from which CPU.
fn moves(batch: &RecordBatch) -> Result<Vec<(i64, i64, i64)>> {
    let (tid, at, from) =
        (read::numbers(batch, "tid")?, read::numbers(batch, "time_ns")?, read::numbers(batch, "orig_cpu")?);
    let rows = (0..batch.num_rows()).filter(|&row| tid.is_valid(row) && from.is_valid(row));
    Ok(rows.map(|row| (tid.value(row), at.value(row), from.value(row))).collect())
}

/// `idle`: the name of the idle tasks.
fn held(batch: &RecordBatch, idle: u32, strings: &mut Interner) -> Result<Vec<Held>> {
    let [cpu, tid, begins, ends] = ["cpu", "tid", "in_ns", "out_ns"].map(|name| read::numbers(batch, name));
    let (cpu, tid, begins, ends) = (cpu?, tid?, begins?, ends?);
    let comm = read::comms(batch, "comm", strings)?;
    let name = |row: usize| if tid.is_valid(row) && tid.value(row) == 0 { idle } else { comm[row] };
    Ok((0..batch.num_rows()).map(|row| (cpu.value(row), begins.value(row), ends.value(row), name(row))).collect())
}

/// Who had the CPU that tasks waited for: tid, comm, holder_comm (null where nobody is known to have
/// had it), ns. `away`: as `lives` has it; `slices` and `migrations`: pieces of the tables of `cpus`, the latter `None`
/// where they were not recorded: who ran on another CPU before is then not known to have waited here; `idle`: the
/// holder's name where that is the idle task.
#[pyfunction]
pub fn waited_for(
    py: Python<'_>,
    away: PyTable,
    slices: Bound<'_, PyAny>,
    migrations: Option<Bound<'_, PyAny>>,
    cpus: Vec<i64>,
    idle: String,
) -> PyResult<Py<PyTable>> {
    let mut strings = Interner::default();
    let idle = strings.code(idle.as_bytes());
    let moves = migrations.map(|migrations| read_each(&migrations, moves)).transpose()?;
    let held = read_each(&slices, |batch| held(batch, idle, &mut strings))?;
    let found = py.detach(|| -> Result<RecordBatch> {
        let cpus: BTreeSet<i64> = cpus.into_iter().collect();
        let (mut waits, mut before) = (Vec::new(), None);
        for batch in away.batches() {
            let [cpu, tid, start, end, waited] =
                ["cpu", "tid", "start_ns", "end_ns", "waited_ns"].map(|name| read::numbers(batch, name));
            let (cpu, tid, start, end, waited) = (cpu?, tid?, start?, end?, waited?);
            let comm = read::comms(batch, "comm", &mut strings)?;
            // A task's rows are in the order of time.
            let wait = |row: usize| {
                let here = Some((tid.value(row), cpu.value(row)));
                let is_known = moves.is_some() || before == here;
                before = here;
                let wanted = waited.value(row) > 0 && cpus.contains(&cpu.value(row));
                wanted.then(|| Wait {
                    cpu: if is_known { cpu.value(row) } else { NOWHERE },
                    tid: tid.value(row),
                    comm: comm[row],
                    start_ns: start.value(row),
                    end_ns: end.value(row),
                })
            };
            waits.extend((0..batch.num_rows()).filter_map(wait));
        }
        let moves = moves.unwrap_or_default();
        let mut found: Vec<_> = holders::holders(waits, &moves, &held).into_iter().collect();
        let order = |name: Option<u32>| name.map(|name| strings.get(name));
        found.sort_by_key(|&((tid, comm, holder), _)| (tid, strings.get(comm), order(holder)));
        tables::holders(&found, &strings)
    });
    table(py, found.map_err(raised)?)
}
