//! Who waited, since when, and for how long scheduled network work held the CPU meanwhile.
//!
//! ```text
//!   CPU 0   | openssl |   ksoftirqd/0: NET_RX   | openssl
//!   openssl  runs      preempted: waits ........  runs       the softirqs in between displaced it
//! ```
//! Wake-ups come from other CPUs' rings, so points wait until no other can precede them any more.

use rustc_hash::FxHashMap;

use crate::ledger::causality::Causality;
use crate::ledger::held::Held;
use crate::ledger::losses::Losses;
use crate::ledger::point::{Part, Point, What};
use crate::ledger::rows::Answer;

#[derive(Debug, Clone, Copy)]
enum State {
    Running,
    Asleep,
    /// `away`: a CPU that it was on since and that has recorded nothing so far: there it may have run.
    Runnable {
        since: i64,
        woken: bool,
        cpu: u32,
        here_since: i64,
        away: Option<u32>,
    },
}

/// The pending points and the state of every task.
#[derive(Debug, Default)]
pub struct Waits {
    points: Vec<Point>,
    states: FxHashMap<i32, State>,
    held: FxHashMap<u32, Held>,
    /// The CPUs that have recorded anything.
    recorded: Vec<bool>,
    /// Who was waiting when one lay in between is not known.
    losses: Losses,
    /// Who a tid was when it last ran.
    victims: FxHashMap<i32, u32>,
    /// Displaced time of a wait on the CPUs that the task was moved away from.
    moved: FxHashMap<i32, Vec<(u32, i64)>>,
    /// (cpu, victim) to displaced time.
    pub displaced: FxHashMap<(u32, u32), i64>,
    /// Answers not yet taken; none where nobody takes them.
    pub answers: Vec<Answer>,
    keeps_answers: bool,
    /// Whether the CPUs' clocks agree, where that is to be shown.
    pub causality: Option<Causality>,
}

impl Waits {
    /// Nobody waits yet. `causality`: where the clocks are to be compared; `keeps_answers`: whether slices are asked for.
    pub fn new(causality: Option<Causality>, keeps_answers: bool) -> Waits {
        Waits { causality, keeps_answers, ..Waits::default() }
    }

    /// These CPUs record something, now or later, as a first pass has found.
    pub fn over(mut self, cpus: impl IntoIterator<Item = u32>) -> Waits {
        cpus.into_iter().for_each(|cpu| self.record(cpu));
        self
    }

    /// Takes what a CPU tells.
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

    /// The first of these CPUs that has recorded nothing.
    fn unseen<const N: usize>(&self, known: Option<u32>, cpus: [u32; N]) -> Option<u32> {
        known.into_iter().chain(cpus).find(|&cpu| !self.is_recorded(cpu))
    }

