//! The longest episodes of interrupts on top of a task, of frames or tables in batches.

use netcost::episodes::{Episodes as Found, Settings, Victim};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::{by_name, raised};

/// See `netcost::episodes`.
#[pyclass]
pub struct Episodes {
    found: Found,
}

/// Whom Python names by a comm or tids.
#[derive(FromPyObject)]
enum Named {
    Comm(String),
    Tids(Vec<i64>),
}

#[pymethods]
impl Episodes {
    #[new]
    fn new(victim: Option<Named>, most: usize, gap_ns: i64) -> Episodes {
        let victim = match victim {
            None => Victim::All,
            Some(Named::Comm(comm)) => Victim::Comm(comm),
            Some(Named::Tids(tids)) => Victim::Tids(tids),
        };
        Episodes { found: Found::new(Settings { victim, most, gap_ns }) }
    }

    /// The next batch of the tables.
    fn add(&mut self, py: Python<'_>, segments: PyTable, softirqs: PyTable, polls: PyTable) -> PyResult<()> {
        py.detach(|| self.found.add(segments.batches(), softirqs.batches(), polls.batches())).map_err(raised)
    }

    /// What all of it comes to, by name; nothing comes any more.
    fn tables<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, py.detach(|| self.found.tables()).map_err(raised)?)
    }
}
