//! Texts in other encodings, as UTF-8 with lines that end as Unix's: UTF-16, which PowerShell's `>` writes, lines
//! that end with CR alone, a mail's quoted-printable, a page's HTML entities, a terminal's colours.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::sync::Arc;

use tempfile::tempfile;

use super::escapes::{Escapes, Rewriter, WAYS};
use crate::error::{bad, Result};
use crate::input::read_up_to;
use crate::progress::Waiting;
use crate::wrapped::From;

const CHUNK: usize = 1 << 18;
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Bytes of a file that tell whether it is a text.
pub const LOOKED_AT: usize = 1 << 16;

/// The file itself, or what it holds in UTF-8 with LF, and a note that says so.
pub fn plain(file: Arc<File>, waiting: Waiting<'_>) -> Result<(Arc<File>, Vec<String>)> {
    let mut notes = Vec::new();
    let mut file = file;
    let start = read_up_to(&file, LOOKED_AT)?;
    if start.starts_with(&[0xff, 0xfe, 0, 0]) || start.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(bad!(Unsupported, "not readable: the text is in UTF-32; convert it: iconv -f UTF-32 -t UTF-8"));
    }
    if let Some(big) = utf16(&start) {
        file = Arc::new(rewritten(&file, waiting, &mut Utf16 { big, odd: None, high: None })?);
        notes.push("the text is in UTF-16, as PowerShell writes it: it was converted to UTF-8".to_owned());
    }
    let start = read_up_to(&file, LOOKED_AT)?;
    if start.contains(&b'\r') && !start.contains(&b'\n') && !start.contains(&0) {
        file = Arc::new(rewritten(&file, waiting, &mut Returns)?);
        notes.push("the text's lines end in CR alone: each CR was read as LF".to_owned());
    }
    for way in WAYS {
        let start = read_up_to(&file, LOOKED_AT)?;
        if !start.contains(&0) && (way.is_used)(&start) {
            file = Arc::new(rewritten(&file, waiting, &mut Escapes::of(&way))?);
            notes.push(way.note.to_owned());
        }
    }
    Ok((file, notes))
}

/// Bytes of the mark that some programs begin a text in UTF-8 with: it is no part of the first line.
pub fn mark(file: &File) -> Result<u64> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let has_mark = read_up_to(file, MARK.len())? == MARK;
    Ok(if has_mark { MARK.len() as u64 } else { 0 })
}

/// Whether bytes are UTF-16, and if so with the larger half of each number first: what they begin with
/// says so, or that every second of them is 0.
fn utf16(start: &[u8]) -> Option<bool> {
    const SURE: usize = 64;
    match start {
        [0xff, 0xfe, ..] => Some(false),
        [0xfe, 0xff, ..] => Some(true),
        _ => {
            let pairs = start.get(..SURE)?.chunks_exact(2);
            let is_all = |zero: usize| pairs.clone().all(|pair| pair[zero] == 0 && pair[1 - zero] != 0);
            [1, 0].into_iter().find(|&zero| is_all(zero)).map(|zero| zero == 0)
        }
    }
}

struct Returns;

impl Rewriter for Returns {
    fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend(bytes.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }));
    }
}

struct Utf16 {
    big: bool,
    /// The first half of a number whose second is in the next piece.
    odd: Option<u8>,
    /// The first half of a letter whose second number is.
    high: Option<u16>,
}

impl Utf16 {
    fn number(&mut self, number: u16, out: &mut Vec<u8>) {
        const MARK: char = '\u{feff}';
        if let Some(high) = self.high.take() {
            match char::decode_utf16([high, number]).next() {
                Some(Ok(letter)) => return push(letter, out),
                _ => push(REPLACEMENT, out),
            }
        }
        match number {
            0xd800..=0xdbff => self.high = Some(number),
            _ => match char::from_u32(number.into()) {
                Some(MARK) => {}
                letter => push(letter.unwrap_or(REPLACEMENT), out),
            },
        }
    }
}

impl Rewriter for Utf16 {
    fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            match (self.odd.take(), self.big) {
                (None, _) => self.odd = Some(byte),
                (Some(first), true) => self.number(u16::from_be_bytes([first, byte]), out),
                (Some(first), false) => self.number(u16::from_le_bytes([first, byte]), out),
            }
        }
    }
}

fn push(letter: char, out: &mut Vec<u8>) {
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

fn rewritten(file: &Arc<File>, waiting: Waiting<'_>, rewriter: &mut dyn Rewriter) -> Result<File> {
    let mut source = From { file: Arc::clone(file), at: 0 };
    let mut out = BufWriter::new(tempfile()?);
    let (mut bytes, mut piece) = (vec![0; CHUNK], Vec::new());
    loop {
        let size = source.read(&mut bytes)?;
        if !waiting() {
            return Err(bad!(Interrupted, "interrupted"));
        }
        piece.clear();
        match size {
            0 => rewriter.end(&mut piece),
            _ => rewriter.piece(&bytes[..size], &mut piece),
        }
        out.write_all(&piece)?;
        if size == 0 {
            break;
        }
    }
    let mut file = out.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_in_pieces_of_any_size() {
        let text = "\u{feff}sh-8 \u{e4}\u{20ac}\u{1f600}\r\n";
        for big in [false, true] {
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|number| if big { number.to_be_bytes() } else { number.to_le_bytes() })
                .collect();
            assert_eq!(utf16(&bytes), Some(big));
            for size in 1..bytes.len() {
                let (mut rewriter, mut out) = (Utf16 { big, odd: None, high: None }, Vec::new());
                bytes.chunks(size).for_each(|piece| rewriter.piece(piece, &mut out));
                assert_eq!(String::from_utf8(out).expect("text"), text[3..]);
            }
        }
    }

    #[test]
    fn what_is_half_a_letter_is_replaced() {
        let mut out = Vec::new();
        let bytes: Vec<u8> = [0xd800, 0x61, 0xdc00].iter().flat_map(|number: &u16| number.to_le_bytes()).collect();
        Utf16 { big: false, odd: None, high: None }.piece(&bytes, &mut out);
        assert_eq!(String::from_utf8(out).expect("text"), "\u{fffd}a\u{fffd}");
    }

    #[test]
    fn other_bytes_are_not_utf16() {
        for other in [b"sh-8 [000] 1.0: a: b".as_slice(), &[0; 128], b"a\0", b""] {
            assert_eq!(utf16(other), None);
        }
        assert_eq!(utf16(&b"a\0".repeat(64)), Some(false));
        assert_eq!(utf16(&b"\0a".repeat(64)), Some(true));
    }
}
