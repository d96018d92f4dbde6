//! Facts about CPUs that are known at the end of a first pass, and to a second one from the start.

use rustc_hash::FxHashMap;

use crate::ledger::task::NOBODY;
use crate::ledger::thief::{Class, UNKNOWN};

/// The stretch from the window's start to a CPU's first event.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    end_ns: i64,
    victim: u32,
    thief: u32,
    class: Class,
    slice: Option<usize>,
    unknown: Option<&'static str>,
    lost: u64,
}

impl Head {
    /// The head of a task that has run since the start. `slice`: its row, if rows are kept.
    pub fn of(end_ns: i64, victim: u32, owner: (u32, Class), slice: Option<usize>) -> Head {
        Head { end_ns, victim, thief: owner.0, class: owner.1, slice, unknown: None, lost: 0 }
    }

    /// A head that belongs to nobody, because this many records were lost in it.
    pub fn lost(end_ns: i64, why: &'static str, lost: u64) -> Head {
        Head { unknown: Some(why), lost, ..Head::of(end_ns, NOBODY, (UNKNOWN, Class::None), None) }
    }

    /// Makes the head unknown: it precedes the first event whose context is certain.
    pub fn doubt(&mut self) {
        self.unknown.get_or_insert("before the first event whose context is certain");
    }

    /// Time of the first event.
    pub fn end_ns(&self) -> i64 {
        self.end_ns
    }

    /// Why it is unknown, if it is, and how many records were lost in it.
    pub fn unknown(&self) -> Option<(&'static str, u64)> {
        self.unknown.map(|why| (why, self.lost))
    }

    /// Row of the slice that it belongs to.
    pub fn slice(&self) -> Option<usize> {
        self.slice.filter(|_| self.unknown.is_none())
    }

    /// Victim, thief and class. Unknown heads have no owner.
    pub fn owner(&self) -> (u32, u32, Class) {
        match self.unknown {
            None => (self.victim, self.thief, self.class),
            Some(_) => (NOBODY, UNKNOWN, Class::None),
        }
    }
}

/// A set of numbers, one bit each.
#[derive(Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }
}

/// Facts about one CPU.
#[derive(Debug, Default)]
pub struct OfCpu {
    /// The stretch before its first event.
    pub head: Option<Head>,
    /// Absences of NAPI threads (`Absence::number`) after which their poll went on there.
    pub continued: Bits,
}

/// Facts about each CPU that recorded anything.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Start of the recording.
    pub start_ns: i64,
    /// By CPU number.
    pub cpus: FxHashMap<u32, OfCpu>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::thief::TASK;

    #[test]
    fn a_head_is_its_tasks_until_it_is_doubted() {
        let mut head = Head::of(100, 7, (TASK, Class::None), Some(0));
        assert_eq!((head.unknown(), head.slice(), head.owner()), (None, Some(0), (7, TASK, Class::None)));
        head.doubt();
        assert_eq!((head.unknown().map(|found| found.1), head.slice()), (Some(0), None));
        assert_eq!(head.owner(), (NOBODY, UNKNOWN, Class::None));
    }

    #[test]
    fn what_was_lost_stays_the_reason() {
        let mut head = Head::lost(100, "records were lost", 3);
        head.doubt();
        assert_eq!(head.unknown(), Some(("records were lost", 3)));
    }

    #[test]
    fn bits_are_numbers() {
        let mut bits = Bits::default();
        [0, 63, 64, 1000].into_iter().for_each(|number| bits.insert(number));
        let found: Vec<usize> = (0..2000).filter(|&number| bits.contains(number)).collect();
        assert_eq!(found, [0, 63, 64, 1000]);
    }
}
