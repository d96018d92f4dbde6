//! Masking, with what names become asked of Python.

use std::path::PathBuf;

use netcost::kinds::fields::{of_field, Shape};
use netcost::kinds::Kind;
use netcost::mask::{self, Changes, Replacements};
use netcost::{Error, ErrorKind, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised;

/// Asks an object with `replace` and `progress`; remembers what that raised.
struct Asked<'py> {
    object: Bound<'py, PyAny>,
    raised: Option<PyErr>,
}

impl Asked<'_> {
    fn settle<T>(&mut self, answer: PyResult<T>) -> Result<T> {
        answer.map_err(|error| {
            let message = error.to_string();
            self.raised = Some(error);
            Error::Capture { kind: ErrorKind::Interrupted, offset: None, message }
        })
    }
}

impl Replacements for Asked<'_> {
    fn replace(&mut self, kind: Kind, original: &[u8]) -> Result<Vec<u8>> {
        let original = PyBytes::new(self.object.py(), original);
        let answer = self.object.call_method1("replace", (kind.name(), original));
        let answer = answer.and_then(|answer| Ok(answer.cast_into::<PyBytes>()?.as_bytes().to_vec()));
        self.settle(answer)
    }

    fn progress(&mut self, fraction: f64) -> Result<()> {
        let answer = self.object.py().check_signals();
        let answer = answer.and_then(|()| self.object.call_method1("progress", (fraction,)).map(|_| ()));
        self.settle(answer)
    }
}

/// Writes the recording at `path` to `out` with its names replaced; what was done, and how often.
#[pyfunction]
pub fn mask_recording(path: PathBuf, out: PathBuf, replacements: Bound<'_, PyAny>) -> PyResult<Changes> {
    let mut asked = Asked { object: replacements, raised: None };
    let changes = mask::mask(&path, &out, &mut asked);
    match asked.raised {
        Some(error) => Err(error),
        None => changes.map_err(raised),
    }
}

/// What a field of a tracepoint holds: keep, zero, or a kind of name. `shape`: int, text or bytes.
#[pyfunction]
pub fn field_kind(event: &str, field: &str, shape: &str, size: usize) -> PyResult<&'static str> {
    let shape = match shape {
        "int" => Shape::Int,
        "text" => Shape::Text,
        "bytes" => Shape::Bytes,
        _ => return Err(PyValueError::new_err(format!("no shape of a field: {shape}"))),
    };
    Ok(of_field(event, field, shape, size).name())
}
