//! One line of a call chain: `ffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])`, of which `perf
//! script` prints what its `-F` says.

use memchr::{memmem, memrchr};

/// A place in a program. What the line does not say is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// As printed: in chains, perf counts what is no kernel's from the beginning of its file.
    pub address: u64,
    /// The function, without the distance from its start.
    pub symbol: &'a [u8],
    /// The file that it is in: a path, `[kernel.kallsyms]`, or `inlined`.
    pub dso: &'a [u8],
}

impl<'a> Frame<'a> {
    /// `None` for what is no such place.
    pub fn parse(line: &'a [u8]) -> Option<Frame<'a>> {
        let line = line.trim_ascii();
        let size = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
        let (address, mut rest) = line.split_at(size);
        let is_hex = (1..=16).contains(&size) && address.iter().all(u8::is_ascii_hexdigit);
        let address = u64::from_str_radix(std::str::from_utf8(address).ok().filter(|_| is_hex)?, 16).ok()?;
        let mut dso: &[u8] = &[];
        if let Some(open) = last_bracket(rest).filter(|&open| rest[..open].ends_with(b" ")) {
            dso = &rest[open + 1..rest.len() - 1];
            rest = &rest[..open];
        }
        let symbol = without_distance(rest.trim_ascii());
        let known = |name: &'a [u8]| if name == b"[unknown]" { &[][..] } else { name };
        Some(Frame { address, symbol: known(symbol), dso: known(dso) })
    }
}

/// Where the bracket opens that the last byte closes: paths have brackets too.
fn last_bracket(text: &[u8]) -> Option<usize> {
    let mut depth = 0;
    text.ends_with(b")").then_some(())?;
    text.iter().rposition(|&byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn without_distance(symbol: &[u8]) -> &[u8] {
    let at = memmem::rfind(symbol, b"+0x").unwrap_or(symbol.len());
    match symbol.get(at + 3..) {
        Some(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) => &symbol[..at],
        _ => symbol,
    }
}

/// Whether a line is the place in a source file, or in a program without such, that `-F +srcline` puts
/// below a frame: `  call.c:847`, `  [kernel.kallsyms][ffffffff821ed511]`.
pub fn is_source_line(line: &[u8]) -> bool {
    let Some(place) = line.strip_prefix(b"  ").filter(|place| !place.starts_with(b" ")) else { return false };
    let numbered = |mark: u8, place: &[u8]| {
        memrchr(mark, place).is_some_and(|at| {
            let number = &place[at + 1..];
            at > 0 && !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit)
        })
    };
    numbered(b':', place) || place.strip_suffix(b"]").is_some_and(|place| numbered(b'[', place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_spelling() {
        let parsed = |line: &'static str| {
            let frame = Frame::parse(line.as_bytes())?;
            Some((frame.address, std::str::from_utf8(frame.symbol).ok()?, std::str::from_utf8(frame.dso).ok()?))
        };
        let schedule = Some((0xffff_ffff_821f_8b58, "__schedule", "[kernel.kallsyms]"));
        assert_eq!(parsed("\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])"), schedule);
        assert_eq!(
            parsed("\t  ee137 a@@GLIBC_2.3.4+0x7 (/lib/libc.so.6)"),
            Some((0xee137, "a@@GLIBC_2.3.4", "/lib/libc.so.6"))
        );
        assert_eq!(parsed("\t  0 [unknown] ([unknown])"), Some((0, "", "")));
        assert_eq!(parsed("\t  12 main"), Some((0x12, "main", "")));
        assert_eq!(parsed("\t  12"), Some((0x12, "", "")));
        assert_eq!(parsed("\t  12 f (inlined)"), Some((0x12, "f", "inlined")));
        assert_eq!(
            parsed("\t 1 std::at(int) const+0x6 (/a b (deleted))"),
            Some((1, "std::at(int) const", "/a b (deleted)"))
        );
        assert_eq!(parsed("\t 1 std::at(int)"), Some((1, "std::at(int)", "")));
        assert_eq!(parsed("\t 1 a+0xq (b)"), Some((1, "a+0xq", "b")));
        for other in ["", "\t", "\tmain", "\t12345678901234567 x", "\tvec=3 (x)"] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert_eq!(parsed("\t 1 )) ("), Some((1, ")) (", "")));
    }

    #[test]
    fn places_in_source_files() {
        for line in ["  call.c:847", "  [kernel.kallsyms][ffffffff821ed511]", "  a b.c:1"] {
            assert!(is_source_line(line.as_bytes()), "{line}");
        }
        for line in ["call.c:847", "   call.c:847", "  call.c:", "  :1", "  a]", "", "  x"] {
            assert!(!is_source_line(line.as_bytes()), "{line}");
        }
    }
}
