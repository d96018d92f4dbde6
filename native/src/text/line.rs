//! What a line is.

use memchr::{memchr, memchr_iter, memmem};

use super::frame::{is_source_line, Frame};
use super::graph;
use super::head::{Head, RECORD};
use super::lines::LONGEST;
use super::scan::Rest;
use super::shapes;
use crate::visit::{What, MAX_CPUS};

/// A line, by what it says.
#[derive(Debug)]
pub enum Line<'a> {
    /// An event.
    Event(Head<'a>),
    /// Events that a CPU's ring had no room for, between its last line and its next: CPU, their number
    /// where the kernel kept it, and the buffer.
    Lost(u32, Option<u64>, &'a [u8]),
    /// A CPU's oldest event comes next: its ring had been full, and those before it were overwritten.
    Begun(u32),
    /// A record that is no sample, which `perf script` prints if told to.
    Record(Head<'a>),
    /// A header's or a divider's.
    Comment,
    /// Part of a call chain.
    Frame,
    /// Nothing.
    Blank,
    /// None of these.
    Other,
}

impl<'a> Line<'a> {
    /// Tells what a line is.
    #[inline(always)]
    pub fn of(line: &'a [u8]) -> Line<'a> {
        match line.first() {
            _ if line.len() > LONGEST => return Line::Other,
            None => return Line::Blank,
            Some(b'#') => return of_comment(line),
            Some(b'\t') => return of_indented(line),
            Some(b'C') => {
                if let Some(lost) = lost(line) {
                    return lost;
                }
            }
            _ => {}
        }
        match shapes::parse(line) {
            Some(head) if head.name.len() == RECORD.len() && head.name == RECORD => Line::Record(head),
            Some(head) => Line::Event(head),
            None => of_no_event(line),
        }
    }
}

/// perf indents call chains, whoever pastes a text all lines: what stands there tells them apart.
#[inline(always)]
fn of_indented(line: &[u8]) -> Line<'_> {
    let rest = line.trim_ascii_start();
    match rest.first() {
        None => Line::Blank,
        // Every event has a colon before a blank; names of functions hardly ever do.
        _ if memchr_iter(b':', rest).any(|colon| rest.get(colon + 1).is_some_and(|&byte| begins_blank(byte))) => {
            of_unindented(line, rest)
        }
        Some(b'#') => of_comment(rest),
        Some(b'C') if rest.ends_with(b"]") => of_unindented(line, rest),
        Some(b'0'..=b'9') if graph::may_be(rest) => of_unindented(line, rest),
        // perf writes no tab behind the first word of a frame: this may be an event that was cut where it was pasted.
        Some(_) if memchr(b'\t', rest).is_some() && Frame::parse(rest).is_none() => Line::Other,
        Some(_) => Line::Frame,
    }
}

/// Whether a space begins with that byte, a TAB, or a non-breaking or other space of UTF-8 or Latin-1.
fn begins_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0xa0 | 0xc2 | 0xe1..=0xe3)
}

#[cold]
fn of_unindented<'a>(line: &'a [u8], rest: &'a [u8]) -> Line<'a> {
    match Line::of(rest) {
        Line::Other if Frame::parse(line).is_some() => Line::Frame,
        kind => kind,
    }
}

#[cold]
fn of_no_event(line: &[u8]) -> Line<'_> {
    match line.trim_ascii() {
        b"" => Line::Blank,
        _ if is_source_line(line) => Line::Frame,
        rest if rest.starts_with(b"=> ") || is_frame(rest) => Line::Frame,
        rest if rest.first() == Some(&b'#') => of_comment(rest),
        rest if graph::is_between(rest) => Line::Comment,
        rest => lost(rest).or_else(|| lost_of_buffer(rest)).unwrap_or(Line::Other),
    }
}

/// Whether it is a place in a program, for all that nothing indents it. No event is without a colon.
fn is_frame(rest: &[u8]) -> bool {
    memmem::find(rest, b": ").is_none() && Frame::parse(rest).is_some_and(|frame| !frame.dso.is_empty())
}

/// `##### CPU 2 buffer started ####` stands before the first event of a CPU whose older ones were
/// overwritten, where other CPUs have such.
fn of_comment(line: &[u8]) -> Line<'_> {
    let mut rest = Rest(line);
    if !rest.eat(b"##### CPU ") {
        return Line::Comment;
    }
    match cpu(&mut rest) {
        Some(cpu) if rest.eat(b" buffer started") => Line::Begun(cpu),
        _ => Line::Comment,
    }
}

