//! What Python sees of `netcost`. Each call is one pass; the GIL is released while it runs.

#[cfg(target_os = "linux")]
mod alloc;
mod batches;
mod columns;
mod components;
mod describe;
mod flame;
mod lives;
mod mask;
mod packed;
mod progress;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use netcost::counts::{self, Wanted};
use netcost::events::{self, Scan, Scanner};
use netcost::ledger::{self, Request, Want};
use netcost::{maps, open, printable, stacks, Error, ErrorKind, Progress, Recording, Result, Search, Visitor};
use pyo3::exceptions::{PyException, PyValueError};
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
        Error::Io(error) => error.into(),
        Error::Capture { kind, offset, message } => Python::attach(|py| {
            let error = CaptureError::new_err(printable(&message));
            let value = error.value(py);
            let told = value.setattr("kind", kind.name()).and_then(|()| value.setattr("offset", offset));
            told.err().unwrap_or(error)
        }),
    }
}

/// An opened capture. Headers are read at once, samples by each call that needs them.
#[pyclass(frozen)]
pub struct Capture {
    recording: Arc<Recording>,
    scan: OnceLock<Scan>,
    surveyed: batches::Surveyed,
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
    let result = py.detach(|| run(&mut |fraction| reporter.report(fraction)));
    reporter.settle(result)
}

fn table(py: Python<'_>, batch: RecordBatch) -> PyResult<Py<PyTable>> {
    let schema = batch.schema();
    Py::new(py, PyTable::try_new(vec![batch], schema)?)
}

impl Capture {
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
    #[pyo3(signature = (path, buffer=None, cycles_per_s=None))]
    fn new(py: Python<'_>, path: &str, buffer: Option<&str>, cycles_per_s: Option<u64>) -> PyResult<Capture> {
        let mut reporter = Reporter::new(None);
        let opened = py.detach(|| {
            let mut recording = open(path, buffer, &mut || reporter.waits())?;
            cycles_per_s.map_or(Ok(()), |hertz| recording.set_cycles_per_s(hertz))?;
            Ok(recording)
        });
        let recording = reporter.settle(opened)?;
        Ok(Capture { recording: Arc::new(recording), scan: OnceLock::new(), surveyed: batches::Surveyed::default() })
    }

    /// What the headers say.
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe::header(py, &self.recording)
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

    /// One tracepoint's events as an Arrow table.
    #[pyo3(signature = (name, limit=None, progress=None))]
    fn events(
        &self,
        py: Python<'_>,
        name: &str,
        limit: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyTable>> {
        let wanted = [name.to_owned()];
        let mut tables =
            pass(py, progress, |progress| events::tables(&self.recording, Some(&wanted), limit, progress))?;
        let (_, found) = tables.pop().ok_or_else(|| raised(events::missing(&self.recording, name)))?;
        let rows = limit.map_or(found.num_rows(), |limit| limit.min(found.num_rows()));
        table(py, found.slice(0, rows))
    }

    /// The events of these tracepoints, or of every one, in one pass.
    #[pyo3(signature = (progress=None, names=None))]
    fn all_events<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Py<PyAny>>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        let names = names.as_deref();
        for (name, batch) in pass(py, progress, |progress| events::tables(&self.recording, names, None, progress))? {
            found.set_item(name, table(py, batch)?)?;
        }
        Ok(found)
    }

    /// How many events lie within windows, in one pass: by CPU and the value of a field.
    #[pyo3(signature = (wanted, progress=None))]
    #[allow(clippy::type_complexity)]
    fn counts(
        &self,
        py: Python<'_>,
        wanted: Vec<(Vec<String>, Option<String>, Option<String>, Vec<(i64, i64)>)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Option<Vec<counts::Counts>>>> {
        let named = |(names, key, sum_of, windows)| Wanted { names, key, sum_of, windows };
        let wanted: Vec<Wanted> = wanted.into_iter().map(named).collect();
        pass(py, progress, |progress| counts::counts(&self.recording, &wanted, progress))
    }

    /// The ledger, in one pass.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, bin_ns=None, clock_doubt=None, lines=None, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        bin_ns: Option<i64>,
        clock_doubt: Option<String>,
        lines: Option<HashMap<i64, String>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let window = (start_ns, end_ns, bin_ns);
        let request = self.request(py, want(&tables)?, window, cpus, clock_doubt, lines)?;
        // Most who ask for a ledger ask what is in the capture too: one pass tells both.
        let mut scanner = self.scan.get().is_none().then(|| Scanner::new(&self.recording));
        let beside = scanner.as_mut().map(|scanner| scanner as &mut (dyn Visitor + Send));
        let (output, tally) = pass(py, progress, |progress| {
            ledger::run_beside(&self.recording, &request, beside.map(|beside| beside as &mut dyn Visitor), progress)
        })?;
        if let Some(scanner) = scanner {
            self.scan.get_or_init(|| scanner.finish(tally));
        }
        if bin_ns.is_none() {
            *self.surveyed.lock().unwrap_or_else(PoisonError::into_inner) = Some(output.survey);
        }
        let found = PyDict::new(py);
        let shown = PyDict::new(py);
        for (name, rows) in output.tables {
            shown.set_item(name, table(py, rows)?)?;
        }
        found.set_item("tables", shown)?;
        found.set_item("sums", table(py, output.sums)?)?;
        found.set_item("displaced", table(py, output.displaced)?)?;
        found.set_item("irqs", table(py, output.irqs)?)?;
        found.set_item("longest", table(py, output.longest)?)?;
        let summary = PyDict::new(py);
        summary.set_item("start_ns", output.window.0)?;
        summary.set_item("end_ns", output.window.1)?;
        summary.set_item("resolution_ns", self.recording.resolution_ns)?;
        summary.set_item("cpus", output.cpus)?;
        summary.set_item("notes", printed(&output.notes))?;
        summary.set_item("lost_events", output.lost.0)?;
        summary.set_item("lost_unplaced", output.lost.1)?;
        summary.set_item("lost_unknown", output.counters.lost_unknown)?;
        summary.set_item("disagreements", output.counters.disagreements)?;
        summary.set_item("orphan_exits", output.counters.orphan_exits)?;
        summary.set_item("repeats_dropped", output.counters.repeats)?;
        summary.set_item("backwards", output.counters.backwards)?;
        summary.set_item("polls_without_begin", output.counters.polls_without_begin)?;
        summary.set_item("missing", output.missing)?;
        found.set_item("summary", summary)?;
        Ok(found)
    }

