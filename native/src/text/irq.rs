//! The texts of interrupts, softirqs and polls.

use memchr::memmem;

use super::known::{Known, Role, Type, OPTIONAL};
use super::row::{Row, FIELDS_AT};
use super::scan::Rest;
use crate::ledger::softirq::names;

/// irq:softirq_raise, _entry, _exit: `vec=3 [action=NET_RX]`.
pub const SOFTIRQ: Known =
    Known { system: "irq", role: Role::Softirq, fields: &[("vec", FIELDS_AT, Type::UnsignedInt, 0)], read: softirq };
/// irq:irq_handler_entry: `irq=152 name=mlx5_comp2`.
pub const HANDLER_ENTRY: Known = Known {
    system: "irq",
    role: Role::Plain,
    fields: &[("irq", FIELDS_AT, Type::Int, 0), ("name", FIELDS_AT + 4, Type::Text, 0)],
    read: handler_entry,
};
/// irq:irq_handler_exit: `irq=152 ret=handled`.
pub const HANDLER_EXIT: Known = Known {
    system: "irq",
    role: Role::Plain,
    fields: &[("irq", FIELDS_AT, Type::Int, 0), ("ret", FIELDS_AT + 4, Type::Int, 0)],
    read: handler_exit,
};
/// irq_vectors:*: `vector=236`.
pub const VECTOR: Known =
    Known { system: "irq_vectors", role: Role::Plain, fields: &[("vector", FIELDS_AT, Type::Int, 0)], read: vector };
/// napi:napi_poll: `napi poll on napi struct 0xffff9d3d53863e88 for device eth0 work 64 budget 64`, and
/// before Linux commit 1db19db7f5ff without the last two.
pub const NAPI_POLL: Known = Known {
    system: "napi",
    role: Role::Plain,
    fields: &[
        ("napi", NAPI, Type::Pointer, 0),
        ("dev_name", DEV_NAME, Type::Text, 0),
        ("work", WORK, Type::Int, OPTIONAL),
        ("budget", BUDGET, Type::Int, OPTIONAL),
    ],
    read: napi_poll,
};

const NAPI: usize = FIELDS_AT;
const DEV_NAME: usize = FIELDS_AT + 8;
const WORK: usize = FIELDS_AT + 12;
const BUDGET: usize = FIELDS_AT + 16;

fn softirq(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    // Older kernels print "softirq=3 action=NET_RX".
    if !rest.eat(b"vec=") && !rest.eat(b"softirq=") {
        return None;
    }
    let mut row = Row::new(FIELDS_AT + 4);
    row.int(FIELDS_AT, rest.int()?);
    let contradicts = |(vec, name): (i32, &[u8])| vector_of(name).is_some_and(|known| known != i64::from(vec));
    (!action(text).is_some_and(contradicts)).then_some(row)
}

/// The vector that has this name in every kernel.
fn vector_of(name: &[u8]) -> Option<i64> {
    names().find(|(_, known)| known.as_bytes() == name).map(|(vec, _)| vec)
}

/// Vector and name of a softirq event's text.
pub fn action(text: &[u8]) -> Option<(i32, &[u8])> {
    let mut rest = Rest(text);
    rest.seek(b"=")?;
    let vec = rest.int()?;
    rest.seek(b"action=")?;
    let name = rest.word();
    Some((vec, name.strip_suffix(b"]").unwrap_or(name)))
}

fn handler_entry(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    rest.eat(b"irq=").then_some(())?;
    let irq = rest.int()?;
    rest.eat(b" name=").then_some(())?;
    // Some vendors' kernels add the handler's name.
    let end = memmem::rfind(rest.0, b" handler=").unwrap_or(rest.0.len());
    let mut row = Row::new(FIELDS_AT + 8);
    row.int(FIELDS_AT, irq);
    row.text(FIELDS_AT + 4, &rest.0[..end]);
    Some(row)
}

/// `handled` stands for IRQ_HANDLED and for IRQ_WAKE_THREAD: the text does not tell them apart.
fn handler_exit(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    rest.eat(b"irq=").then_some(())?;
    let irq = rest.int()?;
    rest.eat(b" ret=").then_some(())?;
    let ret = match rest.0 {
        b"handled" => 1,
        b"unhandled" => 0,
        _ => rest.int()?,
    };
    let mut row = Row::new(FIELDS_AT + 8);
    row.int(FIELDS_AT, irq);
    row.int(FIELDS_AT + 4, ret);
    Some(row)
}

fn vector(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    rest.eat(b"vector=").then_some(())?;
    let mut row = Row::new(FIELDS_AT + 4);
    row.int(FIELDS_AT, rest.int()?);
    Some(row)
}

fn napi_poll(text: &[u8]) -> Option<Row<'_>> {
    let mut rest = Rest(text);
    let keys: [&[u8]; 3] = if rest.eat(b"napi poll on napi struct ") {
        [b" for device ", b" work ", b" budget "]
    } else if rest.eat(b"napi=") {
        [b" dev_name=", b" work=", b" budget="]
    } else {
        return None;
    };
    // Early after boot, %p has no hash to print: "(____ptrval____)".
    let napi = if rest.0.starts_with(b"(") || rest.0.starts_with(b"_") { 0 } else { rest.hex()? };
    rest.seek(keys[0])?;
    let mut row = Row::new(BUDGET + 4);
    row.long(NAPI, napi as i64);
    // A device's name holds no space: "(no_device)" neither.
    row.text(DEV_NAME, rest.word());
    if rest.eat(keys[1]) {
        row.int(WORK, rest.int()?);
        rest.eat(keys[2]).then_some(())?;
        row.int(BUDGET, rest.int()?);
        row.found = OPTIONAL;
    }
    Some(row)
}
