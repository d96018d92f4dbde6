//! Arrow tables from rows, one function per table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use arrow_array::types::{Int16Type, Int32Type, Int64Type, Int8Type};
use arrow_array::{ArrayRef, RecordBatch};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::intern::{Labels, NONE};
use crate::ledger::cpu::Found;
use crate::ledger::irqs::KNOWN_BY;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::{network_label, Names, NETWORKS};
use crate::ledger::rows::{known, CoverageRow, Ended, HardirqRow, PollRow, SliceRow, SoftirqRow};
use crate::ledger::segment::{Packed, SumRow, Sums};
use crate::ledger::thief::{Class, Context};
use crate::ledger::wait::Waits;
use crate::narrow::Narrow;
use crate::tables::{booleans, each, gather, optional, plain, Plan};

/// Adds a column of i64 over rows in several slices.
macro_rules! number {
    ($plan:expr, $name:expr, $rows:expr, $value:expr) => {
        $plan.add($name, move || plain::<Int64Type>(each($rows).map($value)))
    };
}

/// Adds a nullable one.
macro_rules! maybe {
    ($plan:expr, $name:expr, $rows:expr, $value:expr) => {
        $plan.add($name, move || optional::<Int64Type>(each($rows).map($value)))
    };
}

/// Each row's CPU number, for rows that are stored with their CPU.
fn numbers(cpus: &[Found], rows: fn(&Found) -> usize) -> ArrayRef {
    let mut numbers = Vec::with_capacity(cpus.iter().map(rows).sum());
    for cpu in cpus {
        numbers.resize(numbers.len() + rows(cpu), cpu.number as i32);
    }
    plain::<Int32Type>(numbers.into_iter())
}

pub fn segments(names: &Names, cpus: &[Found]) -> Result<RecordBatch> {
    let tables: Vec<&[Packed]> = cpus.iter().flat_map(|cpu| cpu.finished.table.slices()).collect();
    let rows = tables.as_slice();
    let ends = move || {
        let mut ends = gather(each(rows).map(|row| row.start));
        let mut last = 0;
        for cpu in cpus.iter().filter(|cpu| !cpu.finished.table.is_empty()) {
            let first = last;
            last += cpu.finished.table.len();
            ends.copy_within(first + 1..last, first);
            ends[last - 1] = cpu.finished.end;
        }
        plain::<Int64Type>(ends.into_iter())
    };
    let mut plan = Plan::new();
    plan.add("cpu", move || numbers(cpus, |cpu| cpu.finished.table.len()));
    number!(plan, "start_ns", rows, |row| row.start);
    plan.add("end_ns", ends);
    names.owners(&mut plan, rows, |row| row.victim, |row| row.thief(), |row| row.class());
    plan.add("depth", move || plain::<Int8Type>(each(rows).map(|row| row.depth() as i8)));
    plan.batch()
}

/// Merges rows whose owners are shown alike.
fn by_name<'r>(names: &Names, rows: &'r [SumRow]) -> Cow<'r, [SumRow]> {
    let owner = |row: &SumRow| (names.first_of(row.victim), names.first_alike(row.thief));
    if rows.iter().all(|row| owner(row) == (row.victim, row.thief)) {
        return Cow::Borrowed(rows);
    }
    let mut places = FxHashMap::default();
    let mut merged: Vec<SumRow> = Vec::new();
    for row in rows {
        let (victim, thief) = owner(row);
        let place = *places.entry((row.bin_ns, victim, thief, row.class)).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(of) => (of.ns, of.segments) = (of.ns + row.ns, of.segments + row.segments),
            None => merged.push(SumRow { victim, thief, ..*row }),
        }
    }
    Cow::Owned(merged)
}

