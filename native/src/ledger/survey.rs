//! What a pass knows only when it is over, kept for a second one that shows its rows before that.
//!
//! ```text
//!   first pass    walk ....................... end: names, heads, which polls went on, columns
//!   second pass   walk, the same numbers:  rows | rows | rows | rows | rows
//! ```
//! Victims and thieves are numbered in file order, whatever is asked for: so both passes give the same numbers.

use std::sync::Arc;

use crate::ledger::cpu::Found;
use crate::ledger::outcome::Outcome;
use crate::ledger::read::Reader;
use crate::ledger::request::Request;
use crate::ledger::resolve::Names;
use crate::ledger::thief::Class;

/// How much was numbered: another pass over the same file numbers as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Tasks under each of their names.
    pub victims: usize,
    /// Owners of time.
    pub thieves: usize,
}

impl Numbers {
    /// Whether another pass may come to as much.
    pub fn are_within(self, other: Numbers) -> bool {
        self.victims <= other.victims && self.thieves <= other.thieves
    }

    /// So far.
    pub fn of(reader: &Reader) -> Numbers {
        Numbers { victims: reader.tasks.victims.len(), thieves: reader.thieves.all.len() }
    }
}

/// Everything that a second pass needs of a first.
#[derive(Debug)]
pub struct Survey {
    /// Numbers back to names.
    pub names: Names,
    /// How many there were.
    pub numbers: Numbers,
    /// First and last time.
    pub capture: (i64, i64),
    /// What becomes of each CPU.
    pub outcome: Arc<Outcome>,
    /// Softirqs and classes that slices of the window have columns of.
    pub kinds: Vec<(u8, Class)>,
    /// Reasons in the coverage of the window, in order.
    pub reasons: Vec<&'static str>,
    /// Whether times of two CPUs can be compared; `None` where no waits were followed.
    pub clocks_agree: Option<bool>,
    /// What the first pass was asked for.
    request: Request,
}

impl Survey {
    /// Of a pass that is over, and all of its CPUs.
    pub fn new(
        names: Names,
        numbers: Numbers,
        capture: (i64, i64),
        cpus: &mut [Found],
        clocks_agree: Option<bool>,
        request: &Request,
    ) -> Survey {
        let shown = |cpu: &&Found| request.shows(cpu.number);
        let mut kinds: Vec<(u8, Class)> = Vec::new();
        cpus.iter().filter(shown).for_each(|cpu| kinds.extend(&cpu.kinds));
        sort_kinds(&mut kinds);
        let window = request.window_in(capture);
        let reasons = reasons(&mut cpus.iter().filter(shown), window);
        let of = |cpu: &mut Found| (cpu.number, std::mem::take(&mut cpu.outcome));
        let outcome = Outcome { start_ns: capture.0, cpus: cpus.iter_mut().map(of).collect() };
        Survey {
            names,
            numbers,
            capture,
            outcome: Arc::new(outcome),
            kinds,
            reasons,
            clocks_agree,
            request: request.clone(),
        }
    }

    /// The part of the capture that a request shows.
    pub fn window(&self, request: &Request) -> (i64, i64) {
        request.window_in(self.capture)
    }

    /// Whether every second pass that can go by another can go by it.
    pub fn serves(&self, other: &Survey) -> bool {
        let clocks = self.clocks_agree.is_some() || other.clocks_agree.is_none();
        clocks && self.is_of(&other.request)
    }

    /// Whether a second pass for this request can go by it.
    pub fn is_for(&self, request: &Request) -> bool {
        self.is_of(request) && (!request.want.slices || self.clocks_agree.is_some())
    }

    fn is_of(&self, request: &Request) -> bool {
        let first = &self.request;
        (first.window, &first.cpus, &first.clock_doubt, &first.lines)
            == (request.window, &request.cpus, &request.clock_doubt, &request.lines)
    }
}

/// Each kind of softirq time once, in the order of the columns.
pub fn sort_kinds(kinds: &mut Vec<(u8, Class)>) {
    kinds.sort_by_key(|kind| (kind.0, kind.1 as u8));
    kinds.dedup();
}

/// Each reason for a gap in a window once, in order.
pub fn reasons(cpus: &mut dyn Iterator<Item = &Found>, window: (i64, i64)) -> Vec<&'static str> {
    let rows = cpus.flat_map(|cpu| &cpu.rows.coverage).filter(|row| row.is_in(window));
    let mut reasons: Vec<&str> = rows.map(|row| row.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}
