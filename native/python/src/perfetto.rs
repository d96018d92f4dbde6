//! A trace for Perfetto, written to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use netcost::ledger::{self, Request};
use netcost::perfetto;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{pass, printed, Capture};

/// Name, unit, times and values.
pub type Counter = (String, String, Vec<i64>, Vec<f64>);

/// A file that remembers why it could not be written: what is read fails as it does, too.
struct Noted {
    file: File,
    number: Option<i32>,
}

impl Noted {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.number = error.raw_os_error().filter(|_| error.kind() != io::ErrorKind::Interrupted);
        }
        result
    }
}

impl Write for Noted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.note(flushed)
    }
}

/// Writes it, after a first pass over the same part where there was none.
pub fn write<'py>(
    capture: &Capture,
    py: Python<'py>,
    path: &Path,
    counters: Vec<Counter>,
    request: &Request,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let counters: Vec<_> = counters
        .into_iter()
        .map(|(name, unit, times, values)| perfetto::Counter { name, unit, times, values })
        .collect();
    let recording = &*capture.recording;
    let mut to = Noted { file: File::create(path)?, number: None };
    let known = capture.surveyed.known(request);
    let run = |progress: netcost::Progress<'_>| {
        let (survey, from) = match known {
            Some(survey) => (survey, 0.0),
            None => {
                let whole = capture.surveyed.whole(request);
                let mut first = |fraction: f64| progress(fraction / 3.0);
                let run = ledger::run_beside(recording, request, whole.as_ref(), &mut [], &mut first);
                (run?.0.survey, 1.0 / 3.0)
            }
        };
        capture.surveyed.keep(&survey);
        let mut rest = |fraction: f64| progress(from + fraction * (1.0 - from));
        perfetto::write(recording, request, &survey, &counters, &mut to, &mut rest)
    };
    let written = pass(py, progress, run);
    if let (Err(_), Some(number)) = (&written, to.number) {
        return Err(crate::system(&io::Error::from_raw_os_error(number)));
    }
    let written = written?;
    let told = PyDict::new(py);
    told.set_item("bytes", written.bytes)?;
    told.set_item("slices", written.slices)?;
    told.set_item("slice_bytes", written.slice_bytes)?;
    told.set_item("events", written.events)?;
    told.set_item("notes", printed(&written.notes))?;
    Ok(told)
}
