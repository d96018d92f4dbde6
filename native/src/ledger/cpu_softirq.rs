//! Softirqs, their raises, and the polls in them.

use crate::ledger::context::{LedgerContext, SOFTIRQ_VECTORS};
use crate::ledger::cpu::{Cpu, Softirq, Spare, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::{Event, NapiPoll};
use crate::ledger::raise::Origin;
use crate::ledger::rows::{known, PollRow, SoftirqRow, ABSENT};
use crate::ledger::task::Role;
use crate::ledger::thief::{Class, Network, HI, NET_RX, NET_TX, RPS_DISPATCH, TASKLET};

impl Cpu {
    pub fn softirq_raise(&mut self, vec: i64, event: &Event, context: &mut LedgerContext) {
        let (from, inherited) = if event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty() {
            (Origin::Irq, false)
        } else if event.flags & FLAG_SOFTIRQ != 0 || self.softirq.is_some() {
            (self.softirq.as_ref().map_or(Origin::Unknown, |softirq| softirq.origin), true)
        } else if !context.schemas.has_contexts {
            // A timer or another CPU's interrupt may be what raises it.
            (Origin::Unknown, false)
        } else {
            (Origin::Task(event.pid), false)
        };
        self.raises[vec as usize % SOFTIRQ_VECTORS].add(event.time_ns, from, inherited);
        if vec == NET_RX {
            let device_irq = self.hardirqs.last().filter(|hardirq| !hardirq.is_vector).map(|hardirq| hardirq.key);
            let thread_irq = match self.role {
                Role::IrqThread(irq) if self.hardirqs.is_empty() => Some(irq),
                _ => None,
            };
            if let Some(irq) = device_irq.or(thread_irq) {
                self.leads_to_net_rx(irq, context);
            }
            self.turn(event, Network::Yes, context);
        } else if matches!(vec, HI | TASKLET) {
            if let Some(hardirq) = self.hardirqs.last().filter(|hardirq| !hardirq.is_vector) {
                context.irqs.deferred(hardirq.key);
            }
        }
    }

    /// The vector's or softirq's run at hand proves to be network, or may be.
    fn turn(&mut self, event: &Event, network: Network, context: &mut LedgerContext) {
        let turned = match (self.hardirqs.last_mut(), &mut self.softirq) {
            (Some(hardirq), _) => &mut hardirq.turned,
            (None, Some(softirq)) if event.flags & FLAG_HARDIRQ == 0 => {
                context.irqs.tasklets_lead |= matches!(softirq.vec, HI | TASKLET);
                &mut softirq.turned
            }
            _ => return,
        };
        if *turned != Some(Network::Yes) {
            *turned = Some(network);
        }
    }

    /// A task is woken: what wakes a NAPI thread works for the network.
    pub fn wakes(&mut self, tid: i32, event: &Event, context: &mut LedgerContext) {
        let role = context.tasks.role(tid);
        let network = match role {
            Some(Role::Napi) => Network::Yes,
            Some(_) => return,
            None => Network::OfThread,
        };
        let line = match (self.hardirqs.last(), self.role) {
            (Some(hardirq), _) if !hardirq.is_vector => Some(hardirq.key),
            (None, Role::IrqThread(irq)) if self.softirq.is_none() => Some(irq),
            _ => None,
        };
        match line {
            Some(irq) => context.irqs.woke(irq, tid),
            None => self.turn(event, network, context),
        }
    }

    fn leads_to_net_rx(&mut self, irq: i64, context: &mut LedgerContext) {
        context.irqs.raised_net_rx(irq);
        if !self.net_irqs.contains(&irq) {
            self.net_irqs.push(irq);
        }
    }

    pub fn softirq_entry(&mut self, vec: i64, event: &Event, context: &mut LedgerContext) {
        let now = event.time_ns;
        if self.softirq.is_some() {
            self.abandon_softirq(now, context);
        }
        self.close(now, context);
        let raise = &mut self.raises[vec as usize % SOFTIRQ_VECTORS];
        let raise_ns = raise.first_ns;
        let (mut origin, mut inherited) = raise.take();
        if !context.schemas.has_raise {
            // One level of preempt count at entry means an interrupt's exit (or ksoftirqd); more
            // means local_bh_enable, where either may have raised it.
            origin = if event.preempt == Some(1) { Origin::Irq } else { Origin::Unknown };
            inherited = false;
            if let (NET_RX, Some(irq)) = (vec, self.last_irq_exit) {
                self.leads_to_net_rx(irq, context);
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
            thief: context.softirq_thief(vec),
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
            lines: if vec == NET_RX { std::mem::replace(&mut self.net_irqs, lines) } else { lines },
            polled,
        });
    }

    pub fn softirq_exit(&mut self, vec: i64, now: i64, context: &mut LedgerContext) {
        match &self.softirq {
            Some(softirq) if softirq.vec == vec => {
                self.close(now, context);
                if let Some(softirq) = self.softirq.take() {
                    self.end_softirq(softirq, Some(now), context);
                }
            }
            open => {
                if open.is_some() {
                    self.abandon_softirq(now, context);
                }
                self.doubt(self.no_softirq_ns, now, "softirq exit without its entry", context);
                self.rows.ended(context.softirq_thief(vec), 0);
                if context.want.softirqs && context.touches(now, now) {
                    self.rows.softirqs.push(SoftirqRow {
                        ordinal: self.ordinal,
                        raise_ns: ABSENT,
                        entry_ns: ABSENT,
                        exit_ns: now,
                        vec: vec as i32,
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
    pub fn abandon_softirq(&mut self, now: i64, context: &mut LedgerContext) {
        context.counters.disagreements += 1;
        self.close(self.last_ns, context);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None, context);
        }
        self.unknown_until(now, "softirq entry without its exit", context);
    }

    pub fn end_softirq(&mut self, softirq: Softirq, exit_ns: Option<i64>, context: &mut LedgerContext) {
        self.end_softirq_of(self.victim, softirq, exit_ns, context);
    }

    /// Softirqs whose tasks were switched out in the middle of them never came back.
    pub fn end_parked(&mut self, context: &mut LedgerContext) {
        for (_, parked) in std::mem::take(&mut self.parked) {
            if let Some(softirq) = parked.softirq {
                self.end_softirq_of(parked.victim, softirq, None, context);
            }
        }
    }

    fn end_softirq_of(&mut self, victim: u32, softirq: Softirq, exit_ns: Option<i64>, context: &mut LedgerContext) {
        if softirq.vec == NET_RX && softirq.polls == 0 && context.schemas.has_poll && exit_ns.is_some() {
            self.relabel(&softirq.pending, softirq.thief, RPS_DISPATCH);
        }
        let seen = exit_ns.is_some();
        let turned = if seen { softirq.turned } else { context.thieves.in_doubt(softirq.thief, softirq.turned) };
        if let Some(network) = turned.filter(|_| softirq.vec != NET_RX && softirq.vec != NET_TX) {
            let other = context.thieves.turned(softirq.thief, network);
            self.relabel(&softirq.pending, softirq.thief, other);
        }
        self.rows.ended(context.softirq_thief(softirq.vec), softirq.self_ns);
        if context.want.softirqs && context.touches(softirq.entry_ns, exit_ns.unwrap_or(self.last_ns)) {
            self.rows.softirqs.push(SoftirqRow {
                ordinal: softirq.ordinal,
                raise_ns: softirq.raise_ns.unwrap_or(ABSENT),
                entry_ns: softirq.entry_ns,
                exit_ns: exit_ns.unwrap_or(ABSENT),
                vec: softirq.vec as i32,
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
        for &index in pending {
            if let Some(segment) = self.tail.get_mut(index).filter(|segment| segment.thief == from) {
                segment.thief = to;
            }
        }
    }

    /// napi_poll comes when the poll is over: it owns what ran since the softirq's entry, or since
    /// the poll before it; in a NAPI thread since the thread was switched in.
    pub fn napi_poll(&mut self, poll: NapiPoll, event: &Event, context: &mut LedgerContext) {
        let now = event.time_ns;
        let NapiPoll { napi, work, budget, device } = poll;
        let thief = context.poll_thief(napi, device);
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty();
        if !in_hardirq {
            self.close(now, context);
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
        if let Some(softirq) = self.softirq.as_mut().filter(|softirq| softirq.vec == NET_RX && !in_hardirq) {
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
                context.irqs.polled(&softirq.lines, device, &context.strings);
            }
            self.relabel(&pending, from, thief);
            if let Some(softirq) = &mut self.softirq {
                softirq.pending = emptied(pending);
            }
        } else if self.softirq.is_none() && !in_hardirq && event.flags & FLAG_SOFTIRQ == 0 && self.thread_poll.is_some()
        {
            let poll = self.thread_poll.replace(crate::ledger::cpu::ThreadPoll { from: now, ..Default::default() });
            let poll = poll.unwrap_or_default();
            self.relabel(&poll.pending, self.own, thief);
            self.stay.task_ns -= poll.pending_ns;
            self.stay.poll_ns += poll.pending_ns;
            for &(slice, ns) in &poll.earlier {
                if let Some(slice) = context.rows.slices.get_mut(slice) {
                    (slice.task_ns, slice.poll_ns) = (slice.task_ns - ns, slice.poll_ns + ns);
                }
            }
            row.start_ns = poll.from;
            row.self_ns = poll.pending_ns + poll.earlier.iter().map(|earlier| earlier.1).sum::<i64>();
            row.class = Class::Scheduled;
            let lines = std::mem::take(&mut self.net_irqs);
            context.irqs.polled(&lines, device, &context.strings);
            context.irqs.thread_polled(self.tid, device);
        } else {
            context.counters.polls_without_begin += 1;
        }
        if context.want.polls && context.touches(known(row.start_ns).unwrap_or(now), now) {
            self.rows.polls.push(row);
        }
    }
}

/// The same allocation, emptied.
fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}
