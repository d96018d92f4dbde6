//! The task that a line begins with.

use memchr::memrchr;

use super::scan::{digits, digits_before};

/// Whose way of writing lines it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// perf script: `comm tid [cpu] time: system:event: text`.
    #[default]
    Perf,
    /// trace-cmd and ftrace: `comm-tid [cpu] time: event: text`.
    Ftrace,
    /// ftrace's latency format: `comm-tid cpu+context time: event: text`.
    Latency,
}

/// A task as a line names it.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    pub style: Style,
    /// The buffer, where trace-cmd names it; empty for the top one.
    pub buffer: &'a [u8],
    pub comm: &'a [u8],
    pub tid: Option<i32>,
}

impl<'a> Who<'a> {
    /// The task at the end of `left`: `comm-tid`, `comm-tid (tgid)`, `comm tid`, `comm pid/tid` or `comm`.
    /// Names that ftrace and trace-cmd print stand at the right of a column of this width.
    #[inline(always)]
    pub fn parse(left: &'a [u8], width: usize) -> Option<Who<'a>> {
        let (left, has_process) = without_process(left.trim_ascii_end())?;
        let at = digits_before(left);
        let before = &left[..at];
        let tid = number(&left[at..]);
        match before.last().filter(|_| at < left.len()) {
            Some(b'-') => Self::behind_dash(&before[..at - 1], tid?, width),
            _ if has_process => None,
            Some(b'/') => Some(match process_before(&before[..at - 1]) {
                Some(comm) => Self::of_perf(comm, Some(tid?)),
                None => Self::of_perf(left, None),
            }),
            Some(b' ') => Some(Self::of_perf(before, Some(tid?))),
            None if at == 0 && !left.is_empty() => Some(Self::of_perf(before, Some(tid?))),
            _ => Some(Self::of_perf(left, None)),
        }
    }

    fn of_perf(comm: &'a [u8], tid: Option<i32>) -> Who<'a> {
        Who { style: Style::Perf, buffer: b"", comm: comm.trim_ascii(), tid }
    }

    #[inline(always)]
    fn behind_dash(name: &'a [u8], tid: i32, width: usize) -> Option<Who<'a>> {
        // perf's number for a task that is gone, and for its process: " -1", "7/-1", "-1/-1".
        if tid == 1 {
            let comm = name
                .strip_suffix(b"/")
                .map_or(name, |process| process.strip_suffix(b"-1").unwrap_or(&process[..digits_before(process)]));
            if comm.ends_with(b" ") {
                return Some(Self::of_perf(comm, Some(-1)));
            }
        }
        let (before, comm) = name.split_at(name.len().saturating_sub(width));
        Some(Who { style: Style::Ftrace, buffer: buffer(before), comm: comm.trim_ascii_start(), tid: Some(tid) })
    }
}

/// Without the process that Android's kernels print behind the task, `(  812)` or `(-----)`; and whether
/// there was one.
#[inline(always)]
fn without_process(left: &[u8]) -> Option<(&[u8], bool)> {
    let Some(inside) = left.strip_suffix(b")") else { return Some((left, false)) };
    let open = memrchr(b'(', inside)?;
    let process = inside[open + 1..].trim_ascii();
    if digits(process).1 == process.len() || process.iter().all(|&byte| byte == b'-') {
        return Some((left[..open].trim_ascii_end(), true));
    }
    Some((left, false))
}

/// What stands before the process of perf's `pid/tid`, if that is what ends here: names may have slashes.
fn process_before(left: &[u8]) -> Option<&[u8]> {
    let at = digits_before(left);
    let comm = &left[..at];
    (at < left.len() && comm.last().is_none_or(|&byte| byte == b' ')).then_some(comm)
}

/// The name in `foo:   `. Anything else before a task is what a log put there.
#[inline(always)]
fn buffer(before: &[u8]) -> &[u8] {
    if before.is_empty() {
        return before;
    }
    let name = before.trim_ascii().strip_suffix(b":").unwrap_or_default();
    let plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte));
    if plain {
        name
    } else {
        b""
    }
}

fn number(digits_only: &[u8]) -> Option<i32> {
    let (value, count) = digits(digits_only);
    i32::try_from(value).ok().filter(|_| (1..=10).contains(&count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_every_spelling() {
        let who = |text: &'static str| {
            let who = Who::parse(text.as_bytes(), 16)?;
            Some((who.style, std::str::from_utf8(who.comm).ok()?, who.tid))
        };
        assert_eq!(who("  swapper     0 "), Some((Style::Perf, "swapper", Some(0))));
        assert_eq!(who("iperf 27409/28744"), Some((Style::Perf, "iperf", Some(28744))));
        assert_eq!(who("kworker/0"), Some((Style::Perf, "kworker/0", None)));
        assert_eq!(who("7/8"), Some((Style::Perf, "", Some(8))));
        assert_eq!(who("7"), Some((Style::Perf, "", Some(7))));
        assert_eq!(who("x :-1    -1 "), Some((Style::Perf, "x :-1", Some(-1))));
        assert_eq!(who("   :-1    -1/-1 "), Some((Style::Perf, ":-1", Some(-1))));
        assert_eq!(who("   :-1 17875/-1 "), Some((Style::Perf, ":-1", Some(-1))));
        assert_eq!(who("  a b-1"), Some((Style::Ftrace, "a b", Some(1))));
        assert_eq!(who("[  12.1]           <idle>-0  "), Some((Style::Ftrace, "<idle>", Some(0))));
        assert_eq!(who(" sh-7 (    7) "), Some((Style::Ftrace, "sh", Some(7))));
        assert_eq!(who(" sh-7 (-----)"), Some((Style::Ftrace, "sh", Some(7))));
        assert_eq!(who("(sd-pam)"), Some((Style::Perf, "(sd-pam)", None)));
        assert_eq!(who("sh 7 (7)"), None);
        assert_eq!(who("sh-99999999999"), None);
        assert_eq!(Who::parse(b"foo:           python-20079", 16).map(|who| who.buffer), Some(b"foo".as_slice()));
    }
}
