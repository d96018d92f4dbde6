//! Hardirqs and interrupt vectors: a stack on the CPU.

use crate::intern::NONE;
use crate::ledger::cpu::{Cpu, Hardirq, FLAG_HARDIRQ};
use crate::ledger::rows::HardirqRow;
use crate::ledger::shape::Kind;
use crate::ledger::world::{Event, World};

fn key(kind: Kind, event: &Event) -> (bool, i64) {
    match kind {
        Kind::VectorEntry(vector) | Kind::VectorExit(vector) => (true, i64::from(vector)),
        _ => (false, event.a),
    }
}

impl Cpu {
    pub fn hardirq_entry(&mut self, kind: Kind, event: &Event, world: &mut World) {
        let now = event.time_ns;
        self.close(now, world);
        let (is_vector, key) = key(kind, event);
        let thief =
            if is_vector { self.vector_thief(key, event, world) } else { world.thieves.hardirq(key, event.text) };
        if !is_vector {
            world.irqs.entered(key, event.text);
        }
        let flagged = event.flags & FLAG_HARDIRQ != 0;
        let class = self.hardirq_class();
        self.hardirqs.push(Hardirq { key, is_vector, thief, class, entry_ns: now, self_ns: 0, flagged });
    }

    fn vector_thief(&self, key: i64, event: &Event, world: &mut World) -> u32 {
        let text = world.shapes.vectors.get(key as usize).map_or("", String::as_str);
        let name = world.strings.code(text.as_bytes());
        let vector = (event.a >= 0).then_some(event.a);
        world.thieves.vector(vector, name, text)
    }

    /// ```text
    ///   irq 25 | irq 26 ....... exit 25      26's exit is missing: unknown from the last event on
    ///   ... no hardirq ...      exit 25      25's entry is missing: unknown since it was last absent
    /// ```
    pub fn hardirq_exit(&mut self, kind: Kind, event: &Event, world: &mut World) {
        let now = event.time_ns;
        let (is_vector, key) = key(kind, event);
        let matching = self.hardirqs.iter().rposition(|open| (open.is_vector, open.key) == (is_vector, key));
        match matching {
            Some(position) => {
                if position + 1 < self.hardirqs.len() {
                    self.abandon_hardirqs(position + 1, now, world);
                }
                self.close(now, world);
                if let Some(hardirq) = self.hardirqs.pop() {
                    self.hardirq_row(&hardirq, Some(now), world);
                }
                if !is_vector {
                    self.last_irq_exit = Some(key);
                }
            }
            None => {
                let from = self.hardirqs.last().map_or(self.no_hardirq_ns, |top| top.entry_ns.max(self.no_hardirq_ns));
                self.doubt(from, now, "interrupt exit without its entry", world);
                let thief =
                    if is_vector { self.vector_thief(key, event, world) } else { world.thieves.hardirq(key, NONE) };
                if world.want.hardirqs && world.touches(now, now) {
                    let row = HardirqRow {
                        cpu: self.number,
                        entry_ns: None,
                        exit_ns: Some(now),
                        thief,
                        victim: self.victim,
                        self_ns: 0,
                    };
                    self.rows.hardirqs.push(row);
                }
            }
        }
    }

    fn hardirq_row(&mut self, hardirq: &Hardirq, exit_ns: Option<i64>, world: &mut World) {
        if world.want.hardirqs && world.touches(hardirq.entry_ns, exit_ns.unwrap_or(self.last_ns)) {
            self.rows.hardirqs.push(HardirqRow {
                cpu: self.number,
                entry_ns: Some(hardirq.entry_ns),
                exit_ns,
                thief: hardirq.thief,
                victim: self.victim,
                self_ns: hardirq.self_ns,
            });
        }
    }

    /// Interrupts from `position` up ended unseen, somewhere between the last event and `now`.
    pub fn abandon_hardirqs(&mut self, position: usize, now: i64, world: &mut World) {
        world.counters.disagreements += 1;
        self.close(self.last_ns, world);
        self.drop_hardirqs(position, world);
        self.unknown_until(now, "interrupt entry without its exit", world);
    }

    /// Ends interrupts from `position` up without an exit.
    pub fn drop_hardirqs(&mut self, position: usize, world: &mut World) {
        while self.hardirqs.len() > position {
            if let Some(hardirq) = self.hardirqs.pop() {
                self.hardirq_row(&hardirq, None, world);
            }
        }
    }
}
