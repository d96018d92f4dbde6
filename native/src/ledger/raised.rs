//! Which interrupt line raised which NET_RX softirqs, and what these polled: devices, and single NAPI instances.
//!
//! ```text
//!   | line 25 ..... raise .. |  NET_RX: poll eth0, poll eth1 |     raised by line 25, which polled eth0 and eth1
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use arrow_array::types::Int64Type;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::intern::NONE;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{known, SoftirqRow};
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::softirq::NET_RX;
use crate::ledger::thief::{place, Context};
use crate::narrow::Narrow;
use crate::tables::{plain, Plan};

/// A softirq's raiser is sought among this many handlers before its exit. The samples need three at most.
const BACK: usize = 4_096;
/// A softirq may run inside a handler, as in `scheduler_ipi()` before Linux 5.8. It then waits for that handler's exit,
/// or for this many other softirqs.
const INSIDE: usize = 256;
/// Most softirqs of a CPU whose devices are kept. A lost softirq never claims its own.
const MOST_AWAITED: usize = 1 << 16;
/// The handler that ended last is sought among this many: handlers nest no deeper.
const NESTED: usize = 16;

/// Line number and handler name.
type Line = (i64, u32);
/// A NAPI instance: the number of its polls' thief.
type Instance = u32;

pub struct Raised {
    /// Longest time from a handler's exit to the entry of a softirq that it raised.
    behind_ns: i64,
    cpus: BTreeMap<u32, Lane>,
    devices: BTreeSet<u32>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    raised: BTreeMap<Line, i64>,
    polled: BTreeMap<(Line, u32), i64>,
    /// Softirqs that polled this instance and no other.
    alone: BTreeMap<Instance, i64>,
    /// Of these, those that this line raised, and those that began right after its handler.
    alone_raised: BTreeMap<(Instance, Line), i64>,
    alone_behind: BTreeMap<(Instance, Line), i64>,
    /// Whether the raise of a softirq that polled was seen.
    has_raises: bool,
}

#[derive(Default)]
struct Lane {
    /// Entry, exit and line of the last handlers, by entry.
    handlers: Vec<(i64, i64, Line)>,
    /// Softirqs whose handler may be yet to come.
    waiting: VecDeque<Softirq>,
    /// Softirqs without an exit: their polls may come later.
    open: Vec<Settled>,
    /// Instances that each softirq polled.
    polled: FxHashMap<u32, Vec<Instance>>,
}

struct Softirq {
    ordinal: u32,
    raise_ns: Option<i64>,
    entry_ns: i64,
    exit_ns: i64,
    is_open: bool,
}

/// A softirq whose line is known, or never will be.
struct Settled {
    ordinal: u32,
    is_raised: bool,
    /// The line whose handler ran when it was raised.
    raiser: Option<Line>,
    /// The one whose handler had just ended when it began.
    behind: Option<Line>,
}

impl Softirq {
    fn of(row: &SoftirqRow) -> Option<Softirq> {
        let raise_ns = known(row.raise_ns);
        let entry_ns = known(row.entry_ns).or(known(row.exit_ns)).or(raise_ns);
        let entry_ns = entry_ns.filter(|_| row.vec == i32::from(NET_RX))?;
        let exit_ns = known(row.exit_ns);
        let (is_open, exit_ns) = (exit_ns.is_none(), exit_ns.unwrap_or(entry_ns));
        Some(Softirq { ordinal: row.ordinal, raise_ns, entry_ns, exit_ns, is_open })
    }
}

impl Lane {
    fn take(&mut self, names: &Names, cpu: &Found) {
        for row in cpu.rows.hardirqs.slices().flatten() {
            let thief = names.thief(row.thief);
            let (Some(entry_ns), Some(exit_ns), Some(irq)) = (row.entry_ns, row.exit_ns, thief.id) else { continue };
            if thief.context == Context::Hardirq {
                self.handlers.push((entry_ns, exit_ns, (irq, thief.name)));
            }
        }
        self.handlers.sort_by_key(|handler| handler.0);
        for row in cpu.rows.polls.slices().flatten() {
            let Some(softirq) = row.softirq else { continue };
            let (instances, instance) = (self.polled.entry(softirq).or_default(), place(row.thief).narrow::<u32>());
            if !instances.contains(&instance) {
                instances.push(instance);
            }
        }
        self.waiting.extend(cpu.rows.softirqs.slices().flatten().filter_map(Softirq::of));
        if self.polled.len() > MOST_AWAITED {
            let first = self.waiting.front().map_or(u32::MAX, |softirq| softirq.ordinal);
            let is_open = |ordinal: &u32| self.open.iter().any(|open| open.ordinal == *ordinal);
            self.polled.retain(|ordinal, _| *ordinal >= first || is_open(ordinal));
        }
    }

