//! Payloads of tracepoints from big-endian machines, converted to little-endian.

use crate::bytes::u32_at;
use crate::format::{Element, Format, Kind};

/// Reverses `width` bytes at `at`, if they are there.
pub fn reverse(bytes: &mut [u8], at: usize, width: usize) {
    if let Some(integer) = at.checked_add(width).and_then(|end| bytes.get_mut(at..end)) {
        integer.reverse();
    }
}

/// Converts every integer of a payload by its recorded format. Without a format, only the event's number can be
/// converted.
pub fn to_little(format: Option<&Format>, payload: &mut [u8]) {
    let Some(format) = format else { return reverse(payload, 0, 2) };
    for field in &format.fields {
        match field.kind {
            Kind::Int { .. } => reverse(payload, field.offset, field.size),
            Kind::Array(element) => swap_elements(element, payload, field.offset, field.size),
            Kind::DataLoc(element) | Kind::RelLoc(element) => {
                reverse(payload, field.offset, 4);
                if let Some((at, size)) = u32_at(payload, field.offset).map(|word| field.pointed(word)) {
                    swap_elements(element, payload, at, size);
                }
            }
            Kind::Tail(element) => {
                swap_elements(element, payload, field.offset, payload.len().saturating_sub(field.offset));
            }
            Kind::Bool => {}
        }
    }
}

fn swap_elements(element: Element, payload: &mut [u8], at: usize, size: usize) {
    let Element::Int { size: width, .. } = element else { return };
    if let Some(elements) = at.checked_add(size).and_then(|end| payload.get_mut(at..end)) {
        elements.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}