/// Sums by CPU. `start_ns`: the start of the only bin, if there is just one.
pub fn sums<'r>(names: &Names, cpus: impl Iterator<Item = &'r Sums>, start_ns: Option<i64>) -> Result<RecordBatch> {
    let sums: Vec<Cow<'r, [SumRow]>> = cpus.map(|sums| by_name(names, &sums.rows)).collect();
    let tables: Vec<&[SumRow]> = sums.iter().map(|rows| &**rows).collect();
    let rows = tables.as_slice();
    let mut plan = Plan::new();
    plan.add("cpu", move || plain::<Int32Type>(each(rows).map(|row| row.cpu as i32)));
    number!(plan, "bin_ns", rows, move |row| start_ns.unwrap_or(row.bin_ns));
    names.owners(&mut plan, rows, |row| row.victim, |row| row.thief, |row| row.class);
    number!(plan, "ns", rows, |row| row.ns);
    number!(plan, "segments", rows, |row| row.segments);
    plan.batch()
}

pub fn softirqs(names: &Names, cpus: &[Found]) -> Result<RecordBatch> {
    let tables: Vec<&[SoftirqRow]> = cpus.iter().flat_map(|cpu| cpu.rows.softirqs.slices()).collect();
    let rows = tables.as_slice();
    let mut plan = Plan::new();
    plan.add("cpu", move || numbers(cpus, |cpu| cpu.rows.softirqs.len()));
    number!(plan, "ordinal", rows, |row| i64::from(row.ordinal));
    maybe!(plan, "raise_ns", rows, |row| known(row.raise_ns));
    maybe!(plan, "entry_ns", rows, |row| known(row.entry_ns));
    maybe!(plan, "exit_ns", rows, |row| known(row.exit_ns));
    plan.add("vec", move || plain::<Int16Type>(each(rows).map(|row| row.vec.narrow())));
    plan.add("action", move || names.texts(each(rows).map(|row| names.action(row.vec.narrow()))))
        .add("tid", move || names.tids(each(rows).map(|row| row.victim)))
        .add("comm", move || names.comms(each(rows).map(|row| row.victim)))
        .add("origin", || names.origins.column(each(rows).map(|row| u32::from(row.origin))))
        .add("in_kthread", move || booleans(each(rows).map(|row| row.in_kthread)))
        .add("cost_class", move || names.classes(each(rows).map(|row| row.class)));
    number!(plan, "self_ns", rows, |row| row.self_ns);
    number!(plan, "outside_polls_ns", rows, |row| row.self_ns - row.poll_ns);
    plan.add("polls", move || plain::<Int32Type>(each(rows).map(|row| row.polls as i32)))
        .add("packets", move || plain::<Int32Type>(each(rows).map(|row| row.packets as i32)));
    plan.batch()
}

pub fn hardirqs(names: &Names, cpus: &[Found]) -> Result<RecordBatch> {
    let tables: Vec<&[HardirqRow]> = cpus.iter().flat_map(|cpu| cpu.rows.hardirqs.slices()).collect();
    let rows = tables.as_slice();
    let irq = |thief: u32| {
        let thief = names.thief(thief);
        thief.id.filter(|_| thief.context == Context::Hardirq)
    };
    let thieves = move || each(rows).map(|row| row.thief);
    let mut plan = Plan::new();
    plan.add("cpu", move || numbers(cpus, |cpu| cpu.rows.hardirqs.len()));
    maybe!(plan, "entry_ns", rows, |row| row.entry_ns);
    maybe!(plan, "exit_ns", rows, |row| row.exit_ns);
    plan.add("irq", move || optional::<Int64Type>(thieves().map(irq)))
        .add("name", move || names.names(thieves()))
        .add("context", move || names.contexts(thieves()))
        .add("tid", move || names.tids(each(rows).map(|row| row.victim)))
        .add("comm", move || names.comms(each(rows).map(|row| row.victim)))
        .add("device", move || names.devices(thieves()));
    number!(plan, "self_ns", rows, |row| row.self_ns);
    plan.batch()
}

