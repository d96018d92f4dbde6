//! Lines of the function_graph tracer: CPU, then as its options say time, task, context and duration,
//! each in a column that ends with a bar, and C that calls functions.
//!
//! ```text
//!    0)               |  sys_open() {
//!    0)   0.382 us    |    __might_sleep();
//!    0)               |    /* sched_wakeup: comm=sh pid=8 prio=120 target_cpu=000 */
//!    0) + 12.1 us     |  } /* sys_open */
//!   360.774522 |   1)    sh-4802    |  d..1. |   0.541 us    |      }
//! ```
//! They are what trace-cmd calls `funcgraph_entry` and `funcgraph_exit`, and the events in comments are
//! those that they name.

use memchr::memchr;

use super::context::{Columns, Shown};
use super::head::Head;
use super::scan::{digits, Rest};
use super::stamp::Stamp;
use super::who::{Style, Who};
use crate::visit::MAX_CPUS;

/// A name has room for seven letters: of those more may have been cut away.
const CUT: usize = 7;
const NOBODY: Who<'static> = Who { style: Style::Ftrace, buffer: b"", comm: b"", tid: None };

/// Whether a line begins as these do: with a number and `)`, or with a time and `|`.
#[inline(always)]
pub fn may_be(line: &[u8]) -> bool {
    let start = line.iter().take(16).position(|&byte| !matches!(byte, b' ' | b'\t')).unwrap_or(0);
    let rest = &line[start..];
    rest.first().is_some_and(u8::is_ascii_digit) && {
        let (_, count) = digits(rest);
        matches!(rest.get(count), Some(b')' | b'.'))
    }
}

/// Takes such a line apart.
#[cold]
pub fn parse(line: &[u8]) -> Option<Head<'_>> {
    let mut rest = Rest(line.trim_ascii());
    let mut stamp = Stamp::NONE;
    // With another option a column behind the time says how long ago the line before was.
    for _ in 0..2 {
        if let Some((time, after)) = column(rest.0).and_then(|(cell, after)| Some((Stamp::whole(cell)?, after))) {
            stamp = if stamp == Stamp::NONE { time } else { stamp };
            rest = Rest(after);
        }
    }
    let cpu = rest.number().and_then(|cpu| u32::try_from(cpu).ok()).filter(|&cpu| cpu < MAX_CPUS)?;
    rest.eat(b") ").then_some(())?;
    let (mut who, mut shown, mut text) = (NOBODY, Shown::Nothing, rest.0.trim_ascii_start());
    if let Some((task, after)) = column(text).and_then(|(cell, after)| Some((task(cell)?, after))) {
        (who, text) = (task, after);
    }
    if let Some((cell, after)) = column(text).filter(|(cell, _)| Columns::fit(cell)) {
        (shown, text) = (Shown::Letters(cell), after);
    }
    let call = match column(text) {
        Some((cell, after)) if is_duration(cell) => after,
        _ => text,
    };
    let head = Head::of(who, Some(cpu), shown, stamp);
    let (name, text): (&[u8], &[u8]) = match comment(call) {
        Some(comment) => event(comment),
        None if call == b"}" || call.starts_with(b"} /*") => (b"funcgraph_exit", text),
        None if is_call(call) => (b"funcgraph_entry", text),
        None => return None,
    };
    Some(Head { name, text, ..head })
}

/// What stands before the next bar, and what behind it.
fn column(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let bar = memchr(b'|', text)?;
    Some((text[..bar].trim_ascii(), text[bar + 1..].trim_ascii_start()))
}

fn task(cell: &[u8]) -> Option<Who<'_>> {
    let who = Who::parse(cell, cell.len()).filter(|who| who.style == Style::Ftrace)?;
    Some(if who.comm.len() < CUT { who } else { Who { comm: b"", ..who } })
}

/// Nothing, or `0.382 us` with a mark before it if it took long.
fn is_duration(cell: &[u8]) -> bool {
    let number = cell.strip_suffix(b"us").unwrap_or(cell);
    cell.is_empty() || (number.len() < cell.len() && number.iter().all(|byte| b"0123456789. +!#*@$".contains(byte)))
}

fn comment(call: &[u8]) -> Option<&[u8]> {
    call.strip_prefix(b"/*")?.strip_suffix(b"*/").map(<[u8]>::trim_ascii)
}

/// `sched_switch: prev_comm=...`. What trace_printk left has no name.
fn event(comment: &[u8]) -> (&[u8], &[u8]) {
    let named = memchr(b':', comment).map(|colon| (&comment[..colon], &comment[colon + 1..]));
    let is_name =
        |name: &[u8]| !name.is_empty() && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match named.filter(|(name, text)| is_name(name) && text.first().is_none_or(|&byte| byte == b' ')) {
        Some((name, text)) => (name, text.trim_ascii()),
        None => (b"print", comment),
    }
}

/// `func() {`, `func [module]();`, either with what it was given or gave back.
fn is_call(call: &[u8]) -> bool {
    let size = call.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || b"_.$@+:".contains(&byte)).count();
    let (name, mut rest) = call.split_at(size);
    if rest.starts_with(b" [") {
        rest = memchr(b']', rest).map_or(rest, |end| &rest[end + 1..]);
    }
    let mut depth = 0u32;
    let close = rest.iter().position(|&byte| {
        depth = match byte {
            b'(' => depth + 1,
            b')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0
    });
    let behind = close.filter(|&close| close > 0).map_or(&b""[..], |close| &rest[close + 1..]);
    let note = behind.strip_prefix(b";").or_else(|| behind.strip_prefix(b" {"));
    !name.is_empty() && note.is_some_and(|note| note.is_empty() || (note.starts_with(b" /*") && note.ends_with(b"*/")))
}

/// What stands between the lines: which task a CPU turns to, in a frame, and interrupts' arrows.
pub fn is_between(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let arrows: [&[u8]; 2] = [b"==========> |", b"<========== |"];
    let frame = line.len() >= 20 && line.iter().all(|&byte| byte == b'-');
    let (_, count) = digits(line);
    let turn = count > 0 && line[count..].starts_with(b") ") && memchr::memmem::find(line, b" => ").is_some();
    frame || turn || arrows.iter().any(|arrow| line.ends_with(arrow))
}
