//! What Python sees. Each call is one pass; the GIL is released while it runs.

use std::sync::OnceLock;

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::PyTable;

use crate::error::{Error, Result};
use crate::events::{self, Scan};
use crate::ledger::{self, Request, Want};
use crate::perf::record;
use crate::perf::recording::{Mode, Recording};
use crate::tables::{batch, plain};

pyo3::create_exception!(
    _native,
    CaptureError,
    PyException,
    "A capture that cannot give what was asked; the message is one line."
);

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::Io(error) => error.into(),
            Error::Capture(message) => CaptureError::new_err(message),
        }
    }
}

/// An opened capture. Headers are read at once, samples by each call that needs them.
#[pyclass(frozen)]
pub struct Capture {
    recording: Recording,
    scan: OnceLock<Scan>,
}

/// Calls Python's `progress(fraction)` about a hundred times per pass; remembers what it raised.
struct Reporter {
    callback: Option<Py<PyAny>>,
    next: f64,
    raised: Option<PyErr>,
}

impl Reporter {
    fn new(callback: Option<Py<PyAny>>) -> Reporter {
        Reporter { callback, next: 0.0, raised: None }
    }

    fn report(&mut self, fraction: f64) -> bool {
        if fraction < self.next {
            return true;
        }
        self.next = fraction + 0.01;
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            self.callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (fraction,)).map(|_| ()))
        });
        self.raised = outcome.err();
        self.raised.is_none()
    }

    /// The pass's result, or what the callback raised in it.
    fn settle<T>(self, result: Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => Ok(result?),
        }
    }
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
        let mut reporter = Reporter::new(progress);
        let result = py.detach(|| events::scan(&self.recording, &mut |fraction| reporter.report(fraction)));
        let scan = reporter.settle(result)?;
        Ok(self.scan.get_or_init(|| scan))
    }
}

#[pymethods]
impl Capture {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Capture> {
        let recording = py.detach(|| Recording::open(path))?;
        Ok(Capture { recording, scan: OnceLock::new() })
    }

