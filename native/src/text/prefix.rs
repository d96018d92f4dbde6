//! What mails, chats and log shippers put before each line of a text: it is no part of the tasks' names.
//!
//! ```text
//!   > > sh-8 [000] 76.211513: ...                          a quoted mail
//!   12:41 <nick> sh-8 [000] 76.211513: ...                 a chat
//!   Nov 22 00:49:29 host app[7]:   sh-8 [000] 76.2...      a log: numbers may change from line to line
//!   trace.txt-12-  sh-8 [000] 76.211513: ...               grep -A and cat -n: numbers that grow
//!   +  sh-8 [000] 76.211513: ...                           a patch
//! ```
//! It ends with a blank, a line's number or the sign of a patch, and behind it stands the same event, of
//! the same task, as with it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use memchr::memmem;
use rustc_hash::FxHashMap;

use super::blanks::{self, Blanks};
use super::graph;
use super::head::Head;
use super::line::Line;
use super::lines::{each, Blocks};
use super::stamp::Stamp;

/// Lines of events that are looked at.
const ENOUGH: u64 = 256;
/// Lines of any kind, where few are events.
const MAX_LINES: u64 = 1 << 16;
/// No prefix is longer.
const LONGEST: usize = 160;

/// Lines whose numbers grow are numbered, if they are so many: names of tasks have numbers, too.
const NUMBERED: u64 = 8;

/// How a prefix ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    /// With a blank.
    #[default]
    Blank,
    /// With its one byte: that of a patch.
    Sign,
    /// With a line's number: a blank behind it, or `:` or `-`, which may stand before it, too.
    Number,
}

/// A prefix: its bytes, with `0` for any number and one blank for any blanks; empty where there is none.
#[derive(Debug, Clone, Default)]
pub struct Prefix {
    end: End,
    shape: Box<[u8]>,
}

impl Prefix {
    /// What nine of ten events of a file's bytes `from..end` have in common, judged by the first of them; marks of
    /// quotation that one of ten has.
    pub fn find(file: &Arc<File>, from: u64, end: u64) -> io::Result<Prefix> {
        let mut votes = Votes::default();
        let mut blocks = Blocks::of(file, from, end);
        'blocks: while let Some(block) = blocks.next()? {
            let mut blanks = Blanks::of(block);
            for line in each(block) {
                let others = blanks.has_others(line);
                votes.line(if others { blanks::all_spaces(line, &mut blanks.room) } else { line });
                if votes.judged == ENOUGH || votes.lines == MAX_LINES {
                    break 'blocks;
                }
            }
        }
        Ok(votes.winner())
    }

    /// The prefix in words, where there is one.
    pub fn note(&self) -> Option<String> {
        let shown = String::from_utf8_lossy(&self.shape).into_owned();
        (!self.shape.is_empty()).then(|| match self.end {
            End::Blank => format!(
                "the prefix '{shown} ' before the lines, as from a mail, chat or log, was removed (0 stands for any number)"
            ),
            End::Sign => format!("the prefix '{shown}' before the lines, as from a patch, was removed"),
            End::Number => format!("the prefix '{shown}' before the lines, a line number, was removed (0 stands for any number)"),
        })
    }

    /// A line of the block with these blanks without it, where the line has it.
    #[inline(always)]
    pub fn strip<'a>(&self, line: &'a [u8], blanks: &'a mut Blanks) -> &'a [u8] {
        let others = blanks.has_others(line);
        let spaced = others.then(|| blanks::spaced(line, |line| self.without(line), &mut blanks.room));
        spaced.flatten().unwrap_or_else(|| self.without(line))
    }

    #[inline(always)]
    fn without<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        if self.shape.is_empty() {
            return line;
        }
        self.behind(line).unwrap_or(line)
    }

    #[cold]
    fn behind<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let is_number = self.end == End::Number;
        let mut rest = if is_number { line.trim_ascii_start() } else { line };
        for (at, &byte) in self.shape.iter().enumerate() {
            let may_be_either = is_number && byte == b':' && at + 3 >= self.shape.len();
            let count = match byte {
                b'0' => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
                b' ' => rest.iter().take_while(|&&byte| is_blank(byte)).count(),
                _ if may_be_either => usize::from(rest.first().is_some_and(|&byte| parts_numbers(byte))),
                byte => usize::from(rest.first() == Some(&byte)),
            };
            rest = rest.get(count..).filter(|_| count > 0)?;
        }
        if self.end != End::Blank && self.shape.last() != Some(&b'0') {
            return Some(rest);
        }
        match rest.split_first() {
            None => Some(rest),
            Some((&byte, rest)) => is_blank(byte).then_some(rest),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What `grep -n` has around its numbers.
fn parts_numbers(byte: u8) -> bool {
    matches!(byte, b':' | b'-')
}

/// A line's number, as `cat -n` or `grep -n` may have put it there, what it stands in and what is behind it.
fn numbers(line: &[u8]) -> impl Iterator<Item = (u64, Vec<u8>, &[u8])> {
    let indent = line.iter().take_while(|&&byte| byte == b' ').count();
    let line = &line[indent..];
    let token = line.iter().take(LONGEST).take_while(|&&byte| !is_blank(byte)).count();
    (1..=token.min(line.len().saturating_sub(1))).filter_map(move |end| {
        let digits = line[..end].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, behind) = (&line[..end - digits], &line[end..]);
        let may_begin = before.is_empty() || (indent == 0 && before.last().is_some_and(|&byte| parts_numbers(byte)));
        let ends = is_blank(behind[0]) || (indent == 0 && parts_numbers(behind[0]));
        let is_file = !before.is_empty() && is_blank(behind[0]);
        if digits == 0 || !may_begin || !ends || is_file {
            return None;
        }
        let number = std::str::from_utf8(&line[end - digits..end]).ok()?.parse().ok()?;
        let mut found = shape(before.split_last().map_or(before, |(_, file)| file));
        found.extend_from_slice(if before.is_empty() { b"0" } else { b":0" });
        found.extend_from_slice(if is_blank(behind[0]) { b"" } else { b":" });
        Some((number, found, &behind[1..]))
    })
}

