//! The passes over a text: each line that is an event becomes a payload, in blocks, so that whatever
//! reads recordings reads it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::blanks::Blanks;
use super::buffers::Selection;
use super::comms::Comms;
use super::head::Head;
use super::known::Role;
use super::line::{what, Line};
use super::lines::{each, Blocks};
use super::order::Order;
use super::passed::Passed;
use super::row::{Row, FLAGS_AT, PID_AT, PREEMPT_AT};
use super::sched::{CHILD_AT, PARENT_AT};
use super::stamp::Stamp;
use super::switch::{NEXT_COMM, NEXT_PID, PREV_COMM, PREV_PID};
use super::{Reading, Text};
use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::visit::{Feed, Sample, Side, Tally, What};

impl Text {
    /// The event of a line, how it is read, and its payload; `None` if it lacks what most lines have, or
    /// its text cannot be read.
    #[inline(always)]
    pub(super) fn row<'a>(&self, head: &Head<'a>) -> Option<(u32, &Reading, Row<'a>)> {
        let (number, reading) = self.reading(head.name)?;
        let row = (reading.known.read)(head.text)?;
        let lacks = row.found & reading.needs != reading.needs
            || (self.common.pid && head.tid.is_none())
            || (self.has_cpu && head.cpu.is_none())
            || (self.common.flags && !head.context.has_flags())
            || (self.common.depth && !head.context.has_depth())
            || (self.has_unit != (head.stamp.unit_ns > 0));
        (!lacks).then_some((number, reading, row))
    }

    /// Shows every event to `visitor`, in the order of their lines.
    pub(super) fn walk_lines(&self, visitor: &mut Feed<'_>) -> Result<Tally> {
        let mut walk = Walk {
            text: self,
            block: Vec::new(),
            comms: Comms::default(),
            losses: IndexMap::default(),
            running: Vec::new(),
            order: Order::default(),
            passed: Passed::default(),
            places: 0,
            sure: Vec::new(),
            selection: Selection::of(self.buffer.as_bytes()),
            counts: [0; COUNTED.len()],
            records: BTreeMap::new(),
        };
        let mut blocks = Blocks::of(&self.file, self.from, self.end);
        while let Some((lines, overlong)) = blocks.next_counted()? {
            walk.passed.overlong(overlong);
            let flow = walk.lines(lines, visitor);
            let flow = [flow, visitor.block_end(&walk.block)];
            walk.block.clear();
            if flow.contains(&ControlFlow::Break(())) {
                return Ok(walk.tally());
            }
            if self.in_order {
                visitor.side(&[], &Side::of(What::Round, None, None));
            }
            if visitor.progress(blocks.done()).is_break() {
                return Err(bad!(Interrupted, "interrupted"));
            }
        }
        for (cpu, &sure) in walk.sure.iter().enumerate() {
            if sure != walk.places && sure != UNSEEN {
                visitor.side(&[], &Side::of(What::PassedOver, None, Some(cpu.narrow())));
            }
        }
        for (cpu, loss) in std::mem::take(&mut walk.losses) {
            loss.tell(cpu, None, &[], visitor);
        }
        Ok(walk.tally())
    }
}

/// Kinds of lines, by the name that the tally gives them.
const COUNTED: [&str; 8] = [
    "event",
    "losses",
    "comment",
    "call chain",
    "blank",
    "no event",
    "event whose text or columns are damaged",
    "event of another buffer",
];
const EVENT: usize = 0;
const LOSSES: usize = 1;
const COMMENT: usize = 2;
const FRAME: usize = 3;
const BLANK: usize = 4;
const OTHER: usize = 5;
const DAMAGED: usize = 6;
const OF_ANOTHER: usize = 7;

/// A CPU without an event so far; one of whose events a line was damaged.
const UNSEEN: u64 = u64::MAX;
const UNSURE: u64 = u64::MAX - 1;
/// A task that perf could not tell.
const UNKNOWN: i32 = -1;

