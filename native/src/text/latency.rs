//! Lines of latency formats: who, where and in which context without brackets.
//!
//! ```text
//!   ftrace           <idle>-0       3d.h4. 4us : sched_wakeup: comm=atrace ...
//!   its verbose one  sh     8   1 9 00000002 00000001 [5711a9537] 27.967ms (+0.001ms): sched_wakeup: ...
//!   trace-cmd -l     sh-8           1d.h.. 23373.296015: sched_wakeup: ...
//!   trace-cmd -R -l  sh-8           1-0x9 23373.296015: sched_wakeup: ...
//!   perf script -L   sh     8   1 23373.296015: sched:sched_wakeup: ...
//! ```

use memchr::memrchr;

use super::context::{Columns, Shown};
use super::head::{Head, Style};
use super::scan::{digits, Rest};
use super::stamp::Stamp;
use super::who::Who;
use crate::narrow::Narrow;
use crate::visit::MAX_CPUS;

/// Columns that latency formats give a name; what is longer is cut.
const NAME_WIDTH: usize = 8;
const NS_PER_US: i64 = 1000;

/// Task, CPU and context of ftrace and of trace-cmd.
pub fn plain<'a>(left: &'a [u8], stamp: Stamp) -> Option<Head<'a>> {
    let at = memrchr(b' ', left)? + 1;
    let (cpu, count) = digits(&left[at..]);
    let context = &left[at + count..];
    if !is_cpu(cpu, count) {
        return None;
    }
    let shown = match context.strip_prefix(b"-0x") {
        Some(flags) => Shown::Flags(byte(flags, 16)?),
        None if Columns::fit(context) => Shown::Letters(context),
        None => return None,
    };
    let who = Who::parse(&left[..at], NAME_WIDTH).filter(|who| who.style == Style::Ftrace)?;
    Some(Head { style: Style::Latency, ..Head::of(who, Some(cpu.narrow()), shown, stamp) })
}

/// How much of a word is a CPU and its columns, with a number right behind them.
pub fn columns_before(word: &[u8]) -> usize {
    let cpu = digits(word).1;
    if cpu == 0 || cpu > 6 || !word.last().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    // The last two columns are counts: digits there are not the time's.
    const COLUMNS: usize = 5;
    let number = word.get(cpu + COLUMNS..).filter(|number| number.iter().all(u8::is_ascii_digit));
    match word.get(cpu..cpu + COLUMNS) {
        Some(context) if number.is_some() && Columns::fit(context) => cpu + COLUMNS,
        _ => 0,
    }
}

/// Eight letters of the name at the most, the task and the CPU.
pub fn of_perf<'a>(left: &'a [u8], stamp: Stamp) -> Option<Head<'a>> {
    let (comm, rest) = left.split_at_checked(NAME_WIDTH)?;
    let at = memrchr(b' ', rest)? + 1;
    let (cpu, count) = digits(&rest[at..]);
    let whole = is_cpu(cpu, count) && count == rest.len() - at;
    let who = Who::parse(&rest[..at], 0).filter(|who| who.style == Style::Perf && who.comm.is_empty())?;
    if !whole || who.tid.is_none() || comm.trim_ascii().is_empty() || !rest.starts_with(b" ") {
        return None;
    }
    // A name that fills all eight letters may have been cut.
    let comm = if comm.starts_with(b" ") { comm.trim_ascii() } else { b"" };
    Some(Head::of(Who { comm, ..who }, Some(cpu.narrow()), Shown::Nothing, stamp))
}

/// ftrace's with its option `verbose`: task, CPU, common_flags, common_preempt_count and the event's
/// number in words, then at `at` the time as microseconds in hexadecimal, and what it is after the
/// first event's and before the next one's. A clock without a unit has its count instead.
#[cold]
pub fn verbose(line: &[u8], at: usize) -> Option<Head<'_>> {
    let inside = line[at..].iter().take(17).position(|&byte| byte == b']').filter(|&size| size >= 8)?;
    let mut rest = Rest(line.get(at + inside + 1..)?);
    let count = u64::from_str_radix(std::str::from_utf8(&line[at..at + inside]).ok()?, 16).ok()?;
    let count = i64::try_from(count).ok()?;
    rest.eat(b" ").then_some(())?;
    let since = rest.word();
    rest.eat(b" (+").then_some(())?;
    let until = rest.word();
    let stamp = match (since.strip_suffix(b"ms"), until.strip_suffix(b"ms):")) {
        (Some(_), Some(_)) => Stamp::of_ns(count.checked_mul(NS_PER_US)?, NS_PER_US.narrow())?,
        (None, None) if until.ends_with(b"):") => Stamp { time: count, unit_ns: 0 },
        _ => return None,
    };
    let mut left = line[..at - 1].trim_ascii_end();
    let (_number, depth, flags, cpu, tid) = (
        last_word(&mut left)?,
        last_word(&mut left)?,
        last_word(&mut left)?,
        last_word(&mut left)?,
        last_word(&mut left)?,
    );
    let (value, count) = digits(cpu);
    if !is_cpu(value, count) || count != cpu.len() {
        return None;
    }
    let who = Who::parse(tid, 0).filter(|who| who.style == Style::Perf && who.comm.is_empty())?;
    // A name fills its column from the right; a log may put words of its own before it.
    let comm = left[left.len().saturating_sub(16)..].trim_ascii();
    let who = Who { style: Style::Ftrace, comm, tid: Some(who.tid?), ..who };
    let shown = Shown::Numbers(byte(flags, 10)?, byte(depth, 16)?);
    Head::named(rest.0, Head::of(who, Some(value.narrow()), shown, stamp))
}

fn is_cpu(value: u64, digits: usize) -> bool {
    (1..=6).contains(&digits) && value < u64::from(MAX_CPUS)
}

fn byte(word: &[u8], radix: u32) -> Option<u8> {
    let plain = word.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(word).ok().filter(|_| plain).and_then(|word| u8::from_str_radix(word, radix).ok())
}

/// Takes the last word off.
fn last_word<'a>(left: &mut &'a [u8]) -> Option<&'a [u8]> {
    let space = memrchr(b' ', left)?;
    let word = &left[space + 1..];
    *left = left[..space].trim_ascii_end();
    Some(word)
}
