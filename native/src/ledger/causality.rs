//! Whether the CPUs' clocks agree: no task begins to run before its wake-up began.
//!
//! ```text
//!   CPU 0             | waking B |
//!   CPU 1    B sleeps      | wakeup B | B runs      the clocks may agree
//!   CPU 1    B sleeps  | wakeup B |                 the effect before its cause: they do not
//! ```
//! A task that is woken before it has gone to sleep proves nothing. Only what follows a switch-out into sleep counts,
//! and only pairs that two CPUs recorded. Equal times are a tie: the clock cannot tell which came first.

use rustc_hash::FxHashMap;

use crate::ledger::point::{Point, What};
use crate::recording::Recording;

/// The clock of a text whose header names none.
const UNKNOWN: &str = "unknown";

/// State since a task's last switch-out into sleep.
#[derive(Debug, Clone, Copy)]
enum Cycle {
    /// Neither cause nor effect has been recorded.
    Asleep { since: i64 },
    /// The cause was recorded, on this CPU.
    Caused { since: i64, cpu: u32 },
    /// The effect was recorded on this CPU, and its cause has not been yet.
    Ahead { since: i64, cpu: u32, time_ns: i64 },
}

/// What pairs of cause and effect show about a clock that may differ between CPUs.
#[derive(Debug, Default)]
pub struct Causality {
    clock: String,
    /// The clock's resolution.
    step_ns: i64,
    /// sched_waking is the cause from the first such event on, sched_wakeup before that.
    has_waking: bool,
    /// Why the clock cannot be trusted, whatever the pairs show.
    doubt: Option<String>,
    cycles: FxHashMap<i32, Cycle>,
    /// Pairs recorded by two CPUs.
    compared: u64,
    /// Those of them whose effect was recorded before its cause.
    inverted: u64,
    /// Those of the inverted ones that are too far apart to be reading error.
    far: u64,
    /// The furthest that an effect preceded its cause.
    worst_ns: i64,
}

impl Causality {
    /// If more than one pair in this many is inverted, times of two CPUs are not compared. Clocks that are apart invert
    /// about half of the pairs that are closer together than the clocks are apart.
    const BEARABLE: u64 = 100;
    /// One pair alone may be a wake-up whose cause was not recorded, matched with the next one's cause.
    const FEWEST: u64 = 2;
    /// A smaller difference may come from reading two clocks that agree: waits are not known any better than this.
    const NEAR_NS: i64 = 1_000;

    /// `None` for clocks that the kernel keeps equal on all CPUs. `doubt`: a known problem of this machine's clocks.
    pub fn of(recording: &Recording, doubt: Option<&str>) -> Option<Causality> {
        matches!(recording.clock.as_str(), "local" | "perf" | UNKNOWN).then(|| Causality {
            clock: recording.clock.clone(),
            step_ns: i64::try_from(recording.resolution_ns).unwrap_or(i64::MAX),
            doubt: doubt.map(str::to_owned),
            ..Causality::default()
        })
    }

    /// Whether times of two CPUs can be compared.
    pub fn holds(&self) -> bool {
        self.doubt.is_none() && (self.far < Self::FEWEST || self.far * Self::BEARABLE <= self.compared)
    }

    /// What readers must know about waits and displaced time.
    pub fn note(&self) -> String {
        let Causality { clock, compared, inverted, worst_ns, .. } = self;
        let pairs = format!(
            "{inverted} of {compared} wake-ups that two CPUs recorded came before their cause{}",
            if *inverted > 0 { format!(", by up to {worst_ns} ns") } else { String::new() }
        );
        let whose = match clock.as_str() {
            UNKNOWN => "the capture does not name its clock, so each CPU may have its own".to_owned(),
            clock => format!("clock {clock} is separate on each CPU"),
        };
        if self.holds() {
            return format!(
                "{whose}: waits and displaced time compare times of two CPUs, so they are only as exact as the clocks agree; {pairs}"
            );
        }
        let why = self.doubt.as_ref().unwrap_or(&pairs);
        let remedy = match clock.as_str() {
            "perf" => "-k CLOCK_MONOTONIC",
            "local" => "-C mono",
            _ => "one clock for all CPUs (perf's -k CLOCK_MONOTONIC, trace-cmd's -C mono)",
        };
        format!("{whose}, and here they disagree: {why}. Waits and displaced time compare times of two CPUs, so they are left out; record with {remedy}")
    }

