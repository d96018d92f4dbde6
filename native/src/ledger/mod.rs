//! The ledger: every nanosecond of every recorded CPU has exactly one owner.
//!
//! ```text
//!   records -> walk (file order, names numbered) -> deal -> cpu: one machine per CPU -> segments -> sums, tables
//!                                                             \_ join: waits, clocks, moved NAPI threads
//! ```

pub(crate) mod aggregate;
mod aggregates;
mod at;
mod binned;
mod causality;
mod counters;
pub(crate) mod cpu;
mod deal;
pub(crate) mod devices;
mod event;
mod fields;
mod flush;
mod frames;
mod group;
mod held;
mod irqs;
mod join;
mod kept;
mod left;
mod losses;
pub(crate) mod migrated;
mod moved;
pub(crate) mod network;
mod numbered;
mod outcome;
mod output;
mod pass;
mod place;
mod point;
mod raised;
mod read;
mod refuse;
mod request;
pub(crate) mod resolve;
pub(crate) mod rows;
mod schema;
pub(crate) mod segment;
mod settings;
pub(crate) mod shown;
pub(crate) mod softirq;
mod stays;
mod stays_of;
mod stem;
mod stream;
mod survey;
mod task;
pub(crate) mod thief;
mod ticks;
mod wait;
mod wakeups;
mod walk;

use std::sync::Arc;

use crate::error::{bad, Result};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::visit::{Tally, Visitor};
use causality::Causality;
use rayon::prelude::*;
use shown::{Shown, Sink};
use stream::Batches;

pub use aggregates::Wanted as Aggregated;
pub use at::{Costs, Moments};
pub(crate) use devices::NO_DEVICE;
pub(crate) use flush::Flush;
pub use group::Wanted as Grouping;
pub use kept::Kept;
pub use output::Output;
pub use request::{DeviceName, HostFacts, Request, Want};
pub use shown::Tables;
pub use stays::Wanted as Stayed;
pub use stays_of::Whose;
pub use survey::{Survey, Whole};

/// Runs the ledger over a recording.
pub fn run(recording: &Recording, request: &Request, progress: Progress<'_>) -> Result<Output> {
    run_beside(recording, request, None, &mut [], progress).map(|(output, _)| output)
}

/// Also shows the pass to `beside`, and returns what it met. If an earlier pass has the facts about the `whole`
/// recording and `beside` is empty, the pass ends once nothing in the window can change any more.
pub fn run_beside(
    recording: &Recording,
    request: &Request,
    whole: Option<&Arc<Whole>>,
    beside: &mut [&mut dyn Visitor],
    progress: Progress<'_>,
) -> Result<(Output, Tally)> {
    let tables = request.want;
    let request = &Request { want: if request.keeps_rows { Want::ALL } else { tables }, ..request.clone() };
    let clocks_are_one = Causality::of(recording, request.host.clock_doubt.as_deref()).is_none();
    let whole = whole.filter(|whole| beside.is_empty() && whole.is_enough_for(request));
    let (mut pass, tally) = pass::pass(recording, request, None, whole.map(|whole| &**whole), beside, progress)?;
    refuse::refuse_reversed(&tally)?;
    if pass.cpus.is_empty() {
        return Err(bad!(Refused, "nothing to account for: the capture holds no readable sample of an interrupt, softirq, napi or scheduler event"));
    }
    pass.cpus.iter().for_each(|cpu| pass.counters.add(&cpu.counters));
    let mut notes = recording.notes.clone();
    notes.extend(refuse::caveat(recording));
    notes.extend(tally.notes.iter().cloned());
    if tally.unreadable > 0 {
        notes.push(format!("{} samples could not be read: unknown event or cut short", tally.unreadable));
    }
    Ok((output::build(pass, request, tables, whole, clocks_are_one, notes)?, tally))
}

/// The tables of `request` in batches of `rows` rows over all tables: a second pass, after the one that made `survey`.
///
/// Every row is in one batch. All batches together, ordered by CPU where rows have one, are the tables that [`run`]
/// gives. A row leaves when it and all rows before it in its table and CPU have ended on every CPU's clock, so memory
/// does not grow with the recording. The exception is what never ends: a softirq or interrupt without its exit keeps
/// everything that began after it on its CPU until the recording ends. Recordings without common rounds (a folder of
/// `perf record --threads`) settle nothing before their end. For a window, no more is read than [`run_beside`] reads.
/// The walk waits while `sink` is busy, and ends when it returns false.
pub fn run_in_batches(
    recording: &Recording,
    request: &Request,
    survey: &Arc<Survey>,
    rows: usize,
    sink: &mut dyn FnMut(Tables) -> bool,
    progress: Progress<'_>,
) -> Result<()> {
    let mut take = |names: &_, cpus: &[_], migrated: &[_], shown: &Shown<'_>| {
        Ok(sink(shown::tables(names, cpus, migrated, shown)?))
    };
    run_in_rows(recording, request, survey, rows, &mut take, progress)
}

/// Aggregates over rows of the request's window and CPUs. They take `rows` rows at a time from a second pass like that
/// of [`run_in_batches`], so memory grows with what they keep and not with rows.
pub fn run_aggregates(
    recording: &Recording,
    request: &Request,
    survey: &Arc<Survey>,
    wanted: &[Aggregated],
    rows: usize,
    progress: Progress<'_>,
) -> Result<Vec<Tables>> {
    let names = &survey.whole.names;
    let want = Want::of(wanted.iter().flat_map(|one| one.tables()))?;
    let request = &Request { want, ..request.clone() };
    let mut found = wanted.iter().map(|wanted| wanted.begin(names)).collect::<Result<Vec<_>>>()?;
    let mut take = |names: &_, cpus: &[_], migrated: &[_], shown: &Shown<'_>| {
        found.par_iter_mut().for_each(|one| one.take(names, cpus, migrated, shown));
        Ok(true)
    };
    run_in_rows(recording, request, survey, rows, &mut take, progress)?;
    found.into_iter().map(|one| one.finish(names)).collect()
}

/// The same over rows that were kept.
pub fn aggregates_of(kept: &Kept, request: &Request, wanted: &[Aggregated]) -> Result<Vec<Tables>> {
    let found = wanted.iter().map(|wanted| wanted.begin(kept.names())).collect::<Result<Vec<_>>>()?;
    kept.aggregates(request, found)
}

/// Hands out the rows that [`run_in_batches`] makes tables of.
pub(crate) fn run_in_rows<'p>(
    recording: &Recording,
    request: &Request,
    survey: &'p Arc<Survey>,
    rows: usize,
    sink: Sink<'p>,
    progress: Progress<'p>,
) -> Result<()> {
    if !survey.is_for(request) {
        return Err(bad!(Refused, "batches need a first pass over the same window, CPUs and lines"));
    }
    let whole = Some(&*survey.whole).filter(|whole| whole.is_enough_for(request));
    pass::pass(recording, request, Some(Batches { survey, rows, sink }), whole, &mut [], progress).map(|_| ())
}
