//! The ledger as Python asks for it, with what is asked for beside it.

use std::collections::BTreeMap;

use netcost::counts::{self, Counter, Counts};
use netcost::events::Scanner;
use netcost::ledger::{self, DeviceName, HostFacts, Output, Request, Want};
use netcost::lives::task_events::{self, TaskEvents};
use netcost::{Progress, Visitor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::{pass, printed, table, Capture, CaptureError};

/// Names, key, field to add up, windows: what to count.
pub type Count = (Vec<String>, Option<String>, Option<String>, Vec<(i64, i64)>);
/// Name, fields of the task, of its name and its CPU, and until when only the last counts: of which events to tell.
pub type TaskEvent = (String, String, Option<String>, Option<String>, Option<i64>);

/// As the crate has it.
pub fn count((names, key, sum_of, windows): Count) -> counts::Wanted {
    counts::Wanted { names, key, sum_of, windows }
}

/// As the crate has it.
pub fn task_event((event, tid, comm, cpu, last_until): TaskEvent) -> task_events::Wanted {
    task_events::Wanted { event, tid, comm, cpu, last_until }
}

/// What the ledger's pass tells besides.
pub struct Beside {
    counts: Vec<counts::Wanted>,
    task_events: Vec<task_events::Wanted>,
}

impl Beside {
    /// What was asked for.
    pub fn of(counts: Option<Vec<Count>>, task_events: Option<Vec<TaskEvent>>) -> Beside {
        Beside {
            counts: counts.into_iter().flatten().map(count).collect(),
            task_events: task_events.into_iter().flatten().map(task_event).collect(),
        }
    }
}

/// The ledger in one pass, which counts and gathers what is asked for beside it, and scans the capture if nobody did:
/// most who ask for a ledger ask what is in the capture too.
pub fn timeline<'py>(
    capture: &Capture,
    py: Python<'py>,
    request: &Request,
    wanted: &Beside,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let recording = &capture.recording;
    let is_scanned = capture.scan.get().is_some();
    let whole = capture.surveyed.whole(request);
    let run = |progress: Progress<'_>| {
        let mut scanner = (!is_scanned).then(|| Scanner::new(recording));
        // What cannot be counted is an error to whoever asks for nothing else.
        let mut counter = Counter::new(recording, &wanted.counts).ok().filter(|_| !wanted.counts.is_empty());
        let mut tasks = (!wanted.task_events.is_empty()).then(|| TaskEvents::new(recording, &wanted.task_events));
        let mut beside: Vec<&mut dyn Visitor> = Vec::new();
        beside.extend(scanner.as_mut().map(|scanner| scanner as &mut dyn Visitor));
        beside.extend(counter.as_mut().map(|counter| counter as &mut dyn Visitor));
        beside.extend(tasks.as_mut().map(|tasks| tasks as &mut dyn Visitor));
        let (output, tally) = ledger::run_beside(recording, request, whole.as_ref(), &mut beside, progress)?;
        let tasks = tasks.map(TaskEvents::finish).transpose()?;
        Ok((output, scanner.map(|scanner| scanner.finish(tally)), counter.map(Counter::finish), tasks))
    };
    let (mut output, scan, counts, tasks) = pass(py, progress, run)?;
    if let Some(rows) = output.rows.take() {
        capture.windows.keep(request, rows);
    }
    if let Some(scan) = scan {
        capture.scan.get_or_init(|| scan);
    }
    capture.surveyed.keep(&output.survey);
    let found = told(capture, py, output)?;
    found.set_item::<_, Option<Vec<Option<Vec<Counts>>>>>("counts", counts)?;
    let shown = |batch: Option<_>| batch.map(|batch| table(py, batch)).transpose();
    let tasks: Option<Vec<Option<Py<PyTable>>>> =
        tasks.map(|tables| tables.into_iter().map(shown).collect()).transpose()?;
    found.set_item("task_events", tasks)?;
    Ok(found)
}

/// Tables of rows that are kept; `None` where they are not.
pub fn kept<'py>(capture: &Capture, py: Python<'py>, request: &Request) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(kept) = capture.windows.held(request) else { return Ok(None) };
    let found = PyDict::new(py);
    for (name, rows) in pass(py, None, |_| kept.tables(request))? {
        found.set_item(name, table(py, rows)?)?;
    }
    Ok(Some(found))
}

fn told<'py>(capture: &Capture, py: Python<'py>, output: Output) -> PyResult<Bound<'py, PyDict>> {
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
    summary.set_item("resolution_ns", capture.recording.resolution_ns)?;
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

/// The CPUs of a request, as they are looked up.
pub fn ascending(cpus: Option<Vec<u32>>) -> Option<Vec<u32>> {
    cpus.map(|mut cpus| {
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    })
}

/// What files beside the recording say: `HostFacts`.
pub type Host = (Option<String>, BTreeMap<i64, String>, Vec<u32>, Vec<(String, usize, Option<usize>)>);

/// What Python asks a pass for; `window`: start, end, and width of bins.
pub fn request(
    capture: &Capture,
    py: Python<'_>,
    want: Want,
    (start_ns, end_ns): (Option<i64>, Option<i64>),
    cpus: Option<Vec<u32>>,
    host: Option<Host>,
) -> PyResult<Request> {
    let host = host.map(|(clock_doubt, lines, tickless, names)| {
        let name = |(name, devices, instances)| DeviceName { name, devices, instances };
        let names = names.into_iter().map(name).collect();
        HostFacts { clock_doubt, lines: lines.into_iter().collect(), tickless, names }
    });
    let (cpus, host) = (ascending(cpus), host.unwrap_or_default());
    let mut request = Request { want, window: None, cpus, host, keeps_rows: false };
    if start_ns.is_some() || end_ns.is_some() {
        request.window = window(capture, py, start_ns, end_ns)?;
    }
    Ok(request)
}

/// The absolute window of a request.
fn window(
    capture: &Capture,
    py: Python<'_>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
) -> PyResult<Option<(i64, i64)>> {
    let Some(whole) = capture.scanned(py, None)?.window else { return Ok(None) };
    let window = (start_ns.unwrap_or(whole.0).max(whole.0), end_ns.unwrap_or(whole.1).min(whole.1));
    if window.0 > window.1 {
        let message = format!("the window lies outside the capture, which lasts from {} to {} ns", whole.0, whole.1);
        return Err(CaptureError::new_err(message));
    }
    Ok(Some(window))
}

/// That bins are not so narrow that they outnumber events.
pub fn require_few_bins(capture: &Capture, py: Python<'_>, request: &Request, width: i64) -> PyResult<()> {
    const MAX_BINS: i64 = 1_000_000;
    let scan = capture.scanned(py, None)?;
    let Some((start_ns, end_ns)) = request.window.or(scan.window) else { return Ok(()) };
    if width <= 0 {
        return Err(PyValueError::new_err("a bin's width must be positive"));
    }
    if (end_ns - start_ns) / width > MAX_BINS / scan.cpus.len().max(1) as i64 {
        let most = "at most a million bins over all CPUs";
        return Err(CaptureError::new_err(format!("bins of {width} ns are too narrow for this window: {most}")));
    }
    Ok(())
}

/// The tables of these names.
pub fn want(tables: &[String]) -> PyResult<Want> {
    Want::of(tables.iter().map(String::as_str)).map_err(|error| PyValueError::new_err(error.to_string()))
}
