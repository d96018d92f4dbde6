//! Which interrupt line raised which NET_RX softirqs, and what these polled.
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
use crate::ledger::thief::Context;
use crate::tables::{plain, Plan};

/// So many handlers before a softirq's exit its raise is looked for: three at most in the samples.
const BACK: usize = 4_096;
/// Softirqs may run inside of a handler, as in `scheduler_ipi()` before Linux 5.8: they wait for its exit, or for so many
/// others.
const INSIDE: usize = 256;
/// Softirqs of a CPU whose devices are kept: one that is lost is waited for in vain.
const MOST_AWAITED: usize = 1 << 16;

/// A line's number, and the handler's name.
type Line = (i64, u32);

/// The softirqs of all CPUs.
#[derive(Default)]
pub struct Raised {
    cpus: BTreeMap<u32, Lane>,
    devices: BTreeSet<u32>,
    raised: BTreeMap<Line, i64>,
    polled: BTreeMap<(Line, u32), i64>,
}

/// One CPU.
#[derive(Default)]
struct Lane {
    /// Entry, exit and line of the last handlers, by entry.
    handlers: Vec<(i64, i64, Line)>,
    /// Softirqs whose handler may be yet to come.
    waiting: VecDeque<Softirq>,
    /// Without an exit: their polls may come later.
    open: Vec<(u32, Line)>,
    /// By softirq the devices that it polled.
    polled: FxHashMap<u32, Vec<u32>>,
}

struct Softirq {
    ordinal: u32,
    raise_ns: i64,
    exit_ns: i64,
    is_open: bool,
}

impl Softirq {
    fn of(row: &SoftirqRow) -> Option<Softirq> {
        let raise_ns = known(row.raise_ns).filter(|_| row.vec == i32::from(NET_RX))?;
        let entry_ns = known(row.entry_ns).or(known(row.exit_ns)).unwrap_or(raise_ns);
        let (exit_ns, is_open) = (known(row.exit_ns).unwrap_or(entry_ns), known(row.exit_ns).is_none());
        Some(Softirq { ordinal: row.ordinal, raise_ns, exit_ns, is_open })
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
            let device = names.known(row.thief).device;
            let Some(softirq) = row.softirq.filter(|_| device != NONE) else { continue };
            let devices = self.polled.entry(softirq).or_default();
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        for row in cpu.rows.softirqs.slices().flatten() {
            match Softirq::of(row) {
                Some(softirq) => self.waiting.push_back(softirq),
                None => drop(self.polled.remove(&row.ordinal)),
            }
        }
        if self.polled.len() > MOST_AWAITED {
            let first = self.waiting.front().map_or(u32::MAX, |softirq| softirq.ordinal);
            let is_open = |ordinal: &u32| self.open.iter().any(|open| open.0 == *ordinal);
            self.polled.retain(|ordinal, _| *ordinal >= first || is_open(ordinal));
        }
    }

    /// The softirqs whose handler is there, or will not come: raised by which line, and the devices that they polled.
    fn settle(&mut self, is_over: bool, mut show: impl FnMut(Line, Option<&[u32]>)) {
        let last_ns = self.handlers.last().map_or(i64::MIN, |handler| handler.0);
        // A handler that began within the same tick of the clock may be yet to come.
        let there = self.waiting.iter().rposition(|softirq| softirq.exit_ns < last_ns).map_or(0, |place| place + 1);
        let count = if is_over { self.waiting.len() } else { there.max(self.waiting.len().saturating_sub(INSIDE)) };
        for softirq in self.waiting.drain(..count) {
            let Some(line) = raiser(&self.handlers, &softirq) else {
                self.polled.remove(&softirq.ordinal);
                continue;
            };
            if softirq.is_open {
                self.open.push((softirq.ordinal, line));
                show(line, None);
            } else {
                show(line, self.polled.remove(&softirq.ordinal).as_deref());
            }
        }
        if self.handlers.len() > 2 * BACK {
            self.handlers.drain(..self.handlers.len() - BACK);
        }
    }
}

/// The line whose handler ran when a softirq was raised.
fn raiser(handlers: &[(i64, i64, Line)], softirq: &Softirq) -> Option<Line> {
    let begun = |time_ns: i64| handlers.partition_point(|handler| handler.0 <= time_ns);
    let last = begun(softirq.raise_ns).checked_sub(1)?;
    let (_, exit_ns, line) = handlers[last];
    let since = begun(softirq.exit_ns).saturating_sub(last + 1);
    (exit_ns >= softirq.raise_ns && since < BACK).then_some(line)
}

impl Aggregate for Raised {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        let Raised { cpus: lanes, devices, raised, polled } = self;
        for cpu in cpus {
            let polls = cpu.rows.polls.slices().flatten();
            devices.extend(polls.map(|row| names.known(row.thief).device).filter(|&device| device != NONE));
            let lane = lanes.entry(cpu.number).or_default();
            lane.take(names, cpu);
            lane.settle(false, |line, devices| count(raised, polled, line, devices));
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let Raised { cpus, devices, mut raised, mut polled } = *self;
        for mut lane in cpus.into_values() {
            lane.settle(true, |line, devices| count(&mut raised, &mut polled, line, devices));
            for (ordinal, line) in &lane.open {
                let devices = lane.polled.get(ordinal).into_iter().flatten();
                devices.for_each(|&device| *polled.entry((*line, device)).or_default() += 1);
            }
        }
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
        Ok(vec![("raised", of_lines.batch()?), ("polled", of_devices.batch()?), ("devices", all.batch()?)])
    }
}

fn count(
    raised: &mut BTreeMap<Line, i64>,
    polled: &mut BTreeMap<(Line, u32), i64>,
    line: Line,
    devices: Option<&[u32]>,
) {
    *raised.entry(line).or_default() += 1;
    devices.into_iter().flatten().for_each(|&device| *polled.entry((line, device)).or_default() += 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softirq(raise_ns: i64, exit_ns: i64) -> Softirq {
        Softirq { ordinal: 0, raise_ns, exit_ns, is_open: false }
    }

    #[test]
    fn a_raise_is_the_handlers_that_ran() {
        let handlers = [(10, 20, (25, 0)), (30, 40, (26, 0))];
        let found = [5, 15, 25, 40, 41].map(|raise_ns| raiser(&handlers, &softirq(raise_ns, 100)).map(|line| line.0));
        assert_eq!(found, [None, Some(25), None, Some(26), None]);
    }

    #[test]
    fn a_softirq_inside_of_a_handler_waits_for_it() {
        let mut lane = Lane { waiting: [softirq(12, 15)].into(), ..Lane::default() };
        let mut found = Vec::new();
        lane.settle(false, |line, _| found.push(line));
        lane.handlers.push((10, 20, (25, 0)));
        lane.settle(false, |line, _| found.push(line));
        assert_eq!(found, []);
        // It may have begun before the exit, in the same tick of the clock.
        lane.handlers.push((15, 15, (27, 0)));
        lane.settle(false, |line, _| found.push(line));
        assert_eq!(found, []);
        lane.handlers.push((30, 40, (26, 0)));
        lane.settle(false, |line, _| found.push(line));
        assert_eq!(found, [(25, 0)]);
    }
}
