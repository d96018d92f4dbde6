//! Who waited, since when, and for how long scheduled network work held the CPU meanwhile.
//!
//! ```text
//!   CPU 0   | openssl |   ksoftirqd/0: NET_RX   | openssl
//!   openssl  runs      preempted: waits ........  runs       the softirqs in between displaced it
//! ```
//! Wake-ups come from other CPUs' rings, so points wait until nothing can precede them any more.

use rustc_hash::FxHashMap;

use crate::ledger::causality::Causality;
use crate::ledger::held::Held;
use crate::ledger::losses::Losses;
use crate::ledger::point::{Part, Point, What};
use crate::ledger::rows::Answer;

#[derive(Debug)]
enum State {
    Running,
    Asleep,
    /// `away`: CPUs it has been on since that have recorded nothing so far. On one that never does, it may have run.
    Runnable {
        since: i64,
        woken: bool,
        cpu: u32,
        here_since: i64,
        away: Vec<u32>,
    },
}

/// Pending points, and the state of every task.
#[derive(Debug, Default)]
pub struct Waits {
    points: Vec<Point>,
    states: FxHashMap<i32, State>,
    held: FxHashMap<u32, Held>,
    /// The CPUs that have recorded anything, and whether these are all.
    recorded: Vec<bool>,
    is_over_all: bool,
    /// Who was waiting across a loss is unknown.
    losses: Losses,
    /// The victim of each tid when it last ran.
    victims: FxHashMap<i32, u32>,
    /// Displaced time of a wait on the CPUs that the task has been moved away from.
    moved: FxHashMap<i32, Vec<(u32, i64)>>,
    /// (cpu, victim) to displaced time. Until the end, also by the CPUs on which it depends, `State::away`.
    pub displaced: FxHashMap<(u32, u32), i64>,
    displaced_if: FxHashMap<(Vec<u32>, u32, u32), i64>,
    /// Answers not yet taken. Empty if nobody takes them.
    pub answers: Vec<Answer>,
    answers_if: Vec<(Vec<u32>, Answer)>,
    keeps_answers: bool,
    /// Whether the CPUs' clocks agree, if that has to be shown.
    pub causality: Option<Causality>,
}

impl Waits {
    /// `causality`: set if clocks are to be compared. `keeps_answers`: whether slices are asked for.
    pub fn new(causality: Option<Causality>, keeps_answers: bool) -> Waits {
        Waits { causality, keeps_answers, ..Waits::default() }
    }

    /// A first pass found that these CPUs record something, now or later.
    pub fn over(mut self, cpus: impl IntoIterator<Item = u32>) -> Waits {
        for cpu in cpus {
            self.record(cpu);
            self.is_over_all = true;
        }
        self
    }

    /// Takes a CPU's report.
    pub fn take(&mut self, part: &mut Part) {
        if part.has_events && !self.is_recorded(part.cpu) {
            self.record(part.cpu);
        }
        self.points.append(&mut part.points);
        part.gaps.drain(..).for_each(|(start, end)| self.losses.add(start, end));
        for (start, end) in part.held.drain(..) {
            self.held.entry(part.cpu).or_default().push(start, end);
        }
    }

    fn is_recorded(&self, cpu: u32) -> bool {
        self.recorded.get(cpu as usize) == Some(&true)
    }

    fn record(&mut self, cpu: u32) {
        let count = self.recorded.len().max(cpu as usize + 1);
        self.recorded.resize(count, false);
        self.recorded[cpu as usize] = true;
    }

    /// Those of these CPUs that have recorded nothing.
    fn unseen<const N: usize>(&self, mut away: Vec<u32>, cpus: [u32; N]) -> Vec<u32> {
        away.retain(|&cpu| !self.is_recorded(cpu));
        away.extend(cpus.into_iter().filter(|&cpu| !self.is_recorded(cpu)));
        away.sort_unstable();
        away.dedup();
        away
    }

    /// Settles everything before `known`: nothing can precede it any more, and who held each CPU until then is known.
    /// Returns the start of the first unfinished wait that has been displaced.
    pub fn settle_round(&mut self, known: i64) -> i64 {
        self.settle(known);
        let (mut waits_since, mut here_oldest, mut displaced_since) = (known, known, i64::MAX);
        for (tid, state) in &self.states {
            if let &State::Runnable { since, here_since, cpu, .. } = state {
                (waits_since, here_oldest) = (waits_since.min(since), here_oldest.min(here_since));
                if self.moved.contains_key(tid) || self.held_between(cpu, here_since, known) > 0 {
                    displaced_since = displaced_since.min(since);
                }
            }
        }
        self.held.values_mut().for_each(|held| held.forget(here_oldest));
        self.losses.forget(waits_since);
        displaced_since
    }