    /// What the headers say.
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let recording = &self.recording;
        let features = &recording.features;
        let header = PyDict::new(py);
        let mode = match recording.mode {
            Mode::File => "file",
            Mode::Pipe => "pipe",
            Mode::Directory => "directory",
        };
        header.set_item("format", "perf.data")?;
        header.set_item("mode", mode)?;
        header.set_item("compressed", features.compressed)?;
        header.set_item("byte_order", "little")?;
        header.set_item("tool_version", &features.version)?;
        header.set_item("os_release", &features.os_release)?;
        header.set_item("arch", &features.arch)?;
        header.set_item("hostname", &features.hostname)?;
        header.set_item("cmdline", &features.cmdline)?;
        header.set_item("nr_cpus", features.nr_cpus.map(|count| count.0.max(count.1)))?;
        header.set_item("clock", recording.clock())?;
        header.set_item("finished", recording.finished)?;
        header.set_item("notes", &recording.notes)?;
        let events = PyList::empty(py);
        for event in &recording.events {
            let entry = PyDict::new(py);
            entry.set_item("name", &event.name)?;
            entry.set_item("tracepoint", event.attr.kind == crate::perf::attr::TYPE_TRACEPOINT)?;
            entry.set_item("sampled", event.attr.sampled())?;
            entry.set_item("filter", &event.filter)?;
            entry.set_item("has_time", event.attr.has_time())?;
            entry.set_item("has_cpu", event.attr.has_cpu())?;
            events.append(entry)?;
        }
        header.set_item("events", events)?;
        Ok(header)
    }

    /// Counts everything in one pass; later calls answer at once.
    #[pyo3(signature = (progress=None))]
    fn scan<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let scan = self.scanned(py, progress)?;
        let found = PyDict::new(py);
        found.set_item("start_ns", scan.window.map(|window| window.0))?;
        found.set_item("end_ns", scan.window.map(|window| window.1))?;
        found.set_item("cpus", &scan.cpus)?;
        let counts = PyDict::new(py);
        for (event, count) in self.recording.events.iter().zip(&scan.counts) {
            let before: u64 = counts.get_item(&event.name)?.map_or(Ok(0), |count| count.extract())?;
            counts.set_item(&event.name, before + count)?;
        }
        found.set_item("events", counts)?;
        found.set_item("lost_events", scan.lost.max(scan.lost_samples))?;
        found.set_item("lost_unplaced", scan.lost_samples.saturating_sub(scan.lost))?;
        let records = PyDict::new(py);
        for (kind, count) in &scan.tally.records {
            records.set_item(record::name(*kind), count)?;
        }
        found.set_item("records", records)?;
        let mut notes = self.recording.notes.clone();
        notes.extend(scan.tally.notes.iter().cloned());
        if scan.tally.unreadable > 0 {
            notes.push(format!("{} samples could not be read: unknown event or cut short", scan.tally.unreadable));
        }
        if scan.short > 0 {
            notes.push(format!("{} samples are shorter than their event's format: no table has them", scan.short));
        }
        found.set_item("notes", notes)?;
        let gaps = batch(vec![
            ("cpu".into(), plain::<Int32Type>(scan.gaps.iter().map(|gap| gap.0 as i32))),
            ("start_ns".into(), plain::<Int64Type>(scan.gaps.iter().map(|gap| gap.1))),
            ("end_ns".into(), plain::<Int64Type>(scan.gaps.iter().map(|gap| gap.2))),
            ("lost".into(), plain::<Int64Type>(scan.gaps.iter().map(|gap| gap.3.min(i64::MAX as u64) as i64))),
        ])?;
        let places: Vec<(u32, i64, i64, u64)> = scan.gaps.clone();
        found.set_item("gaps", places)?;
        found.set_item("coverage", table(py, gaps)?)?;
        Ok(found)
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
        let mut reporter = Reporter::new(progress);
        let result =
            py.detach(|| events::tables(&self.recording, Some(name), limit, &mut |fraction| reporter.report(fraction)));
        let mut tables = reporter.settle(result)?;
        match tables.pop() {
            Some((_, found)) => {
                let rows = limit.map_or(found.num_rows(), |limit| limit.min(found.num_rows()));
                table(py, found.slice(0, rows))
            }
            None => Err(CaptureError::new_err(format!("no event '{name}'"))),
        }
    }

    /// Every tracepoint's events, in one pass.
    #[pyo3(signature = (progress=None))]
    fn all_events<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let mut reporter = Reporter::new(progress);
        let result =
            py.detach(|| events::tables(&self.recording, None, None, &mut |fraction| reporter.report(fraction)));
        let all = PyDict::new(py);
        for (name, found) in reporter.settle(result)? {
            all.set_item(name, table(py, found)?)?;
        }
        Ok(all)
    }

    /// The ledger, in one pass.
    #[pyo3(signature = (tables, start_ns=None, end_ns=None, cpus=None, bin_ns=None, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        tables: Vec<String>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        cpus: Option<Vec<u32>>,
        bin_ns: Option<i64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut request = Request { want: want(&tables)?, window: None, cpus, bin_ns };
        if start_ns.is_some() || end_ns.is_some() || bin_ns.is_some() {
            request.window = self.window(py, start_ns, end_ns, bin_ns)?;
        }
        let mut reporter = Reporter::new(progress);
        let result = py.detach(|| ledger::run(&self.recording, &request, &mut |fraction| reporter.report(fraction)));
        let output = reporter.settle(result)?;
        let found = PyDict::new(py);
        let shown = PyDict::new(py);
        for (name, rows) in output.tables {
            shown.set_item(name, table(py, rows)?)?;
        }
        found.set_item("tables", shown)?;
        found.set_item("sums", table(py, output.sums)?)?;
        found.set_item("displaced", table(py, output.displaced)?)?;
        found.set_item("irqs", table(py, output.irqs)?)?;
        let summary = PyDict::new(py);
        summary.set_item("start_ns", output.window.0)?;
        summary.set_item("end_ns", output.window.1)?;
        summary.set_item("cpus", output.cpus)?;
        summary.set_item("notes", output.notes)?;
        summary.set_item("lost_events", output.lost.0)?;
        summary.set_item("lost_unplaced", output.lost.1)?;
        summary.set_item("disagreements", output.counters.disagreements)?;
        summary.set_item("orphan_exits", output.counters.orphan_exits)?;
        summary.set_item("repeats_dropped", output.counters.repeats)?;
        summary.set_item("backwards", output.counters.backwards)?;
        summary.set_item("polls_without_begin", output.counters.polls_without_begin)?;
        summary.set_item("has_switches", output.has_switches)?;
        found.set_item("summary", summary)?;
        Ok(found)
    }
}

impl Capture {
    /// The absolute window of a request; bins must not be so narrow that they outnumber events.
    fn window(
        &self,
        py: Python<'_>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        bin_ns: Option<i64>,
    ) -> PyResult<Option<(i64, i64)>> {
        const MOST_BINS: i64 = 1_000_000;
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
            if (window.1 - window.0) / width > MOST_BINS / cpus {
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
            "coverage" => continue,
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
    module.add_class::<Capture>()?;
    module.add("CaptureError", module.py().get_type::<CaptureError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("IS_DEBUG_BUILD", cfg!(debug_assertions))
}
