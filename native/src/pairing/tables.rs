//! Sums and rows as Arrow tables.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};

use crate::error::Result;
use crate::intern::{Labels, NONE};
use crate::ledger::cpu::ORIGINS;
use crate::ledger::devices::NO_DEVICE;
use crate::ledger::resolve::Names;
use crate::ledger::shown::Tables;
use crate::narrow::Narrow;
use crate::pairing::chain::Chain;
use crate::pairing::runs::Run;
use crate::pairing::sums::{Kind, Sums, COUNTED, REASONS};
use crate::tables::{batch, booleans, optional, plain};

/// Columns of sums, in value order.
const AROUND: [&str; 7] =
    ["again", "outside_polls_ns", "irq_ns", "raised", "known_outside_polls_ns", "known_irq_ns", "known_raised"];
const BY_DEVICE: [&str; 12] = [
    "softirqs",
    "packets",
    "irq_ns",
    "irq_ns_known",
    "raise_delay_ns",
    "raise_delay_ns_known",
    "outside_polls_ns",
    "outside_polls_ns_known",
    "poll_ns",
    "poll_ns_known",
    "nested_ns",
    "nested_ns_known",
];
/// Labels that are not names of the recording. Those of origins follow.
const OTHERS: [&str; 5] = [NO_DEVICE, "not recorded", "none polled", "no", "yes"];
const BY_POLLS: [&str; 7] = ["polls", "packets", "wall_ns", "poll_ns", "softirqs", "own_ns", "unnested_ns"];

/// A table under construction.
pub struct Table<'n> {
    labels: &'n Labels,
    columns: Vec<(String, ArrayRef)>,
}

impl Table<'_> {
    /// Starts without columns. `labels`: of its names.
    pub fn new(labels: &Labels) -> Table<'_> {
        Table { labels, columns: Vec::new() }
    }

    fn add(mut self, name: &str, column: ArrayRef) -> Self {
        self.columns.push((name.to_owned(), column));
        self
    }

    /// A column without nulls.
    pub fn numbers(self, name: &str, values: impl Iterator<Item = i64>) -> Self {
        self.add(name, plain::<Int64Type>(values))
    }

    /// A column with nulls.
    pub fn maybe(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.add(name, optional::<Int64Type>(values))
    }

    /// A column of names, by their codes.
    pub fn names(self, name: &str, codes: impl Iterator<Item = u32>) -> Self {
        let column = self.labels.column(codes);
        self.add(name, column)
    }

    /// The columns of sums, in order.
    pub fn sums<'s, const N: usize>(
        mut self,
        names: [&str; N],
        values: impl Iterator<Item = &'s [i64; N]> + Clone,
    ) -> Self {
        for (place, name) in names.into_iter().enumerate() {
            self = self.numbers(name, values.clone().map(|values| values[place]));
        }
        self
    }

    /// The table.
    pub fn batch(self) -> Result<RecordBatch> {
        batch(self.columns)
    }
}

/// All tables, by name.
pub fn tables(sums: &mut Sums, names: &Names) -> Result<Tables> {
    let others: Vec<&str> = OTHERS.into_iter().chain(ORIGINS).collect();
    let labels = &Labelled { labels: names.strings.and(&others), names };
    let mut found = vec![("runs", runs(&sums.runs.rows(), labels)?)];
    for (name, first) in [("chains", &mut sums.chains), ("longest", &mut sums.longest), ("strange", &mut sums.strange)]
    {
        found.push((name, chains(&first.rows(), sums.has_polls, sums.window, labels)?));
    }
    found.extend(of_polls(sums, labels)?);
    found.extend(of_softirqs(sums, labels)?);
    Ok(found)
}

fn runs(rows: &[(i64, i64, (Run, Kind))], labels: &Labelled<'_>) -> Result<RecordBatch> {
    let number = |value: fn(&Run) -> i64| rows.iter().map(move |row| value(&row.2 .0));
    let kinds = || rows.iter().map(|row| row.2 .1);
    Table::new(&labels.labels)
        .numbers("cpu", rows.iter().map(|row| row.1))
        .numbers("call", number(|run| run.call))
        .numbers("start_ns", number(|run| run.start_ns))
        .numbers("end_ns", number(|run| run.end_ns))
        .numbers("wall_ns", number(|run| run.end_ns - run.start_ns))
        .add("in_kthread", booleans(kinds().map(|kind| kind.0)))
        .maybe("tid", rows.iter().map(|row| row.2 .0.tid))
        .names("comm", rows.iter().map(|row| row.2 .0.comm))
        .numbers("rounds_made", number(|run| run.rounds))
        .numbers("softirqs", number(|run| run.softirqs))
        .numbers("net_rx", number(|run| run.net_rx))
        .maybe("packets", number(|run| run.packets).map(Some))
        .add("still_pending", pending(kinds()))
        .add("end_reason", reasons(kinds()))
        .batch()
}

