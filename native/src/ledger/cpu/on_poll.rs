//! What the end of a poll means: whose time it was since the softirq's entry, or since its thread was switched in.

use crate::ledger::cpu::napi_thread::{Earlier, Poll, ResumedPoll};
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::moved::Moved;
use crate::ledger::rows::{known, PollRow, ABSENT};
use crate::ledger::softirq::policy;
use crate::ledger::thief::{softirq_thief, Class};

impl Cpu {
    /// napi_poll comes when the poll is over: it owns what ran since the softirq's entry, or since
    /// the poll before it; in a NAPI thread since the thread was switched in.
    pub(super) fn napi_poll(&mut self, poll: NapiPoll, event: &Event) {
        let now = event.time_ns;
        let NapiPoll { thief, device, work, budget } = poll;
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty();
        if !in_hardirq {
            self.close(now);
        }
        let mut row = PollRow {
            start_ns: ABSENT,
            end_ns: now,
            thief,
            work,
            budget,
            self_ns: ABSENT,
            softirq: None,
            victim: self.current.victim(),
            class: Class::None,
        };
        let mut resumed = None;
        let is_in_softirq = self.softirqs.open().is_some() || event.flags & FLAG_SOFTIRQ != 0;
        if let Some(softirq) = self.softirqs.open_mut().filter(|softirq| policy(softirq.vec).polls && !in_hardirq) {
            let ns = std::mem::take(&mut softirq.pending_ns);
            softirq.poll_ns += ns;
            softirq.polls += 1;
            softirq.packets = softirq.packets.saturating_add(work.unwrap_or(0).max(0) as u32);
            (row.start_ns, row.self_ns) = (softirq.poll_from, ns);
            (row.softirq, row.class) = (Some(softirq.ordinal), softirq.class);
            softirq.poll_from = now;
            if !softirq.polled.contains(&device) {
                softirq.polled.push(device);
                self.irqs.polled(&softirq.lines, device, now);
            }
            self.tail.give(&softirq.pending, softirq_thief(softirq.vec), thief);
            softirq.pending.clear();
        } else if let Some(open) = self.napi_poll.as_mut().filter(|_| !in_hardirq && !is_in_softirq) {
            let poll = std::mem::replace(open, Poll::begin(now));
            self.tail.give(&poll.pending, self.current.owner().0, thief);
            self.slice.task_ns -= poll.pending_ns;
            self.slice.poll_ns += poll.pending_ns;
            (row.start_ns, row.self_ns, row.class) = (poll.from_ns, poll.pending_ns, Class::Scheduled);
            for part in &poll.earlier {
                row.self_ns += part.ns;
                self.rows.make_polled(part.row, part.ns);
            }
            resumed = Some(poll).filter(|poll| !poll.earlier.is_empty());
            self.irqs.polled(&self.softirqs.take_lines(), device, now);
            self.irqs.thread_polled(self.current.tid(), device);
        } else {
            self.counters.polls_without_begin += 1;
        }
        if let Some(poll) = resumed.take_if(|_| self.settings.outcome.is_some()) {
            self.return_earlier(&poll, thief, &mut row);
        }
        let has_row = self.settings.want.polls && self.settings.touches(known(row.start_ns).unwrap_or(now), now);
        if let Some(poll) = resumed {
            self.keep_resumed(poll, thief, has_row);
        }
        if has_row {
            self.rows.polls.push(row);
        }
    }

    /// Takes from a poll what came before its thread was last away and, as a first pass has it, polled elsewhere.
    fn return_earlier(&mut self, poll: &Poll, thief: u32, row: &mut PollRow) {
        let Some(last) = poll.earlier.iter().rposition(|part| !self.continued(part.number)) else { return };
        row.start_ns = poll.earlier[last].in_ns;
        for part in &poll.earlier[..=last] {
            row.self_ns -= part.ns;
            self.rows.make_polled(part.row, -part.ns);
        }
        let own = self.current.owner().0;
        for &index in &poll.pending[..poll.earlier[last].pending] {
            if self.tail.get(index).is_some_and(|segment| segment.thief == thief) {
                self.tail.give_at_last(index, own);
            }
        }
    }

    /// Keeps what may have to be undone: whether a poll that was preempted is one poll the other CPUs know.
    fn keep_resumed(&mut self, poll: Poll, thief: u32, has_row: bool) {
        let mut begin = 0;
        let with_segments = |part: Earlier| {
            let pending = &poll.pending[begin..part.pending];
            begin = part.pending;
            let found = pending.iter().filter_map(|&index| self.tail.get(index));
            (part, found.filter(|segment| segment.thief == thief).copied().collect())
        };
        let earlier = poll.earlier.into_iter().map(with_segments).collect();
        let row = has_row.then(|| self.rows.polls.len());
        self.resumed_polls.push(ResumedPoll { earlier, own: self.current.owner().0, row });
    }

    /// Takes from polls what came before their thread was last away and, as `moved` has it, polled elsewhere.
    pub fn undo_polls_that_moved(&mut self, moved: &Moved) {
        let (mut given, mut is_any) = (Vec::new(), false);
        for poll in std::mem::take(&mut self.resumed_polls) {
            let is_elsewhere = |part: &(Earlier, _)| moved.found.contains(&(self.number, part.0.number));
            let last = poll.earlier.iter().rposition(is_elsewhere);
            let continued = &poll.earlier[last.map_or(0, |last| last + 1)..];
            continued.iter().for_each(|(part, _)| self.outcome.continued.insert(part.number));
            let Some(last) = last else { continue };
            is_any = true;
            let mut row = poll.row.and_then(|row| self.rows.polls.get_mut(row));
            if let Some(row) = &mut row {
                row.start_ns = poll.earlier[last].0.in_ns;
                row.self_ns -= poll.earlier[..=last].iter().map(|(part, _)| part.ns).sum::<i64>();
            }
            for (part, segments) in &poll.earlier[..=last] {
                self.rows.make_polled(part.row, -part.ns);
                given.extend(segments.iter().map(|segment| (*segment, poll.own)));
            }
        }
        if is_any {
            self.finished.give(self.number, &given, &self.settings);
            let window = self.settings.window;
            self.rows
                .polls
                .retain(|row| known(row.start_ns).unwrap_or(row.end_ns) <= window.1 && row.end_ns >= window.0);
        }
    }
}
