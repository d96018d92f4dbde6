//! What Python sees of `netcost`. Each call is one pass; the GIL is released while it runs.
// A number that input decides may not wrap: narrow(), try_from, or a mask that says what is kept.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

#[cfg(target_os = "linux")]
mod aggregates;
mod alloc;
mod batches;
mod components;
mod describe;
mod flame;
mod lives;
mod mask;
mod packed;
mod perfetto;
mod progress;
mod tiles;
mod timeline;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use netcost::counts;
use netcost::event_batches;
use netcost::events::{self, Scan};
use netcost::ledger::{Aggregated, Want};
use netcost::lives::task_events;
use netcost::{maps, open, printable, said, stacks, times, Error, ErrorKind, Progress, Recording, Result, Search};
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use progress::Reporter;

pyo3::create_exception!(
    _native,
    CaptureError,
    PyException,
    "A capture that cannot give what was asked; the message is one line."
);

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: alloc::HugePages = alloc::HugePages;

/// What Python raises for an error of the crate.
fn raised(error: Error) -> PyErr {
    match error {
        Error::Io(error) => system(&error),
        Error::Capture { kind, offset, message } => Python::attach(|py| {
            let error = CaptureError::new_err(printable(&message));
            let value = error.value(py);
            let told = value.setattr("kind", kind.name()).and_then(|()| value.setattr("offset", offset));
            told.err().unwrap_or(error)
        }),
    }
}

/// Python's exception for an error of the system, with its number and text as Python's own have them.
fn system(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, said(error))),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// An opened capture. Headers are read at once, samples by each call that needs them.
#[pyclass(frozen)]
pub struct Capture {
    recording: Arc<Recording>,
    scan: OnceLock<Scan>,
    surveyed: batches::Surveyed,
    windows: aggregates::Windows,
    named: Arc<OnceLock<event_batches::Surveyed>>,
}

/// Notes as a terminal can take them.
fn printed(notes: &[String]) -> Vec<String> {
    notes.iter().map(|note| printable(note)).collect()
}

/// Runs one pass with the GIL released.
fn pass<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    run: impl FnOnce(Progress<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut reporter = Reporter::new(progress);
    let result = py.detach(|| {
        let result = run(&mut |fraction| reporter.report(fraction));
        alloc::give_back();
        result
    });
    reporter.settle(result)
}

fn table(py: Python<'_>, batch: RecordBatch) -> PyResult<Py<PyTable>> {
    let schema = batch.schema();
    Py::new(py, PyTable::try_new(vec![batch], schema)?)
}

fn by_name<'py>(py: Python<'py>, tables: Vec<(impl AsRef<str>, RecordBatch)>) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    for (name, rows) in tables {
        shown.set_item(name.as_ref(), table(py, rows)?)?;
    }
    Ok(shown)
}

impl Capture {
    /// Whether a scan has found that a pass can tell when a window is over.
    fn in_order(&self) -> bool {
        self.scan.get().is_some_and(|scan| scan.in_order)
    }

