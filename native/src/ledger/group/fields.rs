//! The columns of each table: what rows can be grouped by, and what adds up.

use arrow_array::types::Int64Type;
use arrow_array::ArrayRef;

use crate::intern::Labels;
use crate::ledger::cpu::ORIGINS;
use crate::ledger::group::beside::{Row, Told};
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::{known, HardirqRow, PollRow, SliceRow, SoftirqRow};
use crate::ledger::segment::Packed;
use crate::ledger::softirq::NET_RX;
use crate::ledger::thief::Context;
use crate::narrow::Narrow;
use crate::tables::{booleans, optional};

/// A column that rows can be grouped by.
pub struct Field<R: Row> {
    pub name: &'static str,
    pub kind: Kind,
    /// The value in a row of a CPU; `None` if unknown.
    pub get: fn(&Names, u32, &Told<'_, R>) -> Option<i64>,
}

#[derive(Clone, Copy)]
pub enum Kind {
    Number,
    /// 0 or 1, never null.
    Flag,
    /// A key into these labels.
    Label(fn(&Names) -> &Labels),
}

impl Kind {
    pub fn column(self, names: &Names, values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
        match self {
            Kind::Number => optional::<Int64Type>(values),
            Kind::Flag => booleans(values.map(|value| value == Some(1))),
            Kind::Label(labels) => labels(names).of_keys(values.map(|key| key.map_or(-1, |key| key.narrow()))),
        }
    }
}

pub fn field<R: Row>(fields: &'static [Field<R>], name: &str) -> Option<&'static Field<R>> {
    fields.iter().find(|field| field.name == name)
}

macro_rules! fields {
    ($row:ty: $($name:literal $kind:expr => $get:expr,)*) => {
        &[$(Field::<$row> { name: $name, kind: $kind, get: $get }),*]
    };
}

const NUMBER: Kind = Kind::Number;
const FLAG: Kind = Kind::Flag;
const TEXT: Kind = Kind::Label(|names| &names.strings);
const NAPI: Kind = Kind::Label(|names| &names.napis);
const NETWORK: Kind = Kind::Label(|names| &names.networks);
const CLASS: Kind = Kind::Label(|names| &names.classes);
const CONTEXT: Kind = Kind::Label(|names| &names.contexts);
const CAUSE: Kind = Kind::Label(|names| &names.causes);
const ORIGIN: Kind = Kind::Label(|names| &names.origins);

/// A NET_RX that polled nothing but steered packets to another CPU. If an interrupt raised it and it polled nothing,
/// its packets had been polled already.
fn is_dispatch(row: &SoftirqRow) -> bool {
    let origin = ORIGINS.get(usize::from(row.origin)).copied().unwrap_or_default();
    row.vec == i32::from(NET_RX) && row.polls == 0 && matches!(origin, "task" | "softirq" | "mixed")
}

fn key(labels: &Labels, code: u32) -> Option<i64> {
    Some(i64::from(labels.key(code))).filter(|&key| key >= 0)
}

pub const POLLS: &[Field<PollRow>] = fields! { PollRow:
    "cpu" NUMBER => |_, cpu, _| Some(cpu.into()),
    "start_ns" NUMBER => |_, _, row| known(row.start_ns),
    "end_ns" NUMBER => |_, _, row| Some(row.end_ns),
    "self_ns" NUMBER => |_, _, row| known(row.self_ns),
    "work" NUMBER => |_, _, row| row.work.map(i64::from),
    "budget" NUMBER => |_, _, row| row.budget.map(i64::from),
    "is_timed" FLAG => |_, _, row| Some(known(row.self_ns).is_some().into()),
    "in_softirq" FLAG => |_, _, row| Some(row.softirq.is_some().into()),
    "napi" NAPI => |names, _, row| key(&names.napis, names.known(row.thief).napi),
    "device" TEXT => |names, _, row| key(&names.strings, names.known(row.thief).device),
    "tid" NUMBER => |names, _, row| names.victim(row.victim).map(|of| of.0.into()),
    "comm" TEXT => |names, _, row| names.victim(row.victim).and_then(|of| key(&names.strings, of.1)),
    "cost_class" CLASS => |names, _, row| key(&names.classes, row.class.code()),
};

pub const SOFTIRQS: &[Field<SoftirqRow>] = fields! { SoftirqRow:
    "cpu" NUMBER => |_, cpu, _| Some(cpu.into()),
    "raise_ns" NUMBER => |_, _, row| known(row.raise_ns),
    "entry_ns" NUMBER => |_, _, row| known(row.entry_ns),
    "exit_ns" NUMBER => |_, _, row| known(row.exit_ns),
    "delay_ns" NUMBER => |_, _, row| Some((known(row.entry_ns)? - known(row.raise_ns)?).max(0)),
    "is_clamped" FLAG => |_, _, row| Some((known(row.raise_ns).is_some() && row.entry_ns <= row.raise_ns).into()),
    "self_ns" NUMBER => |_, _, row| Some(row.self_ns),
    "length_ns" NUMBER => |_, _, row| Some(known(row.exit_ns)? - known(row.entry_ns)?),
    "polled_ns" NUMBER => |_, _, row| Some(row.beside.last_poll_ns? - known(row.entry_ns)?),
    "full_polls" NUMBER => |_, _, row| Some(row.beside.full_polls),
    "outside_polls_ns" NUMBER => |_, _, row| Some(row.self_ns - row.poll_ns),
    "polls" NUMBER => |_, _, row| Some(row.polls.into()),
    "is_dispatch" FLAG => |_, _, row| Some(is_dispatch(row).into()),
    "packets" NUMBER => |_, _, row| Some(row.packets.into()),
    "action" TEXT => |names, _, row| key(&names.strings, names.action(row.vec.narrow())),
    "origin" ORIGIN => |names, _, row| key(&names.origins, row.origin.into()),
    "in_kthread" FLAG => |_, _, row| Some(row.in_kthread.into()),
    "tid" NUMBER => |names, _, row| names.victim(row.victim).map(|of| of.0.into()),
    "comm" TEXT => |names, _, row| names.victim(row.victim).and_then(|of| key(&names.strings, of.1)),
    "cost_class" CLASS => |names, _, row| key(&names.classes, row.class.code()),
};

pub const HARDIRQS: &[Field<HardirqRow>] = fields! { HardirqRow:
    "cpu" NUMBER => |_, cpu, _| Some(cpu.into()),
    "entry_ns" NUMBER => |_, _, row| row.entry_ns,
    "exit_ns" NUMBER => |_, _, row| row.exit_ns,
    "self_ns" NUMBER => |_, _, row| Some(row.self_ns),
    "gap_ns" NUMBER => |_, _, row| row.beside.gap_ns,
    "irq" NUMBER => |names, _, row| {
        let thief = names.thief(row.thief);
        thief.id.filter(|_| thief.context == Context::Hardirq)
    },
    "name" TEXT => |names, _, row| key(&names.strings, names.known(row.thief).name),
    "context" CONTEXT => |names, _, row| key(&names.contexts, names.known(row.thief).context),
    "device" TEXT => |names, _, row| key(&names.strings, names.known(row.thief).device),
    "tid" NUMBER => |names, _, row| names.victim(row.victim).map(|of| of.0.into()),
    "comm" TEXT => |names, _, row| names.victim(row.victim).and_then(|of| key(&names.strings, of.1)),
};

pub const SLICES: &[Field<SliceRow>] = fields! { SliceRow:
    "cpu" NUMBER => |_, cpu, _| Some(cpu.into()),
    "in_ns" NUMBER => |_, _, row| Some(row.in_ns),
    "out_ns" NUMBER => |_, _, row| Some(row.out_ns),
    "task_ns" NUMBER => |_, _, row| Some(row.task_ns),
    "hardirq_ns" NUMBER => |_, _, row| Some(row.hardirq_ns),
    "softirq_ns" NUMBER => |_, _, row| Some(row.softirq_ns),
    "poll_ns" NUMBER => |_, _, row| Some(row.poll_ns),
    "unknown_ns" NUMBER => |_, _, row| Some(row.unknown_ns),
    "wake_ns" NUMBER => |_, _, row| row.wake_ns,
    "wait_ns" NUMBER => |_, _, row| row.wait_ns,
    "prev_state" NUMBER => |_, _, row| row.prev_state,
    "begun_ns" NUMBER => |_, _, row| Some(row.in_ns - row.wait_ns.unwrap_or(0)),
    "is_woken" FLAG => |_, _, row| Some(row.wake_ns.is_some().into()),
    "is_waited" FLAG => |_, _, row| Some(row.wait_ns.is_some().into()),
    "waited_ns" NUMBER => |_, _, row| row.beside.waited_ns,
    "asleep_ns" NUMBER => |_, _, row| row.beside.asleep_ns,
    "left_state" NUMBER => |_, _, row| row.beside.left_state,
    "tid" NUMBER => |names, _, row| names.victim(row.victim).map(|of| of.0.into()),
    "comm" TEXT => |names, _, row| names.victim(row.victim).and_then(|of| key(&names.strings, of.1)),
};

pub const SEGMENTS: &[Field<Packed>] = fields! { Packed:
    "cpu" NUMBER => |_, cpu, _| Some(cpu.into()),
    "start_ns" NUMBER => |_, _, row| Some(row.start),
    "end_ns" NUMBER => |_, _, row| Some(row.beside.end_ns),
    "ns" NUMBER => |_, _, row| Some(row.beside.end_ns - row.start),
    "context" CONTEXT => |names, _, row| key(&names.contexts, names.known(row.thief()).context),
    "id" NUMBER => |names, _, row| names.known(row.thief()).id,
    "name" TEXT => |names, _, row| key(&names.strings, names.known(row.thief()).name),
    "device" TEXT => |names, _, row| key(&names.strings, names.known(row.thief()).device),
    "tid" NUMBER => |names, _, row| names.victim(row.victim).map(|of| of.0.into()),
    "comm" TEXT => |names, _, row| names.victim(row.victim).and_then(|of| key(&names.strings, of.1)),
    "cost_class" CLASS => |names, _, row| key(&names.classes, row.class().code()),
    "is_network" NETWORK => |names, _, row| key(&names.networks, names.known(row.thief()).network),
};

pub const MIGRATIONS: &[Field<Migrated>] = fields! { Migrated:
    "time_ns" NUMBER => |_, _, one| Some(one.row.time_ns),
    "tid" NUMBER => |_, _, one| Some(one.row.tid.into()),
    "comm" TEXT => |names, _, one| names.victim(one.row.victim).and_then(|of| key(&names.strings, of.1)),
    "cause" CAUSE => |names, _, one| key(&names.causes, one.row.cause as u32),
    "orig_cpu" NUMBER => |_, _, one| Some(one.row.orig_cpu.into()),
    "dest_cpu" NUMBER => |_, _, one| Some(one.row.dest_cpu.into()),
};
