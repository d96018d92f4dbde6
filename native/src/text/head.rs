//! What stands before an event's own text: who, where, in which context, when, and the event's name.
//!
//! ```text
//!   perf script        swapper     0 [005] 176146.491879: irq:irq_handler_entry: irq=152 name=mlx5
//!   trace-cmd report    <idle>-0     [002] d..2. 76.211523: sched_switch:          prev_comm=...
//!   ftrace              <idle>-0     (-----) [000] d.h4.  1213.465138: sched_wakeup: comm=atrace ...
//! ```
//! `latency` has the shapes of latency formats, `graph` those of function_graph.
//! A task's name may hold all that separates, so lines are taken apart from what cannot be in a name
//! in this place: the first `[cpu]` with a time behind it, or else the first time.

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::context::{Columns, Shown};
use super::scan::digits;
use super::stamp::Stamp;
pub use super::who::Style;
use super::who::Who;
use super::{graph, latency};
use crate::visit::MOST_CPUS;

/// A line's beginning.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub style: Style,
    /// The buffer, where trace-cmd names it; empty for the top one.
    pub buffer: &'a [u8],
    /// The task's name; empty where the line has none.
    pub comm: &'a [u8],
    pub tid: Option<i32>,
    pub cpu: Option<u32>,
    /// In which context it happened, as far as the line says.
    pub context: Shown<'a>,
    pub stamp: Stamp,
    /// Occurrences that a sample stands for.
    pub period: Option<u64>,
    /// The event as the line spells it.
    pub name: &'a [u8],
    /// Whether several spaces follow the name, as where trace-cmd pads it.
    pub padded: bool,
    /// The event's own text.
    pub text: &'a [u8],
}

/// What perf's records that are no samples are called by; the rest of the name is in `Head::text`.
pub const RECORD: &[u8] = b"PERF_RECORD_";
/// What a program left in the buffer.
const PRINT: &[u8] = b"print";
/// Columns that ftrace and trace-cmd give a name.
const NAME_WIDTH: usize = 16;
/// Places that may be the one, before a line is given up.
const MOST_TRIES: usize = 16;
/// Names are shorter; what is longer is damage.
const LONGEST_NAME: usize = 128;

