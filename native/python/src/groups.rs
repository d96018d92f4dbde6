//! Groups of a timeline's rows.

use netcost::ledger::{self, Grouped, Grouping, Request};
use netcost::Progress;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::{pass, table, Capture};

/// A grouping, by the names of its fields: netcost_analysis/timeline/group.py.
#[derive(FromPyObject)]
pub struct Wanted {
    pub rows: String,
    by: Vec<String>,
    block: Option<(String, i64)>,
    sums: Vec<String>,
    known: Vec<String>,
    lengths: Option<String>,
    within: Vec<(String, i64, i64)>,
    texts: Vec<(String, String)>,
}

/// Groups, lengths, and whether these are in bins.
pub type Found = (Py<PyTable>, Option<Py<PyTable>>, bool);

fn grouping(wanted: Wanted) -> Grouping {
    let Wanted { rows, by, block, sums, known, lengths, within, texts } = wanted;
    Grouping { rows, by, block, sums, known, lengths, within, texts }
}

/// All of them in one pass, behind a first one where none was made.
pub fn groups(
    capture: &Capture,
    py: Python<'_>,
    request: &Request,
    wanted: Vec<Wanted>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Found>> {
    let wanted: Vec<Grouping> = wanted.into_iter().map(grouping).collect();
    let run = |progress: Progress<'_>| {
        let (survey, from) = capture.surveyed.survey(&capture.recording, request, progress)?;
        let mut rest = |fraction: f64| progress(from + fraction * (1.0 - from));
        ledger::run_groups(&capture.recording, request, &survey, &wanted, &mut rest)
    };
    let shown = |found: Grouped| {
        let lengths = found.lengths.map(|lengths| table(py, lengths)).transpose()?;
        Ok((table(py, found.groups)?, lengths, found.is_binned))
    };
    pass(py, progress, run)?.into_iter().map(shown).collect()
}
