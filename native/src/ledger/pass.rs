//! One pass over a recording. Rows are kept, or leave in batches.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{bad, Result};
use crate::ledger::causality::Causality;
use crate::ledger::cpu::{Cpu, Found};
use crate::ledger::deal::Dealer;
use crate::ledger::join::Join;
use crate::ledger::output::Pass;
use crate::ledger::refuse;
use crate::ledger::request::Request;
use crate::ledger::schema::EventSchemas;
use crate::ledger::settings::Settings;
use crate::ledger::stream::{Batches, Stream};
use crate::ledger::survey::Whole;
use crate::ledger::wait::Waits;
use crate::ledger::walk::Walk;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::together::Together;
use crate::visit::{Tally, Visitor};

/// Returns the results and what the pass met. `whole`: facts about the whole recording, if the pass may end with the
/// window.
pub fn pass<'p>(
    recording: &Recording,
    request: &Request,
    batches: Option<Batches<'p>>,
    whole: Option<&Whole>,
    beside: &mut [&mut dyn Visitor],
    progress: Progress<'p>,
) -> Result<(Pass, Tally)> {
    let schemas = EventSchemas::of(recording);
    refuse::refuse(recording, &schemas)?;
    let has_waits = request.want.slices || request.want.displaced;
    let causality = Causality::of(recording, request.host.clock_doubt.as_deref()).filter(|_| has_waits);
    let mut settings = Settings::of(&schemas, request, causality.is_some());
    settings.outcome = batches.as_ref().map(|batches| Arc::clone(&batches.survey.whole.outcome));
    settings.may_stop = whole.is_some();
    let outcome = settings.outcome.as_ref().or(whole.map(|whole| &whole.outcome));
    let recorded = outcome.into_iter().flat_map(|outcome| outcome.cpus.keys().copied());
    let waits = Waits::new(causality, request.want.slices).over(recorded);
    let join = Join::new(waits, batches.is_some());
    let stream = batches.map(|batches| Stream::new(batches, request, settings.has_slices));
    let settings = Arc::new(settings);
    let walked = rayon::in_place_scope(|scope| -> Result<_> {
        let dealer = Dealer::new(scope, join);
        let mut walk = Walk::new(recording, schemas, settings, &request.host.names, dealer, stream, progress);
        walk.expected = whole.map(|whole| whole.outcome.cpus.len());
        let tally = match beside {
            [] => recording.walk(&mut walk),
            beside => recording.walk(&mut Together(&mut walk, beside)),
        };
        walk.settle_present();
        // Why the stream ended says more than that the walk did.
        walk.stream.as_mut().map_or(Ok(()), Stream::check)?;
        let how = (walk.rounds.in_order, walk.is_done);
        let said = (walk.window, walk.lost, how);
        Ok((walk.schemas, walk.reader, walk.dealer.end(), walk.counters, said, walk.stream, tally?))
    });
    let (schemas, reader, dealt, counters, ((start, end), lost, (in_order, is_done)), stream, tally) = walked?;
    let (mut cpus, join) = dealt.collect()?;
    if start > end {
        return Err(bad!(
            Refused,
            "nothing to account for: the capture holds no sample of an interrupt, softirq, napi or scheduler event"
        ));
    }
    // Rings are written one after the other. If the rest of a file is missing, so may be what the other CPUs did
    // meanwhile.
    let start = whole.map_or(start, |whole| whole.capture.0);
    let in_full = recording.finished && !recording.cut && tally.notes.is_empty();
    let ticked_ns = cpus.iter().map(Cpu::ticked_ns).max().unwrap_or_default();
    cpus.par_iter_mut().for_each(|cpu| cpu.end(start, end, ticked_ns, in_full));
    let joined = join.end(cpus.iter_mut().map(Cpu::part).collect(), end);
    cpus.par_iter_mut().for_each(|cpu| cpu.undo_polls_that_moved(&joined.moved));
    if let Some(mut stream) = stream {
        stream.give(joined.rounds, &reader, true, !is_done);
        stream.check()?;
    }
    let cpus: Vec<Found> = cpus.into_iter().filter_map(Cpu::found).collect();
    Ok((Pass { schemas, reader, cpus, waits: joined.waits, counters, capture: (start, end), lost, in_order }, tally))
}
