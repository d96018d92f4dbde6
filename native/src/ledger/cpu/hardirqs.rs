//! The interrupts that are open on a CPU. They nest, whatever its tasks do.
//!
//! ```text
//!   event   entry 25   entry 26   exit 26   exit 25      entry 25   entry 26   exit 25
//!   open    25         25 26      25        -            25         25 26      -  (the exit of 26 is missing)
//! ```
//! A line does not interrupt itself: if it enters again, its exit was missed.

use crate::ledger::event::Interrupt;
use crate::ledger::network::Network;
use crate::ledger::thief::Class;

/// No kernel nests interrupts this deep: beyond this depth, exits are missing.
const DEEPEST: usize = 32;

/// An interrupt handler that is running.
#[derive(Debug, Clone, Copy)]
pub struct Hardirq {
    pub interrupt: Interrupt,
    /// Class of its time.
    pub class: Class,
    pub entry_ns: i64,
    /// Own time so far.
    pub self_ns: i64,
    /// Its entry had the hardirq flag, so later events inside it must have it too.
    pub is_flagged: bool,
    /// Exits of its kind had been recorded when it began, so its own will be too.
    pub has_exit: bool,
    /// What this run of a vector proved to be, if that differs from its thief.
    pub proved: Option<Network>,
}

#[derive(Debug, Default)]
pub struct Hardirqs {
    open: Vec<Hardirq>,
    /// A bit for each tracepoint pair whose exit has been seen.
    exits_seen: u64,
}

impl Hardirqs {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The innermost one, which has the CPU.
    #[inline(always)]
    pub fn top(&self) -> Option<&Hardirq> {
        self.open.last()
    }

    /// When the outermost one began.
    pub fn first_entry_ns(&self) -> Option<i64> {
        self.open.first().map(|first| first.entry_ns)
    }

    #[inline(always)]
    pub fn top_mut(&mut self) -> Option<&mut Hardirq> {
        self.open.last_mut()
    }

    /// The device line that has the CPU.
    pub fn line(&self) -> Option<i64> {
        self.top().filter(|top| !top.interrupt.is_vector).map(|top| top.interrupt.key)
    }

    /// The position from which open interrupts must have ended unseen, now that this one enters.
    pub fn ended_before(&self, interrupt: &Interrupt) -> Option<usize> {
        let itself = self.open.iter().position(|open| same(&open.interrupt, interrupt));
        itself.or((self.open.len() >= DEEPEST).then_some(0))
    }

    pub fn enter(&mut self, interrupt: Interrupt, class: Class, entry_ns: i64, is_flagged: bool) {
        let has_exit = self.exits_seen & pair_bit(&interrupt) != 0;
        self.open.push(Hardirq { interrupt, class, entry_ns, self_ns: 0, is_flagged, has_exit, proved: None });
    }

    /// Notes that exits of this kind are recorded, and returns the position of the entry.
    pub fn exits(&mut self, interrupt: &Interrupt) -> Option<usize> {
        self.exits_seen |= pair_bit(interrupt);
        self.open.iter().rposition(|open| same(&open.interrupt, interrupt))
    }

    /// Pops the innermost one if more than `depth` are open.
    pub fn pop_above(&mut self, depth: usize) -> Option<Hardirq> {
        if self.open.len() > depth {
            self.open.pop()
        } else {
            None
        }
    }

    /// The first from `position` up that began before an exit of its kind was seen.
    pub fn first_without_exit(&self, position: usize) -> Option<usize> {
        self.open[position..].iter().position(|open| !open.has_exit).map(|first| position + first)
    }

    /// Clears the time of those from `position` up. Returns when the first began, and their thieves.
    pub fn distrust(&mut self, position: usize) -> Option<(i64, Vec<u32>)> {
        let entry_ns = self.open.get(position)?.entry_ns;
        self.open[position..].iter_mut().for_each(|open| open.self_ns = 0);
        Some((entry_ns, self.open[position..].iter().map(|open| open.interrupt.thief).collect()))
    }
}

fn same(one: &Interrupt, other: &Interrupt) -> bool {
    (one.is_vector, one.key) == (other.is_vector, other.key)
}

fn pair_bit(interrupt: &Interrupt) -> u64 {
    1 << if interrupt.is_vector { 1 + interrupt.key % 63 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: i64) -> Interrupt {
        Interrupt { is_vector: false, is_tick: false, network: Network::OfIrq, key, thief: key as u32, name: 0 }
    }

    fn open(keys: &[i64]) -> Hardirqs {
        let mut hardirqs = Hardirqs::default();
        keys.iter().for_each(|&key| hardirqs.enter(line(key), Class::Stolen, key, true));
        hardirqs
    }

    #[test]
    fn an_exit_finds_its_entry_below_those_that_lack_theirs() {
        let mut hardirqs = open(&[25, 26]);
        assert_eq!(hardirqs.exits(&line(25)), Some(0));
        assert_eq!(hardirqs.exits(&line(27)), None);
        let ended: Vec<i64> = std::iter::from_fn(|| hardirqs.pop_above(0)).map(|open| open.interrupt.key).collect();
        assert_eq!(ended, [26, 25]);
        assert!(hardirqs.is_empty());
    }

    #[test]
    fn what_enters_again_has_ended_unseen() {
        assert_eq!(open(&[25, 26]).ended_before(&line(26)), Some(1));
        assert_eq!(open(&[25, 26]).ended_before(&line(27)), None);
        let deepest: Vec<i64> = (0..DEEPEST as i64).collect();
        assert_eq!(open(&deepest).ended_before(&line(99)), Some(0));
    }

    #[test]
    fn only_those_that_began_before_any_exit_was_recorded_are_not_trusted() {
        let mut hardirqs = open(&[25]);
        assert_eq!(hardirqs.first_without_exit(0), Some(0));
        assert_eq!(hardirqs.distrust(0), Some((25, vec![25])));
        hardirqs.exits(&line(25));
        hardirqs.pop_above(0);
        hardirqs.enter(line(26), Class::Stolen, 30, true);
        assert_eq!(hardirqs.first_without_exit(0), None);
        assert_eq!(hardirqs.distrust(1), None);
    }
}