struct Walk<'t> {
    text: &'t Text,
    /// Payloads of the present block.
    block: Vec<u8>,
    comms: Comms,
    /// Losses whose CPU has not shown its next event: that tells when they ended.
    losses: IndexMap<u32, Loss, FxBuildHasher>,
    /// The task on each CPU.
    running: Vec<i32>,
    order: Order,
    passed: Passed,
    /// Places where lines were passed over, and how many of them each CPU has behind it.
    places: u64,
    sure: Vec<u64>,
    selection: Selection,
    counts: [u64; COUNTED.len()],
    records: BTreeMap<String, u64>,
}

/// What a CPU lost since its last event: several lines may say so.
#[derive(Default)]
struct Loss {
    count: u64,
    /// Whether the kernel kept no number at some place.
    unknown: bool,
    /// Whether its ring kept nothing earlier.
    overwritten: bool,
}

impl Loss {
    fn tell(&self, cpu: u32, until_ns: Option<i64>, block: &[u8], visitor: &mut Feed<'_>) {
        if self.overwritten {
            visitor.side(block, &Side::of(What::Overwritten(0), until_ns, Some(cpu)));
        }
        if self.count > 0 {
            visitor.side(block, &Side::of(What::Lost(self.count), until_ns, Some(cpu)));
        }
        if self.unknown {
            visitor.side(block, &Side::of(What::LostUnknown, until_ns, Some(cpu)));
        }
    }
}

