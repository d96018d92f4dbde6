//! The tables' rows, by CPU.

use std::collections::BTreeMap;

use arrow_array::{Array, Int64Array, RecordBatch};

use crate::error::Result;
use crate::intern::{Interner, NONE};
use crate::lives::read::{at, numbers, runs, texts, Texts};

/// A softirq; `exit_ns` and `entry_ns` mean nothing unless it was seen whole.
#[derive(Debug, Clone)]
pub struct Softirq {
    pub ordinal: i64,
    pub raise_ns: Option<i64>,
    pub entry_ns: i64,
    pub exit_ns: i64,
    pub vec: i64,
    pub tid: Option<i64>,
    pub comm: u32,
    pub origin: u32,
    pub class: u32,
    pub self_ns: i64,
    pub outside_ns: i64,
    pub polls: i64,
    pub packets: i64,
    pub in_kthread: bool,
    pub is_whole: bool,
    pub is_net_rx: bool,
    /// Without raises: one that an interrupt's exit or ksoftirqd runs, as the preempt count says. Where there is none
    /// (texts), one on an idle task: it runs none of its own accord.
    pub at_exit: bool,
}

/// An interrupt, and the time since the one before of its line.
#[derive(Debug, Clone, Copy)]
pub struct Irq {
    pub entry_ns: Option<i64>,
    pub exit_ns: Option<i64>,
    pub irq: Option<i64>,
    pub name: u32,
    pub context: u32,
    pub device: u32,
    pub self_ns: i64,
    pub gap_ns: Option<i64>,
}

/// A poll; `named`: its device, or what the kernel calls one without.
#[derive(Debug, Clone)]
pub struct Poll {
    pub device: u32,
    pub named: u32,
    pub start_ns: Option<i64>,
    pub end_ns: i64,
    pub work: Option<i64>,
    pub self_ns: Option<i64>,
    pub softirq: Option<i64>,
}

impl Poll {
    /// Whether its time and its packets are known.
    pub fn is_known(&self) -> bool {
        self.self_ns.is_some() && self.work.is_some()
    }
}

/// What came of one CPU.
#[derive(Default)]
pub struct Arrived {
    pub softirqs: Vec<Softirq>,
    pub hardirqs: Vec<Irq>,
    pub polls: Vec<Poll>,
}

/// Names that mean something here.
pub struct Codes {
    pub net_rx: u32,
    pub irq: u32,
    pub task: u32,
    pub softirq: u32,
    pub unknown: u32,
    pub hardirq: u32,
    pub vector: u32,
    pub stolen: [u32; 2],
    pub no_device: u32,
    pub not_recorded: u32,
    pub none_polled: u32,
    pub yes: u32,
    pub no: u32,
}

impl Codes {
    /// Of these names.
    pub fn new(names: &mut Interner) -> Codes {
        let mut code = |name: &str| names.code(name.as_bytes());
        Codes {
            net_rx: code("NET_RX"),
            irq: code("irq"),
            task: code("task"),
            softirq: code("softirq"),
            unknown: code("unknown"),
            hardirq: code("hardirq"),
            vector: code("vector"),
            stolen: [code("stolen"), code("stolen_or_synchronous")],
            no_device: code("(no_device)"),
            not_recorded: code("not recorded"),
            none_polled: code("none polled"),
            yes: code("yes"),
            no: code("no"),
        }
    }
}

/// The codes of a column, `NONE` for a null; all of them where there is no such column.
fn codes(table: &RecordBatch, name: &str, names: &mut Interner) -> Vec<u32> {
    let found = texts(table, name, names);
    found.map_or_else(
        || vec![NONE; table.num_rows()],
        |found| found.into_iter().map(|code| code.unwrap_or(NONE)).collect(),
    )
}

/// Every row of the three tables, in their order.
pub fn read(
    softirqs: &[RecordBatch],
    hardirqs: &[RecordBatch],
    polls: &[RecordBatch],
    known: &Codes,
    names: &mut Interner,
) -> Result<BTreeMap<i64, Arrived>> {
    let mut found = BTreeMap::new();
    for table in polls {
        read_polls(table, known, names, &mut found)?;
    }
    for table in hardirqs {
        read_hardirqs(table, names, &mut found)?;
    }
    for table in softirqs {
        read_softirqs(table, known, names, &mut found)?;
    }
    Ok(found)
}

/// Deals rows to CPUs, of which a table has one after the other.
fn deal<T>(
    cpus: &Int64Array,
    found: &mut BTreeMap<i64, Arrived>,
    of: fn(&mut Arrived) -> &mut Vec<T>,
    mut row: impl FnMut(usize) -> T,
) {
    for run in runs(cpus.values()) {
        let own = of(found.entry(cpus.value(run.start)).or_default());
        own.extend(run.map(&mut row));
    }
}