/// ftrace's `CPU:3 [LOST 12 EVENTS]`, trace-cmd's `CPU:3 [12 EVENTS DROPPED]`, or either without a number.
fn lost(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Rest(line);
    rest.eat(b"CPU:").then_some(())?;
    let cpu = cpu(&mut rest)?;
    let inside = rest.0.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let count = match inside.strip_prefix(b"LOST ") {
        Some(inside) => inside.strip_suffix(b"EVENTS")?,
        None => inside.strip_suffix(b"EVENTS DROPPED")?,
    };
    let mut count = Rest(count.trim_ascii());
    match count.0 {
        b"" => Some(Line::Lost(cpu, None, b"")),
        _ => count.number().map(|number| Line::Lost(cpu, u64::try_from(number).ok(), b"")),
    }
}

/// `foo: CPU:3 [12 EVENTS DROPPED]`.
fn lost_of_buffer(line: &[u8]) -> Option<Line<'_>> {
    let at = memmem::find(line, b": CPU:")?;
    match lost(&line[at + 2..])? {
        Line::Lost(cpu, count, _) => Some(Line::Lost(cpu, count, &line[..at])),
        _ => None,
    }
}

fn cpu(rest: &mut Rest<'_>) -> Option<u32> {
    rest.number().and_then(|cpu| u32::try_from(cpu).ok()).filter(|&cpu| cpu < MAX_CPUS)
}

/// What one of perf's records says, of those that are read:
/// `PERF_RECORD_LOST lost 12`, `PERF_RECORD_COMM exec: sh:7/7`, `PERF_RECORD_FORK(7:7):(1:1)`.
pub fn what(text: &[u8]) -> What {
    let mut rest = Rest(text);
    rest.eat(RECORD);
    let found = if rest.eat(b"LOST_SAMPLES") {
        rest.seek(b"lost ").and_then(|()| rest.number()).map(|count| What::LostSamples(count.unsigned_abs()))
    } else if rest.eat(b"LOST") {
        rest.seek(b"lost ").and_then(|()| rest.number()).map(|count| What::Lost(count.unsigned_abs()))
    } else if rest.eat(b"COMM") {
        renamed(rest)
    } else if rest.eat(b"FORK(") {
        forked(rest)
    } else {
        None
    };
    found.unwrap_or(What::Other)
}

fn renamed(mut rest: Rest<'_>) -> Option<What> {
    rest.seek(b": ")?;
    let colon = memmem::rfind(rest.0, b":")?;
    let comm = String::from_utf8_lossy(&rest.0[..colon]).into_owned();
    rest = Rest(&rest.0[colon..]);
    rest.seek(b"/")?;
    Some(What::Comm { tid: rest.int()?, comm })
}

fn forked(mut rest: Rest<'_>) -> Option<What> {
    rest.seek(b":")?;
    let tid = rest.int()?;
    rest.seek(b":(")?;
    rest.seek(b":")?;
    Some(What::Fork { tid, parent: rest.int()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_every_spelling() {
        let lost = |text: &str| match Line::of(text.as_bytes()) {
            Line::Lost(cpu, count, b"") => Some((cpu, count)),
            _ => None,
        };
        assert_eq!(lost("CPU:1 [LOST 1802 EVENTS]"), Some((1, Some(1802))));
        assert_eq!(lost("  CPU:1 [LOST EVENTS]"), Some((1, None)));
        assert_eq!(lost("CPU:12 [7 EVENTS DROPPED]"), Some((12, Some(7))));
        assert_eq!(lost("CPU:12 [EVENTS DROPPED]"), Some((12, None)));
        assert!(matches!(Line::of(b"##### CPU 3 buffer started ####"), Line::Begun(3)));
        assert!(matches!(Line::of(b"foo: CPU:1 [7 EVENTS DROPPED]"), Line::Lost(1, Some(7), b"foo")));
        for other in ["CPU:1", "CPU:1 [LOST x EVENTS]", "CPU:x [LOST 1 EVENTS]", "CPU:99999999 [LOST 1 EVENTS]"] {
            assert_eq!(lost(other), None, "{other}");
        }
    }

    #[test]
    fn records_that_are_no_samples() {
        assert_eq!(what(b"PERF_RECORD_LOST lost 31068"), What::Lost(31068));
        assert_eq!(what(b"PERF_RECORD_FORK(8:9):(2:3)"), What::Fork { tid: 9, parent: 3 });
        assert_eq!(what(b"PERF_RECORD_COMM exec: a:b:8/9"), What::Comm { tid: 9, comm: "a:b".into() });
        assert_eq!(what(b"PERF_RECORD_MMAP -1/0: [0x1(0x2) @ 0]: x a"), What::Other);
        assert_eq!(what(b"PERF_RECORD_LOST lost"), What::Other);
    }
}
