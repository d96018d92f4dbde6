//! Pieces of a line: what is left of it moves on as they are read.

use memchr::memmem;

/// Bytes of a task name in a payload (`TASK_COMM_LEN`), its NUL included.
pub const COMM: usize = 16;

/// The rest of a line, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    /// Passes over `key` if it is next.
    #[inline(always)]
    pub fn eat(&mut self, key: &[u8]) -> bool {
        match self.0.strip_prefix(key) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Passes over what comes before `key`, and over it. Vendors' kernels put fields in between.
    #[inline(always)]
    pub fn seek(&mut self, key: &[u8]) -> Option<()> {
        if self.eat(key) {
            return Some(());
        }
        let at = memmem::find(self.0, key)?;
        self.0 = &self.0[at + key.len()..];
        Some(())
    }

    /// A whole number: decimal, or hexadecimal behind `0x`. No letter or digit follows it.
    #[inline(always)]
    pub fn number(&mut self) -> Option<i64> {
        if self.0.starts_with(b"0x") {
            return self.hex().map(|value| value as i64);
        }
        let negative = self.eat(b"-");
        let (value, digits) = digits(self.0);
        if digits == 0 || digits > 18 {
            return None;
        }
        self.0 = whole(&self.0[digits..])?;
        Some(if negative { -(value as i64) } else { value as i64 })
    }

    /// The same, of 32 bits.
    #[inline(always)]
    pub fn int(&mut self) -> Option<i32> {
        self.number().and_then(|value| i32::try_from(value).ok())
    }

    /// The same of hexadecimal digits, with or without `0x`.
    pub fn hex(&mut self) -> Option<u64> {
        self.eat(b"0x");
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&self.0[..digits]).ok()?;
        self.0 = whole(&self.0[digits..])?;
        u64::from_str_radix(text, 16).ok()
    }

    /// Everything up to the next space.
    #[inline(always)]
    pub fn word(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == b' ').unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    /// A task name, which may hold anything, up to the `key` behind it. A name being shorter than
    /// `COMM`, the last key that near is the one: earlier ones are the name's own.
    #[inline(always)]
    pub fn comm(&mut self, key: &[u8]) -> Option<&'a [u8]> {
        let near = (0..COMM.min(self.0.len())).rev();
        let mut found = near.filter(|&at| self.0[at] == key[0]).find(|&at| self.0[at..].starts_with(key));
        if found.is_none() {
            found = memmem::find(self.0, key);
        }
        let (comm, rest) = self.0.split_at(found?);
        self.0 = &rest[key.len()..];
        Some(comm)
    }
}

/// What follows a number, if that is over.
#[inline(always)]
fn whole(rest: &[u8]) -> Option<&[u8]> {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    (!rest.first().is_some_and(goes_on)).then_some(rest)
}

/// Value and number of the decimal digits at the start; wrong beyond 19 of them.
#[inline(always)]
pub fn digits(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut count = 0;
    for &byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// Where the decimal digits at the end begin.
#[inline(always)]
pub fn digits_before(bytes: &[u8]) -> usize {
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.len() - digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_spelling() {
        let number = |text: &str| Rest(text.as_bytes()).number();
        assert_eq!(number("120 x"), Some(120));
        assert_eq!(number("000"), Some(0));
        assert_eq!(number("-1"), Some(-1));
        assert_eq!(number("0x1f "), Some(31));
        assert_eq!(number("3]"), Some(3));
        for other in ["x", "3D1", "0x1fg", "1.5", "-", "7_"] {
            assert_eq!(number(other), None, "{other}");
        }
        assert_eq!(number("99999999999999999999"), None);
        assert_eq!(Rest(b"4294967296").int(), None);
        assert_eq!(Rest(b"ffff9d3d53863e88 for").hex(), Some(0xffff_9d3d_5386_3e88));
    }

    #[test]
    fn names_that_hold_what_follows_them() {
        let comm = |text: &'static str| {
            let mut rest = Rest(text.as_bytes());
            rest.comm(b" pid=").map(|comm| (std::str::from_utf8(comm).expect("text"), rest.number()))
        };
        assert_eq!(comm("swapper/0 pid=12 prio=1"), Some(("swapper/0", Some(12))));
        assert_eq!(comm("a pid=3 b pid=12"), Some(("a pid=3 b", Some(12))));
        assert_eq!(comm(" pid=7"), Some(("", Some(7))));
        assert_eq!(comm("kworker/u256:1-events_unbound pid=7"), Some(("kworker/u256:1-events_unbound", Some(7))));
        assert_eq!(comm("none"), None);
    }
}