    /// Takes the next point in time. `is_sure`: whether nothing has been lost since a time.
    pub fn happen(&mut self, point: &Point, is_sure: impl Fn(i64) -> bool) {
        let Point { time_ns, tid, cpu, what, .. } = *point;
        let is_cause = match what {
            What::Out(runnable) => {
                if runnable {
                    self.cycles.remove(&tid);
                } else {
                    self.cycles.insert(tid, Cycle::Asleep { since: time_ns });
                }
                return;
            }
            What::Migrate(..) | What::Unseen => return,
            What::Waking => {
                self.has_waking = true;
                true
            }
            What::Wake(_) => !self.has_waking,
            What::In(..) => false,
        };
        let Some(cycle) = self.cycles.get_mut(&tid) else { return };
        match (*cycle, is_cause) {
            (Cycle::Asleep { since }, true) => *cycle = Cycle::Caused { since, cpu },
            (Cycle::Asleep { since }, false) => *cycle = Cycle::Ahead { since, cpu, time_ns },
            (Cycle::Caused { since, cpu: cause }, false) => {
                // The wakeup may be on the waking's CPU and the switch-in on another.
                if cause != cpu {
                    self.cycles.remove(&tid);
                    self.compared += u64::from(is_sure(since));
                }
            }
            (Cycle::Ahead { since, cpu: effect, time_ns: before }, true) => {
                self.cycles.remove(&tid);
                if effect != cpu && is_sure(since) {
                    let ahead_ns = time_ns - before;
                    self.compared += 1;
                    self.inverted += u64::from(ahead_ns > 0);
                    self.far += u64::from(ahead_ns > Self::NEAR_NS.max(self.step_ns));
                    self.worst_ns = self.worst_ns.max(ahead_ns);
                }
            }
            (Cycle::Caused { .. }, true) | (Cycle::Ahead { .. }, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(points: &[(i64, u32, What)]) -> Causality {
        let mut causality = Causality::default();
        for &(time_ns, cpu, what) in points {
            causality.happen(&Point { time_ns, order: 0, tid: 7, cpu, what }, |_| true);
        }
        causality
    }

    #[test]
    fn a_cause_before_its_effect_on_another_cpu_is_compared() {
        let causality = judged(&[
            (10, 1, What::Out(false)),
            (20, 0, What::Waking),
            (21, 0, What::Wake(1)),
            (25, 1, What::In(0, 0)),
        ]);
        assert_eq!((causality.compared, causality.inverted), (1, 0));
        assert!(causality.holds() && causality.note().contains(" 0 of 1 wake-ups "));
    }

    #[test]
    fn an_effect_before_its_cause_is_an_inversion() {
        let causality = judged(&[
            (1, 0, What::Waking),
            (10, 1, What::Out(false)),
            (15, 1, What::Wake(1)),
            (16, 1, What::In(0, 0)),
            (20, 0, What::Waking),
        ]);
        assert_eq!((causality.compared, causality.inverted, causality.worst_ns), (1, 1, 5));
        assert!(causality.holds() && causality.note().ends_with(", by up to 5 ns"));
    }

    /// `count` rounds in which the effect precedes its cause by `ahead_ns`.
    fn rounds(count: i64, ahead_ns: i64) -> Causality {
        let round = |at: i64| {
            let (cause, effect) = ((at + 50_000, 0, What::Waking), (at + 50_000 - ahead_ns, 1, What::Wake(1)));
            [(at, 1, What::Out(false)), effect, cause, (at + 60_000, 1, What::In(0, 0))]
        };
        let first = [(1, 0, What::Waking)];
        let points: Vec<_> = first.into_iter().chain((0..count).flat_map(|at| round(10 + at * 100_000))).collect();
        judged(&points)
    }

    #[test]
    fn a_tie_is_compared_and_no_inversion() {
        let causality = rounds(3, 0);
        assert_eq!((causality.compared, causality.inverted, causality.worst_ns), (3, 0, 0));
        assert!(causality.holds());
    }

    #[test]
    fn a_verdict_takes_a_number_and_a_distance() {
        for (count, ahead_ns, holds) in [(1, 40_000, true), (2, 1_001, false), (2, 1_000, true), (90, 1_000, true)] {
            let causality = rounds(count, ahead_ns);
            assert_eq!((causality.inverted, causality.worst_ns), (count.unsigned_abs(), ahead_ns));
            assert_eq!(causality.holds(), holds, "{count} by {ahead_ns} ns");
        }
    }

    #[test]
    fn a_coarse_clock_proves_less() {
        let mut causality = rounds(1, 0);
        causality.step_ns = 5_000;
        for at in [200_000, 300_000] {
            for (time_ns, cpu, what) in
                [(at, 1, What::Out(false)), (at + 5_000, 1, What::Wake(1)), (at + 10_000, 0, What::Waking)]
            {
                causality.happen(&Point { time_ns, order: 0, tid: 7, cpu, what }, |_| true);
            }
        }
        assert_eq!((causality.inverted, causality.far), (2, 0));
    }

    #[test]
    fn a_task_woken_before_it_sleeps_shows_nothing() {
        let causality = judged(&[
            (10, 1, What::Out(false)),
            (20, 0, What::Waking),
            (25, 1, What::In(0, 0)),
            (30, 0, What::Waking),
            (31, 0, What::Wake(1)),
            (32, 1, What::Out(true)),
            (40, 1, What::In(0, 0)),
            (41, 0, What::Waking),
        ]);
        assert_eq!((causality.compared, causality.inverted), (1, 0));
    }
}
