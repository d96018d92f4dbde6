//! What the headers and one pass over the records say, as Python's dictionaries.

use arrow_array::types::{Int32Type, Int64Type};
use netcost::events::Scan;
use netcost::parts::{batch, plain, Labels};
use netcost::{Event, Order, Rate, Recording, Unit, WHYS};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::{printed, raised, table};

/// What the headers say.
pub fn header<'py>(py: Python<'py>, recording: &Recording) -> PyResult<Bound<'py, PyDict>> {
    let host = &recording.host;
    let header = PyDict::new(py);
    header.set_item("format", recording.format)?;
    header.set_item("mode", recording.mode)?;
    header.set_item("compressed", recording.compressed)?;
    header.set_item("version", recording.version)?;
    header.set_item("byte_order", if recording.order == Order::Big { "big" } else { "little" })?;
    header.set_item("word_bytes", host.long_bytes)?;
    header.set_item("wrapped", recording.wrapping)?;
    header.set_item("tool_version", &host.tool_version)?;
    header.set_item("os_release", &host.os_release)?;
    header.set_item("arch", &host.arch)?;
    header.set_item("hostname", &host.hostname)?;
    header.set_item("cmdline", &host.cmdline)?;
    header.set_item("nr_cpus", host.nr_cpus)?;
    header.set_item("clock", &recording.clock)?;
    header.set_item("resolution_ns", recording.resolution_ns)?;
    header.set_item("uname", &host.uname)?;
    header.set_item("date_offset_ns", recording.session.date_offset_ns)?;
    header.set_item("trace_id", recording.session.trace_id)?;
    let guests = PyList::empty(py);
    for guest in &recording.session.guests {
        let entry = PyDict::new(py);
        entry.set_item("name", &guest.name)?;
        entry.set_item("trace_id", guest.trace_id)?;
        let cpus = PyDict::new(py);
        for (cpu, pid) in &guest.cpus {
            cpus.set_item(cpu, pid)?;
        }
        entry.set_item("cpus", cpus)?;
        guests.append(entry)?;
    }
    header.set_item("guests", guests)?;
    header.set_item("time_unit", unit(recording.unit))?;
    header.set_item("buffer", &recording.buffer)?;
    let buffers = PyList::empty(py);
    for buffer in &recording.buffers {
        let entry = PyDict::new(py);
        entry.set_item("name", &buffer.name)?;
        entry.set_item("cpus", buffer.cpus)?;
        entry.set_item("bytes", buffer.bytes)?;
        entry.set_item("clock", &buffer.clock)?;
        buffers.append(entry)?;
    }
    header.set_item("buffers", buffers)?;
    header.set_item("kallsyms", host.kallsyms.is_some())?;
    header.set_item("finished", recording.finished)?;
    header.set_item("notes", printed(&recording.notes))?;
    let events = PyList::empty(py);
    for event in recording.events.iter() {
        events.append(described(py, event)?)?;
    }
    header.set_item("events", events)?;
    Ok(header)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Cycles => "cycles",
        Unit::Order => "order",
    }
}

fn described<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyDict>> {
    let (period, frequency) = match event.rate {
        Rate::Period(period) => (Some(period), None),
        Rate::Frequency(frequency) => (None, Some(frequency)),
    };
    let entry = PyDict::new(py);
    entry.set_item("name", &event.name)?;
    entry.set_item("tracepoint", event.is_tracepoint())?;
    entry.set_item("type", event.kind)?;
    entry.set_item("config", event.config)?;
    entry.set_item("sampled", event.is_sampled())?;
    entry.set_item("period", period)?;
    entry.set_item("frequency", frequency)?;
    entry.set_item("filter", &event.filter)?;
    entry.set_item("guest", event.guest)?;
    entry.set_item("has_time", event.has_time)?;
    entry.set_item("has_cpu", event.has_cpu)?;
    entry.set_item("has_callchain", event.has_callchain)?;
    entry.set_item("has_payload", event.has_payload)?;
    entry.set_item("has_format", event.format.is_some())?;
    Ok(entry)
}

/// What one pass counted.
pub fn scan<'py>(py: Python<'py>, recording: &Recording, scan: &Scan) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let window = scan.window.filter(|_| recording.unit == Unit::Nanoseconds);
    found.set_item("start_ns", window.map(|window| window.0))?;
    found.set_item("end_ns", window.map(|window| window.1))?;
    found.set_item("cpus", &scan.cpus)?;
    let counts = PyDict::new(py);
    for (event, count) in recording.events.iter().zip(&scan.counts) {
        let before: u64 = counts.get_item(&event.name)?.map_or(Ok(0), |count| count.extract())?;
        counts.set_item(&event.name, before + count)?;
    }
    found.set_item("events", counts)?;
    found.set_item("guest_samples", scan.guest_samples)?;
    found.set_item("lost_events", scan.lost.max(scan.lost_samples))?;
    found.set_item("lost_unknown", scan.lost_unknown)?;
    found.set_item("lost_unplaced", scan.lost_samples.saturating_sub(scan.lost))?;
    let records = PyDict::new(py);
    for (kind, count) in &scan.tally.records {
        records.set_item(kind, count)?;
    }
    found.set_item("records", records)?;
    let mut notes = recording.notes.clone();
    notes.extend(scan.tally.notes.iter().cloned());
    if scan.tally.unreadable > 0 {
        notes.push(format!("{} samples could not be read: unknown event or cut short", scan.tally.unreadable));
    }
    if scan.short > 0 {
        notes.push(format!(
            "{} samples are shorter than their event's format or sample_type says: no table has them",
            scan.short
        ));
    }
    if scan.tally.records.contains_key("STAT") || scan.tally.records.contains_key("STAT_CONFIG") {
        notes.push("a recording of perf stat: it holds counts, not samples".to_owned());
    }
    if scan.lost_unknown > 0 {
        notes.push(format!("events were lost at {} places, and the kernel did not say how many", scan.lost_unknown));
    }
    if let Some(merged) = scan.merged {
        notes.push(format!(
            "{} gaps are counted as {}: losses on one CPU that are at most {} ns apart count as one, with the time between them",
            merged.gaps,
            scan.gaps.len(),
            merged.apart_ns
        ));
    }
    found.set_item("notes", printed(&notes))?;
    let gaps = || scan.gaps.iter();
    let rows = batch(vec![
        ("cpu".into(), plain::<Int32Type>(gaps().map(|gap| gap.cpu as i32))),
        ("start_ns".into(), plain::<Int64Type>(gaps().map(|gap| gap.start_ns))),
        ("end_ns".into(), plain::<Int64Type>(gaps().map(|gap| gap.end_ns))),
        ("why".into(), Labels::new(&WHYS).column(gaps().map(|gap| gap.why as u32))),
        ("lost".into(), plain::<Int64Type>(gaps().map(|gap| gap.lost.min(i64::MAX as u64) as i64))),
    ])
    .map_err(raised)?;
    found.set_item("coverage", table(py, rows)?)?;
    Ok(found)
}
