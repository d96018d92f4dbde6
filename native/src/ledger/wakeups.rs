//! What woke idle CPUs.
//!
//! ```text
//!   | idle | vector | idle, short | softirq | task | ... | idle |      a wake-up lasts until the CPU
//!          |<-------------- one wake-up -------------->|             is idle again, or nobody knows
//! ```

use std::collections::BTreeMap;

use arrow_array::types::{Int32Type, Int64Type};

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::thief::Context;
use crate::tables::{plain, Plan};

pub struct Wakeups {
    gap_ns: i64,
    cpus: BTreeMap<u32, Lane>,
}

#[derive(Default)]
struct Lane {
    idle_ns: i64,
    /// Context of the last segment.
    last: Option<Context>,
    /// An idle segment and the context before it. It may lie between an interrupt and what that led to.
    held: Option<(i64, Option<Context>)>,
    /// How long the CPU has been idle, if it is.
    idle: Option<i64>,
    open: Option<Wakeup>,
    /// By the thief that began wake-ups: their number, those with network work, those with a task, idle time before.
    counts: BTreeMap<u32, [i64; 4]>,
}

struct Wakeup {
    thief: u32,
    before_ns: i64,
    /// Network work ran before any task.
    has_network: bool,
    has_task: bool,
}

fn is_interrupt(context: Context) -> bool {
    matches!(context, Context::Hardirq | Context::Vector | Context::Softirq | Context::Poll)
}

impl Lane {
    /// Takes the CPU's next segment.
    fn take(&mut self, context: Context, thief: u32, ns: i64, is_network: bool, gap_ns: i64) {
        if let Some((idle_ns, before)) = self.held.take() {
            let follows = matches!(context, Context::Task | Context::Softirq | Context::Poll);
            if !(follows && before.is_some_and(is_interrupt) && idle_ns <= gap_ns) {
                self.close();
                self.idle = Some(idle_ns);
            }
        }
        match context {
            Context::Idle => {
                self.idle_ns += ns;
                self.held = Some((ns, self.last));
            }
            Context::Unknown => {
                self.close();
                self.idle = None;
            }
            _ => self.busy(context, thief, is_network),
        }
        self.last = Some(context);
    }

    fn busy(&mut self, context: Context, thief: u32, is_network: bool) {
        if let Some(before_ns) = self.idle.take() {
            self.open = Some(Wakeup { thief, before_ns, has_network: false, has_task: false });
        }
        if let Some(open) = &mut self.open {
            open.has_network |= is_interrupt(context) && is_network && !open.has_task;
            open.has_task |= context == Context::Task;
        }
    }

    fn close(&mut self) {
        let Some(Wakeup { thief, before_ns, has_network, has_task }) = self.open.take() else { return };
        let more = [1, has_network.into(), has_task.into(), before_ns];
        self.counts.entry(thief).or_default().iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
}

impl Wakeups {
    /// `gap_ns`: the longest that the idle task runs between an interrupt and what it led to.
    pub fn new(gap_ns: i64) -> Wakeups {
        Wakeups { gap_ns, cpus: BTreeMap::new() }
    }
}

impl Aggregate for Wakeups {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            let lane = self.cpus.entry(cpu.number).or_default();
            cpu.finished.each(|row, end_ns| {
                let thief = row.thief();
                let is_network = names.known(thief).network == 0;
                lane.take(names.thief(thief).context, thief, end_ns - row.start, is_network, self.gap_ns);
            });
        }
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Tables> {
        self.cpus.values_mut().for_each(Lane::close);
        let lanes = || self.cpus.iter();
        let rows: Vec<(u32, u32, [i64; 4])> =
            lanes().flat_map(|(cpu, lane)| lane.counts.iter().map(|(thief, counts)| (*cpu, *thief, *counts))).collect();
        let thieves = || rows.iter().map(|row| row.1);
        let count = |number: usize| plain::<Int64Type>(rows.iter().map(move |row| row.2[number]));
        let mut plan = Plan::new();
        plan.add("cpu", || plain::<Int32Type>(rows.iter().map(|row| row.0 as i32)))
            .add("context", || names.contexts(thieves()))
            .add("id", || names.ids(thieves()))
            .add("name", || names.names(thieves()))
            .add("device", || names.devices(thieves()))
            .add("is_network", || names.networks(thieves()))
            .add("wakeups", || count(0))
            .add("network_wakeups", || count(1))
            .add("task_wakeups", || count(2))
            .add("before_ns", || count(3));
        let mut idle = Plan::new();
        idle.add("cpu", || plain::<Int32Type>(lanes().map(|(cpu, _)| *cpu as i32)))
            .add("idle_ns", || plain::<Int64Type>(lanes().map(|(_, lane)| lane.idle_ns)));
        Ok(vec![("wakeups", plan.batch()?), ("idle", idle.batch()?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Context::*;

    fn counted(segments: &[(Context, i64, bool)]) -> Vec<[i64; 4]> {
        let mut lane = Lane::default();
        segments.iter().for_each(|&(context, ns, is_network)| lane.take(context, 0, ns, is_network, 20));
        lane.close();
        lane.counts.into_values().collect()
    }

    #[test]
    fn idle_between_an_interrupt_and_what_it_led_to_ends_no_wakeup() {
        let woken = [(Idle, 500, false), (Vector, 5, false), (Idle, 20, false), (Softirq, 9, true)];
        assert_eq!(counted(&woken), [[1, 1, 0, 500]]);
        let apart = [(Idle, 500, false), (Vector, 5, false), (Idle, 21, false), (Softirq, 9, true)];
        assert_eq!(counted(&apart), [[2, 1, 0, 521]]);
    }

    #[test]
    fn network_work_counts_before_a_task_ran() {
        assert_eq!(counted(&[(Idle, 7, false), (Task, 5, false), (Poll, 5, true)]), [[1, 0, 1, 7]]);
        assert_eq!(counted(&[(Idle, 7, false), (Unknown, 5, false), (Hardirq, 5, true)]), [[0; 4]; 0]);
    }
}
