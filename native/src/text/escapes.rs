//! Bytes that stand for others: a mail's quoted-printable, a page's HTML entities, a terminal's colours.

use crate::narrow::Narrow;
use memchr::memmem;

/// Bytes of an escape: what is longer is none.
const LONGEST_ESCAPE: usize = 32;

/// Turns bytes into others, piece by piece.
pub trait Rewriter {
    fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// Nothing follows.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// A way to write bytes as others: how a text that is written so is known, what each escape begins with, how it is
/// read, and what is said of it.
pub struct Way {
    pub is_used: fn(&[u8]) -> bool,
    lead: u8,
    read: fn(&[u8]) -> Escape,
    pub note: &'static str,
}

pub const WAYS: [Way; 3] = [
    Way {
        is_used: is_quoted_printable,
        lead: b'=',
        read: quoted_printable,
        note: "the text is in quoted-printable, as in mails: it was decoded",
    },
    Way { is_used: has_entities, lead: b'&', read: entity, note: "the text has HTML entities: they were decoded" },
    Way {
        is_used: |start| memmem::find(start, b"\x1b[").is_some(),
        lead: 0x1b,
        read: colour,
        note: "the text has a terminal's colours: they were removed",
    },
];

/// What an escape is, as far as it has been read.
#[derive(Debug, PartialEq, Eq)]
pub enum Escape {
    NotYet,
    IsNone,
    Nothing,
    Byte(u8),
}

/// Whether every `=` begins two hexadecimal digits or ends its line, and one stands for itself.
fn is_quoted_printable(start: &[u8]) -> bool {
    let mut escapes = memchr::memchr_iter(b'=', start).filter_map(|at| start.get(at..at + 3));
    let is_one = |escape: &[u8]| escape[1] == b'\n' || quoted_printable(escape) != Escape::IsNone;
    memmem::find(start, b"=3D").is_some() && escapes.all(is_one)
}

fn quoted_printable(escape: &[u8]) -> Escape {
    let digit = |byte: u8| (byte as char).to_digit(16);
    match *escape {
        [_] | [_, b'\r'] => Escape::NotYet,
        [_, b'\n'] | [_, b'\r', b'\n'] => Escape::Nothing,
        [_, first] if digit(first).is_some() => Escape::NotYet,
        [_, first, second] => match (digit(first), digit(second)) {
            (Some(first), Some(second)) => Escape::Byte((first * 16 + second).narrow()),
            _ => Escape::IsNone,
        },
        _ => Escape::IsNone,
    }
}

/// Whether arrows and angle brackets are there as entities alone.
fn has_entities(start: &[u8]) -> bool {
    let has = |text: &[u8]| memmem::find(start, text).is_some();
    (has(b"&lt;") || has(b"&gt;")) && !has(b"<idle>") && !has(b"==>")
}

fn entity(escape: &[u8]) -> Escape {
    const ENTITIES: [(&[u8], u8); 6] =
        [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&#39;", b'\''), (b"&nbsp;", b' ')];
    match ENTITIES.iter().find(|(name, _)| name.starts_with(escape)) {
        Some(&(name, byte)) if name == escape => Escape::Byte(byte),
        Some(_) => Escape::NotYet,
        None => Escape::IsNone,
    }
}

/// `ESC [ parameters letter`.
fn colour(escape: &[u8]) -> Escape {
    match escape {
        [_] | [_, b'['] | [_, b'[', .., b' '..=b'?'] => Escape::NotYet,
        [_, b'[', .., b'@'..=b'~'] => Escape::Nothing,
        _ => Escape::IsNone,
    }
}

/// `held`: the beginning of an escape.
pub struct Escapes<'w> {
    way: &'w Way,
    held: Vec<u8>,
}

impl<'w> Escapes<'w> {
    /// None begun.
    pub fn of(way: &'w Way) -> Escapes<'w> {
        Escapes { way, held: Vec::new() }
    }
}

impl Rewriter for Escapes<'_> {
    fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if self.held.is_empty() && byte != self.way.lead {
                out.push(byte);
                continue;
            }
            self.held.push(byte);
            match (self.way.read)(&self.held) {
                Escape::NotYet if self.held.len() < LONGEST_ESCAPE => continue,
                Escape::Nothing => self.held.clear(),
                Escape::Byte(byte) => {
                    self.held.clear();
                    out.push(byte);
                }
                Escape::NotYet | Escape::IsNone => {
                    self.held.pop();
                    self.end(out);
                    if byte == self.way.lead {
                        self.held.push(byte);
                    } else {
                        out.push(byte);
                    }
                }
            }
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_pieces_of_any_size() {
        for (at, text, plain) in [
            (0, "vec=3D1 =\nx=3D=C3=A4=\r\n=zz==3D=", "vec=1 x=\u{e4}=zz===".to_owned()),
            (
                1,
                "&lt;idle&gt;-0 a =&gt; b &amp;amp; &x &&quot;&nbsp;&lt",
                "<idle>-0 a => b &amp; &x &\" &lt".to_owned(),
            ),
            (2, "\u{1b}[1;31msh-8\u{1b}[0m \u{1b}x \u{1b}[", "sh-8 \u{1b}x \u{1b}[".to_owned()),
        ] {
            for size in 1..text.len() {
                let (mut rewriter, mut out) = (Escapes::of(&WAYS[at]), Vec::new());
                text.as_bytes().chunks(size).for_each(|piece| rewriter.piece(piece, &mut out));
                rewriter.end(&mut out);
                assert_eq!(String::from_utf8(out).expect("text"), plain, "{size}");
            }
        }
        assert!(is_quoted_printable(b"vec=3D1 [action=3DTIMER]=\nx="));
        assert!(!is_quoted_printable(b"vec=3D1 comm=sh"));
        assert!(!is_quoted_printable(b"irq=12 "));
        assert!(has_entities(b"&lt;idle&gt;-0") && !has_entities(b"<idle>-0 &gt;"));
    }
}
