//! Hardirqs and interrupt vectors: a stack on the CPU.

use crate::ledger::cpu::{Cpu, Hardirq, FLAG_HARDIRQ};
use crate::ledger::event::{Event, Interrupt};
use crate::ledger::network::Network;
use crate::ledger::rows::HardirqRow;
use crate::ledger::thief::{in_doubt, turned, Class, UNKNOWN};

/// No kernel nests interrupts so deep: beyond it exits are missing.
const DEEPEST: usize = 32;

/// The bit of a tracepoint pair in `exits_seen`.
fn pair_bit(is_vector: bool, key: i64) -> u64 {
    1 << if is_vector { 1 + key % 63 } else { 0 }
}

impl Cpu {
    /// A line does not interrupt itself: its exit was not seen. That is usual while a recorder is
    /// still switching its events on, and then nothing says that any of these handlers went on:
    ///
    /// ```text
    ///   irq 34 | (exit off) | irq 34 | (exit off) | irq 34 | exit 34      unknown between entries
    /// ```
    pub fn hardirq_entry(&mut self, interrupt: Interrupt, event: &Event) {
        let now = event.time_ns;
        let Interrupt { is_vector, network, key, thief, name } = interrupt;
        let itself = |open: &Hardirq| (open.is_vector, open.key) == (is_vector, key);
        if let Some(position) = self.hardirqs.iter().position(itself) {
            self.abandon_hardirqs(position, now);
        } else if self.hardirqs.len() >= DEEPEST {
            self.abandon_hardirqs(0, now);
        }
        self.close(now);
        if !is_vector {
            self.irqs.entered(key, name, now);
        }
        let flagged = event.flags & FLAG_HARDIRQ != 0;
        let class = self.hardirq_class();
        let ends = self.exits_seen & pair_bit(is_vector, key) != 0;
        let (entry_ns, self_ns, turned) = (now, 0, None);
        self.hardirqs.push(Hardirq { key, is_vector, network, thief, class, entry_ns, self_ns, flagged, ends, turned });
    }

    /// ```text
    ///   irq 25 | irq 26 ....... exit 25      26's exit is missing: unknown from the last event on
    ///   ... no hardirq ...      exit 25      25's entry is missing: unknown since it was last absent
    /// ```
    pub fn hardirq_exit(&mut self, interrupt: Interrupt, now: i64) {
        let Interrupt { is_vector, key, .. } = interrupt;
        self.exits_seen |= pair_bit(is_vector, key);
        let matching = self.hardirqs.iter().rposition(|open| (open.is_vector, open.key) == (is_vector, key));
        match matching {
            Some(position) => {
                if position + 1 < self.hardirqs.len() {
                    self.abandon_hardirqs(position + 1, now);
                }
                self.close(now);
                if let Some(hardirq) = self.hardirqs.pop() {
                    self.turn_hardirq(&hardirq, hardirq.turned);
                    self.hardirq_row(&hardirq, Some(now));
                }
                if !is_vector {
                    (self.last_irq_exit, self.last_line) = (Some(key), Some(key));
                    self.irqs.exited(key);
                }
            }
            None => {
                let from = self.hardirqs.last().map_or(self.no_hardirq_ns, |top| top.entry_ns.max(self.no_hardirq_ns));
                self.doubt(from, now, "interrupt exit without its entry");
                let thief = interrupt.thief;
                self.rows.ended(thief, 0);
                if self.settings.want.hardirqs && self.settings.touches(now, now) {
                    let row = HardirqRow { entry_ns: None, exit_ns: Some(now), thief, victim: self.victim, self_ns: 0 };
                    self.rows.hardirqs.push(row);
                }
            }
        }
    }

    fn hardirq_row(&mut self, hardirq: &Hardirq, exit_ns: Option<i64>) {
        self.rows.ended(hardirq.thief, hardirq.self_ns);
        if self.settings.want.hardirqs && self.settings.touches(hardirq.entry_ns, exit_ns.unwrap_or(self.last_ns)) {
            self.rows.hardirqs.push(HardirqRow {
                entry_ns: Some(hardirq.entry_ns),
                exit_ns,
                thief: hardirq.thief,
                victim: self.victim,
                self_ns: hardirq.self_ns,
            });
        }
    }

    /// Interrupts from `position` up ended unseen, somewhere between the last event and `now`.
    pub fn abandon_hardirqs(&mut self, position: usize, now: i64) {
        self.counters.disagreements += 1;
        self.close(self.last_ns);
        if let Some(first) = self.hardirqs[position..].iter().position(|open| !open.ends) {
            self.distrust_hardirqs(position + first, "before the first interrupt exit was recorded");
        }
        self.drop_hardirqs(position);
        self.unknown_until(now, "interrupt entry without its exit");
    }

    /// Their exits are not recorded yet, or not any more: what was booked to the interrupts from
    /// `position` up was not certainly theirs.
    pub fn distrust_hardirqs(&mut self, position: usize, why: &'static str) {
        let Some(first) = self.hardirqs.get(position).copied() else { return };
        let open: Vec<u32> = self.hardirqs[position..].iter().map(|hardirq| hardirq.thief).collect();
        let (mut taken, mut earliest) = (0, self.since);
        for segment in self.tail.newest_first().take_while(|segment| segment.start >= first.entry_ns) {
            if open.contains(&segment.thief) {
                (segment.thief, segment.class, segment.depth) = (UNKNOWN, Class::None, 0);
                taken += self.settings.clip(segment.start, segment.end);
                earliest = segment.start;
            }
        }
        self.hardirqs[position..].iter_mut().for_each(|hardirq| hardirq.self_ns = 0);
        self.stay.hardirq_ns -= taken;
        self.stay.unknown_ns += taken;
        if earliest < self.since {
            self.uncovered(earliest, self.since, why, 0);
        }
    }

    /// Ends interrupts from `position` up without an exit.
    pub fn drop_hardirqs(&mut self, position: usize) {
        while self.hardirqs.len() > position {
            if let Some(hardirq) = self.hardirqs.pop() {
                // What else it did was not recorded.
                self.turn_hardirq(&hardirq, in_doubt(hardirq.network, hardirq.turned));
                self.hardirq_row(&hardirq, None);
            }
        }
    }

    /// Gives the time of a vector's run to what it proved to be.
    fn turn_hardirq(&mut self, hardirq: &Hardirq, proved: Option<Network>) {
        let Some(proved) = proved.filter(|_| hardirq.is_vector) else { return };
        let other = turned(hardirq.thief, hardirq.network, proved);
        for segment in self.tail.newest_first().take_while(|segment| segment.start >= hardirq.entry_ns) {
            if segment.thief == hardirq.thief {
                segment.thief = other;
            }
        }
    }
}
