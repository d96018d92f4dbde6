//! The stage that joins CPUs: who waited for whom, whose clock is ahead, which NAPI threads moved.
//!
//! ```text
//!   CPU 0   part of round 7 \
//!   CPU 1   part of round 7  > all of round 7 told: settled up to where no later round can reach
//!   CPU 2   part of round 7 /
//! ```

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::ledger::left::Left;
use crate::ledger::moved::Moved;
use crate::ledger::point::Part;
use crate::ledger::rows::Answer;
use crate::ledger::wait::Waits;
use crate::narrow::Narrow;

/// Gathers the CPUs' reports.
#[derive(Debug, Default)]
pub struct Join {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    joined: Joined,
    /// Rounds that some CPU has not reported yet, and the number of the first.
    rounds: VecDeque<Untold>,
    first: u64,
}

/// What is known from several CPUs together.
#[derive(Debug, Default)]
pub struct Joined {
    pub waits: Waits,
    /// NAPI threads that ran elsewhere in mid-poll.
    pub moved: Moved,
    /// Rounds whose rows nobody has taken yet, if rows leave before the end.
    pub rounds: Vec<Round>,
    has_rows: bool,
    /// What the last round reported by every CPU has made final.
    done: Done,
}

/// Times before which nothing can change any more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// CPUs that have recorded anything so far.
    pub cpus: usize,
    /// Whatever began before this is final on each of them, and no CPU will report anything earlier.
    pub until_ns: i64,
    /// Start of the first unfinished wait that has been displaced.
    pub displaced_ns: i64,
}

/// How far everything is settled.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    /// No CPU will report anything before this.
    pub known_ns: i64,
    /// For slices that began before this, it is known who waited.
    pub waits_ns: i64,
}

/// A round that every CPU has reported.
#[derive(Debug)]
pub struct Round {
    pub settled: Settled,
    /// Rows that have left each CPU.
    pub left: Vec<(u32, Left)>,
    /// Answers about slices.
    pub answers: Vec<Answer>,
}

#[derive(Debug)]
struct Untold {
    expected: usize,
    known_ns: i64,
    parts: Vec<(usize, Part)>,
}

impl Join {
    /// `waits` know how clocks are compared. `has_rows`: whether rows leave before the end.
    pub fn new(waits: Waits, has_rows: bool) -> Join {
        let joined = Joined { waits, has_rows, ..Joined::default() };
        Join { state: Mutex::new(State { joined, ..State::default() }) }
    }

    /// Rounds that every CPU has reported since the last call.
    pub fn settled(&self) -> Vec<Round> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).joined.rounds)
    }

    pub fn done(&self) -> Done {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).joined.done
    }

    /// Announces that this many CPUs will report the next round. No later round holds anything before `known_ns`.
    pub fn expect(&self, cpus: usize, known_ns: i64) {
        let round = Untold { expected: cpus, known_ns, parts: Vec::new() };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).rounds.push_back(round);
    }

    /// Takes a CPU's part of a round.
    pub fn tell(&self, round: u64, place: usize, part: Part) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(round) = state.rounds.get_mut((round - state.first).narrow()) {
            round.parts.push((place, part));
        }
        while state.rounds.front().is_some_and(|round| round.parts.len() == round.expected) {
            state.first += 1;
            if let Some(round) = state.rounds.pop_front() {
                state.joined.settle(round.parts, round.known_ns);
            }
        }
    }

    /// What is known once every CPU has reported its last part.
    pub fn end(self, mut parts: Vec<Part>, end_ns: i64) -> Joined {
        // Nothing comes after the end.
        parts.iter_mut().for_each(|part| part.unsettled_since = i64::MAX);
        let mut joined = self.state.into_inner().unwrap_or_else(PoisonError::into_inner).joined;
        joined.settle(parts.into_iter().enumerate().collect(), i64::MAX);
        joined.waits.end(end_ns);
        joined
    }
}

impl Joined {
    fn settle(&mut self, mut parts: Vec<(usize, Part)>, known_ns: i64) {
        parts.sort_unstable_by_key(|part| part.0);
        let (mut settled, mut until_ns) = (known_ns, known_ns);
        let cpus = parts.iter().filter(|(_, part)| part.has_events).count();
        let mut left = Vec::new();
        for (_, part) in &mut parts {
            settled = settled.min(part.unsettled_since);
            if part.has_events {
                until_ns = until_ns.min(part.final_until);
            }
            self.moved.take(part);
            self.waits.take(part);
            if self.has_rows {
                left.push((part.cpu, std::mem::take(&mut part.left)));
            }
        }
        self.moved.settle(known_ns);
        let displaced_ns = self.waits.settle_round(settled);
        if !self.moved.is_settled() {
            until_ns = i64::MIN;
        }
        self.done = Done { cpus, until_ns: until_ns.min(settled), displaced_ns };
        if self.has_rows {
            let answers = std::mem::take(&mut self.waits.answers);
            self.rounds.push(Round { settled: Settled { known_ns, waits_ns: settled }, left, answers });
        }
    }
}
