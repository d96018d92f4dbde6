//! Tiles of a picture, as Python asks for them.

use std::sync::Arc;

use netcost::tiles;
use netcost::Result;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyTable;

use crate::raised;

/// Which owner and which task rows are of.
#[pyclass(frozen)]
pub struct TileOwners(Arc<tiles::Owners>);

#[pymethods]
impl TileOwners {
    /// Of the sums; see netcost::tiles::Owners.
    #[new]
    fn new(sums: PyTable, of_rows: Vec<(u32, u32)>, stolen: Vec<bool>) -> PyResult<TileOwners> {
        let owners = tiles::Owners::new(sums.batches().iter(), &of_rows, stolen).map_err(raised)?;
        Ok(TileOwners(Arc::new(owners)))
    }
}

/// Adds the batches of two tables.
fn add<T: Send>(
    py: Python<'_>,
    to: &mut T,
    tables: (&PyTable, &PyTable),
    segments: impl Fn(&mut T, &arrow_array::RecordBatch) -> Result<()> + Sync + Send,
    polls: impl Fn(&mut T, &arrow_array::RecordBatch) -> Result<()> + Sync + Send,
) -> PyResult<()> {
    let (first, second) = (tables.0.batches(), tables.1.batches());
    let added = py.detach(|| {
        first.iter().try_for_each(|batch| segments(to, batch))?;
        second.iter().try_for_each(|batch| polls(to, batch))
    });
    added.map_err(raised)
}

/// Shares of owners in buckets of time, level over level.
#[pyclass]
pub struct TileSums {
    owners: Arc<tiles::Owners>,
    sums: tiles::Summed,
}

#[pymethods]
impl TileSums {
    #[new]
    fn new(owners: &TileOwners, cpus: Vec<u32>, origin_ns: i64, duration_ns: u64, most: usize) -> TileSums {
        TileSums { owners: Arc::clone(&owners.0), sums: tiles::Summed::new(&cpus, origin_ns, duration_ns, most) }
    }

    /// Takes a batch of segments and one of polls.
    fn add(&mut self, py: Python<'_>, segments: PyTable, polls: PyTable) -> PyResult<()> {
        let owners = Arc::clone(&self.owners);
        let to = &mut self.sums;
        add(py, to, (&segments, &polls), |to, batch| to.add_segments(batch, &owners), tiles::Summed::add_polls)
    }

    /// Nothing comes any more.
    fn finish(&mut self, py: Python<'_>) {
        let sums = &mut self.sums;
        py.detach(|| sums.finish());
    }

    /// The finest level.
    #[getter]
    fn base(&self) -> u32 {
        self.sums.base()
    }

    /// Entries of all levels.
    #[getter]
    fn entries(&self) -> usize {
        self.sums.entries()
    }

    /// Segments that begin in a stretch, as whole buckets of the finest level have them.
    fn begun(&self, begin: u64, end: u64) -> u64 {
        self.sums.begun(begin, end)
    }

    /// The next finest bucket with time of an owner that is wanted.
    #[pyo3(signature = (wanted, from_ns, cpu=None))]
    fn next(&self, wanted: Vec<bool>, from_ns: u64, cpu: Option<u32>) -> Option<(u64, u64)> {
        self.sums.next(&wanted, from_ns, cpu)
    }

    /// A tile's bytes.
    #[pyo3(signature = (level, index, kept=None))]
    fn tile<'py>(
        &self,
        py: Python<'py>,
        level: u32,
        index: u64,
        kept: Option<&TileSegments>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let kept = kept.map(|kept| &kept.kept);
        let tile = py.detach(|| tiles::tile(&self.owners, &self.sums, kept, level, index));
        Ok(PyBytes::new(py, &tile.map_err(raised)?))
    }
}

/// Segments of a timeline, or of a part of it.
#[pyclass]
pub struct TileSegments {
    owners: Arc<tiles::Owners>,
    kept: tiles::Kept,
}

#[pymethods]
impl TileSegments {
    #[new]
    fn new(owners: &TileOwners, cpus: Vec<(u32, usize)>, origin_ns: i64, from_ns: u64, to_ns: u64) -> TileSegments {
        TileSegments { owners: Arc::clone(&owners.0), kept: tiles::Kept::new(&cpus, origin_ns, from_ns, to_ns) }
    }

    /// Takes a batch of segments and one of polls.
    fn add(&mut self, py: Python<'_>, segments: PyTable, polls: PyTable) -> PyResult<()> {
        let owners = Arc::clone(&self.owners);
        let to = &mut self.kept;
        add(py, to, (&segments, &polls), |to, batch| to.add_segments(batch, &owners), tiles::Kept::add_polls)
    }

    /// Nothing comes any more.
    fn finish(&mut self) {
        self.kept.finish();
    }

    /// From when to when.
    #[getter]
    fn span(&self) -> (u64, u64) {
        self.kept.span()
    }

    fn __len__(&self) -> usize {
        self.kept.len()
    }

    /// The segment at a time: CPU, begin, end, owner, task.
    fn at(&self, cpu: u32, time_ns: u64) -> Option<tiles::Found> {
        self.kept.at(cpu, time_ns)
    }

    /// The first segment that begins after a time and is of an owner that is wanted.
    #[pyo3(signature = (wanted, after_ns, cpu=None, task=None))]
    fn next(
        &self,
        py: Python<'_>,
        wanted: Vec<bool>,
        after_ns: i64,
        cpu: Option<u32>,
        task: Option<u32>,
    ) -> Option<tiles::Found> {
        py.detach(|| self.kept.next(&wanted, task, after_ns, cpu))
    }
}
