//! What passes make of a timeline's rows.

use std::collections::BTreeMap;

use netcost::ledger::{self, Aggregated, Grouping, Request, Tables};
use netcost::Progress;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::{pass, table, Capture};

/// An aggregate, by the names of its fields: netcost_analysis/timeline/aggregates.py.
#[derive(FromPyObject)]
pub enum Wanted {
    Group {
        rows: String,
        by: Vec<String>,
        block: Option<(String, i64)>,
        edges: Vec<(String, Vec<i64>)>,
        sums: Vec<String>,
        known: Vec<String>,
        ends: Vec<String>,
        lengths: Option<String>,
        within: Vec<(String, i64, i64)>,
        texts: Vec<(String, String)>,
    },
}

/// The same, as the ledger has it.
pub fn aggregated(wanted: Wanted) -> Aggregated {
    match wanted {
        Wanted::Group { rows, by, block, edges, sums, known, ends, lengths, within, texts } => {
            Aggregated::Group(Grouping { rows, by, block, edges, sums, known, ends, lengths, within, texts })
        }
    }
}

/// Tables by name, of one aggregate.
pub type Found = BTreeMap<&'static str, Py<PyTable>>;

/// All of them in one pass, behind a first one where none was made.
pub fn aggregates(
    capture: &Capture,
    py: Python<'_>,
    request: &Request,
    wanted: &[Aggregated],
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Found>> {
    let run = |progress: Progress<'_>| {
        let (survey, from) = capture.surveyed.survey(&capture.recording, request, progress)?;
        let mut rest = |fraction: f64| progress(from + fraction * (1.0 - from));
        ledger::run_aggregates(&capture.recording, request, &survey, wanted, &mut rest)
    };
    let shown = |found: Tables| found.into_iter().map(|(name, rows)| Ok((name, table(py, rows)?))).collect();
    pass(py, progress, run)?.into_iter().map(shown).collect()
}