    /// Settles everything before `known`: it can no longer be preceded, and who held each CPU until then is known. Returns
    /// when the first of the waits began that are not over and have been displaced.
    pub fn settle_round(&mut self, known: i64) -> i64 {
        self.settle(known);
        let (mut waits_since, mut here_oldest, mut displaced_since) = (known, known, i64::MAX);
        for (tid, state) in &self.states {
            if let State::Runnable { since, here_since, cpu, .. } = *state {
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

    /// The recording ends: whoever still waits has waited until then.
    pub fn end(&mut self, end_ns: i64) {
        let waiting: Vec<(i32, State)> = self.states.iter().map(|(&tid, &state)| (tid, state)).collect();
        for (tid, state) in waiting {
            if let (State::Runnable { since, cpu, here_since, away, .. }, Some(&victim)) =
                (state, self.victims.get(&tid))
            {
                if self.unseen(away, []).is_none() && self.losses.none_between(since, end_ns) {
                    self.displace(tid, victim, cpu, here_since, end_ns);
                }
            }
        }
    }

    /// Charges what held the CPUs that a task waited for.
    fn displace(&mut self, tid: i32, victim: u32, cpu: u32, from: i64, until: i64) {
        let here = self.held_between(cpu, from, until);
        let elsewhere = self.moved.remove(&tid).unwrap_or_default();
        for (cpu, ns) in elsewhere.into_iter().chain([(cpu, here)]) {
            if ns > 0 {
                *self.displaced.entry((cpu, victim)).or_default() += ns;
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
        let state = self.states.get(&tid).copied().unwrap_or(State::Asleep);
        let runnable = |cpu, woken| {
            let away = self.unseen(None, [cpu]);
            State::Runnable { since: time_ns, woken, cpu, here_since: time_ns, away }
        };
        let next = match (what, state) {
            (What::Wake(cpu), State::Asleep) => runnable(cpu, true),
            (What::Wake(_), state) => state,
            (What::Out(true), _) => runnable(here, false),
            (What::Out(false), _) => State::Asleep,
            (What::Waking, _) => return,
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
                if self.unseen(away, []).is_none() && since <= time_ns && self.losses.none_between(since, time_ns) {
                    self.displace(tid, victim, cpu, here_since, time_ns);
                    if self.keeps_answers {
                        let (wake_ns, wait_ns) = (woken.then_some(since), time_ns - since);
                        self.answers.push(Answer { cpu: here, row, wake_ns, wait_ns });
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
        // A task without an entry is asleep.
        match next {
            State::Asleep => drop(self.states.remove(&tid)),
            next => drop(self.states.insert(tid, next)),
        }
    }

    fn held_between(&self, cpu: u32, from: i64, to: i64) -> i64 {
        self.held.get(&cpu).map_or(0, |held| (held.until(to) - held.until(from)).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time_ns: i64, what: What) -> Point {
        Point { time_ns, order: 0, tid: 7, cpu: 0, what }
    }

    /// What CPUs 0 and 1 tell of these points, stretches that network work held CPU 0, and losses.
    fn settled(points: &[Point], held: &[(i64, i64)], gaps: &[(i64, i64)]) -> Waits {
        let mut waits = Waits::new(None, true);
        let (points, held, gaps) = (points.to_vec(), held.to_vec(), gaps.to_vec());
        waits.take(&mut Part { cpu: 1, has_events: true, ..Part::default() });
        waits.take(&mut Part { points, held, gaps, has_events: true, ..Part::default() });
        waits.settle_round(i64::MAX);
        waits
    }

    #[test]
    fn a_wait_that_ends_unseen_has_no_length() {
        let points = [
            at(10, What::Wake(0)),
            at(60, What::Unseen),
            at(60, What::In(0, 70)),
            at(80, What::Out(true)),
            at(95, What::In(1, 70)),
        ];
        let waits = settled(&points, &[], &[]);
        let rows: Vec<(usize, i64)> = waits.answers.iter().map(|answer| (answer.row, answer.wait_ns)).collect();
        assert_eq!(rows, [(1, 15)]);
    }

    #[test]
    fn what_passes_on_a_cpu_that_was_not_recorded_is_no_wait() {
        let waits_of = |points: &[Point]| {
            let points = [points, &[at(200, What::In(1, 70))]].concat();
            let waits = settled(&points, &[(110, 150)], &[]);
            let known: Vec<i64> = waits.answers.iter().map(|answer| answer.wait_ns).collect();
            (known, waits.displaced.get(&(0, 70)).copied())
        };
        let left = at(100, What::Out(true));
        assert_eq!(waits_of(&[at(100, What::Wake(1))]), (vec![100], None));
        assert_eq!(waits_of(&[left, at(150, What::Migrate(0, 1))]), (vec![100], Some(40)));
        assert_eq!(waits_of(&[at(100, What::Wake(2))]), (vec![], None));
        assert_eq!(waits_of(&[left, at(150, What::Migrate(0, 2))]), (vec![], None));
        assert_eq!(waits_of(&[left, at(150, What::Migrate(2, 0))]), (vec![], None));
        // It was woken a second time, so it had slept in between, where nobody saw it.
        assert_eq!(waits_of(&[at(100, What::Wake(2)), at(150, What::Wake(0))]), (vec![], None));
    }

    #[test]
    fn a_preempted_victim_is_displaced_by_what_holds_its_cpu() {
        let points = [at(0, What::In(0, 70)), at(100, What::Out(true)), at(170, What::In(1, 70))];
        let waits = settled(&points, &[(110, 150), (150, 160)], &[]);
        assert_eq!(waits.displaced[&(0, 70)], 50);
        assert_eq!(waits.answers[0].wait_ns, 70);
        assert_eq!(waits.answers[0].wake_ns, None);
    }

    #[test]
    fn a_cpu_that_records_later_counts_where_that_is_known() {
        let left = [at(100, What::Out(true)), at(150, What::Migrate(0, 1)), at(160, What::Migrate(1, 0))];
        let points = [&left[..], &[at(200, What::In(0, 70))]].concat();
        let waits_of = |mut waits: Waits| {
            waits.take(&mut Part { points: points.clone(), has_events: true, ..Part::default() });
            waits.settle_round(i64::MAX);
            waits.answers.iter().map(|answer| answer.wait_ns).collect::<Vec<_>>()
        };
        assert_eq!(waits_of(Waits::new(None, true)), []);
        assert_eq!(waits_of(Waits::new(None, true).over([0, 1])), [100]);
    }

    // Moved after the loss: the wait is older than its stretch on the new CPU.
    #[test]
    fn a_loss_is_kept_for_as_long_as_a_wait_lasts() {
        let mut waits = settled(&[at(10, What::Wake(0))], &[], &[(20, 50)]);
        for (known, point) in [(90, at(60, What::Migrate(0, 1))), (200, at(150, What::In(0, 70)))] {
            waits.take(&mut Part { points: vec![point], ..Part::default() });
            waits.settle_round(known);
        }
        assert!(waits.answers.is_empty());
    }

    #[test]
    fn a_wait_across_a_loss_is_not_told() {
        let waits = settled(&[at(10, What::Wake(0)), at(60, What::In(0, 70))], &[], &[(20, 50)]);
        assert!(waits.answers.is_empty());
    }
}
