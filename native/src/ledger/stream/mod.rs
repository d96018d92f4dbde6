//! The tables of a recording as a stream of batches: a second pass, whose rows leave when they are final.

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

/// What a pass in batches needs.
pub struct Batches<'s> {
    /// The findings of a first pass.
    pub survey: &'s Arc<Survey>,
    /// Rows in a batch, over all tables.
    pub rows: usize,
    /// Where they go.
    pub sink: Sink<'s>,
}

/// Gives rows away during a pass.
pub struct Stream<'s> {
    /// Rows in a batch. After this many events it is worth looking for one.
    pub rows: usize,
    first: Numbers,
    collector: Collector,
    sink: Sink<'s>,
    /// Why it ended early.
    ended: Option<Error>,
}

impl<'s> Stream<'s> {
    /// `has_slices`: whether there are any to tell who held a CPU.
    pub fn new(batches: Batches<'s>, request: &Request, has_slices: bool) -> Stream<'s> {
        let Batches { survey, rows, sink } = batches;
        let collector = Collector::new(Arc::clone(survey), request.clone(), has_slices, rows);
        Stream { rows, first: survey.whole.numbers, collector, sink, ended: None }
    }

    pub fn goes_on(&self) -> bool {
        self.ended.is_none()
    }

    /// Fails if the stream ended early.
    pub fn check(&mut self) -> Result<()> {
        self.ended.take().map_or(Ok(()), Err)
    }

    /// Hands out what finished rounds have settled. `is_over`: everything left. `is_whole`: all of the file was read.
    pub fn give(&mut self, rounds: Vec<Round>, reader: &Reader, is_over: bool, is_whole: bool) {
        if self.ended.is_some() {
            return;
        }
        // If the first pass did not assign a number, it has no name: the file has changed.
        let numbers = Numbers::of(reader);
        if !numbers.are_within(self.first) || (is_over && is_whole && numbers != self.first) {
            self.ended = Some(bad!(
                Changed,
                "the file was rewritten while it was read; copy it when nothing writes to it any more, and read the copy"
            ));
            return;
        }
        let last = rounds.len().saturating_sub(1);
        // Rounds are taken one by one, so that the cuts between batches do not depend on how many were finished.
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
