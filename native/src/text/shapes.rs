//! The shapes of an event's line, by who wrote it.
//!
//! ```text
//!   perf script        swapper     0 [005] 176146.491879: irq:irq_handler_entry: irq=152 name=mlx5
//!   trace-cmd report    <idle>-0     [002] d..2. 76.211523: sched_switch:          prev_comm=...
//!   ftrace              <idle>-0     (-----) [000] d.h4.  1213.465138: sched_wakeup: comm=atrace ...
//! ```
//! `latency` has the shapes of latency formats, `graph` those of function_graph.
//! A task's name may hold all that separates, so lines are taken apart from what cannot be in a name
//! in this place: the first `[cpu]` with a time behind it, or else the first time.

use memchr::{memchr, memchr_iter, memrchr};

use super::context::{Columns, Shown};
use super::head::{after_spaces, Head, Style};
use super::scan::digits;
use super::stamp::Stamp;
use super::who::Who;
use super::{graph, latency};
use crate::narrow::Narrow;
use crate::visit::MAX_CPUS;

/// Columns that ftrace and trace-cmd give a name.
const NAME_WIDTH: usize = 16;
/// Places that may be the one, before a line is given up.
const MAX_TRIES: usize = 16;

/// Takes a line apart; `None` if it is no event's.
#[inline(always)]
pub fn parse<'a>(line: &'a [u8]) -> Option<Head<'a>> {
    if graph::may_be(line) {
        if let Some(head) = graph::parse(line) {
            return Some(head);
        }
    }
    let mut from = 0;
    for _ in 0..MAX_TRIES {
        let Some(at) = memchr(b'[', &line[from..]) else { break };
        from += at + 1;
        if let Some(head) = around_cpu(line, from).or_else(|| latency::verbose(line, from)) {
            return Some(head);
        }
    }
    without_brackets(line)
}

/// With the CPU in brackets, whose number starts at `at`.
#[inline(always)]
fn around_cpu<'a>(line: &'a [u8], at: usize) -> Option<Head<'a>> {
    let (cpu, count) = digits(&line[at..]);
    if count == 0 || count > 6 || line.get(at + count) != Some(&b']') || cpu >= u64::from(MAX_CPUS) {
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
    Head::named(&rest[end..], Head::of(who, Some(cpu.narrow()), context, stamp))
}

#[cold]
fn without_brackets<'a>(line: &'a [u8]) -> Option<Head<'a>> {
    for colon in memchr_iter(b':', line).take(MAX_TRIES) {
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
        let head = head.or_else(|| of_perf(left, stamp));
        let named = head.and_then(|head| Head::named(&line[at + end..], head));
        if named.is_some() {
            return named;
        }
    }
    None
}

/// Of chosen tasks, perf says no CPU. Any text may have a number and a colon in it: only a task's
/// number before and a whole fraction in the time make it an event.
fn of_perf<'a>(left: &'a [u8], stamp: Stamp) -> Option<Head<'a>> {
    let who = Who::parse(left, NAME_WIDTH).filter(|who| who.style == Style::Perf && who.tid.is_some())?;
    (matches!(stamp.unit_ns, 1 | 1000)).then(|| Head::of(who, None, Shown::Nothing, stamp))
}

/// The letters of `perf script -F +misc`.
fn is_misc(word: &[u8]) -> bool {
    word.len() <= 8 && word.iter().all(|byte| b"KUHGg.MESCDKRs".contains(byte))
}