    /// The same tables, a batch of rows after the other.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, clock_doubt=None, lines=None, rows=1_000_000, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn batches(
        &self,
        py: Python<'_>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        clock_doubt: Option<String>,
        lines: Option<HashMap<i64, String>>,
        rows: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<batches::Batches> {
        let want = want(&tables)?;
        if want.displaced || rows == 0 {
            let why = if want.displaced {
                "displaced has sums, not rows: timeline() tells them"
            } else {
                "no batch has 0 rows"
            };
            return Err(PyValueError::new_err(why));
        }
        let request = self.request(py, want, (start_ns, end_ns, None), cpus, clock_doubt, lines)?;
        let (recording, surveyed) = (Arc::clone(&self.recording), Arc::clone(&self.surveyed));
        batches::Batches::new(batches::Source { recording, surveyed, request, rows }, tables, progress)
    }
}

impl Capture {
    /// What Python asks a pass for; `window`: start, end, and width of bins.
    fn request(
        &self,
        py: Python<'_>,
        want: Want,
        window: (Option<i64>, Option<i64>, Option<i64>),
        cpus: Option<Vec<u32>>,
        clock_doubt: Option<String>,
        lines: Option<HashMap<i64, String>>,
    ) -> PyResult<Request> {
        let (start_ns, end_ns, bin_ns) = window;
        let mut lines: Vec<(i64, String)> = lines.unwrap_or_default().into_iter().collect();
        // As a hash map has them, no two lists of the same would be equal.
        lines.sort_unstable();
        let mut request = Request { want, window: None, cpus, bin_ns, clock_doubt, lines };
        if start_ns.is_some() || end_ns.is_some() || bin_ns.is_some() {
            request.window = self.window(py, start_ns, end_ns, bin_ns)?;
        }
        Ok(request)
    }

    /// The absolute window of a request; bins must not be so narrow that they outnumber events.
    fn window(
        &self,
        py: Python<'_>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        bin_ns: Option<i64>,
    ) -> PyResult<Option<(i64, i64)>> {
        const MAX_BINS: i64 = 1_000_000;
        let Some(whole) = self.scanned(py, None)?.window else { return Ok(None) };
        let window = (start_ns.unwrap_or(whole.0).max(whole.0), end_ns.unwrap_or(whole.1).min(whole.1));
        if window.0 > window.1 {
            let message =
                format!("the window lies outside the capture, which has times from {} to {} ns", whole.0, whole.1);
            return Err(CaptureError::new_err(message));
        }
        if let Some(width) = bin_ns {
            let cpus = self.scanned(py, None)?.cpus.len().max(1) as i64;
            if width <= 0 {
                return Err(PyValueError::new_err("bin_ns must be positive"));
            }
            if (window.1 - window.0) / width > MAX_BINS / cpus {
                let most = "at most a million bins over all CPUs";
                return Err(CaptureError::new_err(format!(
                    "bins of {width} ns are too narrow for this window: {most}"
                )));
            }
        }
        Ok(Some(window))
    }
}

fn want(tables: &[String]) -> PyResult<Want> {
    let mut want = Want::default();
    for name in tables {
        let flag = match name.as_str() {
            "segments" => &mut want.segments,
            "softirqs" => &mut want.softirqs,
            "hardirqs" => &mut want.hardirqs,
            "polls" => &mut want.polls,
            "slices" => &mut want.slices,
            "migrations" => &mut want.migrations,
            "displaced" => &mut want.displaced,
            "coverage" => &mut want.coverage,
            _ => {
                let known = "segments, softirqs, hardirqs, polls, slices, migrations, displaced, coverage";
                return Err(PyValueError::new_err(format!("no table '{name}'; there are {known}")));
            }
        };
        *flag = true;
    }
    Ok(want)
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batches::Batches>()?;
    module.add_class::<Capture>()?;
    module.add_class::<packed::Unpacker>()?;
    module.add_function(wrap_pyfunction!(columns::columns, module)?)?;
    for function in [
        wrap_pyfunction!(components::classify, module)?,
        wrap_pyfunction!(components::folded, module)?,
        wrap_pyfunction!(components::matching, module)?,
        wrap_pyfunction!(components::parts, module)?,
    ] {
        module.add_function(function)?;
    }
    module.add_function(wrap_pyfunction!(flame::flame_svg, module)?)?;
    module.add_function(wrap_pyfunction!(lives::lives, module)?)?;
    module.add_function(wrap_pyfunction!(lives::waited_for, module)?)?;
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
