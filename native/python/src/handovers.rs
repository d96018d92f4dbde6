//! What was handed over to kernel threads, of frames or tables in batches.

use netcost::handovers::{Handovers as HandedOver, Tables};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::{by_name, raised};

/// See `netcost::handovers`.
#[pyclass]
pub struct Handovers {
    handed_over: HandedOver,
}

#[pymethods]
impl Handovers {
    #[new]
    fn new(stays: PyTable, renamed: Option<PyTable>, threads: Vec<String>, near_ns: i64) -> PyResult<Handovers> {
        let renamed = renamed.as_ref().map_or(&[][..], |renamed| renamed.batches());
        let handed_over = HandedOver::new(stays.batches(), renamed, threads, near_ns).map_err(raised)?;
        Ok(Handovers { handed_over })
    }

    /// The next batch of the tables.
    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        py: Python<'_>,
        slices: PyTable,
        segments: PyTable,
        softirqs: PyTable,
        hardirqs: PyTable,
        polls: PyTable,
        migrations: PyTable,
    ) -> PyResult<()> {
        let tables = Tables {
            slices: slices.batches(),
            segments: segments.batches(),
            softirqs: softirqs.batches(),
            hardirqs: hardirqs.batches(),
            polls: polls.batches(),
            migrations: migrations.batches(),
        };
        py.detach(|| self.handed_over.add(&tables)).map_err(raised)
    }

    /// What all of it comes to, by name; nothing comes any more.
    fn tables<'py>(&mut self, py: Python<'py>, end_ns: Option<i64>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, py.detach(|| self.handed_over.tables(end_ns)).map_err(raised)?)
    }
}
