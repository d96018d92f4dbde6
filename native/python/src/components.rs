//! To which part of the kernel's work samples belong, as plain numbers and texts.

use std::path::PathBuf;

use netcost::components::{self, Classes, Patterns, Rule, Rules, Stacks, Timer};
use netcost::{stacks::Request, Search, Selection};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::{pass, Capture};

/// Component, functions, modules, under, until, timer.
type Given = (i16, Vec<String>, Vec<String>, Vec<String>, Vec<String>, String);
/// Rules, then functions that end interrupts, and that are their entries.
type GivenRules = (Vec<Given>, Vec<String>, Vec<String>);

fn rules((given, ends, entries): GivenRules) -> PyResult<Rules> {
    let rule = |(component, functions, modules, under, until, timer): Given| {
        let timer = match timer.as_str() {
            "" => Timer::None,
            "function" => Timer::Function,
            "address" => Timer::Address,
            other => return Err(PyValueError::new_err(format!("no timer '{other}'"))),
        };
        Ok(Rule { component, functions, modules, under, until, timer })
    };
    let rules = given.into_iter().map(rule).collect::<PyResult<Vec<Rule>>>()?;
    Ok(Rules::new(rules, &ends, &entries))
}

/// A symbol's function.
#[pyfunction]
pub fn folded(symbol: &str) -> &str {
    components::folded(symbol)
}

/// Of each name whether a pattern is of it.
#[pyfunction]
pub fn matching(patterns: Vec<String>, names: Vec<String>) -> Vec<bool> {
    let made = Patterns::of([patterns.as_slice()]);
    names.iter().map(|name| made.name(name)).collect()
}

/// What samples of one event are of, in one pass.
#[pyfunction]
#[pyo3(signature = (
    capture, name, rules, is_timed, kallsyms=None, programs=false, search=None, cpu=None, start_ns=None, end_ns=None,
    progress=None
))]
#[allow(clippy::too_many_arguments)]
pub fn parts<'py>(
    py: Python<'py>,
    capture: &Capture,
    name: &str,
    rules: GivenRules,
    is_timed: bool,
    kallsyms: Option<String>,
    programs: bool,
    search: Option<Vec<PathBuf>>,
    cpu: Option<i32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let rules = self::rules(rules)?;
    let search = search.map(|folders| Search { folders });
    let request = Request { kallsyms, kernel_only: true, programs, search };
    let selection = Selection { cpu, start_ns, end_ns };
    let found = pass(py, progress, |progress| {
        components::parts(&capture.recording, name, &request, selection, (&rules, is_timed), progress)
    })?;
    let rows = found.parts.into_iter().map(|part| {
        (
            (part.function, part.module, part.dso, part.in_kernel),
            (part.component, part.beneath, part.decided_by, part.ended),
            (part.samples, part.weight, part.squares),
        )
    });
    let told = PyDict::new(py);
    told.set_item("parts", rows.collect::<Vec<_>>())?;
    told.set_item("cpus", found.cpus)?;
    told.set_item("has_names", found.has_names)?;
    Ok(told)
}

/// The classes of stacks that Python has, whose numbers come and go as bytes.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn classify<'py>(
    py: Python<'py>,
    begins: &[u8],
    places: &[u8],
    leaves: &[u8],
    samples: &[u8],
    in_kernel: Vec<bool>,
    names: Vec<(String, String)>,
    is_timed: bool,
    rules: GivenRules,
) -> PyResult<[Bound<'py, PyBytes>; 4]> {
    let names: Vec<(&str, &str)> = names.iter().map(|pair| (pair.0.as_str(), pair.1.as_str())).collect();
    let (begins, places, leaves) =
        (of(begins, i64::from_le_bytes), of(places, i32::from_le_bytes), of(leaves, i32::from_le_bytes));
    let samples = of(samples, u64::from_le_bytes);
    let stacks = Stacks {
        begins: &begins,
        places: &places,
        leaves: &leaves,
        samples: &samples,
        in_kernel: &in_kernel,
        names: &names,
        is_timed,
    };
    let rules = self::rules(rules)?;
    let Classes { of_stack, decided_by, beneath, ended } = components::classify(&stacks, &rules);
    let halves = |all: Vec<i16>| PyBytes::new(py, &all.into_iter().flat_map(i16::to_le_bytes).collect::<Vec<u8>>());
    let words = |all: Vec<i32>| PyBytes::new(py, &all.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>());
    Ok([halves(of_stack), words(decided_by), halves(beneath), words(ended)])
}

fn of<T, const N: usize>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok()).map(number).collect()
}
