//! Protocol buffers, as far as a writer needs them: tagged numbers, and bytes of a stated length.
use crate::narrow::Narrow;

/// A number, seven bits a byte, the lowest first.
#[inline(always)]
pub fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push((value & 0x7f) as u8);
}

#[inline(always)]
fn tag(to: &mut Vec<u8>, field: u32, wire: u32) {
    varint(to, u64::from(field << 3 | wire));
}

/// A field that is a number, a boolean or of an enumeration; a negative one as its two's complement.
#[inline(always)]
pub fn number(to: &mut Vec<u8>, field: u32, value: u64) {
    tag(to, field, 0);
    varint(to, value);
}

/// A field that is a double.
pub fn double(to: &mut Vec<u8>, field: u32, value: f64) {
    tag(to, field, 1);
    to.extend_from_slice(&value.to_le_bytes());
}

/// A field of bytes, or of text in UTF-8.
#[inline(always)]
pub fn bytes(to: &mut Vec<u8>, field: u32, value: &[u8]) {
    tag(to, field, 2);
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

/// A field of text, whatever bytes it came as.
#[inline(always)]
pub fn text(to: &mut Vec<u8>, field: u32, value: &[u8]) {
    bytes(to, field, String::from_utf8_lossy(value).as_bytes());
}

/// A field that is a message, which `fill` writes.
#[inline(always)]
pub fn message(to: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    tag(to, field, 2);
    let at = to.len();
    // Most are short: one byte is left for the length, and more is made room for.
    to.push(0);
    fill(to);
    let size = to.len() - at - 1;
    if size <= 0x7f {
        to[at] = size.narrow();
    } else {
        let mut length = Vec::with_capacity(5);
        varint(&mut length, size as u64);
        to.splice(at..=at, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_their_length_however_long_they_are() {
        for size in [0, 1, 127, 128, 300, 20_000] {
            let mut written = Vec::new();
            message(&mut written, 2, |to| to.resize(to.len() + size, 7));
            let mut expected = vec![2 << 3 | 2];
            varint(&mut expected, size as u64);
            expected.resize(expected.len() + size, 7);
            assert_eq!(written, expected, "{size}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_specification() {
        let mut written = Vec::new();
        number(&mut written, 1, 150);
        number(&mut written, 2, -1i64 as u64);
        text(&mut written, 2, b"testing");
        let negative = [0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let expected = [&[0x08, 0x96, 0x01][..], &negative, &[0x12, 0x07], b"testing"].concat();
        assert_eq!(written, expected);
    }
}