impl Walk<'_> {
    fn lines(&mut self, block: &[u8], visitor: &mut Feed<'_>) -> ControlFlow<()> {
        let (text, mut blanks) = (self.text, Blanks::of(block));
        for line in each(block) {
            let line = text.prefix.strip(line, &mut blanks);
            let kind = match Line::of(line) {
                Line::Event(head) if !self.selection.takes(&head) => {
                    self.places += u64::from(self.passed.event(head.name) > 0);
                    OF_ANOTHER
                }
                Line::Event(mut head) => match self.event(&mut head, visitor) {
                    Some(ControlFlow::Continue(())) => EVENT,
                    Some(ControlFlow::Break(())) => return ControlFlow::Break(()),
                    None => {
                        self.damaged(&head);
                        DAMAGED
                    }
                },
                Line::Lost(cpu, count, buffer) => {
                    if self.selection.marks(buffer) {
                        self.lose(cpu, count);
                    }
                    LOSSES
                }
                Line::Begun(cpu) => {
                    self.begin(cpu);
                    LOSSES
                }
                Line::Record(head) => {
                    self.record(&head, visitor);
                    continue;
                }
                Line::Comment => COMMENT,
                Line::Frame => FRAME,
                Line::Blank => BLANK,
                Line::Other => {
                    self.passed.other(line);
                    OTHER
                }
            };
            self.counts[kind] += 1;
        }
        ControlFlow::Continue(())
    }

    /// A line of an event; `None` if it is damaged.
    #[inline(always)]
    fn event(&mut self, head: &mut Head<'_>, visitor: &mut Feed<'_>) -> Option<ControlFlow<()>> {
        let text = self.text;
        self.places += u64::from(self.passed.event(head.name) > 0);
        if head.stamp == Stamp::NONE {
            head.stamp.time = self.counts[EVENT] as i64;
        }
        let (number, reading, mut row) = text.row(head)?;
        let tid = self.runs(head, &row, reading.known.role);
        self.order.event(head.cpu.unwrap_or(0), head.stamp.time);
        row.int(PID_AT, tid);
        if head.context.has_flags() {
            let (flags, preempt) = text.columns.of(head.context);
            row.byte(FLAGS_AT, flags);
            row.byte(PREEMPT_AT, preempt);
        }
        self.doubt(head, visitor);
        self.tell(head, &row, reading.known.role, visitor);
        let at = self.block.len().narrow();
        row.append_to(&mut self.block);
        let sample = Sample {
            event: number,
            time_ns: head.stamp.time,
            cpu: head.cpu.unwrap_or(0),
            raw: at,
            raw_size: row.len().narrow(),
            record: at,
            record_size: 0,
            in_guest: false,
        };
        Some(visitor.sample(&self.block, sample))
    }

    /// Who runs there. A task that is about to be gone has no number any more where perf asks, which
    /// then prints -1: it is the one that sched_switch brought or will take away.
    #[inline(always)]
    fn runs(&mut self, head: &Head<'_>, row: &Row<'_>, role: Role) -> i32 {
        let cpu = head.cpu.unwrap_or(0) as usize;
        if self.running.len() <= cpu {
            self.running.resize(cpu + 1, UNKNOWN);
        }
        let running = &mut self.running[cpu];
        let tid = match head.tid {
            Some(UNKNOWN) if role == Role::Switch => row.int_at(PREV_PID),
            Some(UNKNOWN) if self.text.has_switches => *running,
            tid => tid.unwrap_or(0),
        };
        *running = if role == Role::Switch { row.int_at(NEXT_PID) } else { tid };
        tid
    }

    /// Before this event lines were passed over that may have been this CPU's.
    #[inline(always)]
    fn doubt(&mut self, head: &Head<'_>, visitor: &mut Feed<'_>) {
        let Some(cpu) = head.cpu else { return };
        if self.sure.len() <= cpu as usize {
            self.sure.resize(cpu as usize + 1, UNSEEN);
        }
        let sure = std::mem::replace(&mut self.sure[cpu as usize], self.places);
        if sure != self.places && (sure != UNSEEN || self.places > 0) {
            visitor.side(&self.block, &Side::of(What::PassedOver, Some(head.stamp.time), Some(cpu)));
        }
    }

    /// An event that no table will have. Of those that no account needs, none misses it.
    #[cold]
    fn damaged(&mut self, head: &Head<'_>) {
        if self.text.reading(head.name).is_some_and(|(_, reading)| reading.known.role == Role::Text) {
            return;
        }
        match head.cpu.map(|cpu| self.sure.get_mut(cpu as usize)) {
            Some(Some(sure)) => *sure = UNSURE,
            Some(None) => {}
            None => self.places += 1,
        }
    }

    /// What an event says besides itself: its task's name, the end of a loss, a new task.
    #[inline(always)]
    fn tell(&mut self, head: &Head<'_>, row: &Row<'_>, role: Role, visitor: &mut Feed<'_>) {
        let time_ns = head.stamp.time;
        let cpu = head.cpu.unwrap_or(0);
        if let Some(loss) = self.losses.shift_remove(&cpu) {
            loss.tell(cpu, Some(time_ns), &self.block, visitor);
        }
        if self.text.common.pid {
            self.comms.line(head, time_ns, &self.block, visitor);
        }
        match role {
            Role::Switch => {
                for (pid, comm) in [(PREV_PID, PREV_COMM), (NEXT_PID, NEXT_COMM)] {
                    self.comms.switched(row.int_at(pid), row.comm_at(comm));
                }
            }
            Role::Fork => {
                let what = What::Fork { tid: row.int_at(CHILD_AT), parent: row.int_at(PARENT_AT) };
                visitor.side(&self.block, &Side::of(what, Some(time_ns), head.cpu));
            }
            _ => {}
        }
    }

    fn lose(&mut self, cpu: u32, count: Option<u64>) {
        if let Some(running) = self.running.get_mut(cpu as usize) {
            *running = UNKNOWN;
        }
        let loss = self.losses.entry(cpu).or_default();
        loss.count = loss.count.saturating_add(count.unwrap_or(0));
        loss.unknown |= count.is_none();
    }

    #[cold]
    fn begin(&mut self, cpu: u32) {
        self.losses.entry(cpu).or_default().overwritten = true;
    }

    #[cold]
    fn record(&mut self, head: &Head<'_>, visitor: &mut Feed<'_>) {
        let what = what(head.text);
        // For what existed before the recording began, perf prints the time 0.
        let time_ns = Some(head.stamp.time).filter(|&time| time > 0);
        visitor.side(&self.block, &Side::of(what, time_ns, head.cpu));
        let name = head.text.split(|byte| b" :(".contains(byte)).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).replacen("PERF_RECORD_", "", 1);
        if self.records.len() < 64 || self.records.contains_key(&name) {
            *self.records.entry(name).or_default() += 1;
        }
    }

    fn tally(self) -> Tally {
        let counted = COUNTED.iter().zip(self.counts).filter(|&(_, count)| count > 0);
        let mut records = self.records;
        records.extend(counted.map(|(name, count)| ((*name).to_owned(), count)));
        Tally { records, unreadable: 0, reversed: self.order.is_reversed(), notes: Vec::new() }
    }
}
