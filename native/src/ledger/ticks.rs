//! Timer interrupts on top of tasks, and which of them hit a softirq: tick accounting charges those to the task.
//!
//! ```text
//!   softirqs of a CPU    | NET_RX ........ |        | TIMER |
//!   ticks                        ^ on one     ^ on none
//! ```

use std::collections::{BTreeMap, VecDeque};

use arrow_array::types::{Int32Type, Int64Type};

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::known;
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::thief::Context;
use crate::tables::{plain, Plan};

/// The timer's vector.
const TIMER: &str = "local_timer";

/// Ticks of all CPUs: by CPU and victim, how many there were and how many hit a softirq.
#[derive(Default)]
pub struct Ticks {
    cpus: BTreeMap<u32, Lane>,
    counts: BTreeMap<(u32, u32), [i64; 2]>,
}

#[derive(Default)]
struct Lane {
    /// Time and victim of ticks after the last softirq so far. A later softirq decides about them.
    waiting: VecDeque<(i64, u32)>,
    /// Start and end of the last softirq so far.
    last: Option<(i64, Option<i64>)>,
}

impl Lane {
    /// Shows the ticks before a time, with whether each hit a softirq. A softirq whose end was not seen goes on.
    fn settle(&mut self, before_ns: i64, mut show: impl FnMut(u32, bool)) {
        while let Some((at_ns, victim)) = self.waiting.front().copied().filter(|tick| tick.0 < before_ns) {
            self.waiting.pop_front();
            let on = self.last.filter(|last| last.0 <= at_ns);
            show(victim, on.is_some_and(|last| last.1.is_none_or(|exit_ns| exit_ns > at_ns)));
        }
    }

    fn take(&mut self, ticks: Vec<(i64, u32)>, mut softirqs: Vec<(i64, Option<i64>)>, mut show: impl FnMut(u32, bool)) {
        self.waiting.extend(ticks);
        self.waiting.make_contiguous().sort_by_key(|tick| tick.0);
        softirqs.sort_by_key(|softirq| softirq.0);
        for softirq in softirqs {
            self.settle(softirq.0, &mut show);
            self.last = Some(softirq);
        }
    }
}

impl Aggregate for Ticks {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], shown: &Shown<'_>) {
        let Ticks { cpus: lanes, counts } = self;
        let window = shown.window.0..shown.window.1;
        for cpu in cpus {
            let is_timer = |thief: u32| {
                names.thief(thief).context == Context::Vector
                    && names.reader.strings.get(names.known(thief).name) == TIMER
            };
            let is_of_task = |victim: u32| names.victim(victim).is_some_and(|(tid, _)| tid != 0);
            let hardirqs = cpu.rows.hardirqs.slices().flatten();
            let ticks = hardirqs.filter(|row| is_timer(row.thief) && is_of_task(row.victim));
            let ticks =
                ticks.filter_map(|row| Some((row.entry_ns.filter(|at_ns| window.contains(at_ns))?, row.victim)));
            let softirqs = cpu.rows.softirqs.slices().flatten();
            let softirqs = softirqs.filter_map(|row| Some((known(row.entry_ns)?, known(row.exit_ns))));
            let lane = lanes.entry(cpu.number).or_default();
            lane.take(ticks.collect(), softirqs.collect(), |victim, on| count(counts, names, cpu.number, victim, on));
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let Ticks { cpus, mut counts } = *self;
        for (cpu, mut lane) in cpus {
            lane.settle(i64::MAX, |victim, on| count(&mut counts, names, cpu, victim, on));
        }
        let mut plan = Plan::new();
        plan.add("cpu", || plain::<Int32Type>(counts.keys().map(|of| of.0 as i32)))
            .add("tid", || names.tids(counts.keys().map(|of| of.1)))
            .add("comm", || names.comms(counts.keys().map(|of| of.1)))
            .add("ticks", || plain::<Int64Type>(counts.values().map(|counts| counts[0])))
            .add("softirq_ticks", || plain::<Int64Type>(counts.values().map(|counts| counts[1])));
        Ok(vec![("ticks", plan.batch()?)])
    }
}

fn count(counts: &mut BTreeMap<(u32, u32), [i64; 2]>, names: &Names, cpu: u32, victim: u32, on: bool) {
    let [ticks, of_softirqs] = counts.entry((cpu, names.first_of(victim))).or_default();
    *ticks += 1;
    *of_softirqs += i64::from(on);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each tick hits a softirq, with rows that come in one batch and one at a time.
    fn told(ticks: &[i64], softirqs: &[(i64, Option<i64>)]) -> Vec<bool> {
        let tick = |&at_ns: &i64| (at_ns, 0);
        let (mut whole, mut parts, mut lane) = (Vec::new(), Vec::new(), Lane::default());
        lane.take(ticks.iter().map(tick).collect(), softirqs.to_vec(), |_, on| whole.push(on));
        lane.settle(i64::MAX, |_, on| whole.push(on));
        lane = Lane::default();
        lane.take(ticks.iter().map(tick).collect(), Vec::new(), |_, on| parts.push(on));
        softirqs.iter().for_each(|&softirq| lane.take(Vec::new(), vec![softirq], |_, on| parts.push(on)));
        lane.settle(i64::MAX, |_, on| parts.push(on));
        assert_eq!(whole, parts);
        whole
    }

    #[test]
    fn a_tick_is_on_the_softirq_that_began_last() {
        let softirqs = [(10, Some(20)), (30, Some(40))];
        let expected = [false, true, true, false, false, true, false];
        assert_eq!(told(&[9, 10, 19, 20, 29, 30, 40], &softirqs), expected);
    }

    #[test]
    fn a_softirq_without_an_end_goes_on_until_the_next() {
        assert_eq!(told(&[15, 99, 100], &[(10, None), (50, Some(60)), (70, None)]), [true, true, true]);
        assert_eq!(told(&[15, 55, 65], &[(10, None), (50, Some(60))]), [true, true, false]);
    }
}