/// Bytes as a prefix knows them.
fn shape(bytes: &[u8]) -> Vec<u8> {
    let mut shape: Vec<u8> = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        let kind = match byte {
            b'0'..=b'9' => b'0',
            byte if is_blank(byte) => b' ',
            byte => byte,
        };
        if !(matches!(kind, b'0' | b' ') && shape.last() == Some(&kind)) {
            shape.push(kind);
        }
    }
    shape
}

/// Whether nothing but a mark of quotation or a time is enough: what else looks like a prefix may be how
/// one program names all its tasks.
fn is_certain(shape: &[u8]) -> bool {
    matches!(shape.trim_ascii_start().first(), Some(b'>' | b'|')) || memmem::find(shape, b"0:0").is_some()
}

/// Whether it is nothing but marks of quotation: those of some lines alone are no task's name either.
fn is_quote(shape: &[u8]) -> bool {
    !shape.is_empty() && shape.iter().all(|byte| matches!(byte, b'>' | b' '))
}

#[derive(Default)]
struct Votes {
    lines: u64,
    judged: u64,
    shapes: FxHashMap<(End, Vec<u8>), Vote>,
}

/// How many lines begin so, and whose they are: one task's, or several's.
struct Vote {
    count: u64,
    tid: Option<i32>,
    several: bool,
    /// The last line's number, and whether each was larger than the one before.
    number: u64,
    grows: bool,
}

