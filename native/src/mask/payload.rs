//! A tracepoint's payload: the fields whose meaning is known keep it, names are replaced, and every other
//! byte is zero.

use super::meaning::{Changes, Meaning};
use super::names::Names;
use crate::bytes::{until_nul, Order};
use crate::error::{bad, Result};
use crate::format::{Element, Field, Format, Kind};

/// What to do with each field of an event.
pub struct Plan {
    event: String,
    fields: Vec<(Field, Action)>,
}

/// What to do with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Keep,
    Zero,
    /// A name of this kind.
    Text(&'static str),
    /// Addresses of this kind and so many bytes, one after the other.
    Address(&'static str, usize),
    /// The kernel's `struct sockaddr_in` or `sockaddr_in6`.
    Socket,
}

impl Action {
    fn of(answer: &str) -> Result<Action> {
        Ok(match answer {
            "keep" => Action::Keep,
            "zero" => Action::Zero,
            "task" => Action::Text("task"),
            "path" => Action::Text("path"),
            "host" => Action::Text("host"),
            "words" => Action::Text("words"),
            "ipv4" => Action::Address("ipv4", 4),
            "ipv6" => Action::Address("ipv6", 16),
            "mac" => Action::Address("mac", 6),
            "sockaddr" => Action::Socket,
            _ => return Err(bad!("no way to mask a field as '{answer}'")),
        })
    }
}

impl Plan {
    /// Asks what each field means.
    pub fn of(format: &Format, meaning: &mut dyn Meaning) -> Result<Plan> {
        let event = format.full_name();
        let mut fields = Vec::new();
        for field in &format.fields {
            let (shape, size) = match field.kind {
                Kind::Bool | Kind::Int { .. } => ("int", field.size),
                Kind::Array(element) | Kind::Tail(element) | Kind::DataLoc(element) | Kind::RelLoc(element) => {
                    match element {
                        Element::Char => ("text", field.size),
                        Element::Int { size: 1, .. } | Element::Bytes => ("bytes", field.size),
                        Element::Int { .. } => ("int", field.size),
                    }
                }
            };
            let action = Action::of(&meaning.field(&event, &field.name, shape, size)?)?;
            fields.push((field.clone(), action));
        }
        Ok(Plan { event, fields })
    }

    /// Masks one payload.
    pub fn apply(&self, order: Order, payload: &mut [u8], names: &mut Names<'_>, changes: &mut Changes) -> Result<()> {
        let original = payload.to_vec();
        payload.fill(0);
        for (field, action) in &self.fields {
            let (at, size) = match field.kind {
                Kind::DataLoc(_) | Kind::RelLoc(_) => {
                    let Some(word) = order.u32(&original, field.offset) else { continue };
                    let (at, size) = field.pointed(word);
                    if at.checked_add(size).is_none_or(|end| end > original.len()) {
                        continue;
                    }
                    copy(&original, payload, field.offset, 4);
                    (at, size)
                }
                Kind::Tail(_) => (field.offset, original.len().saturating_sub(field.offset)),
                _ => (field.offset, field.size),
            };
            if *action == Action::Zero {
                let hidden = original.get(at..at + size).is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
                if hidden {
                    *changes.entry(format!("field {}.{} zeroed", self.event, field.name)).or_default() += 1;
                }
                continue;
            }
            copy(&original, payload, at, size);
            let Some(place) = payload.get_mut(at..at + size) else { continue };
            match *action {
                Action::Keep | Action::Zero => {}
                Action::Text(kind) => {
                    names.text(kind, place)?;
                    if field.is_pointer() {
                        shorten(order, payload, field, at, size);
                    }
                }
                Action::Address(kind, each) => address(names, kind, each, place)?,
                Action::Socket => socket(names, order, place)?,
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
    let word = (word & 0xffff) | (length as u32) << 16;
    payload[field.offset..field.offset + 4].copy_from_slice(&order.u32_bytes(word));
}

/// One address at the start of the place; hardware addresses may have room for longer ones behind.
fn address(names: &mut Names<'_>, kind: &'static str, each: usize, place: &mut [u8]) -> Result<()> {
    if place.len() < each {
        place.fill(0);
        return Ok(());
    }
    let (first, rest) = place.split_at_mut(each);
    rest.fill(0);
    if first.iter().any(|&byte| byte != 0) {
        names.address(kind, first)?;
    }
    Ok(())
}

fn socket(names: &mut Names<'_>, order: Order, place: &mut [u8]) -> Result<()> {
    const INET: u16 = 2;
    const INET6: u16 = 10;
    match (order.u16(place, 0), place.len()) {
        (Some(INET), 8..) => {
            names.address("ipv4", &mut place[4..8])?;
            place[8..].fill(0);
        }
        (Some(INET6), 24..) => {
            names.address("ipv6", &mut place[8..24])?;
            place[24..].fill(0);
        }
        _ => place.fill(0),
    }
    Ok(())
}
