//! A part of a recording, by time and CPU.

use crate::rounds::Rounds;
use crate::visit::Sample;

/// Which events tables contain.
#[derive(Debug, Clone, Default)]
pub struct Within {
    /// Start and end, both included.
    pub window: Option<(i64, i64)>,
    /// CPUs, ascending.
    pub cpus: Option<Vec<u32>>,
    /// Fields of the events to return; `None` for all. The leading columns that all events have always come.
    pub fields: Option<Vec<String>>,
    /// `Scan::in_order`, if it is known.
    pub in_order: bool,
}

impl Within {
    /// Whether it contains a sample.
    #[inline(always)]
    pub fn has(&self, sample: &Sample) -> bool {
        self.has_time(sample.time_ns) && self.cpus.as_ref().is_none_or(|cpus| cpus.binary_search(&sample.cpu).is_ok())
    }

    /// Whether its window contains this time.
    #[inline(always)]
    pub fn has_time(&self, time_ns: i64) -> bool {
        self.window.is_none_or(|(start, end)| (start..=end).contains(&time_ns))
    }

    /// Whether nothing in it can come any more.
    pub fn is_past(&self, rounds: &Rounds) -> bool {
        self.in_order && rounds.in_order && self.window.is_some_and(|window| rounds.known_ns() > window.1)
    }
}
