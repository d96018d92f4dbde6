//! How an event's text is read into typed columns.

use super::row::{Row, FIELDS_AT, FLAGS_AT, PID_AT, PREEMPT_AT};
use crate::format::{Element, Field, Format, Kind};

/// Reads an event's text; `None` where it is not what the kernel or a tool prints for it.
pub type Read = for<'a> fn(&'a [u8]) -> Option<Row<'a>>;

/// How one event is read.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub system: &'static str,
    pub role: Role,
    pub fields: &'static [Place],
    pub read: Read,
}

/// What an event is for, where it says more than its table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Its text is kept as it stands.
    Text,
    /// A softirq event: names the vectors.
    Softirq,
    /// sched_switch: names two tasks.
    Switch,
    /// sched_process_fork.
    Fork,
    /// None of these.
    Plain,
}

/// The bit of `Row::found` of a line that has its event's optional fields. An event has one such set.
pub const OPTIONAL: u8 = 1;

/// A field: name, place, what it is, and `OPTIONAL` or 0.
pub type Place = (&'static str, usize, Type, u8);

/// What a field is in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Int,
    UnsignedInt,
    Long,
    Pointer,
    Bool,
    /// `char[16]`.
    Comm,
    /// `__data_loc char[]`.
    Text,
}

impl Type {
    fn size_and_kind(self) -> (usize, Kind) {
        match self {
            Type::Int => (4, Kind::Int { signed: true }),
            Type::UnsignedInt => (4, Kind::Int { signed: false }),
            Type::Long => (8, Kind::Int { signed: true }),
            Type::Pointer => (8, Kind::Int { signed: false }),
            Type::Bool => (1, Kind::Bool),
            Type::Comm => (16, Kind::Array(Element::Char)),
            Type::Text => (4, Kind::DataLoc(Element::Char)),
        }
    }
}

/// Any other event's text, as it stands.
pub const OTHER: Known =
    Known { system: "", role: Role::Text, fields: &[("text", FIELDS_AT, Type::Text, 0)], read: other };

fn other(text: &[u8]) -> Option<Row<'_>> {
    let mut row = Row::new(FIELDS_AT + 4);
    row.text(FIELDS_AT, text);
    Some(row)
}

/// Which common fields a capture's lines have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Common {
    /// common_flags.
    pub flags: bool,
    /// common_preempt_count.
    pub depth: bool,
    /// common_pid.
    pub pid: bool,
}

impl Known {
    /// The format of such payloads, of the optional fields those that `found` has. The text does not
    /// tell common_type: the format lacks it.
    pub fn format(&self, name: &str, id: u64, found: u8, common: Common, print_fmt: String) -> Format {
        let byte = |name: &str, offset| field(name, offset, 1, Kind::Int { signed: false });
        let mut fields = Vec::new();
        if common.flags {
            fields.push(byte("common_flags", FLAGS_AT));
        }
        if common.depth {
            fields.push(byte("common_preempt_count", PREEMPT_AT));
        }
        if common.pid {
            fields.push(field("common_pid", PID_AT, 4, Kind::Int { signed: true }));
        }
        let there = self.fields.iter().filter(|&&(.., bit)| found & bit == bit);
        fields.extend(there.map(|&(name, at, kind, _)| {
            let (size, kind) = kind.size_and_kind();
            field(name, at, size, kind)
        }));
        let (system, name) = name.split_once(':').unwrap_or(("", name));
        Format { system: system.to_owned(), name: name.to_owned(), id, fields, print_fmt }
    }
}

fn field(name: &str, offset: usize, size: usize, kind: Kind) -> Field {
    Field { name: name.to_owned(), offset, size, kind }
}