fn pending(kinds: impl Iterator<Item = Kind>) -> ArrayRef {
    Arc::new(kinds.map(|kind| kind.2).collect::<BooleanArray>())
}

fn reasons(kinds: impl Iterator<Item = Kind>) -> ArrayRef {
    Labels::new(&REASONS).column(kinds.map(|kind| kind.3.narrow()))
}

fn chains(
    rows: &[(i64, i64, Chain)],
    has_polls: bool,
    window: (i64, i64),
    labels: &Labelled<'_>,
) -> Result<RecordBatch> {
    let rows = || rows.iter().map(|row| &row.2);
    let number = |value: fn(&Chain) -> i64| rows().map(value);
    let polled = |value: fn(&Chain) -> i64| rows().map(move |row| has_polls.then(|| value(row)));
    let own = |value: fn(&Chain) -> i64| rows().map(move |row| (has_polls && !row.is_cut(window)).then(|| value(row)));
    let of_irq = |value: fn(&Chain) -> Option<i64>| rows().map(value);
    let code = |value: fn(&Chain) -> u32| rows().map(value);
    Table::new(&labels.labels)
        .numbers("cpu", number(|row| row.place.cpu))
        .numbers("ordinal", number(|row| row.softirq.ordinal))
        .maybe("irq", of_irq(|row| row.raiser?.of.irq))
        .names("name", code(|row| row.raiser.map_or(NONE, |irq| irq.of.name)))
        .add(
            "irq_context",
            labels.names.contexts.column(code(|row| row.raiser.map_or(NONE, |irq| irq.of.context as u32))),
        )
        .maybe("irq_ns", of_irq(|row| Some(row.raiser?.of.self_ns)))
        .maybe("irq_gap_ns", of_irq(|row| row.raiser?.of.gap_ns))
        .maybe("raise_ns", of_irq(|row| row.softirq.raise_ns))
        .maybe("entry_ns", number(|row| row.softirq.entry_ns).map(Some))
        .maybe("exit_ns", number(|row| row.softirq.exit_ns).map(Some))
        .maybe("raise_delay_ns", of_irq(Chain::raise_delay_ns))
        .numbers("call", number(|row| row.place.call))
        .numbers("round", number(|row| row.place.round))
        .add("origin", labels.names.origins.column(code(|row| row.softirq.origin.into())))
        .add("in_kthread", booleans(rows().map(|row| row.softirq.in_kthread)))
        .add("cost_class", labels.names.classes.column(code(|row| row.softirq.class.code())))
        .maybe("tid", of_irq(|row| row.softirq.tid))
        .names("comm", code(|row| row.softirq.comm))
        .names("device", code(|row| row.device))
        .maybe("devices", polled(|row| row.devices))
        .maybe("polls", polled(|row| row.softirq.polls))
        .maybe("packets", polled(|row| row.softirq.packets))
        .maybe("poll_ns", own(Chain::poll_ns))
        .maybe("outside_polls_ns", own(|row| row.softirq.outside_ns))
        .maybe("nested_ns", rows().map(|row| (!row.is_cut(window)).then(|| row.nested_ns())))
        .numbers("wall_ns", number(Chain::wall_ns))
        .batch()
}

/// Names by key, followed by other labels.
struct Labelled<'n> {
    labels: Labels,
    names: &'n Names,
}

impl Labelled<'_> {
    fn other(&self, place: usize) -> u32 {
        (self.names.strings.count() + place).narrow()
    }

    fn device(&self, device: u32) -> u32 {
        if device == NONE {
            self.other(0)
        } else {
            device
        }
    }

    fn polled(&self, device: Option<u32>) -> u32 {
        match device {
            None => self.other(2),
            Some(NONE) => self.other(1),
            Some(device) => device,
        }
    }

    /// The label of a value counted at an index of `COUNTED`.
    fn counted(&self, what: usize, which: u32) -> u32 {
        match COUNTED[what] {
            "name" => which,
            "origin" => self.other(OTHERS.len()) + which,
            _ => self.other(3) + which,
        }
    }
}

