//! Who is called what, as far as a text says so, told to visitors as it is read.

use rustc_hash::FxHashMap;

use super::head::{Head, Style};
use super::scan::COMM;
use crate::visit::{Feed, Side, What};

/// Names that have been told.
#[derive(Debug, Default)]
pub struct Comms {
    by_tid: FxHashMap<i32, u128>,
}

impl Comms {
    /// A line's task and name. What perf prints was the task's name at that time; ftrace and
    /// trace-cmd print the last that they know, so their first word is taken, and only for tasks
    /// that no sched_switch has named.
    #[inline(always)]
    pub fn line(&mut self, head: &Head<'_>, time_ns: i64, block: &[u8], visitor: &mut Feed<'_>) {
        let Some(tid) = head.tid.filter(|&tid| tid > 0) else { return };
        let comm = packed(head.comm);
        let known = self.by_tid.get(&tid);
        let told = if head.style == Style::Perf { known == Some(&comm) } else { known.is_some() };
        if told || is_no_name(head) {
            return;
        }
        self.by_tid.insert(tid, comm);
        let comm = String::from_utf8_lossy(head.comm).into_owned();
        let cpu = head.cpu.filter(|_| head.style == Style::Perf);
        visitor.side(block, &Side::of(What::Comm { tid, comm }, Some(time_ns), cpu));
    }

    /// A task that sched_switch names.
    #[inline(always)]
    pub fn switched(&mut self, tid: i32, comm: &[u8]) {
        if tid > 0 {
            self.by_tid.entry(tid).or_insert_with(|| packed(comm));
        }
    }
}

fn packed(comm: &[u8]) -> u128 {
    let mut bytes = [0; COMM];
    let size = comm.len().min(COMM);
    bytes[..size].copy_from_slice(&comm[..size]);
    u128::from_le_bytes(bytes)
}

/// `<...>` for a forgotten name, `:7` for one never known; and the latency format cuts names short.
pub fn is_no_name(head: &Head<'_>) -> bool {
    match head.style {
        Style::Perf => head.comm.is_empty() || head.comm.starts_with(b":"),
        Style::Ftrace => head.comm.is_empty() || head.comm == b"<...>",
        Style::Latency => head.comm.is_empty() || head.comm == b"<...>" || head.comm.len() >= 8,
    }
}