impl Votes {
    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.len() > super::lines::LONGEST || line.first().is_none_or(|&byte| byte == b'#') {
            return;
        }
        // A line can often be read from several places on. The longest reading is the right one: shorter ones lack
        // fields.
        let mut whole = head(line);
        for (at, _) in line.iter().enumerate().take(LONGEST).filter(|(_, &byte)| is_blank(byte)) {
            let (before, rest) = (&line[..at], &line[at + 1..]);
            let Some(&last) = before.last().filter(|&&byte| !is_blank(byte)) else { continue };
            let shape = shape(before);
            let quotes = matches!(shape.trim_ascii_start().first(), Some(b'>' | b'|'));
            let ends =
                matches!(last, b'>' | b'|' | b':' | b']' | b')' | b'}') || memmem::find(&shape, b"0:0").is_some();
            if !ends || (is_blank(line[0]) && !quotes) {
                continue;
            }
            let Some(inner) = head(rest).filter(|inner| whole.as_ref().is_none_or(|whole| is_same(whole, inner)))
            else {
                continue;
            };
            // This is no prefix with a time in it, but a line of function_graph.
            if shape.ends_with(b"0.0 |") && inner.stamp == Stamp::NONE {
                continue;
            }
            self.vote(End::Blank, shape, inner.tid, 0);
            whole = whole.or(Some(inner));
        }
        if let [sign @ (b'+' | b'-'), rest @ ..] = line {
            if let Some(inner) = head(rest).filter(|inner| says_more(whole.as_ref(), inner, rest)) {
                self.vote(End::Sign, vec![*sign], inner.tid, 0);
                whole = whole.or(Some(inner));
            }
        }
        for (number, shape, rest) in numbers(line) {
            if let Some(inner) = head(rest).filter(|inner| says_more(whole.as_ref(), inner, rest)) {
                self.vote(End::Number, shape, inner.tid, number);
                whole = whole.or(Some(inner));
            }
        }
        self.judged += u64::from(whole.is_some());
    }

    fn vote(&mut self, end: End, shape: Vec<u8>, tid: Option<i32>, number: u64) {
        let first = Vote { count: 0, tid, several: false, number, grows: true };
        let vote = self.shapes.entry((end, shape)).or_insert(first);
        vote.grows &= vote.count == 0 || number > vote.number;
        vote.number = number;
        vote.count += 1;
        vote.several |= vote.tid != tid;
    }

    fn winner(self) -> Prefix {
        let most = |shape: &[u8], count: u64| count * 10 >= self.judged * if is_quote(shape) { 1 } else { 9 };
        let fits = |end: End, shape: &[u8], vote: &Vote| match end {
            End::Blank => is_certain(shape) || vote.several,
            End::Sign => vote.several,
            End::Number => vote.grows && vote.count >= NUMBERED,
        };
        let kept =
            self.shapes.into_iter().filter(|((end, shape), vote)| most(shape, vote.count) && fits(*end, shape, vote));
        let longest = kept.map(|(found, _)| found).max_by_key(|(end, shape)| (shape.len(), *end, shape.clone()));
        let (end, shape) = longest.unwrap_or_default();
        Prefix { end, shape: shape.into() }
    }
}

fn head(line: &[u8]) -> Option<Head<'_>> {
    match Line::of(line) {
        Line::Event(head) => Some(head),
        _ => None,
    }
}

/// Whether two heads say the same, but for what the first has before the task's name.
fn is_same(whole: &Head<'_>, inner: &Head<'_>) -> bool {
    (whole.tid, whole.cpu, whole.stamp, whole.name) == (inner.tid, inner.cpu, inner.stamp, inner.name)
        && whole.buffer == inner.buffer
        && whole.comm.ends_with(inner.comm)
        && whole.comm.is_empty() == inner.comm.is_empty()
}

