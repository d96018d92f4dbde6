//! What the end of a poll means: whose time it was since the softirq's entry, or since its thread was switched in.

use crate::ledger::cpu::napi_thread::{Earlier, Poll};
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::moved::Moved;
use crate::ledger::rows::{known, PollRow, ABSENT};
use crate::ledger::softirq::policy;
use crate::ledger::thief::Class;

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
        let mut ended = None;
        let is_in_softirq = self.softirqs.open().is_some() || event.flags & FLAG_SOFTIRQ != 0;
        if let Some(softirq) = self.softirqs.open_mut().filter(|softirq| policy(softirq.vec()).polls && !in_hardirq) {
            (row.start_ns, row.self_ns) = softirq.end_poll(now, work.unwrap_or(0));
            (row.softirq, row.class) = (Some(softirq.ordinal()), softirq.class());
            if softirq.polls_first(device) {
                self.irqs.polled(softirq.lines(), device, now);
            }
            softirq.give_poll(&mut self.tail, thief);
        } else if let Some(open) = self.napi_poll.as_mut().filter(|_| !in_hardirq && !is_in_softirq) {
            let poll = std::mem::replace(open, Poll::begin(now));
            self.tail.give(poll.pending(), self.current.owner().0, thief);
            self.slice.make_polled(poll.pending_ns());
            (row.start_ns, row.self_ns, row.class) = (poll.start_ns(), poll.pending_ns(), Class::Scheduled);
            for part in poll.earlier() {
                row.self_ns += part.ns;
                self.rows.make_polled(part.row, part.ns);
            }
            ended = Some(poll);
            self.irqs.polled(&self.softirqs.take_lines(), device, now);
            self.irqs.thread_polled(self.current.tid(), device);
        } else {
            self.counters.polls_without_begin += 1;
        }
        if let Some(poll) = ended.take_if(|_| self.settings.outcome.is_some()) {
            self.return_earlier(&poll, thief, &mut row);
        }
        let has_row = self.settings.want.polls && self.settings.touches(known(row.start_ns).unwrap_or(now), now);
        let place = has_row.then(|| self.rows.polls.len());
        let resumed = ended.and_then(|poll| poll.resumed(&self.tail, thief, self.current.owner().0, place));
        self.resumed_polls.extend(resumed);
        if has_row {
            self.rows.polls.push(row);
        }
    }

    /// Takes from a poll what came before its thread was last away and, as a first pass has it, polled elsewhere.
    fn return_earlier(&mut self, poll: &Poll, thief: u32, row: &mut PollRow) {
        let Some(last) = poll.earlier().iter().rposition(|part| !self.continued(part.number)) else { return };
        row.start_ns = poll.earlier()[last].in_ns;
        for part in &poll.earlier()[..=last] {
            row.self_ns -= part.ns;
            self.rows.make_polled(part.row, -part.ns);
        }
        let own = self.current.owner().0;
        for &index in &poll.pending()[..poll.earlier()[last].pending] {
            if self.tail.get(index).is_some_and(|segment| segment.thief == thief) {
                self.tail.give_at_last(index, own);
            }
        }
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