    /// Ends the recording. Whoever still waits has waited until then.
    pub fn end(&mut self, end_ns: i64) {
        for (tid, state) in std::mem::take(&mut self.states) {
            if let (State::Runnable { since, cpu, here_since, away, .. }, Some(&victim)) =
                (state, self.victims.get(&tid))
            {
                if self.losses.none_between(since, end_ns) {
                    self.displace(tid, victim, &away, (cpu, here_since), end_ns);
                }
            }
        }
        // A CPU that recorded anything, even later, would have shown who ran on it.
        for ((away, cpu, victim), ns) in std::mem::take(&mut self.displaced_if) {
            if self.unseen(away, []).is_empty() {
                *self.displaced.entry((cpu, victim)).or_default() += ns;
            }
        }
        for (away, answer) in std::mem::take(&mut self.answers_if) {
            if self.unseen(away, []).is_empty() {
                self.answers.push(answer);
            }
        }
    }

    /// Charges the time for which network work held the CPUs that a task waited for.
    fn displace(&mut self, tid: i32, victim: u32, away: &[u32], (cpu, from): (u32, i64), until: i64) {
        let here = self.held_between(cpu, from, until);
        let elsewhere = self.moved.remove(&tid).unwrap_or_default();
        for (cpu, ns) in elsewhere.into_iter().chain([(cpu, here)]) {
            if ns > 0 {
                *self.displaced_if.entry((away.to_vec(), cpu, victim)).or_default() += ns;
            }
        }
    }

    fn settle(&mut self, watermark: i64) {
        self.points.sort_by_key(|point| (point.time_ns, point.order));
        let count = self.points.partition_point(|point| point.time_ns < watermark);
        let mut points = std::mem::take(&mut self.points);
        for point in points.drain(..count) {
            self.happen(point);
        }
        self.points = points;
    }

    fn happen(&mut self, point: Point) {
        if let Some(causality) = &mut self.causality {
            causality.happen(&point, |since| self.losses.none_between(since, point.time_ns));
        }
        let Point { time_ns, tid, cpu: here, what, .. } = point;
        let state = self.states.remove(&tid).unwrap_or(State::Asleep);
        let runnable = |cpu, woken| {
            let away = self.unseen(Vec::new(), [cpu]);
            State::Runnable { since: time_ns, woken, cpu, here_since: time_ns, away }
        };
        let next = match (what, state) {
            (What::Wake(cpu), State::Asleep) => runnable(cpu, true),
            (What::Wake(_), state) => state,
            (What::Out(true), _) => runnable(here, false),
            (What::Out(false), _) => State::Asleep,
            (What::Waking, state) => state,
            (What::Unseen, _) => {
                self.moved.remove(&tid);
                State::Asleep
            }
            (What::Migrate(orig, dest), State::Runnable { since, woken, cpu, here_since, away }) => {
                let away = self.unseen(away, [orig, dest]);
                let displaced = self.held_between(cpu, here_since, time_ns);
                if displaced > 0 {
                    self.moved.entry(tid).or_default().push((cpu, displaced));
                }
                State::Runnable { since, woken, cpu: dest, here_since: time_ns, away }
            }
            (What::Migrate(..), state) => state,
            (What::In(row, victim), State::Runnable { since, woken, cpu, here_since, away }) => {
                let away = self.unseen(away, []);
                if since <= time_ns && self.losses.none_between(since, time_ns) {
                    self.displace(tid, victim, &away, (cpu, here_since), time_ns);
                    let (wake_ns, wait_ns) = (woken.then_some(since), time_ns - since);
                    let answer = Answer { cpu: here, row, wake_ns, wait_ns };
                    if self.keeps_answers && away.is_empty() {
                        self.answers.push(answer);
                    } else if self.keeps_answers && !self.is_over_all {
                        self.answers_if.push((away, answer));
                    }
                }
                self.moved.remove(&tid);
                State::Running
            }
            (What::In(..), _) => State::Running,
        };
        if let What::In(_, victim) = what {
            self.victims.insert(tid, victim);
        }
        // Asleep is the default, so it needs no entry.
        if !matches!(next, State::Asleep) {
            self.states.insert(tid, next);
        }
    }

    fn held_between(&self, cpu: u32, from: i64, to: i64) -> i64 {
        self.held.get(&cpu).map_or(0, |held| (held.until(to) - held.until(from)).max(0))
    }
}

#[cfg(test)]
mod tests;
