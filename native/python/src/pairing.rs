//! Softirqs paired with interrupts and polls, of frames or tables in batches.

use netcost::pairing::{Pairing as Paired, Settings, Shown};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::{by_name, raised};

/// See `netcost::pairing`.
#[pyclass]
pub struct Pairing {
    paired: Paired,
}

#[pymethods]
impl Pairing {
    #[new]
    #[pyo3(signature = (window, gaps, *, has_polls, has_raises, limit_ns, picked, most))]
    fn new(
        window: (i64, i64),
        gaps: Vec<(i64, i64, i64)>,
        has_polls: bool,
        has_raises: bool,
        limit_ns: (i64, i64),
        picked: (i64, i64, usize),
        most: usize,
    ) -> Pairing {
        let (longer_ns, fewer_packets, longest) = picked;
        let shown = Shown { most, longest, longer_ns, fewer_packets };
        Pairing { paired: Paired::new(Settings { window, gaps, has_polls, has_raises, limit_ns, shown }) }
    }

    /// The next batch of the tables.
    fn add(&mut self, py: Python<'_>, softirqs: PyTable, hardirqs: PyTable, polls: PyTable) -> PyResult<()> {
        py.detach(|| self.paired.add(softirqs.batches(), hardirqs.batches(), polls.batches())).map_err(raised)
    }

    /// What all of it comes to, by name; nothing comes any more.
    fn tables<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, py.detach(|| self.paired.tables()).map_err(raised)?)
    }
}