/// Whether `rest` of a line, which reads as `inner`, is what the line says. A number and a colon look like
/// the name of a buffer, and before a line of function_graph like a message.
fn says_more(whole: Option<&Head<'_>>, inner: &Head<'_>, rest: &[u8]) -> bool {
    let is_graph = || graph::may_be(rest) && graph::parse(rest).is_some_and(|head| head.stamp != Stamp::NONE);
    whole.is_none_or(|whole| is_same(&Head { buffer: inner.buffer, ..*whole }, inner) || is_graph())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[&str]) -> String {
        let mut votes = Votes::default();
        lines.iter().for_each(|line| votes.line(line.as_bytes()));
        String::from_utf8_lossy(&votes.winner().shape).into_owned()
    }

    #[test]
    fn prefixes_of_mails_chats_and_logs() {
        let event = "sh-8 [000] d..1. 1.000001: softirq_entry: vec=3";
        let other = "a b-9 [000] d..1. 1.000001: softirq_entry: vec=3";
        for (before, shape) in [
            ("> ", ">"),
            ("> > ", "> >"),
            (">> ", ">>"),
            (" | ", " |"),
            ("12:41 <nick> ", "0:0 <nick>"),
            ("<nick> ", "<nick>"),
            ("Nov 22 00:49:29 host app[7]: ", "Nov 0 0:0:0 host app[0]:"),
            ("2026-11-22T00:49:29.123Z stdout F ", "0-0-0T0:0:0.0Z stdout F"),
            ("app-1  | ", "app-0 |"),
        ] {
            let lines = [event, other].map(|event| format!("{before}{event}"));
            assert_eq!(found(&lines.each_ref().map(String::as_str)), shape, "{before}");
        }
    }

    #[test]
    fn names_of_tasks_are_no_prefixes() {
        let event = "[000] d..1. 1.000001: softirq_entry: vec=3";
        for names in [
            ["sh-8", "sh-9"],
            ["a: b-8", "a: c-8"],
            ["Web Content-8", "Web Extensions-9"],
            ["kworker/0:1-8", "kworker/1:1-9"],
            ["kworker/0:1 8", "kworker/1:1 9"],
            ["foo:               sh-8", "foo:               sh-9"],
            ["<idle>-0", "<idle>-0"],
        ] {
            let lines = names.map(|name| format!("{name} {event}"));
            assert_eq!(found(&lines.each_ref().map(String::as_str)), "", "{names:?}");
        }
        assert_eq!(found(&["a: sh-8 [000] 1.000001: a: b", "sh-8 [000] 1.000001: a: b"]), "");
        assert_eq!(found(&["> sh-8 [000] 1.000001: a: b", "sh-8 [000] 1.000001: a: b"]), ">");
    }

    #[test]
    fn lines_numbered_and_of_a_patch() {
        let lines = |putting: &dyn Fn(usize) -> String| {
            let line = |at: usize| {
                format!("{}              sh-{} [000] d..1. 1.00001{at}: softirq_entry: vec=3", putting(at), at % 2 + 8)
            };
            (0..NUMBERED as usize).map(line).collect::<Vec<_>>()
        };
        let shown = |lines: &[String]| found(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(shown(&lines(&|at| format!("{:>6}\t", at + 8))), "0");
        assert_eq!(shown(&lines(&|at| format!("{}{}", at + 8, if at % 3 == 0 { ":" } else { "-" }))), "0:");
        assert_eq!(
            shown(&lines(&|at| format!("a.txt{1}{}{1}", at + 8, if at % 3 == 0 { ":" } else { "-" }))),
            "a.txt:0:"
        );
        assert_eq!(shown(&lines(&|_| "+".to_owned())), "+");
        // Names of buffers may be numbers, and names of tasks may begin with one.
        assert_eq!(shown(&lines(&|at| format!("{}: ", at % 3))), "");
        assert_eq!(shown(&lines(&|at| format!("{} x", 20 - at))), "");
        assert_eq!(shown(&lines(&|at| format!("{}:", at))[..NUMBERED as usize - 1]), "");
        let strip = |shape: &[u8], end, line: &'static str| {
            let prefix = Prefix { end, shape: shape.into() };
            String::from_utf8_lossy(prefix.without(line.as_bytes())).into_owned()
        };
        assert_eq!(strip(b"a.txt:0:", End::Number, "a.txt-12-\tffff"), "\tffff");
        assert_eq!(strip(b"0", End::Number, "   12\t  sh-8"), "  sh-8");
        assert_eq!(strip(b"0", End::Number, "123456\t"), "");
        assert_eq!(strip(b"+", End::Sign, "+sh-8"), "sh-8");
        assert_eq!(strip(b"+", End::Sign, "-sh-8"), "-sh-8");
    }

    #[test]
    fn a_line_loses_what_all_have() {
        let prefix = Prefix { end: End::Blank, shape: b"0:0 <a>".as_slice().into() };
        let strip = |line: &'static str| std::str::from_utf8(prefix.without(line.as_bytes())).expect("text");
        assert_eq!(strip("12:41 <a>   sh-8"), "  sh-8");
        assert_eq!(strip("1:1 <a>"), "");
        for other in ["12:41 <a>sh", "12:41 <b> sh", "x12:41 <a> sh", ""] {
            assert_eq!(strip(other), other);
        }
    }
}
