//! What raises, entries and exits of softirqs mean, and the polls in them.

use crate::ledger::cpu::napi_thread::{Earlier, Poll, ResumedPoll};
use crate::ledger::cpu::raise::Origin;
use crate::ledger::cpu::softirqs::{Raised, Softirq};
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::moved::Moved;
use crate::ledger::network::Network;
use crate::ledger::rows::{known, PollRow, Rows, SoftirqRow, ABSENT};
use crate::ledger::segment::Tail;
use crate::ledger::settings::Settings;
use crate::ledger::softirq::policy;
use crate::ledger::task::Role;
use crate::ledger::thief::{in_doubt, softirq_thief, turned, Class, RPS_DISPATCH};

impl Cpu {
    pub(super) fn softirq_raise(&mut self, vec: u8, event: &Event) {
        let open = self.softirqs.open();
        let (from, inherited) = if event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty() {
            (Origin::Irq, false)
        } else if event.flags & FLAG_SOFTIRQ != 0 || open.is_some() {
            (open.map_or(Origin::Unknown, |softirq| softirq.origin), true)
        } else if !self.settings.has_contexts {
            // A timer or another CPU's interrupt may be what raises it.
            (Origin::Unknown, false)
        } else {
            (Origin::Task(event.pid), false)
        };
        self.softirqs.raise(vec, event.time_ns, from, inherited);
        if policy(vec).polls {
            let thread_line = match self.current.role() {
                Role::IrqThread(irq) if self.hardirqs.is_empty() => Some(irq),
                _ => None,
            };
            if let Some(irq) = self.hardirqs.line().or(thread_line) {
                self.leads_to_net_rx(irq);
            }
            self.proves(event, Network::Yes);
        } else if policy(vec).tasklets {
            if let Some(irq) = self.hardirqs.line() {
                self.irqs.deferred(irq);
            }
        }
    }

    /// The vector's or softirq's run at hand proves to be network, or may be.
    fn proves(&mut self, event: &Event, network: Network) {
        let proved = match (self.hardirqs.top_mut(), self.softirqs.open_mut()) {
            (Some(hardirq), _) => &mut hardirq.proved,
            (None, Some(softirq)) if event.flags & FLAG_HARDIRQ == 0 => {
                self.irqs.tasklets_lead |= policy(softirq.vec).tasklets;
                &mut softirq.proved
            }
            _ => return,
        };
        if *proved != Some(Network::Yes) {
            *proved = Some(network);
        }
    }

    /// A task is woken: what wakes a NAPI thread works for the network.
    pub(super) fn wakes(&mut self, tid: i32, network: Option<Network>, event: &Event) {
        let Some(network) = network else { return };
        let thread_line = match self.current.role() {
            Role::IrqThread(irq) if self.hardirqs.is_empty() && self.softirqs.open().is_none() => Some(irq),
            _ => None,
        };
        match self.hardirqs.line().or(thread_line) {
            Some(irq) => self.irqs.woke(irq, tid),
            None => self.proves(event, network),
        }
    }

    fn leads_to_net_rx(&mut self, irq: i64) {
        self.irqs.raised_net_rx(irq);
        self.softirqs.led_by(irq);
    }

    pub(super) fn softirq_entry(&mut self, vec: u8, event: &Event) {
        let now = event.time_ns;
        if self.softirqs.open().is_some() {
            self.abandon_softirq(now);
        }
        self.close(now);
        let mut raised = self.softirqs.take_raises(vec);
        if !self.settings.has_raise {
            // One level of preempt count at entry means an interrupt's exit (or ksoftirqd); more
            // means local_bh_enable, where either may have raised it.
            let origin = if event.preempt == Some(1) { Origin::Irq } else { Origin::Unknown };
            raised = Raised { origin, inherited: false, ..raised };
            if let Some(irq) = self.last_exit.filter(|_| policy(vec).polls) {
                self.leads_to_net_rx(irq);
            }
        }
        let class = match (self.current.class_on_top(), raised.origin) {
            (Class::Stolen, Origin::Task(tid)) if tid == self.current.tid() => Class::Synchronous,
            (Class::Stolen, Origin::Mixed | Origin::Unknown) => Class::Either,
            (class, _) => class,
        };
        self.softirqs.enter(vec, raised, class, now, event.flags & FLAG_SOFTIRQ != 0);
    }

