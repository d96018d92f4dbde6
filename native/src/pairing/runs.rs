//! Consecutive softirqs of a CPU: which of them are rounds of one run of __do_softirq, and which runs ended with
//! something pending.
//!
//! A softirq continues the previous one's run if the same task is current, it was raised before the previous one's
//! exit, and it begins at once. pending is read once per round and served in vector order: a softirq whose vector is
//! not higher than the previous one's, or that was raised after the round began, is of the next round. The eleventh
//! round is of the next run.

use std::collections::VecDeque;

use crate::intern::NONE;
use crate::pairing::irqs::Whole;
use crate::pairing::rows::Softirq;

/// kernel/softirq.c, unchanged since 3.9.
pub const MAX_SOFTIRQ_RESTART: i64 = 10;
/// A round follows the previous one at once: anything later was called anew. An interrupt's exit must be as close.
const AT_ONCE_NS: i64 = 20_000;
/// What is pending is served by the next run, or by one of this many if that one was not seen.
const LATER_RUNS: i64 = 16;

/// A run. `call`: its number on its CPU.
#[derive(Debug, Clone)]
pub struct Run {
    pub call: i64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub in_kthread: bool,
    pub tid: Option<i64>,
    pub comm: u32,
    pub rounds: i64,
    pub softirqs: i64,
    pub net_rx: i64,
    pub packets: i64,
    pub still_pending: bool,
}

/// The softirq that the next one is compared with.
struct Last {
    entry_ns: i64,
    exit_ns: i64,
    vec: i64,
    tid: Option<i64>,
    /// Start of its round.
    opened_ns: i64,
    /// Number of its round, counted from the last softirq that did not continue another.
    number: i64,
}

/// A softirq's run and round. `told`: a run that is now fully known. `began_at`: the interrupt at whose exit the run
/// began, if only that exit lies between.
pub struct Of {
    pub call: i64,
    pub round: i64,
    pub told: Option<Run>,
    pub began_at: Option<Whole>,
}

/// The runs of a CPU.
#[derive(Default)]
pub struct Runs {
    calls: i64,
    last: Option<Last>,
    began_at: Option<Whole>,
    /// Runs that may still turn out to have ended with something pending. The last one may go on.
    open: VecDeque<Run>,
}

impl Runs {
    /// Takes the next softirq that was seen whole. `before`: the last interrupt that had ended.
    pub fn take(&mut self, softirq: &Softirq, before: Option<Whole>) -> Of {
        let (opened_ns, number, is_new) = self.place(softirq, before);
        let last = Last {
            entry_ns: softirq.entry_ns,
            exit_ns: softirq.exit_ns,
            vec: softirq.vec,
            tid: softirq.tid,
            opened_ns,
            number,
        };
        self.last = Some(last);
        let told = if is_new { self.begin(softirq, before) } else { None };
        let (round, call) = (number % MAX_SOFTIRQ_RESTART + 1, self.calls - 1);
        if let Some(run) = self.open.back_mut() {
            run.end_ns = run.end_ns.max(softirq.exit_ns);
            run.rounds = run.rounds.max(round);
            run.softirqs += 1;
            run.net_rx += i64::from(softirq.is_net_rx);
            run.packets += softirq.packets;
            if run.comm == NONE {
                run.comm = softirq.comm;
            }
        }
        if let Some(raise_ns) = softirq.raise_ns {
            let run = self.open.iter_mut().rev().find(|run| run.start_ns <= raise_ns);
            let within = |run: &&mut Run| raise_ns <= run.end_ns && call > run.call && call - run.call <= LATER_RUNS;
            if let Some(run) = run.filter(within) {
                run.still_pending = true;
            }
        }
        Of { call, round, told, began_at: self.began_at }
    }

    /// Takes the runs that are left at the end.
    pub fn rest(&mut self) -> impl Iterator<Item = Run> + '_ {
        self.open.drain(..)
    }

    /// The start of its round, the round's number, and whether it begins a new run.
    fn place(&self, softirq: &Softirq, before: Option<Whole>) -> (i64, i64, bool) {
        let alone = (softirq.entry_ns, 0, true);
        let Some(last) = &self.last else { return alone };
        let was_raised = match softirq.raise_ns {
            Some(raise_ns) => raise_ns <= last.exit_ns,
            None => softirq.at_exit && before.is_none_or(|irq| irq.entry_ns < last.exit_ns),
        };
        if softirq.tid != last.tid || !was_raised || softirq.entry_ns - last.exit_ns > AT_ONCE_NS {
            return alone;
        }
        let raised_after = |at: i64| softirq.raise_ns.is_some_and(|raise_ns| raise_ns > at);
        if softirq.vec > last.vec && !raised_after(last.entry_ns) && !raised_after(last.opened_ns) {
            return (last.opened_ns, last.number, false);
        }
        (softirq.entry_ns, last.number + 1, (last.number + 1) % MAX_SOFTIRQ_RESTART == 0)
    }

    /// Begins a run with a softirq. Returns the run that enough others have followed, if there is one.
    fn begin(&mut self, softirq: &Softirq, before: Option<Whole>) -> Option<Run> {
        let ended_ns = self.open.back().map_or(-1, |run| run.end_ns);
        let is_near = |irq: &Whole| irq.exit_ns >= ended_ns && softirq.entry_ns - irq.exit_ns <= AT_ONCE_NS;
        self.began_at = before.filter(is_near);
        self.open.push_back(Run {
            call: self.calls,
            start_ns: softirq.entry_ns,
            end_ns: softirq.exit_ns,
            in_kthread: softirq.in_kthread,
            tid: softirq.tid,
            comm: NONE,
            rounds: 0,
            softirqs: 0,
            net_rx: 0,
            packets: 0,
            still_pending: false,
        });
        self.calls += 1;
        if self.open.len() as i64 > LATER_RUNS + 1 {
            self.open.pop_front()
        } else {
            None
        }
    }
}
