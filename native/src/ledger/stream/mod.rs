//! The tables of a recording as a stream of batches: a second pass, whose rows leave when nothing can change them.

mod collect;
mod lane;
mod moves;
mod queue;

use std::sync::Arc;

use crate::error::{bad, Error, Result};
use crate::ledger::join::Round;
use crate::ledger::read::Reader;
use crate::ledger::request::Request;
use crate::ledger::shown::Sink;
use crate::ledger::survey::{Numbers, Survey};
use collect::Collector;

/// What a pass in batches is given.
pub struct Batches<'s> {
    /// What a first pass found.
    pub survey: &'s Arc<Survey>,
    /// Rows of a batch, over all tables.
    pub rows: usize,
    /// Where they go.
    pub sink: Sink<'s>,
}

/// How a pass gives its rows away while it runs.
pub struct Stream<'s> {
    /// Rows of a batch: so many events are worth looking for one.
    pub rows: usize,
    first: Numbers,
    collector: Collector,
    sink: Sink<'s>,
    /// Why it ended early.
    ended: Option<Error>,
}

impl<'s> Stream<'s> {
    /// Nothing given yet. `has_slices`: whether there are any to tell who held a CPU.
    pub fn new(batches: Batches<'s>, request: &Request, has_slices: bool) -> Stream<'s> {
        let Batches { survey, rows, sink } = batches;
        let collector = Collector::new(Arc::clone(survey), request.clone(), has_slices, rows);
        Stream { rows, first: survey.whole.numbers, collector, sink, ended: None }
    }

    /// Whether to go on.
    pub fn goes_on(&self) -> bool {
        self.ended.is_none()
    }

    /// Fails if it ended early.
    pub fn check(&mut self) -> Result<()> {
        self.ended.take().map_or(Ok(()), Err)
    }

    /// Gives what rounds that are over have settled; `is_over`: all that is left. `is_whole`: all of it was read.
    pub fn give(&mut self, rounds: Vec<Round>, reader: &Reader, is_over: bool, is_whole: bool) {
        if self.ended.is_some() {
            return;
        }
        // A number that the first pass did not give has no name: the file is not what it was.
        let numbers = Numbers::of(reader);
        if !numbers.are_within(self.first) || (is_over && is_whole && numbers != self.first) {
            self.ended = Some(bad!(
                Changed,
                "the file was written anew while it was read; copy it when its writer has ended, and read the copy"
            ));
            return;
        }
        let last = rounds.len().saturating_sub(1);
        // One after the other, so that where batches are cut does not depend on how many were over.
        for (place, round) in rounds.into_iter().enumerate() {
            self.collector.take(round);
            self.ended = match self.collector.give(is_over && place == last, self.sink) {
                Ok(true) => continue,
                Ok(false) => Some(bad!(Interrupted, "interrupted")),
                Err(error) => Some(error),
            };
            return;
        }
    }
}
