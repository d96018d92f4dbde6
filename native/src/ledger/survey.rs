//! Facts that a pass knows only when it is over, kept for a second pass that shows its rows earlier or ends earlier.
//!
//! ```text
//!   first pass    walk ....................... end: names, heads, which polls went on, columns
//!   second pass   walk, the same numbers:  rows | rows | rows | rows | rows
//!   of a window   walk, the same numbers ... the window's end: what is said of the whole recording is known
//! ```
//! Victims and thieves are numbered in file order, whatever is asked for, so all passes give the same numbers.

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ledger::counters::Counters;
use crate::ledger::cpu::Found;
use crate::ledger::outcome::Outcome;
use crate::ledger::read::Reader;
use crate::ledger::request::{HostFacts, Request};
use crate::ledger::resolve::Names;
use crate::ledger::thief::Class;
use crate::narrow::Narrow;

/// How much was numbered. Another pass over the same file numbers as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Tasks, counted once per name.
    pub victims: usize,
    /// Owners of time.
    pub thieves: usize,
}

impl Numbers {
    /// Whether a pass that has numbered this much may still reach `other`.
    pub fn are_within(self, other: Numbers) -> bool {
        self.victims <= other.victims && self.thieves <= other.thieves
    }

    /// The numbers so far.
    pub fn of(reader: &Reader) -> Numbers {
        Numbers { victims: reader.tasks.victims.len(), thieves: reader.thieves.all.len() }
    }
}

/// Facts about the whole recording, whatever window and CPUs were asked for.
#[derive(Debug)]
pub struct Known {
    pub names: Names,
    pub numbers: Numbers,
    /// First and last time.
    pub capture: (i64, i64),
    /// What reading it met.
    pub notes: Vec<String>,
    /// Lost records, and those of them without a place in time.
    pub lost: (u64, u64),
    /// Counts of what went wrong.
    pub counters: Counters,
    /// Whether the CPUs' clocks agree, and the note about them; `None` if that was not determined.
    pub clocks: Option<(bool, Option<String>)>,
    /// Whether no round held what earlier rounds had passed. Only then can a pass tell when a window is over.
    pub in_order: bool,
}

/// Facts about the whole recording and about each of its CPUs.
#[derive(Debug)]
pub struct Whole {
    known: Known,
    /// Facts about each CPU.
    pub outcome: Arc<Outcome>,
    /// By CPU: the places in `Rows::ended` that have something.
    ended: FxHashMap<u32, Vec<usize>>,
    /// The part of the request that holds for all windows.
    host: HostFacts,
}

impl Deref for Whole {
    type Target = Known;

    fn deref(&self) -> &Known {
        &self.known
    }
}

impl Whole {
    /// Takes a pass over the whole recording, and all of its CPUs.
    pub fn new(known: Known, cpus: &mut [Found], request: &Request) -> Whole {
        let of = |cpu: &mut Found| (cpu.number, std::mem::take(&mut cpu.outcome));
        let outcome = Outcome { start_ns: known.capture.0, cpus: cpus.iter_mut().map(of).collect() };
        let ended = cpus.iter().map(|cpu| (cpu.number, cpu.rows.ended_places().collect())).collect();
        Whole { known, outcome: Arc::new(outcome), ended, host: request.host.clone() }
    }

    /// Adds to a CPU of a pass that ended early the interrupts and softirqs that ended there later. None of their time
    /// is in the window.
    pub fn add_unseen(&self, cpu: &mut Found) {
        self.ended.get(&cpu.number).into_iter().flatten().for_each(|&place| cpu.rows.ended(place.narrow(), 0));
    }

    /// Whether a pass for this request may end with its window.
    pub fn is_enough_for(&self, request: &Request) -> bool {
        let has_waits = request.want.slices || request.want.displaced;
        let ends_before = request.window.is_some_and(|window| window.1 < self.capture.1);
        self.in_order && self.host == request.host && ends_before && (!has_waits || self.clocks.is_some())
    }
}

/// Everything that a second pass needs from a first.
#[derive(Debug)]
pub struct Survey {
    /// Facts about the whole recording.
    pub whole: Arc<Whole>,
    /// Softirqs and classes that have columns in the slices of the window.
    pub kinds: Vec<(u8, Class)>,
    /// Reasons in the coverage of the window, sorted.
    pub reasons: Vec<&'static str>,
    /// Whether times of two CPUs can be compared; `None` if no waits were followed.
    pub clocks_agree: Option<bool>,
    /// What the first pass was asked for.
    request: Request,
}

impl Survey {
    /// Takes a finished pass and all of its CPUs. `clocks_agree`: `None` if no waits were followed.
    pub fn new(whole: Arc<Whole>, cpus: &[Found], clocks_agree: Option<bool>, request: &Request) -> Survey {
        let shown = |cpu: &&Found| request.shows(cpu.number);
        let mut kinds: Vec<(u8, Class)> = Vec::new();
        cpus.iter().filter(shown).for_each(|cpu| kinds.extend(&cpu.kinds));
        sort_kinds(&mut kinds);
        let window = request.window_in(whole.capture);
        let reasons = reasons(&mut cpus.iter().filter(shown), window);
        Survey { whole, kinds, reasons, clocks_agree, request: request.clone() }
    }

    /// The part of the capture that a request shows.
    pub fn window(&self, request: &Request) -> (i64, i64) {
        request.window_in(self.whole.capture)
    }

    /// Whether every second pass that can use `other` can use this one.
    pub fn serves(&self, other: &Survey) -> bool {
        let clocks = self.clocks_agree.is_some() || other.clocks_agree.is_none();
        clocks && self.is_of(&other.request)
    }

    /// Whether a second pass for this request can use it.
    pub fn is_for(&self, request: &Request) -> bool {
        self.is_of(request) && (!request.want.slices || self.clocks_agree.is_some())
    }

    fn is_of(&self, request: &Request) -> bool {
        let first = &self.request;
        (first.window, &first.cpus, &first.host) == (request.window, &request.cpus, &request.host)
    }
}

/// Sorts kinds of softirq time into column order, without duplicates.
pub fn sort_kinds(kinds: &mut Vec<(u8, Class)>) {
    kinds.sort_by_key(|kind| (kind.0, kind.1 as u8));
    kinds.dedup();
}

/// The reasons for gaps in a window, sorted, each once.
pub fn reasons(cpus: &mut dyn Iterator<Item = &Found>, window: (i64, i64)) -> Vec<&'static str> {
    let rows = cpus.flat_map(|cpu| &cpu.rows.coverage).filter(|row| row.is_in(window));
    let mut reasons: Vec<&str> = rows.map(|row| row.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}
