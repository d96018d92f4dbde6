//! The meaning of entries and exits of hardirqs and interrupt vectors.

use crate::ledger::cpu::hardirqs::Hardirq;
use crate::ledger::cpu::{Cpu, FLAG_HARDIRQ};
use crate::ledger::event::{Event, Interrupt};
use crate::ledger::network::Network;
use crate::ledger::rows::HardirqRow;
use crate::ledger::thief::{in_doubt, turned, Class, UNKNOWN};

impl Cpu {
    /// Exits are often missing while a recorder is still switching its events on. Nothing then shows that any of these
    /// handlers went on:
    ///
    /// ```text
    ///   irq 34 | (exit off) | irq 34 | (exit off) | irq 34 | exit 34      unknown between entries
    /// ```
    pub(super) fn hardirq_entry(&mut self, interrupt: Interrupt, event: &Event) {
        let now = event.time_ns;
        if let Some(position) = self.hardirqs.ended_before(&interrupt) {
            self.abandon_hardirqs(position, now);
        }
        self.close(now);
        if interrupt.is_tick {
            self.ticks.ticked(now);
        }
        if !interrupt.is_vector {
            self.irqs.entered(interrupt.key, interrupt.name, now);
        }
        self.hardirqs.enter(interrupt, self.current.class_on_top(), now, event.flags & FLAG_HARDIRQ != 0);
    }

    /// ```text
    ///   irq 25 | irq 26 ....... exit 25      26's exit is missing: unknown from the last event on
    ///   ... no hardirq ...      exit 25      25's entry is missing: unknown since it was last absent
    /// ```
    pub(super) fn hardirq_exit(&mut self, interrupt: Interrupt, now: i64) {
        if let Some(position) = self.hardirqs.exits(&interrupt) {
            if position + 1 < self.hardirqs.depth() {
                self.abandon_hardirqs(position + 1, now);
            }
            self.close(now);
            if let Some(hardirq) = self.hardirqs.pop_above(position) {
                self.prove_hardirq(&hardirq, hardirq.proved);
                self.hardirq_row(&hardirq, Some(now));
            }
            if !interrupt.is_vector {
                (self.last_exit, self.last_line) = (Some(interrupt.key), Some(interrupt.key));
                self.irqs.exited(interrupt.key);
            }
            return;
        }
        let from = self.hardirqs.top().map_or(self.no_hardirq_ns, |top| top.entry_ns.max(self.no_hardirq_ns));
        self.doubt(from, now, "interrupt exit without its entry");
        let (thief, victim) = (interrupt.thief, self.current.victim());
        self.rows.ended(thief, 0);
        if self.settings.want.hardirqs && self.settings.touches(now, now) {
            self.rows.hardirqs.push(HardirqRow { entry_ns: None, exit_ns: Some(now), thief, victim, self_ns: 0 });
        }
    }

    fn hardirq_row(&mut self, hardirq: &Hardirq, exit_ns: Option<i64>) {
        let Hardirq { entry_ns, self_ns, .. } = *hardirq;
        let (thief, victim) = (hardirq.interrupt.thief, self.current.victim());
        self.rows.ended(thief, self_ns);
        if self.settings.want.hardirqs && self.settings.touches(entry_ns, exit_ns.unwrap_or(self.last_ns)) {
            self.rows.hardirqs.push(HardirqRow { entry_ns: Some(entry_ns), exit_ns, thief, victim, self_ns });
        }
    }

    /// Interrupts from `position` up ended unseen between the last event and `now`.
    pub(super) fn abandon_hardirqs(&mut self, position: usize, now: i64) {
        self.counters.disagreements += 1;
        self.close(self.last_ns);
        if let Some(first) = self.hardirqs.first_without_exit(position) {
            self.distrust_hardirqs(first, "before the first interrupt exit was recorded");
        }
        self.drop_hardirqs(position);
        self.unknown_until(now, "interrupt entry without its exit");
    }

    /// Their exits are not recorded yet, or no longer. Time booked to the interrupts from `position` up may not have
    /// been theirs.
    pub(super) fn distrust_hardirqs(&mut self, position: usize, why: &'static str) {
        let Some((entry_ns, thieves)) = self.hardirqs.distrust(position) else { return };
        let (mut taken, mut earliest) = (0, self.since);
        for segment in self.tail.newest_first().take_while(|segment| segment.start >= entry_ns) {
            if thieves.contains(&segment.thief) {
                (segment.thief, segment.class, segment.depth) = (UNKNOWN, Class::None, 0);
                taken += self.settings.clip(segment.start, segment.end);
                earliest = segment.start;
            }
        }
        self.slice.add_hardirq(-taken);
        self.slice.add_unknown(taken);
        if earliest < self.since {
            self.uncovered(earliest, self.since, why, 0);
        }
    }

    /// Ends interrupts from `position` up without an exit.
    pub(super) fn drop_hardirqs(&mut self, position: usize) {
        while let Some(hardirq) = self.hardirqs.pop_above(position) {
            // The rest of what it did was not recorded.
            self.prove_hardirq(&hardirq, in_doubt(hardirq.interrupt.network, hardirq.proved));
            self.hardirq_row(&hardirq, None);
        }
    }

    /// Gives the time of a vector's run to the thief that it proved to be.
    fn prove_hardirq(&mut self, hardirq: &Hardirq, proved: Option<Network>) {
        let Interrupt { is_vector, network, thief, .. } = hardirq.interrupt;
        let Some(proved) = proved.filter(|_| is_vector) else { return };
        let other = turned(thief, network, proved);
        for segment in self.tail.newest_first().take_while(|segment| segment.start >= hardirq.entry_ns) {
            if segment.thief == thief {
                segment.thief = other;
            }
        }
    }
}
