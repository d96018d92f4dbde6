//! The parts of the ledger's rows that matter here. Names are keys into `Names::strings`, so that those shown alike are
//! equal.

use crate::intern::NONE;
use crate::ledger::cpu::ORIGINS;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{known, HardirqRow, PollRow, SoftirqRow};
use crate::ledger::softirq::NET_RX;
use crate::ledger::thief::{Class, Context};

/// A softirq. `exit_ns` and `entry_ns` are only meaningful if it was seen whole.
#[derive(Debug, Clone)]
pub struct Softirq {
    pub ordinal: i64,
    pub raise_ns: Option<i64>,
    pub entry_ns: i64,
    pub exit_ns: i64,
    pub vec: i64,
    pub tid: Option<i64>,
    pub comm: u32,
    /// Index into `ORIGINS`.
    pub origin: u8,
    pub class: Class,
    pub self_ns: i64,
    pub outside_ns: i64,
    pub polls: i64,
    pub packets: i64,
    pub in_kthread: bool,
    pub is_whole: bool,
    pub is_net_rx: bool,
    /// If raises are not recorded: whether an interrupt's exit or ksoftirqd runs it, by the preempt count. Without a
    /// count (texts): whether it runs on an idle task, which never runs softirqs itself.
    pub at_exit: bool,
}

impl Softirq {
    /// From a row.
    pub fn of(row: &SoftirqRow, names: &Names) -> Softirq {
        let (entry_ns, exit_ns, victim) = (known(row.entry_ns), known(row.exit_ns), names.victim(row.victim));
        let of = Softirq {
            ordinal: row.ordinal.into(),
            raise_ns: known(row.raise_ns),
            entry_ns: entry_ns.unwrap_or_default(),
            exit_ns: exit_ns.unwrap_or_default(),
            vec: row.vec.into(),
            tid: victim.map(|of| of.0.into()),
            comm: victim.map_or(NONE, |of| key(names, of.1)),
            origin: row.origin,
            class: row.class,
            self_ns: row.self_ns,
            outside_ns: row.self_ns - row.poll_ns,
            polls: row.polls.into(),
            packets: row.packets.into(),
            in_kthread: row.in_kthread,
            is_whole: entry_ns.is_some() && exit_ns.is_some(),
            is_net_rx: row.vec == NET_RX.into(),
            at_exit: false,
        };
        let is_idle = of.is_from(&["unknown"]) && of.tid == Some(0);
        Softirq { at_exit: is_idle || of.is_from(&["irq"]), ..of }
    }

    /// Whether its origin is one of these.
    pub fn is_from(&self, origins: &[&str]) -> bool {
        ORIGINS.get(usize::from(self.origin)).is_some_and(|origin| origins.contains(origin))
    }
}

/// An interrupt, and the time since the previous one of its line.
#[derive(Debug, Clone, Copy)]
pub struct Irq {
    pub entry_ns: Option<i64>,
    pub exit_ns: Option<i64>,
    pub irq: Option<i64>,
    pub name: u32,
    pub context: Context,
    pub device: u32,
    pub self_ns: i64,
    pub gap_ns: Option<i64>,
}

impl Irq {
    /// From a row.
    pub fn of(row: &HardirqRow, names: &Names) -> Irq {
        let (thief, of) = (names.thief(row.thief), names.known(row.thief));
        Irq {
            entry_ns: row.entry_ns,
            exit_ns: row.exit_ns,
            irq: thief.id.filter(|_| thief.context == Context::Hardirq),
            name: key(names, of.name),
            context: thief.context,
            device: key(names, of.device),
            self_ns: row.self_ns,
            gap_ns: None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Poll {
    pub device: u32,
    pub start_ns: Option<i64>,
    pub end_ns: i64,
    pub work: Option<i64>,
    pub self_ns: Option<i64>,
    pub softirq: Option<i64>,
}

impl Poll {
    /// From a row.
    pub fn of(row: &PollRow, names: &Names) -> Poll {
        Poll {
            device: key(names, names.known(row.thief).device),
            start_ns: known(row.start_ns),
            end_ns: row.end_ns,
            work: row.work.map(i64::from),
            self_ns: known(row.self_ns),
            softirq: row.softirq.map(i64::from),
        }
    }

    /// Whether its time and its packets are known.
    pub fn is_known(&self) -> bool {
        self.self_ns.is_some() && self.work.is_some()
    }
}

/// The key of a name; `NONE` if it has none.
fn key(names: &Names, code: u32) -> u32 {
    names.strings.key(code).try_into().unwrap_or(NONE)
}
