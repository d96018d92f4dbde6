//! A NET_RX with what raised it and what it polled.

use crate::intern::NONE;
use crate::pairing::irqs::Whole;
use crate::pairing::polled::OfSoftirq;
use crate::pairing::rows::Softirq;

/// CPU, run on that CPU, and round of that run.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub cpu: i64,
    pub call: i64,
    pub round: i64,
}

/// A row of softirq_chains(): docs/columns.md.
#[derive(Debug, Clone)]
pub struct Chain {
    pub place: Place,
    pub softirq: Softirq,
    /// The interrupt that holds its raise, or at whose exit it ran.
    pub raiser: Option<Whole>,
    /// The first device that it polled (`NONE` if that has no name), and the number of devices.
    pub device: u32,
    pub devices: i64,
}

impl Chain {
    /// From a whole softirq.
    pub fn of(softirq: Softirq, place: Place, raiser: Option<Whole>, polled: Option<&OfSoftirq>) -> Chain {
        let named = || polled.into_iter().flat_map(OfSoftirq::each).filter(|one| one.device != NONE);
        let device = named().next().map_or(NONE, |one| one.device);
        let devices = named().count() as i64;
        Chain { place, softirq, raiser, device, devices }
    }

    /// Time from its raise to its entry.
    pub fn raise_delay_ns(&self) -> Option<i64> {
        self.softirq.raise_ns.map(|raise_ns| self.softirq.entry_ns - raise_ns)
    }

    pub fn wall_ns(&self) -> i64 {
        self.softirq.exit_ns - self.softirq.entry_ns
    }

    /// Own time of its polls.
    pub fn poll_ns(&self) -> i64 {
        self.softirq.self_ns - self.softirq.outside_ns
    }

    /// Time of what interrupted it.
    pub fn nested_ns(&self) -> i64 {
        self.wall_ns() - self.softirq.self_ns
    }

    /// Whether the window cuts it.
    pub fn is_cut(&self, window: (i64, i64)) -> bool {
        self.softirq.entry_ns < window.0 || self.softirq.exit_ns > window.1
    }
}
