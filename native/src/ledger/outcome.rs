//! What becomes of the CPUs: known when a pass is over, and to a second one from the start.

use rustc_hash::FxHashMap;

use crate::ledger::task::NOBODY;
use crate::ledger::thief::{Class, UNKNOWN};

/// The stretch from the window's start to a CPU's first event.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub end_ns: i64,
    pub victim: u32,
    pub thief: u32,
    pub class: Class,
    /// Row of its slice, where they are kept.
    pub slice: Option<usize>,
    /// Why it is unknown, if it is, and how many records were lost in it.
    pub unknown: Option<&'static str>,
    pub lost: u64,
}

impl Head {
    /// Nobody's.
    pub fn unknown(end_ns: i64, why: Option<&'static str>, lost: u64) -> Head {
        Head { end_ns, victim: NOBODY, thief: UNKNOWN, class: Class::None, slice: None, unknown: why, lost }
    }

    /// It lies before the first event whose context is certain.
    pub fn doubt(&mut self) {
        self.unknown.get_or_insert("before the first event whose context is certain");
    }
}

/// Numbers, a bit each.
#[derive(Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// One more.
    pub fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Whether it is one of them.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }
}

/// What becomes of one CPU.
#[derive(Debug, Default)]
pub struct OfCpu {
    /// The stretch before its first event.
    pub head: Option<Head>,
    /// Absences of NAPI threads (`Absence::number`) after which the poll before them went on there.
    pub continued: Bits,
}

/// What becomes of each CPU that recorded anything.
#[derive(Debug, Default)]
pub struct Outcome {
    /// When the recording begins.
    pub start_ns: i64,
    /// By number.
    pub cpus: FxHashMap<u32, OfCpu>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbers() {
        let mut bits = Bits::default();
        [0, 63, 64, 1000].into_iter().for_each(|number| bits.insert(number));
        let found: Vec<usize> = (0..2000).filter(|&number| bits.contains(number)).collect();
        assert_eq!(found, [0, 63, 64, 1000]);
    }
}
