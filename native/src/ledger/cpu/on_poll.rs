//! The meaning of the end of a poll: it owns the time since the softirq's entry, or since its thread was switched in.

use crate::ledger::cpu::napi_thread::{Earlier, Poll};
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::moved::Moved;
use crate::ledger::rows::{known, PollRow, ABSENT};
use crate::ledger::softirq::policy;
use crate::ledger::thief::Class;

impl Cpu {
    /// napi_poll fires when the poll is over. The poll owns what ran since the softirq's entry or since the previous
    /// poll; in a NAPI thread, since the thread was switched in.
    pub(super) fn napi_poll(&mut self, poll: NapiPoll, event: &Event) {
        let now = event.time_ns;
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty();
        if !in_hardirq {
            self.close(now);
        }
        let is_in_softirq = self.softirqs.open().is_some() || event.flags & FLAG_SOFTIRQ != 0;
        let Some(softirq) = self.softirqs.open_mut().filter(|softirq| policy(softirq.vec()).polls && !in_hardirq)
        else {
            self.poll_outside_softirqs(poll, now, in_hardirq || is_in_softirq);
            return;
        };
        let (start_ns, self_ns) = softirq.end_poll(now, poll.work.unwrap_or(0));
        if softirq.polls_first(poll.device) {
            self.irqs.polled(softirq.lines(), poll.device, now);
        }
        softirq.give_poll(&mut self.tail, poll.thief);
        if self.settings.want.polls {
            let (softirq, class) = (Some(softirq.ordinal()), softirq.class());
            let row = PollRow { start_ns, self_ns, softirq, class, ..self.poll_row(&poll, now) };
            self.add_poll(row);
        }
    }

    /// The row of a poll whose begin is unknown.
    fn poll_row(&self, poll: &NapiPoll, now: i64) -> PollRow {
        PollRow {
            start_ns: ABSENT,
            end_ns: now,
            thief: poll.thief,
            work: poll.work,
            budget: poll.budget,
            self_ns: ABSENT,
            softirq: None,
            victim: self.current.victim(),
            class: Class::None,
        }
    }

    /// Adds the row where rows of its time are wanted, and returns its place.
    fn add_poll(&mut self, row: PollRow) -> Option<usize> {
        let start_ns = known(row.start_ns).unwrap_or(row.end_ns);
        let is_wanted = self.settings.want.polls && self.settings.touches(start_ns, row.end_ns);
        is_wanted.then(|| {
            self.rows.polls.push(row);
            self.rows.polls.len() - 1
        })
    }

    /// Handles the poll of a NAPI thread, unless it is in an interrupt.
    fn poll_outside_softirqs(&mut self, poll: NapiPoll, now: i64, in_interrupt: bool) {
        let NapiPoll { thief, device, .. } = poll;
        let mut row = self.poll_row(&poll, now);
        let Some(open) = self.napi_poll.as_mut().filter(|_| !in_interrupt) else {
            self.counters.polls_without_begin += 1;
            self.add_poll(row);
            return;
        };
        let poll = std::mem::replace(open, Poll::begin(now));
        self.tail.give(poll.pending(), self.current.owner().0, thief);
        self.slice.make_polled(poll.pending_ns());
        (row.start_ns, row.self_ns, row.class) = (poll.start_ns(), poll.pending_ns(), Class::Scheduled);
        for part in poll.earlier() {
            row.self_ns += part.ns;
            self.rows.make_polled(part.row, part.ns);
        }
        self.irqs.polled(&self.softirqs.take_lines(), device, now);
        self.irqs.thread_polled(self.current.tid(), device);
        if self.settings.outcome.is_some() {
            // A second pass knows what has to be undone.
            self.return_earlier(&poll, thief, &mut row);
            self.add_poll(row);
            return;
        }
        let place = self.add_poll(row);
        let resumed = poll.resumed(&self.tail, thief, self.current.owner().0, place);
        self.resumed_polls.extend(resumed);
    }

    /// Takes from a poll what came before its thread last polled elsewhere, as a first pass found.
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

    /// Takes from polls what came before their threads last polled elsewhere, as `moved` has it.
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