    /// Shows the softirqs whose handler has come or will not, and the instances that they polled.
    fn settle(&mut self, is_over: bool, behind_ns: i64, mut show: impl FnMut(&Settled, &[Instance])) {
        let last_ns = self.handlers.last().map_or(i64::MIN, |handler| handler.0);
        // A handler that began in the same tick of the clock may be yet to come.
        let there = self.waiting.iter().rposition(|softirq| softirq.exit_ns < last_ns).map_or(0, |place| place + 1);
        let count = if is_over { self.waiting.len() } else { there.max(self.waiting.len().saturating_sub(INSIDE)) };
        for softirq in self.waiting.drain(..count) {
            let settled = Settled {
                ordinal: softirq.ordinal,
                is_raised: softirq.raise_ns.is_some(),
                raiser: raiser(&self.handlers, &softirq),
                behind: behind(&self.handlers, softirq.entry_ns, behind_ns),
            };
            if softirq.is_open {
                self.open.push(settled);
            } else {
                show(&settled, &self.polled.remove(&softirq.ordinal).unwrap_or_default());
            }
        }
        if self.handlers.len() > 2 * BACK {
            self.handlers.drain(..self.handlers.len() - BACK);
        }
        if is_over {
            for settled in self.open.drain(..) {
                show(&settled, &self.polled.remove(&settled.ordinal).unwrap_or_default());
            }
        }
    }
}

/// The line whose handler was running when a softirq was raised.
fn raiser(handlers: &[(i64, i64, Line)], softirq: &Softirq) -> Option<Line> {
    let raise_ns = softirq.raise_ns?;
    let begun = |time_ns: i64| handlers.partition_point(|handler| handler.0 <= time_ns);
    let last = begun(raise_ns).checked_sub(1)?;
    let (_, exit_ns, line) = handlers[last];
    let since = begun(softirq.exit_ns).saturating_sub(last + 1);
    (exit_ns >= raise_ns && since < BACK).then_some(line)
}

/// The line whose handler was the last to end shortly before a softirq began.
fn behind(handlers: &[(i64, i64, Line)], entry_ns: i64, within_ns: i64) -> Option<Line> {
    let begun = handlers.partition_point(|handler| handler.0 <= entry_ns);
    let last = handlers[begun.saturating_sub(NESTED)..begun].iter();
    let ended = last.filter(|handler| handler.1 <= entry_ns).max_by_key(|handler| (handler.1, handler.0))?;
    (entry_ns - ended.1 <= within_ns).then_some(ended.2)
}

impl Counts {
    fn add(&mut self, names: &Names, settled: &Settled, instances: &[Instance]) {
        if let Some(line) = settled.raiser {
            *self.raised.entry(line).or_default() += 1;
            let devices = instances.iter().map(|&instance| names.known(instance).device);
            for device in devices.filter(|&device| device != NONE).collect::<BTreeSet<_>>() {
                *self.polled.entry((line, device)).or_default() += 1;
            }
        }
        self.has_raises |= settled.is_raised && !instances.is_empty();
        let [instance] = *instances else { return };
        *self.alone.entry(instance).or_default() += 1;
        for (line, counts) in [(settled.raiser, &mut self.alone_raised), (settled.behind, &mut self.alone_behind)] {
            if let Some(line) = line {
                *counts.entry((instance, line)).or_default() += 1;
            }
        }
    }
}

impl Raised {
    /// Nothing seen yet.
    pub fn new(behind_ns: i64) -> Raised {
        Raised { behind_ns, cpus: BTreeMap::new(), devices: BTreeSet::new(), counts: Counts::default() }
    }
}