    fn scanned(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<&Scan> {
        if let Some(scan) = self.scan.get() {
            return Ok(scan);
        }
        let scan = pass(py, progress, |progress| events::scan(&self.recording, progress))?;
        Ok(self.scan.get_or_init(|| scan))
    }
}

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (path, buffer=None, cycles_per_s=None, rolling=false))]
    fn new(
        py: Python<'_>,
        path: &str,
        buffer: Option<&str>,
        cycles_per_s: Option<u64>,
        rolling: bool,
    ) -> PyResult<Capture> {
        let mut reporter = Reporter::new(None);
        let opened = py.detach(|| {
            let mut recording = open(path, buffer, &mut || reporter.waits())?;
            cycles_per_s.map_or(Ok(()), |hertz| recording.set_cycles_per_s(hertz))?;
            if rolling {
                recording.set_rolling();
            }
            Ok(recording)
        });
        let recording = reporter.settle(opened)?;
        Ok(Capture {
            recording: Arc::new(recording),
            scan: OnceLock::new(),
            surveyed: batches::Surveyed::default(),
            windows: aggregates::Windows::default(),
            named: Arc::default(),
        })
    }

    /// What the headers say.
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe::header(py, &self.recording)
    }

    /// Whether a pass has found out what is said of the whole recording: then one over a window reads no further.
    fn is_surveyed(&self) -> bool {
        self.surveyed.any()
    }

    /// Counts everything in one pass; later calls answer at once.
    #[pyo3(signature = (progress=None))]
    fn scan<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        describe::scan(py, &self.recording, self.scanned(py, progress)?)
    }

    /// The samples of one event as an Arrow table.
    #[pyo3(signature = (name, limit=None, progress=None))]
    fn samples(
        &self,
        py: Python<'_>,
        name: &str,
        limit: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyTable>> {
        let found = pass(py, progress, |progress| self.recording.samples(name, limit, progress))?;
        let rows = limit.map_or(found.num_rows(), |limit| limit.min(found.num_rows()));
        table(py, found.slice(0, rows))
    }

    /// The samples of one event with their stacks: three Arrow tables, `samples`, `stacks` and `frames`.
    #[pyo3(signature = (name, kallsyms=None, kernel_only=false, programs=false, search=None, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn stacks<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        kallsyms: Option<String>,
        kernel_only: bool,
        programs: bool,
        search: Option<Vec<PathBuf>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let search = search.map(|folders| Search { folders });
        let request = stacks::Request { kallsyms, kernel_only, programs, search };
        let found = pass(py, progress, |progress| stacks::stacks(&self.recording, name, &request, progress))?;
        let tables = PyDict::new(py);
        for (name, batch) in [("samples", found.samples), ("stacks", found.stacks), ("frames", found.frames)] {
            tables.set_item(name, table(py, batch)?)?;
        }
        Ok(tables)
    }

    /// Mappings of files into memory as an Arrow table.
    #[pyo3(signature = (progress=None))]
    fn mappings(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Py<PyTable>> {
        table(py, pass(py, progress, |progress| maps::mappings(&self.recording, progress))?)
    }

    /// Kernel symbols that came and went as an Arrow table.
    #[pyo3(signature = (progress=None))]
    fn kernel_symbols(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Py<PyTable>> {
        table(py, pass(py, progress, |progress| maps::kernel_symbols(&self.recording, progress))?)
    }

    /// The recorded `/proc/kallsyms`.
    fn kallsyms(&self) -> Option<&str> {
        self.recording.host.kallsyms.as_deref()
    }

    /// One tracepoint's events as an Arrow table; those within a window and of these CPUs, and these fields of them, where
    /// such are given.
    #[pyo3(signature = (name, limit=None, progress=None, window=None, cpus=None, fields=None))]
    #[allow(clippy::too_many_arguments)]
    fn events(
        &self,
        py: Python<'_>,
        name: &str,
        limit: Option<usize>,
        progress: Option<Py<PyAny>>,
        window: Option<(i64, i64)>,
        cpus: Option<Vec<u32>>,
        fields: Option<Vec<String>>,
    ) -> PyResult<Py<PyTable>> {
        let wanted = [name.to_owned()];
        let cpus = timeline::ascending(cpus);
        let within = events::Within { window, cpus, fields, in_order: self.in_order() };
        let mut tables =
            pass(py, progress, |progress| events::tables(&self.recording, Some(&wanted), limit, &within, progress))?;
        let (_, found) = tables.pop().ok_or_else(|| raised(events::missing(&self.recording, name)))?;
        let rows = limit.map_or(found.num_rows(), |limit| limit.min(found.num_rows()));
        table(py, found.slice(0, rows))
    }

    /// The events of every tracepoint, in one pass.
    #[pyo3(signature = (progress=None))]
    fn all_events<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let within = events::Within::default();
        let run = |progress: netcost::Progress<'_>| events::tables(&self.recording, None, None, &within, progress);
        by_name(py, pass(py, progress, run)?)
    }

    /// The columns that one tracepoint's events have.
    fn fields(&self, name: &str) -> PyResult<Vec<String>> {
        events::fields(&self.recording, name).map_err(raised)
    }

    /// The events of these tracepoints in the order of time, some rows after the other.
    #[pyo3(signature = (names, fields=None, window=None, cpus=None, rows=250_000, progress=None))]
    fn event_batches(
        &self,
        names: Vec<String>,
        fields: Option<Vec<String>>,
        window: Option<(i64, i64)>,
        cpus: Option<Vec<u32>>,
        rows: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<batches::Batches> {
        let cpus = timeline::ascending(cpus);
        let within = events::Within { window, cpus, fields, in_order: self.in_order() };
        let (recording, surveyed) = (Arc::clone(&self.recording), Arc::clone(&self.named));
        let source = batches::Events { recording, surveyed, names: names.clone(), within, rows };
        batches::Batches::new(source, names, progress)
    }

    /// When tracepoints happened on these CPUs, within a window, as an Arrow table.
    #[pyo3(signature = (start_ns, end_ns, cpus, progress=None))]
    fn event_times(
        &self,
        py: Python<'_>,
        start_ns: i64,
        end_ns: i64,
        cpus: Vec<u32>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyTable>> {
        let (window, in_order) = ((start_ns, end_ns), self.in_order());
        table(
            py,
            pass(py, progress, |progress| times::event_times(&self.recording, window, &cpus, in_order, progress))?,
        )
    }

    /// How many events lie within windows, in one pass: by CPU and the value of a field.
    #[pyo3(signature = (wanted, progress=None))]
    #[allow(clippy::type_complexity)]
    fn counts(
        &self,
        py: Python<'_>,
        wanted: Vec<timeline::Count>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Option<Vec<counts::Counts>>>> {
        let wanted: Vec<_> = wanted.into_iter().map(timeline::count).collect();
        pass(py, progress, |progress| counts::counts(&self.recording, &wanted, progress))
    }

    /// What events tell of tasks, in one pass: (name, field of the task, of its name, of its CPU, last until) to a table
    /// each, or `None`.
    #[pyo3(signature = (wanted, progress=None))]
    fn task_events(
        &self,
        py: Python<'_>,
        wanted: Vec<timeline::TaskEvent>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Option<Py<PyTable>>>> {
        let wanted: Vec<_> = wanted.into_iter().map(timeline::task_event).collect();
        let found = pass(py, progress, |progress| task_events::task_events(&self.recording, &wanted, progress))?;
        found.into_iter().map(|found| found.map(|batch| table(py, batch)).transpose()).collect()
    }

    /// The ledger, and what is asked for beside it, in one pass.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, host=None, counts=None, task_events=None, keep=false, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        host: Option<timeline::Host>,
        counts: Option<Vec<timeline::Count>>,
        task_events: Option<Vec<timeline::TaskEvent>>,
        keep: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let window = (start_ns, end_ns);
        let mut request = timeline::request(self, py, timeline::want(&tables)?, window, cpus, host)?;
        request.keeps_rows = keep;
        let beside = timeline::Beside::of(counts, task_events);
        timeline::timeline(self, py, &request, &beside, progress)
    }

    /// The same tables without a pass, of rows that `timeline` kept; `None` where it kept none.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, host=None))]
    fn kept<'py>(
        &self,
        py: Python<'py>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        host: Option<timeline::Host>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let request = timeline::request(self, py, timeline::want(&tables)?, (start_ns, end_ns), cpus, host)?;
        timeline::kept(self, py, &request)
    }

    /// The same tables, a batch of rows after the other.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, host=None, rows=1_000_000, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn batches(
        &self,
        py: Python<'_>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        host: Option<timeline::Host>,
        rows: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<batches::Batches> {
        let want = timeline::want(&tables)?;
        if want.displaced || rows == 0 {
            let why = if want.displaced {
                "displaced has sums and no rows: timeline() has them"
            } else {
                "a batch has at least one row"
            };
            return Err(PyValueError::new_err(why));
        }
        let request = timeline::request(self, py, want, (start_ns, end_ns), cpus, host)?;
        let (recording, surveyed) = (Arc::clone(&self.recording), self.surveyed.clone());
        batches::Batches::new(batches::Ledger { recording, surveyed, request, rows }, tables, progress)
    }

    /// What a pass makes of rows, several aggregates in one pass: of each its tables, by name.
    #[pyo3(signature = (wanted, start_ns=None, end_ns=None, cpus=None, host=None, rows=None, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn aggregates(
        &self,
        py: Python<'_>,
        wanted: Vec<aggregates::Wanted>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        host: Option<timeline::Host>,
        rows: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<aggregates::Found>> {
        let wanted = wanted
            .into_iter()
            .map(|one| aggregates::aggregated(self, one))
            .collect::<Result<Vec<_>>>()
            .map_err(raised)?;
        let want = Want::of(wanted.iter().flat_map(|one| one.tables())).map_err(raised)?;
        let request = timeline::request(self, py, want, (start_ns, end_ns), cpus, host)?;
        for one in &wanted {
            if let Aggregated::Binned(width) = one {
                timeline::require_few_bins(self, py, &request, *width)?;
            }
        }
        aggregates::aggregates(self, py, &request, &wanted, rows, progress)
    }

    /// Writes a trace for Perfetto to a file, with these counters; what was written.
    #[pyo3(signature = (path, counters, start_ns=None, end_ns=None, cpus=None, host=None, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn perfetto<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        counters: Vec<perfetto::Counter>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        host: Option<timeline::Host>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let want = Want::default();
        let request = timeline::request(self, py, want, (start_ns, end_ns), cpus, host)?;
        perfetto::write(self, py, &path, counters, &request, progress)
    }
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batches::Batches>()?;
    module.add_class::<Capture>()?;
    module.add_class::<tiles::TileOwners>()?;
    module.add_class::<tiles::TileSegments>()?;
    module.add_class::<tiles::TileSums>()?;
    for function in [
        wrap_pyfunction!(components::classify, module)?,
        wrap_pyfunction!(components::folded, module)?,
        wrap_pyfunction!(components::matching, module)?,
        wrap_pyfunction!(components::parts, module)?,
    ] {
        module.add_function(function)?;
    }
    module.add_function(wrap_pyfunction!(flame::flame_svg, module)?)?;
    module.add_function(wrap_pyfunction!(packed::packing, module)?)?;
    module.add_function(wrap_pyfunction!(packed::first_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(packed::is_archive, module)?)?;
    module.add_function(wrap_pyfunction!(packed::named_first, module)?)?;
    module.add_function(wrap_pyfunction!(packed::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(packed::pack_file, module)?)?;
    module.add_function(wrap_pyfunction!(mask::mask_recording, module)?)?;
    module.add_function(wrap_pyfunction!(mask::field_kind, module)?)?;
    // What Python itself raises is a refusal, of no byte.
    let class = module.py().get_type::<CaptureError>();
    class.setattr("kind", ErrorKind::Refused.name())?;
    class.setattr("offset", module.py().None())?;
    module.add("CaptureError", class)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("IS_DEBUG_BUILD", cfg!(debug_assertions))
}