    pub(super) fn softirq_exit(&mut self, vec: u8, now: i64) {
        let open = self.softirqs.open().map(|softirq| softirq.vec);
        if open == Some(vec) {
            self.close(now);
            self.end_softirq(Some(now));
            return;
        }
        if open.is_some() {
            self.abandon_softirq(now);
        }
        self.doubt(self.no_softirq_ns, now, "softirq exit without its entry");
        self.rows.ended(softirq_thief(vec), 0);
        if self.settings.want.softirqs && self.settings.touches(now, now) {
            self.rows.softirqs.push(SoftirqRow {
                ordinal: self.softirqs.ordinal(),
                raise_ns: ABSENT,
                entry_ns: ABSENT,
                exit_ns: now,
                vec: vec.into(),
                victim: self.current.victim(),
                origin: Origin::Unknown.label(false),
                in_kthread: !self.current.is_ordinary(),
                class: Class::None,
                self_ns: 0,
                poll_ns: 0,
                polls: 0,
                packets: 0,
            });
        }
    }

    /// The softirq ended unseen, somewhere between the last event and `now`.
    pub(super) fn abandon_softirq(&mut self, now: i64) {
        self.counters.disagreements += 1;
        self.close(self.last_ns);
        self.end_softirq(None);
        self.unknown_until(now, "softirq entry without its exit");
    }

    /// Ends the open softirq, if there is one.
    #[inline(always)]
    pub(super) fn end_softirq(&mut self, exit_ns: Option<i64>) {
        let (victim, in_kthread) = (self.current.victim(), !self.current.is_ordinary());
        let Cpu { softirqs, settings, tail, rows, last_ns, .. } = self;
        if let Some(softirq) = softirqs.end() {
            finish(softirq, exit_ns, settings, tail);
            write(softirq, victim, in_kthread, exit_ns, *last_ns, settings, rows);
        }
    }

    /// Softirqs whose tasks were switched out in the middle of them never came back.
    pub(super) fn end_parked(&mut self) {
        for (_, parked) in std::mem::take(&mut self.parked) {
            if let Some(softirq) = &parked.softirq {
                finish(softirq, None, &self.settings, &mut self.tail);
                write(softirq, parked.victim, parked.in_kthread, None, self.last_ns, &self.settings, &mut self.rows);
            }
        }
    }

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
            if softirq.polled.insert(device) {
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
        let has_row = self.settings.want.polls && self.settings.touches(known(row.start_ns).unwrap_or(now), now);
        if let Some(poll) = resumed {
            self.keep_resumed(poll, thief, has_row);
        }
        if has_row {
            self.rows.polls.push(row);
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
        let mut given = Vec::new();
        for poll in std::mem::take(&mut self.resumed_polls) {
            let is_elsewhere = |part: &(Earlier, _)| moved.found.contains(&(self.number, part.0.number));
            let Some(last) = poll.earlier.iter().rposition(is_elsewhere) else { continue };
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
        if !given.is_empty() {
            self.finished.give(self.number, &given, &self.settings);
            let window = self.settings.window;
            self.rows
                .polls
                .retain(|row| known(row.start_ns).unwrap_or(row.end_ns) <= window.1 && row.end_ns >= window.0);
        }
    }
}

/// Gives the segments of a softirq that is over to what it proved to be.
#[inline(always)]
fn finish(softirq: &Softirq, exit_ns: Option<i64>, settings: &Settings, tail: &mut Tail) {
    let (policy, thief) = (policy(softirq.vec), softirq_thief(softirq.vec));
    let is_seen = exit_ns.is_some();
    if policy.polls && softirq.polls == 0 && settings.has_poll && is_seen {
        tail.give(&softirq.pending, thief, RPS_DISPATCH);
    }
    if let Some(proved) = if is_seen { softirq.proved } else { in_doubt(policy.network, softirq.proved) } {
        tail.give(&softirq.pending, thief, turned(thief, policy.network, proved));
    }
}

/// Writes the row of a softirq that is over.
#[inline(always)]
fn write(
    softirq: &Softirq,
    victim: u32,
    in_kthread: bool,
    exit_ns: Option<i64>,
    last_ns: i64,
    settings: &Settings,
    rows: &mut Rows,
) {
    rows.ended(softirq_thief(softirq.vec), softirq.self_ns);
    if settings.want.softirqs && settings.touches(softirq.entry_ns, exit_ns.unwrap_or(last_ns)) {
        rows.softirqs.push(SoftirqRow {
            ordinal: softirq.ordinal,
            raise_ns: softirq.raise_ns.unwrap_or(ABSENT),
            entry_ns: softirq.entry_ns,
            exit_ns: exit_ns.unwrap_or(ABSENT),
            vec: softirq.vec.into(),
            victim,
            origin: softirq.origin.label(softirq.inherited),
            in_kthread,
            class: softirq.class,
            self_ns: softirq.self_ns,
            poll_ns: softirq.poll_ns,
            polls: softirq.polls,
            packets: softirq.packets,
        });
    }
}
