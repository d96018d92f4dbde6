//! What stands before an event's own text: who, where, in which context, when, and the event's name.

use memchr::{memchr, memmem};

use super::context::Shown;
use super::scan::digits;
use super::stamp::Stamp;
pub use super::who::Style;
use super::who::Who;

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
/// Names are shorter; what is longer is damage.
const LONGEST_NAME: usize = 128;

impl<'a> Head<'a> {
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
        if let Some(name) = syscall(rest).filter(|_| head.style != Style::Perf) {
            (head.name, head.text) = (name, rest.trim_ascii());
            return Some(head);
        }
        match rest[..end].strip_suffix(b":") {
            _ if rest.starts_with(RECORD) => head.name = RECORD,
            // trace_printk writes where it was called; BPF programs of older kernels, an address or nothing.
            Some(place) if head.style != Style::Perf && is_place(place) => head.name = PRINT,
            Some(name) if (1..=LONGEST_NAME).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic) => {
                head.name = name;
                rest = &rest[end..];
                head.padded = rest.starts_with(b"  ");
            }
            // Lines of the function tracer and of stack traces name no event.
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

/// ftrace's own words for sys_enter_* and sys_exit_*: `sys_read(fd: 3, count: 9)`, `sys_read -> 0x1`.
fn syscall(rest: &[u8]) -> Option<&'static [u8]> {
    let end = rest.strip_prefix(b"sys_")?.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))? + 4;
    match &rest[end..] {
        [b'(', .., b')'] => Some(b"syscalls:sys_enter"),
        [b' ', b'-', b'>', b' ', b'0', b'x', ..] => Some(b"syscalls:sys_exit"),
        _ => None,
    }
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

/// What follows one space or more; `None` where there is none before the end.
#[inline(always)]
pub fn after_spaces(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.iter().position(|&byte| byte != b' ')?;
    (start > 0).then(|| &bytes[start..])
}
