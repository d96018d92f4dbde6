//! Who waited, since when, and for how long scheduled network work held the CPU meanwhile.
//!
//! ```text
//!   CPU 0   | openssl |   ksoftirqd/0: NET_RX   | openssl
//!   openssl  runs      preempted: waits ........  runs       the softirqs in between displaced it
//! ```
//! Wake-ups come from other CPUs' rings, so points wait for the end of a round of flushes: what
//! the round before it holds can no longer be preceded by anything.

use rustc_hash::FxHashMap;

/// Something that happened to a task.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// Made runnable on a CPU.
    Wake(u32),
    /// Began to run on a CPU; the row of its slice, and the victim to charge.
    In(u32, usize, u32),
    /// Left the CPU, still runnable or not.
    Out(u32, bool),
    /// Moved to a CPU.
    Migrate(u32),
}

#[derive(Debug, Clone, Copy)]
struct Point {
    time_ns: i64,
    tid: i32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Running,
    Asleep,
    Runnable { since: i64, woken: bool, cpu: u32, here_since: i64, displaced: i64 },
}

/// Answers about one slice.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Row of the slice.
    pub row: usize,
    /// When the task was woken; not if it was only preempted.
    pub wake_ns: Option<i64>,
    /// How long it was runnable before this slice.
    pub wait_ns: i64,
}

/// Stretches of one CPU held by scheduled network work, in order, with their running sum.
#[derive(Debug, Default)]
struct Held {
    stretches: Vec<(i64, i64, i64)>,
}

impl Held {
    fn push(&mut self, start: i64, end: i64) {
        match self.stretches.last_mut() {
            Some(last) if last.1 == start => (last.1, last.2) = (end, last.2 + end - start),
            last => {
                let before = last.map_or(0, |last| last.2);
                self.stretches.push((start, end, before + end - start));
            }
        }
    }

    /// Drops what ended before `at`: nobody who waits now began to wait earlier.
    fn forget(&mut self, at: i64) {
        const WORTH_MOVING: usize = 1 << 12;
        let count = self.stretches.partition_point(|stretch| stretch.1 < at);
        if count > WORTH_MOVING {
            // The last of them stays, for its running sum.
            self.stretches.drain(..count - 1);
        }
    }

    /// Time held before `at`.
    fn until(&self, at: i64) -> i64 {
        let after = self.stretches.partition_point(|stretch| stretch.0 < at);
        match after.checked_sub(1).map(|index| self.stretches[index]) {
            Some((_, end, sum)) => sum - (end - at).max(0),
            None => 0,
        }
    }
}

/// The pending points and the state of every task.
#[derive(Debug, Default)]
pub struct Waits {
    points: Vec<Point>,
    states: FxHashMap<i32, State>,
    held: FxHashMap<u32, Held>,
    unsure_until: i64,
    previous_round: i64,
    newest: i64,
    /// (cpu, victim) to displaced time.
    pub displaced: FxHashMap<(u32, u32), i64>,
    /// Answers not yet taken.
    pub answers: Vec<Answer>,
}

impl Waits {
    /// Something happened to a task.
    #[inline(always)]
    pub fn point(&mut self, time_ns: i64, tid: i32, what: What) {
        if tid != 0 {
            self.newest = self.newest.max(time_ns);
            self.points.push(Point { time_ns, tid, what });
        }
    }

    /// Scheduled network work held a CPU.
    pub fn hold(&mut self, cpu: u32, start: i64, end: i64) {
        self.held.entry(cpu).or_default().push(start, end);
    }

    /// Records were lost before this time: who was waiting then is not known any more.
    pub fn lose(&mut self, until_ns: i64) {
        self.unsure_until = self.unsure_until.max(until_ns);
    }

    /// One round of flushes ended.
    pub fn round(&mut self) {
        let watermark = self.previous_round;
        self.previous_round = self.newest;
        self.settle(watermark);
        let waiting = self.states.values().filter_map(|state| match state {
            State::Runnable { here_since, .. } => Some(*here_since),
            State::Running | State::Asleep => None,
        });
        let oldest = waiting.chain([watermark]).min().unwrap_or(watermark);
        self.held.values_mut().for_each(|held| held.forget(oldest));
    }

    /// Settles everything up to `watermark`.
    pub fn settle(&mut self, watermark: i64) {
        self.points.sort_by_key(|point| point.time_ns);
        let count = self.points.partition_point(|point| point.time_ns <= watermark);
        let mut points = std::mem::take(&mut self.points);
        for point in points.drain(..count) {
            self.happen(point);
        }
        self.points = points;
    }

    fn happen(&mut self, Point { time_ns, tid, what }: Point) {
        let state = self.states.get(&tid).copied().unwrap_or(State::Asleep);
        let next = match (what, state) {
            (What::Wake(cpu), State::Asleep) => {
                State::Runnable { since: time_ns, woken: true, cpu, here_since: time_ns, displaced: 0 }
            }
            (What::Wake(_), state) => state,
            (What::Out(cpu, true), _) => {
                State::Runnable { since: time_ns, woken: false, cpu, here_since: time_ns, displaced: 0 }
            }
            (What::Out(_, false), _) => State::Asleep,
            (What::Migrate(dest), State::Runnable { since, woken, cpu, here_since, displaced }) => {
                let displaced = displaced + self.held_between(cpu, here_since, time_ns);
                State::Runnable { since, woken, cpu: dest, here_since: time_ns, displaced }
            }
            (What::Migrate(_), state) => state,
            (What::In(cpu, row, victim), State::Runnable { since, woken, cpu: waited_on, here_since, displaced }) => {
                if since >= self.unsure_until {
                    let displaced = displaced + self.held_between(waited_on, here_since, time_ns);
                    if displaced > 0 {
                        *self.displaced.entry((cpu, victim)).or_default() += displaced;
                    }
                    self.answers.push(Answer { row, wake_ns: woken.then_some(since), wait_ns: time_ns - since });
                }
                State::Running
            }
            (What::In(..), _) => State::Running,
        };
        self.states.insert(tid, next);
    }

    fn held_between(&self, cpu: u32, from: i64, to: i64) -> i64 {
        self.held.get(&cpu).map_or(0, |held| (held.until(to) - held.until(from)).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preempted_victim_is_displaced_by_what_holds_its_cpu() {
        let mut waits = Waits::default();
        waits.point(0, 7, What::In(0, 0, 70));
        waits.point(100, 7, What::Out(0, true));
        waits.hold(0, 110, 150);
        waits.hold(0, 150, 160);
        waits.point(170, 7, What::In(0, 1, 70));
        waits.settle(i64::MAX);
        assert_eq!(waits.displaced[&(0, 70)], 50);
        assert_eq!(waits.answers[0].wait_ns, 70);
        assert_eq!(waits.answers[0].wake_ns, None);
    }

    #[test]
    fn a_wait_across_a_loss_is_not_told() {
        let mut waits = Waits::default();
        waits.point(10, 7, What::Wake(0));
        waits.lose(50);
        waits.point(60, 7, What::In(0, 0, 70));
        waits.settle(i64::MAX);
        assert!(waits.answers.is_empty());
    }
}
