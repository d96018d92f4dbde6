//! Masking, with what names mean and become asked of Python.

use std::path::PathBuf;

use netcost::error::{Error, Kind, Result};
use netcost::mask::{self, Changes, Meaning};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised;

/// Asks an object with `field`, `replace` and `progress`; remembers what that raised.
struct Asked<'py> {
    object: Bound<'py, PyAny>,
    raised: Option<PyErr>,
}

impl Asked<'_> {
    fn settle<T>(&mut self, answer: PyResult<T>) -> Result<T> {
        answer.map_err(|error| {
            let message = error.to_string();
            self.raised = Some(error);
            Error::Capture { kind: Kind::Interrupted, offset: None, message }
        })
    }
}

impl Meaning for Asked<'_> {
    fn field(&mut self, event: &str, field: &str, shape: &str, size: usize) -> Result<String> {
        let answer = self.object.call_method1("field", (event, field, shape, size));
        let answer = answer.and_then(|answer| answer.extract());
        self.settle(answer)
    }

    fn replace(&mut self, kind: &str, original: &[u8]) -> Result<Vec<u8>> {
        let original = PyBytes::new(self.object.py(), original);
        let answer = self.object.call_method1("replace", (kind, original));
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
pub fn mask_recording(path: PathBuf, out: PathBuf, meaning: Bound<'_, PyAny>) -> PyResult<Changes> {
    let mut asked = Asked { object: meaning, raised: None };
    let changes = mask::mask(&path, &out, &mut asked);
    match asked.raised {
        Some(error) => Err(error),
        None => changes.map_err(raised),
    }
}
