//! A tracepoint's payload: the fields whose meaning is known keep it, names are replaced, and every other
//! byte is zero.

use super::names::Names;
use crate::bytes::{until_nul, Order};
use crate::error::Result;
use crate::format::{self, Element, Field, Format};
use crate::kinds::fields::{of_field, Shape};
use crate::kinds::Kind;
use crate::narrow::Narrow;

/// What each field of an event holds.
pub struct Plan {
    event: String,
    fields: Vec<(Field, Kind)>,
}

impl Plan {
    pub fn of(format: &Format) -> Plan {
        use format::Kind::{Array, Bool, DataLoc, Int, RelLoc, Tail};
        let event = format.full_name();
        let kind = |field: &Field| {
            let shape = match field.kind {
                Bool | Int { .. } => Shape::Int,
                Array(element) | Tail(element) | DataLoc(element) | RelLoc(element) => match element {
                    Element::Char => Shape::Text,
                    Element::Int { size: 1, .. } | Element::Bytes => Shape::Bytes,
                    Element::Int { .. } => Shape::Int,
                },
            };
            of_field(&event, &field.name, shape, field.size)
        };
        let fields = format.fields.iter().map(|field| (field.clone(), kind(field))).collect();
        Plan { event, fields }
    }

    /// Masks one payload.
    pub fn apply(&self, order: Order, payload: &mut [u8], names: &mut Names<'_>) -> Result<()> {
        let original = payload.to_vec();
        payload.fill(0);
        for (field, kind) in &self.fields {
            let (at, size) = match field.kind {
                format::Kind::DataLoc(_) | format::Kind::RelLoc(_) => {
                    let Some(word) = order.u32(&original, field.offset) else { continue };
                    let (at, size) = field.pointed(word);
                    if at.checked_add(size).is_none_or(|end| end > original.len()) {
                        continue;
                    }
                    copy(&original, payload, field.offset, 4);
                    (at, size)
                }
                format::Kind::Tail(_) => (field.offset, original.len().saturating_sub(field.offset)),
                _ => (field.offset, field.size),
            };
            if *kind == Kind::Zero {
                let hidden = original.get(at..at + size).is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
                if hidden {
                    names.tell(&format!("field {}.{} zeroed", self.event, field.name), 1);
                }
                continue;
            }
            copy(&original, payload, at, size);
            let Some(place) = payload.get_mut(at..at + size) else { continue };
            names.hide(*kind, place, order)?;
            if field.is_pointer() && matches!(kind, Kind::Task | Kind::Path | Kind::Host) {
                shorten(order, payload, field, at, size);
            }
        }
        Ok(())
    }
}

fn copy(from: &[u8], to: &mut [u8], at: usize, size: usize) {
    if let Some((from, to)) = from.get(at..at + size).zip(to.get_mut(at..at + size)) {
        to.copy_from_slice(from);
    }
}

/// Lets the word that says where a text lies say how long it is now, its NUL included.
fn shorten(order: Order, payload: &mut [u8], field: &Field, at: usize, size: usize) {
    let text = until_nul(&payload[at..at + size]).len();
    let length = (text + 1).min(size);
    let Some(word) = order.u32(payload, field.offset) else { return };
    let word = (word & 0xffff) | length.narrow::<u32>() << 16;
    payload[field.offset..field.offset + 4].copy_from_slice(&order.u32_bytes(word));
}
