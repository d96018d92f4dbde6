//! How a pass reports to Python, and how Python stops it.

use netcost::Result;
use pyo3::prelude::*;

use crate::raised;

/// Calls Python's `progress(fraction)` about a hundred times per pass; remembers what it raised.
pub struct Reporter {
    callback: Option<Py<PyAny>>,
    next: f64,
    raised: Option<PyErr>,
}

impl Reporter {
    /// Reports to `callback`, if there is one.
    pub fn new(callback: Option<Py<PyAny>>) -> Reporter {
        Reporter { callback, next: 0.0, raised: None }
    }

    /// Whether to go on.
    pub fn report(&mut self, fraction: f64) -> bool {
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

    /// Whether to go on waiting for input: whether no signal's handler raised.
    pub fn waits(&mut self) -> bool {
        self.raised = Python::attach(|py| py.check_signals()).err();
        self.raised.is_none()
    }

    /// The pass's result, or what the callback raised in it.
    pub fn settle<T>(self, result: Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => result.map_err(raised),
        }
    }
}
