//! The meaning of raises, entries and exits of softirqs.

use crate::ledger::cpu::raise::Origin;
use crate::ledger::cpu::softirq::{Raised, Softirq};
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ, FLAG_SOFTIRQ};
use crate::ledger::event::Event;
use crate::ledger::network::{prove, Network};
use crate::ledger::softirq::policy;
use crate::ledger::task::Role;
use crate::ledger::thief::{softirq_thief, Class};

impl Cpu {
    pub(super) fn softirq_raise(&mut self, vec: u8, event: &Event) {
        let open = self.softirqs.open();
        let (from, inherited) = if event.flags & FLAG_HARDIRQ != 0 || !self.hardirqs.is_empty() {
            (Origin::Irq, false)
        } else if event.flags & FLAG_SOFTIRQ != 0 || open.is_some() {
            (open.map_or(Origin::Unknown, Softirq::origin), true)
        } else if !self.settings.has_contexts {
            // A timer or another CPU's interrupt may have raised it.
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

    /// The current run of a vector or softirq proves to be network work, or may be.
    fn proves(&mut self, event: &Event, network: Network) {
        match (self.hardirqs.top_mut(), self.softirqs.open_mut()) {
            (Some(hardirq), _) => prove(&mut hardirq.proved, network),
            (None, Some(softirq)) if event.flags & FLAG_HARDIRQ == 0 => {
                self.irqs.tasklets_lead |= policy(softirq.vec()).tasklets;
                softirq.prove(network);
            }
            _ => {}
        }
    }

    /// A task is woken. Whatever wakes a NAPI thread works for the network.
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
        self.enter_softirq(vec, event);
    }

    /// A softirq whose exit was not recorded has a row and no time.
    pub(super) fn softirq_start(&mut self, vec: u8, event: &Event) {
        self.enter_softirq(vec, event);
        self.end_softirq(None);
    }

    #[inline(always)]
    fn enter_softirq(&mut self, vec: u8, event: &Event) {
        let mut raised = self.softirqs.take_raises(vec);
        if !self.settings.has_raise {
            // An interrupt's exit (or ksoftirqd) adds no preempt level. local_bh_enable does, and so does code that the
            // interrupt hit. Where softirqs do not count as context (PREEMPT_RT), no interrupt's exit runs them.
            let is_exit = event.preempt == Some(0) && event.flags & FLAG_SOFTIRQ != 0;
            let origin = if is_exit { Origin::Irq } else { Origin::Unknown };
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
        self.softirqs.enter(vec, raised, class, event.time_ns, event.flags & FLAG_SOFTIRQ != 0);
    }

    pub(super) fn softirq_exit(&mut self, vec: u8, now: i64) {
        let open = self.softirqs.open().map(Softirq::vec);
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
        // Counted even if not wanted, so that ordinals do not depend on the window.
        let softirq = self.softirqs.end_unseen(vec);
        if self.settings.want.softirqs && self.settings.touches(now, now) {
            let (victim, in_kthread) = (self.current.victim(), !self.current.is_ordinary());
            self.rows.softirqs.push(softirq.row(victim, in_kthread, Some(now)));
        }
    }

    /// The softirq ended unseen between the last event and `now`.
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
            softirq.settle(exit_ns.is_some(), settings, tail);
            softirq.write(victim, in_kthread, exit_ns, *last_ns, settings, rows);
        }
    }

    /// Ends the softirqs of tasks that were switched out inside them and never came back.
    pub(super) fn end_parked(&mut self) {
        for (_, parked) in std::mem::take(&mut self.parked) {
            if let Some(softirq) = &parked.softirq {
                softirq.settle(false, &self.settings, &mut self.tail);
                let (victim, in_kthread) = (parked.victim, parked.in_kthread);
                softirq.write(victim, in_kthread, None, self.last_ns, &self.settings, &mut self.rows);
            }
        }
    }
}
