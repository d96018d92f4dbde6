//! Groups one CPU's segments into episodes.
//!
//! ```text
//!   irq | own | NET_RX | own ...
//!   open  bridge ^ now it is decided: had this softirq been raised before the bridge began?
//! ```

use std::collections::VecDeque;

use crate::episodes::beside::Timed;
use crate::episodes::open::Open;
use crate::episodes::rows::{Kind, Segment, Whose};
use crate::episodes::told::{Episode, Told};

/// A softirq's row comes when it is over. After this many segments it is no longer awaited.
const REACH: usize = 4_096;

/// State of one CPU.
#[derive(Default)]
pub struct Cpu {
    /// Softirqs by entry, with the time of their raise.
    pub entered: Timed,
    /// Polls by end, with their packets.
    pub polled: Timed,
    /// The last segment outside the open episode.
    before: Option<Segment>,
    open: Open,
    /// The task's own time after the open episode: part of it if a softirq follows that was raised before.
    bridge: Option<Segment>,
    /// Segments after a bridge whose softirq is not known yet.
    waiting: VecDeque<Segment>,
}

/// Where a CPU's results go.
pub struct Side<'e> {
    pub cpu: u32,
    /// See `Settings`.
    pub gap_ns: i64,
    pub whose: &'e Whose,
    pub told: &'e mut Told,
}

impl Cpu {
    /// Takes the next segment.
    pub fn add(&mut self, row: Segment, side: &mut Side<'_>) {
        if !self.waiting.is_empty() || !self.take(&row, false, side) {
            self.waiting.push_back(row);
        }
        while self.waiting.len() >= REACH {
            self.next(true, side);
            self.resume(side);
        }
    }

    /// Takes the waiting segments, as far as the softirqs they depend on have come.
    pub fn resume(&mut self, side: &mut Side<'_>) {
        while self.next(false, side) {}
    }

    /// Closes everything at the end.
    pub fn finish(&mut self, side: &mut Side<'_>) {
        while self.next(true, side) {}
        let bridge = self.bridge.take();
        self.close(bridge.as_ref(), side);
    }

    /// Drops what no episode can need any more.
    pub fn forget(&mut self) {
        let last = self.bridge.as_ref().or(self.open.last()).or(self.before.as_ref());
        let Some(last_ns) = last.map(|last| last.end_ns) else { return };
        self.entered.forget(last_ns);
        self.polled.forget(self.open.since_ns().unwrap_or(last_ns));
    }

    fn next(&mut self, is_last_call: bool, side: &mut Side<'_>) -> bool {
        let Some(row) = self.waiting.pop_front() else { return false };
        let is_taken = self.take(&row, is_last_call, side);
        if !is_taken {
            self.waiting.push_front(row);
        }
        is_taken
    }

    /// Returns whether the row was taken. It is not while it waits for a softirq, unless this is its last call.
    fn take(&mut self, row: &Segment, is_last_call: bool, side: &mut Side<'_>) -> bool {
        if let Some(bridge) = self.bridge {
            if row.is_taken() && row.follows(&bridge) {
                let was_pending = self.was_pending(&bridge);
                if was_pending.is_none() && !is_last_call {
                    return false;
                }
                if was_pending == Some(true) {
                    self.open_or_go_on(&bridge, side);
                    self.open_or_go_on(row, side);
                    self.bridge = None;
                    return true;
                }
            }
            self.close(Some(&bridge), side);
            (self.before, self.bridge) = (self.bridge, None);
        }
        let goes_on = self.open.last().is_some_and(|last| row.follows(last));
        if goes_on && row.kind == Kind::Own && row.ns() <= side.gap_ns {
            self.bridge = Some(*row);
        } else if goes_on && row.is_taken() {
            self.open_or_go_on(row, side);
        } else {
            self.close(Some(row), side);
            if row.is_taken() {
                self.open_or_go_on(row, side);
            } else {
                self.before = Some(*row);
            }
        }
        true
    }

    /// Whether the softirq that entered as the task's own time ended had been raised before that time. `None` until a
    /// later one is there: they come in order of entry. An unknown raise may have been before.
    fn was_pending(&mut self, bridge: &Segment) -> Option<bool> {
        let (entry_ns, raise_ns) = self.entered.first(bridge.end_ns)?;
        Some(entry_ns == bridge.end_ns && raise_ns.is_none_or(|raise_ns| raise_ns <= bridge.start_ns))
    }

    fn open_or_go_on(&mut self, row: &Segment, side: &Side<'_>) {
        self.open.add(row, self.before.as_ref(), side.whose.has(row));
    }

    fn close(&mut self, after: Option<&Segment>, side: &mut Side<'_>) {
        let Some(last) = self.open.last().copied() else { return };
        self.before = Some(last);
        let Some(span) = self.open.close(after, side.whose.has(&last)) else { return };
        side.told.add(side.cpu.into(), &span, || {
            let (polls, packets) = self.polled.within(span.start_ns, span.end_ns);
            Episode { span, parts: self.open.parts.clone(), polls, packets }
        });
        self.open.parts.clear();
    }
}