impl Aggregate for Raised {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        let Raised { behind_ns, cpus: lanes, devices, counts } = self;
        for cpu in cpus {
            let polls = cpu.rows.polls.slices().flatten();
            devices.extend(polls.map(|row| names.known(row.thief).device).filter(|&device| device != NONE));
            let lane = lanes.entry(cpu.number).or_default();
            lane.take(names, cpu);
            lane.settle(false, *behind_ns, |settled, instances| counts.add(names, settled, instances));
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let Raised { behind_ns, cpus, devices, mut counts } = *self;
        for mut lane in cpus.into_values() {
            lane.settle(true, behind_ns, |settled, instances| counts.add(names, settled, instances));
        }
        let Counts { raised, polled, alone, .. } = &counts;
        let lines = if counts.has_raises { &counts.alone_raised } else { &counts.alone_behind };
        let mut of_lines = Plan::new();
        of_lines
            .add("irq", || plain::<Int64Type>(raised.keys().map(|line| line.0)))
            .add("name", || names.texts(raised.keys().map(|line| line.1)))
            .add("raised", || plain::<Int64Type>(raised.values().copied()));
        let mut of_devices = Plan::new();
        of_devices
            .add("irq", || plain::<Int64Type>(polled.keys().map(|of| of.0 .0)))
            .add("name", || names.texts(polled.keys().map(|of| of.0 .1)))
            .add("device", || names.texts(polled.keys().map(|of| of.1)))
            .add("polled", || plain::<Int64Type>(polled.values().copied()));
        let mut all = Plan::new();
        all.add("device", || names.texts(devices.iter().copied()));
        let instances = || lines.keys().map(|of| of.0);
        let mut of_instances = Plan::new();
        of_instances
            .add("napi", || names.napis(instances()))
            .add("device", || names.texts(instances().map(|instance| names.known(instance).device)))
            .add("irq", || plain::<Int64Type>(lines.keys().map(|of| of.1 .0)))
            .add("name", || names.texts(lines.keys().map(|of| of.1 .1)))
            .add("softirqs", || plain::<Int64Type>(lines.values().copied()))
            .add("polled_alone", || plain::<Int64Type>(instances().map(|instance| alone[&instance])));
        Ok(vec![
            ("raised", of_lines.batch()?),
            ("polled", of_devices.batch()?),
            ("devices", all.batch()?),
            ("instances", of_instances.batch()?),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softirq(raise_ns: i64, exit_ns: i64) -> Softirq {
        Softirq { ordinal: 0, raise_ns: Some(raise_ns), entry_ns: raise_ns, exit_ns, is_open: false }
    }

    #[test]
    fn a_raise_is_the_handlers_that_ran() {
        let handlers = [(10, 20, (25, 0)), (30, 40, (26, 0))];
        let found = [5, 15, 25, 40, 41].map(|raise_ns| raiser(&handlers, &softirq(raise_ns, 100)).map(|line| line.0));
        assert_eq!(found, [None, Some(25), None, Some(26), None]);
    }

    #[test]
    fn a_handler_that_ended_long_ago_raised_nothing() {
        let handlers = [(10, 40, (25, 0)), (20, 30, (26, 0)), (90_000, 90_010, (27, 0))];
        let found = [25, 35, 45, 10_041, 100_010, 100_011].map(|at| behind(&handlers, at, 10_000).map(|line| line.0));
        assert_eq!(found, [None, Some(26), Some(25), None, Some(27), None]);
    }

    #[test]
    fn a_softirq_inside_of_a_handler_waits_for_it() {
        let mut lane = Lane { waiting: [softirq(12, 15)].into(), ..Lane::default() };
        let mut found = Vec::new();
        lane.settle(false, 10_000, |settled, _| found.extend(settled.raiser));
        lane.handlers.push((10, 20, (25, 0)));
        lane.settle(false, 10_000, |settled, _| found.extend(settled.raiser));
        assert_eq!(found, []);
        // It may have begun before the exit, in the same tick of the clock.
        lane.handlers.push((15, 15, (27, 0)));
        lane.settle(false, 10_000, |settled, _| found.extend(settled.raiser));
        assert_eq!(found, []);
        lane.handlers.push((30, 40, (26, 0)));
        lane.settle(false, 10_000, |settled, _| found.extend(settled.raiser));
        assert_eq!(found, [(25, 0)]);
    }
}