/// The columns of softirqs that say of which run each is.
pub struct Softirqs {
    pub cpu: Int64Array,
    pub tid: Int64Array,
    pub raise: Int64Array,
    pub entry: Int64Array,
    pub exit: Int64Array,
    pub ordinal: Int64Array,
    vec: Int64Array,
    packets: Int64Array,
    in_kthread: Int64Array,
    action: Option<Texts>,
    comm: Option<Texts>,
    origin: Option<Texts>,
}

impl Softirqs {
    /// Of a table.
    pub fn of(table: &RecordBatch, names: &mut Interner) -> Result<Softirqs> {
        let column = |name: &str| numbers(table, name);
        let mut texts = |name: &str| Texts::of(table, name, names);
        Ok(Softirqs {
            cpu: column("cpu")?,
            tid: column("tid")?,
            raise: column("raise_ns")?,
            entry: column("entry_ns")?,
            exit: column("exit_ns")?,
            ordinal: column("ordinal")?,
            vec: column("vec")?,
            packets: column("packets")?,
            in_kthread: column("in_kthread")?,
            action: texts("action"),
            comm: texts("comm"),
            origin: texts("origin"),
        })
    }

    /// Whether it was seen from its entry to its exit.
    #[inline]
    pub fn is_whole(&self, row: usize) -> bool {
        self.entry.is_valid(row) && self.exit.is_valid(row)
    }

    /// A row; what it took is not in these columns.
    #[inline]
    pub fn row(&self, row: usize, code: &Codes) -> Softirq {
        let named = |texts: &Option<Texts>| texts.as_ref().and_then(|texts| texts.code(row)).unwrap_or(NONE);
        let (entry_ns, exit_ns, tid) = (at(&self.entry, row), at(&self.exit, row), at(&self.tid, row));
        let origin = named(&self.origin);
        let is_idle = origin == code.unknown && tid == Some(0);
        Softirq {
            ordinal: self.ordinal.value(row),
            raise_ns: at(&self.raise, row),
            entry_ns: entry_ns.unwrap_or_default(),
            exit_ns: exit_ns.unwrap_or_default(),
            vec: self.vec.value(row),
            tid,
            comm: named(&self.comm),
            origin,
            class: NONE,
            self_ns: 0,
            outside_ns: 0,
            polls: 0,
            packets: self.packets.value(row),
            in_kthread: self.in_kthread.value(row) != 0,
            is_whole: entry_ns.is_some() && exit_ns.is_some(),
            is_net_rx: named(&self.action) == code.net_rx,
            at_exit: origin == code.irq || is_idle,
        }
    }
}

fn read_softirqs(
    table: &RecordBatch,
    code: &Codes,
    names: &mut Interner,
    found: &mut BTreeMap<i64, Arrived>,
) -> Result<()> {
    let column = |name: &str| numbers(table, name);
    let (own, outside, polls) = (column("self_ns")?, column("outside_polls_ns")?, column("polls")?);
    let class = codes(table, "cost_class", names);
    let columns = Softirqs::of(table, names)?;
    let row = |row: usize| Softirq {
        class: class[row],
        self_ns: own.value(row),
        outside_ns: outside.value(row),
        polls: polls.value(row),
        ..columns.row(row, code)
    };
    deal(&columns.cpu, found, |arrived| &mut arrived.softirqs, row);
    Ok(())
}

/// Every interrupt of a table, in its order.
pub fn read_hardirqs(table: &RecordBatch, names: &mut Interner, found: &mut BTreeMap<i64, Arrived>) -> Result<()> {
    let column = |name: &str| numbers(table, name);
    let (cpu, entry, exit) = (column("cpu")?, column("entry_ns")?, column("exit_ns")?);
    let (irq, own) = (column("irq")?, column("self_ns")?);
    let mut texts = |name: &str| codes(table, name, names);
    let (name, context, device) = (texts("name"), texts("context"), texts("device"));
    let row = |row: usize| Irq {
        entry_ns: at(&entry, row),
        exit_ns: at(&exit, row),
        irq: at(&irq, row),
        name: name[row],
        context: context[row],
        device: device[row],
        self_ns: own.value(row),
        gap_ns: None,
    };
    deal(&cpu, found, |arrived| &mut arrived.hardirqs, row);
    Ok(())
}

fn read_polls(
    table: &RecordBatch,
    code: &Codes,
    names: &mut Interner,
    found: &mut BTreeMap<i64, Arrived>,
) -> Result<()> {
    let column = |name: &str| numbers(table, name);
    let (cpu, start, end) = (column("cpu")?, column("start_ns")?, column("end_ns")?);
    let (work, own, softirq) = (column("work")?, column("self_ns")?, column("softirq_ordinal")?);
    let device = codes(table, "device", names);
    let row = |row: usize| Poll {
        device: device[row],
        named: if device[row] == NONE { code.no_device } else { device[row] },
        start_ns: at(&start, row),
        end_ns: end.value(row),
        work: at(&work, row),
        self_ns: at(&own, row),
        softirq: at(&softirq, row),
    };
    deal(&cpu, found, |arrived| &mut arrived.polls, row);
    Ok(())
}
