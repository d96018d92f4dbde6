//! What lives are cut by, of tables that a timeline has.

use arrow_array::{Array, RecordBatch};
use netcost::ledger::Stayed;
use netcost::lives::facts::Known;
use netcost::lives::read::{self, Events};
use netcost::lives::Sum;
use netcost::parts::Interner;
use netcost::Result;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

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

/// What is known beside slices; each kind of events as those that may tell it, the best first.
#[derive(FromPyObject)]
pub struct Facts {
    sums: PyTable,
    window: (i64, i64),
    counted: (i64, i64),
    held: Vec<i64>,
    cpus: Vec<i64>,
    born: Vec<TaskEvents>,
    died: Vec<TaskEvents>,
    woken: Vec<TaskEvents>,
    moved: Vec<TaskEvents>,
    of_bundle: Option<(i64, i64, i64)>,
    all_cpus: bool,
    moves_known: bool,
    has_moves: bool,
    lost: bool,
}

impl Facts {
    /// The same, as the ledger has it.
    pub fn told(&self) -> Result<Stayed> {
        let mut strings = Interner::default();
        let mut sums = Vec::new();
        for batch in self.sums.batches() {
            sums.extend(self::sums(batch, &mut strings)?);
        }
        let mut first = |kinds: &[TaskEvents]| kinds.iter().find_map(|kind| kind.events(&mut strings));
        let (born, died, woken) = (first(&self.born), first(&self.died), first(&self.woken));
        let known = Known {
            window: self.window,
            cpus: self.cpus.iter().copied().collect(),
            born,
            died,
            woken,
            moved: self.moved.iter().filter_map(|kind| kind.events(&mut strings)).collect(),
            of_bundle: self.of_bundle,
            all_cpus: self.all_cpus,
            moves_known: self.moves_known,
            lost: self.lost,
        };
        let (counted, cpus) = (self.counted, self.held.iter().copied().collect());
        Ok(Stayed { known, sums, strings, counted, cpus, has_moves: self.has_moves })
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