/// Per CPU and interrupt line, vector or softirq of the recording: the longest run, as far as it lies in the window;
/// the number of runs with a known time; and the sum of their times.
pub fn longest(names: &Names, cpus: &[Found]) -> Result<RecordBatch> {
    let mut kept: Vec<(u32, u32, Ended)> = Vec::new();
    for cpu in cpus {
        kept.extend(cpu.rows.ended_places().map(|thief| (cpu.number, thief.narrow(), cpu.rows.ended[thief])));
    }
    let rows = kept.as_slice();
    let thieves = move || rows.iter().map(|row| row.1);
    let mut plan = Plan::new();
    plan.add("cpu", move || plain::<Int32Type>(rows.iter().map(|row| row.0 as i32)))
        .add("context", move || names.contexts(thieves()))
        .add("id", move || names.ids(thieves()))
        .add("name", move || names.names(thieves()))
        .add("self_ns", move || plain::<Int64Type>(rows.iter().map(|row| row.2.longest_ns)))
        .add("sum_ns", move || plain::<Int64Type>(rows.iter().map(|row| row.2.sum_ns)))
        .add("count", move || plain::<Int64Type>(rows.iter().map(|row| row.2.count)));
    plan.batch()
}

pub fn polls(names: &Names, cpus: &[Found]) -> Result<RecordBatch> {
    let tables: Vec<&[PollRow]> = cpus.iter().flat_map(|cpu| cpu.rows.polls.slices()).collect();
    let rows = tables.as_slice();
    let mut plan = Plan::new();
    plan.add("cpu", move || numbers(cpus, |cpu| cpu.rows.polls.len()));
    maybe!(plan, "start_ns", rows, |row| known(row.start_ns));
    number!(plan, "end_ns", rows, |row| row.end_ns);
    plan.add("napi", move || names.napis(each(rows).map(|row| row.thief)))
        .add("device", move || names.devices(each(rows).map(|row| row.thief)));
    plan.add("work", move || optional::<Int32Type>(each(rows).map(|row| row.work)))
        .add("budget", move || optional::<Int32Type>(each(rows).map(|row| row.budget)));
    maybe!(plan, "self_ns", rows, |row| known(row.self_ns));
    maybe!(plan, "softirq_ordinal", rows, |row| row.softirq.map(i64::from));
    plan.add("tid", move || names.tids(each(rows).map(|row| row.victim)))
        .add("comm", move || names.comms(each(rows).map(|row| row.victim)))
        .add("cost_class", move || names.classes(each(rows).map(|row| row.class)));
    plan.batch()
}

/// `kinds`: the columns of softirq time.
pub fn slices(names: &Names, cpus: &[Found], kinds: &[(u8, Class)]) -> Result<RecordBatch> {
    let tables: Vec<&[SliceRow]> = cpus.iter().map(|cpu| cpu.rows.slices.rows()).collect();
    let rows = tables.as_slice();
    let mut plan = Plan::new();
    let number = |value: fn(&SliceRow) -> i64| move || plain::<Int64Type>(each(rows).map(value));
    let maybe = |value: fn(&SliceRow) -> Option<i64>| move || optional::<Int64Type>(each(rows).map(value));
    plan.add("cpu", move || numbers(cpus, |cpu| cpu.rows.slices.rows().len()))
        .add("tid", move || names.tids(each(rows).map(|row| row.victim)))
        .add("comm", move || names.comms(each(rows).map(|row| row.victim)))
        .add("in_ns", number(|row| row.in_ns))
        .add("out_ns", number(|row| row.out_ns))
        .add("task_ns", number(|row| row.task_ns))
        .add("hardirq_ns", number(|row| row.hardirq_ns))
        .add("softirq_ns", number(|row| row.softirq_ns))
        .add("poll_ns", number(|row| row.poll_ns))
        .add("unknown_ns", number(|row| row.unknown_ns));
    for &kind in kinds {
        let action = names.reader.strings.get(names.action(kind.0));
        let name = format!("softirq_{action}_{}_ns", Class::NAMES[kind.1 as usize]);
        let of = move |row: &SliceRow| {
            row.by_softirq.iter().find(|entry| (entry.0, entry.1) == kind).map_or(0, |entry| entry.2)
        };
        plan.add(name, move || plain::<Int64Type>(each(rows).map(of)));
    }
    plan.add("wake_ns", maybe(|row| row.wake_ns))
        .add("wait_ns", maybe(|row| row.wait_ns))
        .add("prev_state", maybe(|row| row.prev_state));
    plan.batch()
}

