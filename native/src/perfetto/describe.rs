//! One event of a recording as Perfetto's `FtraceEvent`, and what describes a generic one.

use std::fmt::Write;

use crate::bytes::{i32_at, slice, until_nul};
use crate::columns::field_bytes;
use crate::narrow::Narrow;
use crate::perfetto::plan::{Plan, Shape};
use crate::perfetto::proto::{message, number, text};

/// `FtraceEventBundle.event`.
const EVENT: u32 = 2;
/// `FtraceEventBundle.generic_event_descriptors`.
const DESCRIPTOR: u32 = 11;

/// Types of fields in `FieldDescriptorProto`.
fn type_of(shape: Shape) -> u64 {
    match shape {
        Shape::Signed => 3,
        Shape::Unsigned => 4,
        Shape::Bool => 8,
        Shape::Text | Shape::List(..) | Shape::Hex => 9,
    }
}

/// Says what the fields of a generic event are: a `DescriptorProto` of them.
pub fn describe(to: &mut Vec<u8>, plan: &Plan, name: &str) {
    message(to, DESCRIPTOR, |to| {
        number(to, 1, u64::from(plan.number));
        message(to, 2, |to| {
            text(to, 1, name.as_bytes());
            for (place, shape, field) in &plan.fields {
                message(to, 2, |to| {
                    text(to, 1, field.name.as_bytes());
                    number(to, 3, u64::from(*place));
                    // Optional.
                    number(to, 4, 1);
                    number(to, 5, type_of(*shape));
                });
            }
        });
        text(to, 3, plan.system.as_bytes());
    });
}

/// An event; false where it is shorter than its format says.
#[inline(always)]
pub fn event(to: &mut Vec<u8>, plan: &Plan, time_ns: i64, payload: &[u8]) -> bool {
    if payload.len() < plan.fixed_size {
        return false;
    }
    let pid = plan.pid_at.and_then(|at| i32_at(payload, at)).unwrap_or(0);
    message(to, EVENT, |to| {
        number(to, 1, time_ns as u64);
        number(to, 2, u64::from(pid as u32));
        message(to, plan.number, |to| fields(to, plan, payload));
    });
    true
}

fn fields(to: &mut Vec<u8>, plan: &Plan, payload: &[u8]) {
    // Only damage makes an event's fields point to more bytes than it has.
    let mut left = payload.len();
    for (place, shape, field) in &plan.fields {
        let mut bytes = || {
            let bytes = field_bytes(field, payload, (0, payload.len().narrow()));
            let bytes = bytes.get(..left).unwrap_or(bytes);
            left -= bytes.len();
            bytes
        };
        match *shape {
            Shape::Signed => number(to, *place, integer(payload, field.offset, field.size, true)),
            Shape::Unsigned => number(to, *place, integer(payload, field.offset, field.size, false)),
            Shape::Bool => number(to, *place, u64::from(payload.get(field.offset).is_some_and(|&byte| byte != 0))),
            Shape::Text => text(to, *place, until_nul(bytes())),
            Shape::List(size, signed) => text(to, *place, list(bytes(), size, signed).as_bytes()),
            Shape::Hex => text(to, *place, hex(bytes()).as_bytes()),
        }
    }
}

/// An integer, its sign carried through.
#[inline(always)]
fn integer(bytes: &[u8], at: usize, size: usize, signed: bool) -> u64 {
    let mut whole = [0; 8];
    if let (Some(own), Some(to)) = (slice(bytes, at, size), whole.get_mut(..size)) {
        to.copy_from_slice(own);
    }
    let unused = 64 - 8 * size.clamp(1, 8).narrow::<u32>();
    let value = u64::from_le_bytes(whole);
    if signed {
        ((value << unused) as i64 >> unused) as u64
    } else {
        value
    }
}

fn list(bytes: &[u8], size: usize, signed: bool) -> String {
    let mut text = String::new();
    for at in (0..bytes.len() / size.max(1)).map(|place| place * size) {
        let comma = if text.is_empty() { "" } else { "," };
        let value = integer(bytes, at, size, signed);
        let _ = if signed { write!(text, "{comma}{}", value as i64) } else { write!(text, "{comma}{value}") };
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_size_keep_their_sign() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        for size in [1, 2, 4, 8] {
            assert_eq!(integer(&bytes, 0, size, true) as i64, -1);
            assert_eq!(integer(&bytes, 0, size, false), u64::MAX >> (64 - 8 * size as u32));
        }
        assert_eq!(integer(&bytes, 7, 4, true), 0, "past the end");
        assert_eq!(list(&[1, 0, 0xff, 0xff, 9], 2, true), "1,-1");
        assert_eq!(list(&[1, 0, 0xff, 0xff], 2, false), "1,65535");
        assert_eq!(hex(&[0, 0xab]), "00ab");
    }
}
