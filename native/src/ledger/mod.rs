//! The ledger: every nanosecond of every recorded CPU has exactly one owner.
//!
//! ```text
//!   records -> walk (file order, names numbered) -> deal -> cpu: one machine per CPU -> segments -> sums, tables
//!                                                             \_ join: waits, clocks, moved NAPI threads
//! ```

mod causality;
mod counters;
mod cpu;
mod deal;
mod devices;
mod event;
#[allow(missing_docs)]
mod fields;
mod flush;
#[allow(missing_docs)]
mod frames;
mod held;
mod irqs;
mod join;
mod losses;
mod moved;
mod network;
mod output;
mod place;
mod point;
mod read;
mod refuse;
mod request;
mod resolve;
#[allow(missing_docs)]
mod rows;
mod schema;
#[allow(missing_docs)]
mod segment;
mod settings;
mod softirq;
mod stem;
mod task;
mod thief;
mod wait;
mod walk;

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{bad, Result};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::together::Together;
use crate::visit::{Tally, Visitor};
use causality::Causality;
use cpu::{Cpu, Found};
use deal::Dealer;
use join::Join;
use output::Pass;
use schema::EventSchemas;
use settings::Settings;
use wait::Waits;
use walk::Walk;

pub use output::Output;
pub use request::{Request, Want};

/// Runs the ledger over a recording.
pub fn run(recording: &Recording, request: &Request, progress: Progress<'_>) -> Result<Output> {
    run_beside(recording, request, &mut [], progress).map(|(output, _)| output)
}

/// The same, and shows the pass to `beside` too; what the pass met besides.
pub fn run_beside(
    recording: &Recording,
    request: &Request,
    beside: &mut [&mut dyn Visitor],
    progress: Progress<'_>,
) -> Result<(Output, Tally)> {
    let schemas = EventSchemas::of(recording);
    refuse::refuse(recording, &schemas)?;
    let has_waits = request.want.slices || request.want.displaced;
    let causality = Causality::of(recording, request.clock_doubt.as_deref()).filter(|_| has_waits);
    let settings = Arc::new(Settings::of(&schemas, request, causality.is_some()));
    let join = Join::new(Waits::new(causality, request.want.slices));
    let walked = rayon::in_place_scope(|scope| -> Result<_> {
        let dealer = Dealer::new(scope, join);
        let mut walk = Walk::new(recording, schemas, settings, dealer, progress);
        let tally = match beside {
            [] => recording.walk(&mut walk),
            beside => recording.walk(&mut Together(&mut walk, beside)),
        }?;
        walk.settle_present();
        Ok((walk.schemas, walk.reader, walk.dealer.end(), walk.counters, walk.window, walk.lost, tally))
    });
    let (schemas, reader, dealt, mut counters, (start, end), lost, tally) = walked?;
    let (mut cpus, join) = dealt.collect()?;
    refuse::refuse_reversed(&tally)?;
    if start > end {
        return Err(bad!(
            "nothing to account for: the capture holds no sample of an interrupt, softirq, napi or scheduler event"
        ));
    }
    // Rings are written one after the other: where the rest of a file is missing, so may be what
    // the other CPUs did meanwhile.
    let in_full = recording.finished && !recording.cut && tally.notes.is_empty();
    cpus.par_iter_mut().for_each(|cpu| cpu.end(start, end, in_full));
    let joined = join.end(cpus.iter_mut().map(Cpu::part).collect(), end);
    cpus.par_iter_mut().for_each(|cpu| cpu.undo_polls_that_moved(&joined.moved));
    let cpus: Vec<Found> = cpus.into_iter().filter_map(Cpu::found).collect();
    cpus.iter().for_each(|cpu| counters.add(&cpu.counters));
    if cpus.is_empty() {
        return Err(bad!("nothing to account for: the capture holds no readable sample of an interrupt, softirq, napi or scheduler event"));
    }
    let mut notes = recording.notes.clone();
    notes.extend(refuse::caveat(recording));
    notes.extend(tally.notes.iter().cloned());
    if tally.unreadable > 0 {
        notes.push(format!("{} samples could not be read: unknown event or cut short", tally.unreadable));
    }
    let pass = Pass { schemas, reader, cpus, waits: joined.waits, counters, capture: (start, end), lost };
    Ok((output::build(pass, request, notes)?, tally))
}