pub fn migrations(names: &Names, rows: &[Migrated]) -> Result<RecordBatch> {
    let each = move || rows.iter().map(|one| &one.row);
    let (orig, dest) = (move || rows.iter().map(|one| one.orig), move || rows.iter().map(|one| one.dest));
    let mut plan = Plan::new();
    plan.add("time_ns", move || plain::<Int64Type>(each().map(|row| row.time_ns)))
        .add("tid", move || plain::<Int32Type>(each().map(|row| row.tid)))
        .add("comm", move || names.comms(each().map(|row| row.victim)))
        .add("orig_cpu", move || plain::<Int64Type>(each().map(|row| row.orig_cpu.into())))
        .add("dest_cpu", move || plain::<Int64Type>(each().map(|row| row.dest_cpu.into())))
        .add("cause", move || names.causes.column(each().map(|row| row.cause as u32)))
        .add("orig_holder_tid", move || names.tids(orig()))
        .add("orig_holder_comm", move || names.comms(orig()))
        .add("dest_holder_tid", move || names.tids(dest()))
        .add("dest_holder_comm", move || names.comms(dest()));
    plan.batch()
}

/// `reasons`: all reasons, sorted.
pub fn coverage(cpus: &[Found], window: (i64, i64), reasons: &[&'static str]) -> Result<RecordBatch> {
    let all = cpus.iter().flat_map(|cpu| cpu.rows.coverage.iter().map(|row| (cpu.number, row)));
    let kept: Vec<(u32, &CoverageRow)> = all.filter(|(_, row)| row.is_in(window)).collect();
    let rows = kept.as_slice();
    let labels = Labels::new(reasons);
    let why = |(_, row): &(u32, &CoverageRow)| reasons.binary_search(&row.why).map_or(NONE, |index| index.narrow());
    let mut plan = Plan::new();
    plan.add("cpu", move || plain::<Int32Type>(rows.iter().map(|row| row.0 as i32)))
        .add("start_ns", move || plain::<Int64Type>(rows.iter().map(|(_, row)| row.start_ns.max(window.0))))
        .add("end_ns", move || plain::<Int64Type>(rows.iter().map(|(_, row)| row.end_ns.min(window.1))))
        .add("why", || labels.column(rows.iter().map(why)))
        .add("lost", move || plain::<Int64Type>(rows.iter().map(|(_, row)| row.lost.min(i64::MAX as u64) as i64)));
    plan.batch()
}

pub fn displaced(names: &Names, waits: &Waits, shown: &impl Fn(u32) -> bool) -> Result<RecordBatch> {
    let mut kept: BTreeMap<(u32, u32), i64> = BTreeMap::new();
    for (&(cpu, victim), ns) in waits.displaced.iter().filter(|row| shown(row.0 .0)) {
        *kept.entry((cpu, names.first_of(victim))).or_default() += ns;
    }
    let rows: &Vec<(u32, u32, i64)> = &kept.into_iter().map(|((cpu, victim), ns)| (cpu, victim, ns)).collect();
    let mut plan = Plan::new();
    plan.add("cpu", move || plain::<Int32Type>(rows.iter().map(|row| row.0 as i32)))
        .add("tid", move || names.tids(rows.iter().map(|row| row.1)))
        .add("comm", move || names.comms(rows.iter().map(|row| row.1)))
        .add("ns", move || plain::<Int64Type>(rows.iter().map(|row| row.2)));
    plan.batch()
}

pub fn irq_lines(names: &Names) -> Result<RecordBatch> {
    let rows = names.irqs.as_slice();
    let (networks, ways) = (Labels::new(&NETWORKS), Labels::new(&KNOWN_BY));
    let mut plan = Plan::new();
    plan.add("irq", move || plain::<Int64Type>(rows.iter().map(|row| row.irq)))
        .add("name", move || names.texts(rows.iter().map(|row| row.name)))
        .add("device", move || names.texts(rows.iter().map(|row| row.device)))
        .add("is_network", || networks.column(rows.iter().map(|row| network_label(row.network))))
        .add("known_by", || ways.column(rows.iter().map(|row| row.known_by)))
        .add("count", move || plain::<Int64Type>(rows.iter().map(|row| row.count)));
    plan.batch()
}