fn of_polls(sums: &Sums, labels: &Labelled<'_>) -> Result<Tables> {
    let (sizes, lines, around) = (&sums.polls.sizes, &sums.lines, &sums.around);
    let (stretches, seen) = (&sums.polls.stretches.sums, &sums.polls.stretches.seen);
    let sizes = Table::new(&labels.labels)
        .names("device", sizes.keys().map(|key| labels.device(key.0)))
        .numbers("cpu", sizes.keys().map(|key| key.1))
        .numbers("work", sizes.keys().map(|key| key.2))
        .sums(["polls", "known", "known_ns", "whole", "whole_ns"], sizes.values());
    let lines = Table::new(&labels.labels)
        .numbers("cpu", lines.keys().map(|key| key.0))
        .names("device", lines.keys().map(|key| key.1))
        .maybe("irq", lines.keys().map(|key| key.2))
        .sums(["irqs", "irq_ns"], lines.values());
    let around = Table::new(&labels.labels)
        .names("device", around.keys().map(|key| labels.device(key.0)))
        .numbers("cpu", around.keys().map(|key| key.1))
        .numbers("shared", around.keys().map(|key| key.2))
        .numbers("line", around.keys().map(|key| key.3))
        .sums(AROUND, around.values());
    let stretches = Table::new(&labels.labels)
        .names("device", stretches.keys().map(|key| labels.device(key.0)))
        .numbers("cpu", stretches.keys().map(|key| key.1))
        .numbers("stretch", stretches.keys().map(|key| key.2))
        .numbers("kind", stretches.keys().map(|key| key.3))
        .sums(["polls", "packets", "ns", "squares", "products", "high", "low"], stretches.values());
    let seen = Table::new(&labels.labels)
        .names("device", seen.keys().map(|key| labels.device(key.0)))
        .numbers("cpu", seen.keys().map(|key| key.1))
        .numbers("polls", seen.values().copied());
    let power = Table::new(&labels.labels).numbers("power", std::iter::once(i64::from(sums.polls.stretches.power)));
    Ok(vec![
        ("sizes", sizes.batch()?),
        ("lines", lines.batch()?),
        ("around", around.batch()?),
        ("stretches", stretches.batch()?),
        ("seen", seen.batch()?),
        ("power", power.batch()?),
    ])
}

fn of_softirqs(sums: &Sums, labels: &Labelled<'_>) -> Result<Tables> {
    let by_device = Table::new(&labels.labels)
        .names("device", sums.by_device.keys().map(|&device| labels.polled(device)))
        .sums(BY_DEVICE, sums.by_device.values());
    let by_polls = Table::new(&labels.labels)
        .numbers("has_polls", sums.by_polls.keys().copied())
        .sums(BY_POLLS, sums.by_polls.values());
    let counts = Table::new(&labels.labels)
        .add("what", Labels::new(&COUNTED).column(sums.counts.keys().map(|key| key.0.narrow())))
        .names("which", sums.counts.keys().map(|key| labels.counted(key.0, key.1)))
        .numbers("n", sums.counts.values().copied());
    let kinds = || sums.run_counts.keys().copied();
    let run_counts = Table::new(&labels.labels)
        .add("in_kthread", booleans(kinds().map(|kind| kind.0)))
        .numbers("rounds_made", kinds().map(|kind| kind.1))
        .add("still_pending", pending(kinds()))
        .add("end_reason", reasons(kinds()))
        .numbers("run_count", sums.run_counts.values().copied());
    let runs_of_cpu = Table::new(&labels.labels)
        .numbers("cpu", sums.runs_of_cpu.keys().copied())
        .numbers("runs", sums.runs_of_cpu.values().copied());
    let steered = Table::new(&labels.labels)
        .numbers("cpu", sums.steered.keys().map(|key| key.0))
        .maybe("tid", sums.steered.keys().map(|key| key.1))
        .names("comm", sums.steered.keys().map(|key| key.2))
        .numbers("ns", sums.steered.values().copied());
    Ok(vec![
        ("by_device", by_device.batch()?),
        ("by_polls", by_polls.batch()?),
        ("counts", counts.batch()?),
        ("run_counts", run_counts.batch()?),
        ("runs_of_cpu", runs_of_cpu.batch()?),
        ("steered", steered.batch()?),
    ])
}
