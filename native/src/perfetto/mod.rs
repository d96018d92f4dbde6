//! A capture as a trace of Perfetto: its events in Perfetto's own ftrace packets, and beside them the ledger's owners.
//!
//! ```text
//!   records -> ftrace: bundles per CPU -----------------------> one file of packets, in any order: its reader sorts
//!   second pass of the ledger, in batches -> slices per CPU --/
//! ```
//! The numbers of fields and their types are those of protos/perfetto/trace in github.com/google/perfetto, as of its v52.

mod describe;
mod ftrace;
mod gaps;
mod out;
mod owners;
mod plan;
mod proto;
mod repeats;
mod slices;
mod tracks;

use std::io::Write;
use std::sync::Arc;

use crate::error::{bad, Result};
use crate::events::Within;
use crate::ledger::shown::Shown;
use crate::ledger::{self, Request, Survey, Want};
use crate::progress::Progress;
use crate::recording::Recording;
use ftrace::Ftrace;
use out::Out;
use slices::Slices;

pub use tracks::Counter;

/// Rows of the ledger in memory at a time.
const ROWS: usize = 65_536;

/// What was written.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes in all.
    pub bytes: u64,
    /// Slices of the ledger's tracks.
    pub slices: u64,
    /// Bytes of these, with all that belongs to them.
    pub slice_bytes: u64,
    /// Events of the recording.
    pub events: u64,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Writes the part of a recording that `request` names, after a first pass of the ledger over it; memory does not grow
/// with the recording. `request.want` does not matter.
pub fn write(
    recording: &Recording,
    request: &Request,
    survey: &Arc<Survey>,
    counters: &[Counter],
    to: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<Written> {
    let mut out = Out::new(to);
    tracks::begin(&mut out, recording, counters);
    let within =
        Within { window: request.window, cpus: request.cpus.clone(), fields: None, in_order: survey.whole.in_order };
    let mut first = |fraction: f64| progress(fraction / 2.0);
    let mut ftrace = Ftrace::new(recording, within, &mut out, &mut first);
    recording.walk(&mut ftrace)?;
    let (events, notes) = ftrace.finish();
    out.settle()?;
    let before = out.bytes();
    let request = Request { want: Want { segments: true, coverage: true, ..Want::default() }, ..request.clone() };
    let mut slices = Slices::default();
    let mut sink = |names: &_, cpus: &[_], _: &[_], shown: &Shown<'_>| {
        slices.add(names, cpus, shown.window, &mut out);
        Ok(!out.has_failed())
    };
    let mut second = |fraction: f64| progress(0.5 + fraction / 2.0);
    let run = ledger::run_in_rows(recording, &request, survey, ROWS, &mut sink, &mut second);
    out.settle()?;
    run?;
    out.settle()?;
    out.flush()?;
    let (bytes, slice_bytes) = (out.bytes(), out.bytes() - before);
    let written = Written { bytes, slices: slices.count(), slice_bytes, events, notes };
    if written.slices == 0 && written.events == 0 {
        return Err(bad!(Missing, "nothing to show: the window has no event and no time"));
    }
    Ok(written)
}
