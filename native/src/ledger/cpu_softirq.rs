//! Softirqs, their raises, and the polls in them.

use crate::ledger::cpu::{Cpu, Earlier, ResumedPoll, Softirq, Spare, ThreadPoll, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::network::Network;
use crate::ledger::point::Resumed;
use crate::ledger::raise::Origin;
use crate::ledger::rows::{known, PollRow, SoftirqRow, ABSENT};
use crate::ledger::softirq::{policy, VECTORS};
use crate::ledger::task::Role;
use crate::ledger::thief::{in_doubt, softirq_thief, turned, Class, RPS_DISPATCH};

impl Cpu {
    pub fn softirq_raise(&mut self, vec: u8, event: &Event) {
        let (from, inherited) = if event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty() {
            (Origin::Irq, false)
        } else if event.flags & FLAG_SOFTIRQ != 0 || self.softirq.is_some() {
            (self.softirq.as_ref().map_or(Origin::Unknown, |softirq| softirq.origin), true)
        } else if !self.settings.has_contexts {
            // A timer or another CPU's interrupt may be what raises it.
            (Origin::Unknown, false)
        } else {
            (Origin::Task(event.pid), false)
        };
        self.raises[usize::from(vec) % VECTORS].add(event.time_ns, from, inherited);
        if policy(vec).polls {
            let device_irq = self.hardirqs.last().filter(|hardirq| !hardirq.is_vector).map(|hardirq| hardirq.key);
            let thread_irq = match self.role {
                Role::IrqThread(irq) if self.hardirqs.is_empty() => Some(irq),
                _ => None,
            };
            if let Some(irq) = device_irq.or(thread_irq) {
                self.leads_to_net_rx(irq);
            }
            self.turn(event, Network::Yes);
        } else if policy(vec).tasklets {
            if let Some(hardirq) = self.hardirqs.last().filter(|hardirq| !hardirq.is_vector) {
                self.irqs.deferred(hardirq.key);
            }
        }
    }

    /// The vector's or softirq's run at hand proves to be network, or may be.
    fn turn(&mut self, event: &Event, network: Network) {
        let turned = match (self.hardirqs.last_mut(), &mut self.softirq) {
            (Some(hardirq), _) => &mut hardirq.turned,
            (None, Some(softirq)) if event.flags & FLAG_HARDIRQ == 0 => {
                self.irqs.tasklets_lead |= policy(softirq.vec).tasklets;
                &mut softirq.turned
            }
            _ => return,
        };
        if *turned != Some(Network::Yes) {
            *turned = Some(network);
        }
    }

    /// A task is woken: what wakes a NAPI thread works for the network.
    pub fn wakes(&mut self, tid: i32, network: Option<Network>, event: &Event) {
        let Some(network) = network else { return };
        let line = match (self.hardirqs.last(), self.role) {
            (Some(hardirq), _) if !hardirq.is_vector => Some(hardirq.key),
            (None, Role::IrqThread(irq)) if self.softirq.is_none() => Some(irq),
            _ => None,
        };
        match line {
            Some(irq) => self.irqs.woke(irq, tid),
            None => self.turn(event, network),
        }
    }

    fn leads_to_net_rx(&mut self, irq: i64) {
        self.irqs.raised_net_rx(irq);
        if !self.net_irqs.contains(&irq) {
            self.net_irqs.push(irq);
        }
    }

    pub fn softirq_entry(&mut self, vec: u8, event: &Event) {
        let now = event.time_ns;
        if self.softirq.is_some() {
            self.abandon_softirq(now);
        }
        self.close(now);
        let raise = &mut self.raises[usize::from(vec) % VECTORS];
        let raise_ns = raise.first_ns;
        let (mut origin, mut inherited) = raise.take();
        if !self.settings.has_raise {
            // One level of preempt count at entry means an interrupt's exit (or ksoftirqd); more
            // means local_bh_enable, where either may have raised it.
            origin = if event.preempt == Some(1) { Origin::Irq } else { Origin::Unknown };
            inherited = false;
            if let (true, Some(irq)) = (policy(vec).polls, self.last_irq_exit) {
                self.leads_to_net_rx(irq);
            }
        }
        let class = match (self.hardirq_class(), origin) {
            (Class::Stolen, Origin::Task(tid)) if tid == self.tid => Class::Synchronous,
            (Class::Stolen, Origin::Mixed | Origin::Unknown) => Class::Either,
            (class, _) => class,
        };
        self.ordinal += 1;
        let Spare { pending, lines, polled } = std::mem::take(&mut self.spare);
        self.softirq = Some(Softirq {
            vec,
            thief: softirq_thief(vec),
            class,
            origin,
            inherited,
            ordinal: self.ordinal,
            raise_ns: raise_ns.map(|raise_ns| raise_ns.min(now)),
            entry_ns: now,
            self_ns: 0,
            poll_ns: 0,
            polls: 0,
            packets: 0,
            poll_from: now,
            pending,
            pending_ns: 0,
            turned: None,
            flagged: event.flags & FLAG_SOFTIRQ != 0,
            lines: if policy(vec).polls { std::mem::replace(&mut self.net_irqs, lines) } else { lines },
            polled,
        });
    }

    pub fn softirq_exit(&mut self, vec: u8, now: i64) {
        match &self.softirq {
            Some(softirq) if softirq.vec == vec => {
                self.close(now);
                if let Some(softirq) = self.softirq.take() {
                    self.end_softirq(softirq, Some(now));
                }
            }
            open => {
                if open.is_some() {
                    self.abandon_softirq(now);
                }
                self.doubt(self.no_softirq_ns, now, "softirq exit without its entry");
                self.rows.ended(softirq_thief(vec), 0);
                if self.settings.want.softirqs && self.settings.touches(now, now) {
                    self.rows.softirqs.push(SoftirqRow {
                        ordinal: self.ordinal,
                        raise_ns: ABSENT,
                        entry_ns: ABSENT,
                        exit_ns: now,
                        vec: vec.into(),
                        victim: self.victim,
                        origin: Origin::Unknown.label(false),
                        in_kthread: self.role != Role::Ordinary,
                        class: Class::None,
                        self_ns: 0,
                        poll_ns: 0,
                        polls: 0,
                        packets: 0,
                    });
                }
            }
        }
    }

    /// The softirq ended unseen, somewhere between the last event and `now`.
    pub fn abandon_softirq(&mut self, now: i64) {
        self.counters.disagreements += 1;
        self.close(self.last_ns);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None);
        }
        self.unknown_until(now, "softirq entry without its exit");
    }

    pub fn end_softirq(&mut self, softirq: Softirq, exit_ns: Option<i64>) {
        self.end_softirq_of(self.victim, softirq, exit_ns);
    }

    /// Softirqs whose tasks were switched out in the middle of them never came back.
    pub fn end_parked(&mut self) {
        for (_, parked) in std::mem::take(&mut self.parked) {
            if let Some(softirq) = parked.softirq {
                self.end_softirq_of(parked.victim, softirq, None);
            }
        }
    }

    fn end_softirq_of(&mut self, victim: u32, softirq: Softirq, exit_ns: Option<i64>) {
        if policy(softirq.vec).polls && softirq.polls == 0 && self.settings.has_poll && exit_ns.is_some() {
            self.relabel(&softirq.pending, softirq.thief, RPS_DISPATCH);
        }
        let seen = exit_ns.is_some();
        let known = policy(softirq.vec).network;
        if let Some(proved) = if seen { softirq.turned } else { in_doubt(known, softirq.turned) } {
            self.relabel(&softirq.pending, softirq.thief, turned(softirq.thief, known, proved));
        }
        self.rows.ended(softirq_thief(softirq.vec), softirq.self_ns);
        if self.settings.want.softirqs && self.settings.touches(softirq.entry_ns, exit_ns.unwrap_or(self.last_ns)) {
            self.rows.softirqs.push(SoftirqRow {
                ordinal: softirq.ordinal,
                raise_ns: softirq.raise_ns.unwrap_or(ABSENT),
                entry_ns: softirq.entry_ns,
                exit_ns: exit_ns.unwrap_or(ABSENT),
                vec: softirq.vec.into(),
                victim,
                origin: softirq.origin.label(softirq.inherited),
                in_kthread: self.role != Role::Ordinary,
                class: softirq.class,
                self_ns: softirq.self_ns,
                poll_ns: softirq.poll_ns,
                polls: softirq.polls,
                packets: softirq.packets,
            });
        }
        let Softirq { pending, lines, polled, .. } = softirq;
        self.spare = Spare { pending: emptied(pending), lines: emptied(lines), polled: emptied(polled) };
    }

    /// Gives pending segments to another thief; those that have become unknown stay so.
    fn relabel(&mut self, pending: &[u64], from: u32, to: u32) {
        for &index in pending.iter().filter(|_| from != to) {
            if let Some(segment) = self.tail.get_mut(index).filter(|segment| segment.thief == from) {
                segment.thief = to;
            }
        }
    }

    /// napi_poll comes when the poll is over: it owns what ran since the softirq's entry, or since
    /// the poll before it; in a NAPI thread since the thread was switched in.
    pub fn napi_poll(&mut self, poll: NapiPoll, event: &Event) {
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
            victim: self.victim,
            class: Class::None,
        };
        let mut resumed = None;
        if let Some(softirq) = self.softirq.as_mut().filter(|softirq| policy(softirq.vec).polls && !in_hardirq) {
            let pending = std::mem::take(&mut softirq.pending);
            let ns = std::mem::take(&mut softirq.pending_ns);
            let from = softirq.thief;
            softirq.poll_ns += ns;
            softirq.polls += 1;
            softirq.packets = softirq.packets.saturating_add(work.unwrap_or(0).max(0) as u32);
            row.start_ns = softirq.poll_from;
            row.self_ns = ns;
            row.softirq = Some(softirq.ordinal);
            row.class = softirq.class;
            softirq.poll_from = now;
            if !softirq.polled.contains(&device) {
                softirq.polled.push(device);
                self.irqs.polled(&softirq.lines, device, now);
            }
            self.relabel(&pending, from, thief);
            if let Some(softirq) = &mut self.softirq {
                softirq.pending = emptied(pending);
            }
        } else if self.softirq.is_none() && !in_hardirq && event.flags & FLAG_SOFTIRQ == 0 && self.thread_poll.is_some()
        {
            let poll = self.thread_poll.replace(ThreadPoll { from: now, ..Default::default() }).unwrap_or_default();
            self.relabel(&poll.pending, self.own, thief);
            self.stay.task_ns -= poll.pending_ns;
            self.stay.poll_ns += poll.pending_ns;
            row.start_ns = poll.from;
            row.self_ns = poll.pending_ns;
            if let Some(earlier) = poll.earlier {
                for &(slice, ns) in &earlier.slices {
                    row.self_ns += ns;
                    if let Some(slice) = self.rows.slices.get_mut(slice) {
                        (slice.task_ns, slice.poll_ns) = (slice.task_ns - ns, slice.poll_ns + ns);
                    }
                }
                resumed = Some((earlier, poll.pending));
            }
            row.class = Class::Scheduled;
            let lines = std::mem::take(&mut self.net_irqs);
            self.irqs.polled(&lines, device, now);
            self.irqs.thread_polled(self.tid, device);
        } else {
            self.counters.polls_without_begin += 1;
        }
        let has_row = self.settings.want.polls && self.settings.touches(known(row.start_ns).unwrap_or(now), now);
        if let Some((earlier, pending)) = resumed {
            self.resumed(earlier, &pending, thief, has_row);
        }
        if has_row {
            self.rows.polls.push(row);
        }
    }

    /// A poll has ended that began before its thread was preempted. Whether it is one poll the other CPUs know.
    fn resumed(&mut self, earlier: Earlier, pending: &[u64], thief: u32, has_row: bool) {
        let of_poll = |&index: &u64| self.tail.get(index).filter(|segment| segment.thief == thief).copied();
        let segments = pending[..earlier.pending].iter().filter_map(of_poll).collect();
        let (tid, number) = (self.tid, self.resumed_polls.len());
        self.part.resumed.push(Resumed { tid, since_ns: earlier.since_ns, until_ns: earlier.until_ns, number });
        let row = has_row.then(|| self.rows.polls.len());
        self.resumed_polls.push(ResumedPoll { earlier, own: self.own, row, segments });
    }

    /// Takes from these polls what came before their thread was away: it ended on another CPU.
    pub fn part_from_earlier(&mut self, ended_elsewhere: impl Fn(usize) -> bool) {
        let polls = std::mem::take(&mut self.resumed_polls);
        for (_, poll) in polls.into_iter().enumerate().filter(|(number, _)| ended_elsewhere(*number)) {
            for (slice, ns) in &poll.earlier.slices {
                if let Some(slice) = self.rows.slices.get_mut(*slice) {
                    (slice.task_ns, slice.poll_ns) = (slice.task_ns + ns, slice.poll_ns - ns);
                }
            }
            if let Some(row) = poll.row.and_then(|row| self.rows.polls.get_mut(row)) {
                row.start_ns = poll.earlier.until_ns;
                row.self_ns -= poll.earlier.slices.iter().map(|slice| slice.1).sum::<i64>();
            }
            for segment in &poll.segments {
                self.finished.give(segment, poll.own, &self.settings);
            }
        }
    }
}

/// The same allocation, emptied.
fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}