impl<'a> Head<'a> {
    /// Takes a line apart; `None` if it is no event's.
    #[inline(always)]
    pub fn parse(line: &'a [u8]) -> Option<Head<'a>> {
        if graph::may_be(line) {
            if let Some(head) = graph::parse(line) {
                return Some(head);
            }
        }
        let mut from = 0;
        for _ in 0..MOST_TRIES {
            let Some(at) = memchr(b'[', &line[from..]) else { break };
            from += at + 1;
            if let Some(head) = Self::around_cpu(line, from).or_else(|| latency::verbose(line, from)) {
                return Some(head);
            }
        }
        Self::without_brackets(line)
    }

    /// With the CPU in brackets, whose number starts at `at`.
    #[inline(always)]
    fn around_cpu(line: &'a [u8], at: usize) -> Option<Head<'a>> {
        let (cpu, count) = digits(&line[at..]);
        if count == 0 || count > 6 || line.get(at + count) != Some(&b']') || cpu >= u64::from(MOST_CPUS) {
            return None;
        }
        let mut rest = &line[at + count + 1..];
        // A clock without a unit leaves trace-cmd no room: "[000]19120462410075:".
        if !rest.first()?.is_ascii_digit() {
            rest = after_spaces(rest)?;
        }
        let mut context = Shown::Nothing;
        if !rest.first()?.is_ascii_digit() {
            let (word, after) = rest.split_at(memchr(b' ', rest)?);
            if Columns::fit(word) {
                context = Shown::Letters(word);
            } else if !is_misc(word) {
                return None;
            }
            rest = after_spaces(after)?;
        }
        let (stamp, end) = Stamp::parse(rest)?;
        let who = Who::parse(&line[..at - 1], NAME_WIDTH)?;
        Self::named(&rest[end..], Head::of(who, Some(cpu as u32), context, stamp))
    }

    #[cold]
    fn without_brackets(line: &'a [u8]) -> Option<Head<'a>> {
        for colon in memchr_iter(b':', line).take(MOST_TRIES) {
            let before = &line[..colon];
            let digits_end = before.strip_suffix(b" ").unwrap_or(before).len();
            let at = memrchr(b' ', &line[..digits_end]).map_or(0, |space| space + 1);
            // A clock without a unit leaves trace-cmd no room behind latency columns: "1d..3.26441878401970:".
            let behind = || Some(at + latency::columns_before(&line[at..digits_end])).filter(|&behind| behind > at);
            let stamp = Stamp::parse(&line[at..]).map(|(stamp, end)| (at, stamp, end));
            let glued = || behind().and_then(|at| Stamp::parse(&line[at..]).map(|(stamp, end)| (at, stamp, end)));
            let Some((at, stamp, end)) = stamp.or_else(glued) else { continue };
            let left = line[..at].trim_ascii_end();
            let head = latency::plain(left, stamp).or_else(|| latency::of_perf(left, stamp));
            let head = head.or_else(|| Self::of_perf(left, stamp));
            let named = head.and_then(|head| Self::named(&line[at + end..], head));
            if named.is_some() {
                return named;
            }
        }
        None
    }

    /// Of chosen tasks, perf says no CPU. Any text may have a number and a colon in it: only a task's
    /// number before and a whole fraction in the time make it an event.
    fn of_perf(left: &'a [u8], stamp: Stamp) -> Option<Head<'a>> {
        let who = Who::parse(left, NAME_WIDTH).filter(|who| who.style == Style::Perf && who.tid.is_some())?;
        (matches!(stamp.unit_ns, 1 | 1000)).then(|| Head::of(who, None, Shown::Nothing, stamp))
    }

    /// With everything but the event.
    #[inline(always)]
    pub fn of(who: Who<'a>, cpu: Option<u32>, context: Shown<'a>, stamp: Stamp) -> Head<'a> {
        let Who { style, buffer, comm, tid } = who;
        Head { style, buffer, comm, tid, cpu, context, stamp, period: None, name: &[], padded: false, text: &[] }
    }

    /// Finds the event's name in what follows the time.
    #[inline(always)]
    pub fn named(rest: &'a [u8], mut head: Head<'a>) -> Option<Head<'a>> {
        let mut rest = after_spaces(rest)?;
        let mut end = memchr(b' ', rest).unwrap_or(rest.len());
        // `trace-cmd report --ts-diff` says how long after the event before.
        if rest.starts_with(b"(+") {
            rest = after_spaces(&rest[end..])?;
            end = memchr(b' ', rest).unwrap_or(rest.len());
        }
        if head.style == Style::Perf && rest.first().is_some_and(u8::is_ascii_digit) {
            let (period, count) = digits(rest);
            if count == end && count < 20 {
                head.period = Some(period);
                rest = after_spaces(&rest[end..])?;
                end = memchr(b' ', rest).unwrap_or(rest.len());
            }
        }
        match rest[..end].strip_suffix(b":") {
            _ if rest.starts_with(RECORD) => head.name = RECORD,
            // trace_printk says where it was called; older kernels' BPF programs, an address or nothing.
            Some(place) if head.style != Style::Perf && is_place(place) => head.name = PRINT,
            Some(name) if (1..=LONGEST_NAME).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic) => {
                head.name = name;
                rest = &rest[end..];
                head.padded = rest.starts_with(b"  ");
            }
            // The function tracer names no event, stack traces neither.
            _ if memmem::find(rest, b" <-").is_some() => head.name = b"function",
            _ if rest.starts_with(b"<stack trace>") => head.name = b"kernel_stack",
            _ if rest.starts_with(b"<user stack trace>") => head.name = b"user_stack",
            _ if head.style != Style::Perf && is_place_with_more(rest, end) => head.name = PRINT,
            _ => return None,
        }
        head.text = rest.trim_ascii();
        Some(head)
    }
}

/// `0x00000001`, `ffffffff81a2b3c4`, `ip_rcv+0x1c/0x40`, or nothing. No event's name begins with a digit.
fn is_place(name: &[u8]) -> bool {
    const WIDTH: usize = 16;
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let Some(first) = name.first() else { return true };
    if let Some(at) = memmem::find(name, b"+0x") {
        let (offset, size) = name[at + 3..].split_at(memchr(b'/', &name[at + 3..]).unwrap_or(name.len() - at - 3));
        return !offset.is_empty() && is_hex(offset) && (size.is_empty() || size.starts_with(b"/0x"));
    }
    is_hex(name.strip_prefix(b"0x").unwrap_or(name)) && (first.is_ascii_digit() || name.len() == WIDTH)
}

/// `ip_rcv+0x1c/0x40 [module]:`, `ip_rcv <ffffffff81a2b3c4>:`, `[<ffffffff81a2b3c4>] ip_rcv:`, of which the
/// first word ends at `end`.
fn is_place_with_more(rest: &[u8], end: usize) -> bool {
    let plain = |inside: &[u8]| inside.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if let Some(inside) = rest[..end].strip_prefix(b"[<") {
        return inside.strip_suffix(b">]").is_some_and(plain);
    }
    let mut behind = &rest[end..];
    for (open, close) in [(b" [", b']'), (b" <", b'>')] {
        let found = behind.strip_prefix(open).and_then(|inside| Some((inside, memchr(close, inside)?)));
        if let Some((inside, size)) = found.filter(|&(inside, size)| size > 0 && plain(&inside[..size])) {
            behind = &inside[size + 1..];
        }
    }
    behind.len() < rest[end..].len() && behind.starts_with(b": ")
}

/// The letters of `perf script -F +misc`.
fn is_misc(word: &[u8]) -> bool {
    word.len() <= 8 && word.iter().all(|byte| b"KUHGg.MESCDKRs".contains(byte))
}

/// What follows one space or more; `None` where there is none before the end.
#[inline(always)]
fn after_spaces(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.iter().position(|&byte| byte != b' ')?;
    (start > 0).then(|| &bytes[start..])
}
