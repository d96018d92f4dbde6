//! A part of a recording, by time and CPU.

use crate::rounds::Rounds;
use crate::visit::Sample;

/// Which events tables have.
#[derive(Debug, Clone, Default)]
pub struct Within {
    /// From when to when, both included.
    pub window: Option<(i64, i64)>,
    /// Those of these CPUs, ascending.
    pub cpus: Option<Vec<u32>>,
    /// The fields of the events that are wanted; `None`: all. The first that all have come in any case.
    pub fields: Option<Vec<String>>,
    /// `Scan::in_order`, where that is known.
    pub in_order: bool,
}

impl Within {
    /// Whether it has this one.
    #[inline(always)]
    pub fn has(&self, sample: &Sample) -> bool {
        self.has_time(sample.time_ns) && self.cpus.as_ref().is_none_or(|cpus| cpus.binary_search(&sample.cpu).is_ok())
    }

    /// Whether its window has this time.
    #[inline(always)]
    pub fn has_time(&self, time_ns: i64) -> bool {
        self.window.is_none_or(|(start, end)| (start..=end).contains(&time_ns))
    }

    /// Whether nothing of it comes any more.
    pub fn is_past(&self, rounds: &Rounds) -> bool {
        self.in_order && rounds.in_order && self.window.is_some_and(|window| rounds.known_ns() > window.1)
    }
}
