//! Polls: summed by their packets, and by softirq.

use rustc_hash::FxHashMap;

use crate::pairing::line::{added, Stretches};
use crate::pairing::rows::Poll;

/// For kernels whose napi_poll has no work.
pub const NO_WORK: i64 = -1;

/// Device, CPU and packets.
pub type Size = (u32, i64, i64);

/// Sums of all polls.
#[derive(Default)]
pub struct Polls {
    /// Number of polls; of those with known time and packets, and their ns; and of those of them entirely in the
    /// window, and their ns.
    pub sizes: FxHashMap<Size, [i64; 5]>,
    /// Polls with packets that lie entirely in the window.
    pub stretches: Stretches,
}

impl Polls {
    /// Adds polls of a CPU, in table order.
    pub fn add(&mut self, cpu: i64, polls: &[Poll], window: (i64, i64)) {
        let mut is_ordered = true;
        for (place, poll) in polls.iter().enumerate() {
            is_ordered &= place == 0 || polls[place - 1].end_ns <= poll.end_ns;
            let (is_known, is_whole) = (poll.is_known(), is_whole(poll, window));
            let ns = poll.self_ns.filter(|_| is_known).unwrap_or_default();
            let whole_ns = if is_whole { ns } else { 0 };
            let values = [1, i64::from(is_known), ns, i64::from(is_whole), whole_ns];
            let key = (poll.device, cpu, poll.work.unwrap_or(NO_WORK));
            added(self.sizes.entry(key).or_default(), &values);
        }
        let mut lie = |poll: &Poll| {
            if let (Some(work @ 1..), Some(ns), true) = (poll.work, poll.self_ns, is_whole(poll, window)) {
                self.stretches.add(cpu, poll, work, ns);
            }
        };
        if is_ordered {
            polls.iter().for_each(lie);
        } else {
            let mut order: Vec<&Poll> = polls.iter().collect();
            order.sort_by_key(|poll| poll.end_ns);
            order.into_iter().for_each(&mut lie);
        }
    }
}

/// Whether it is known and lies entirely in the window.
fn is_whole(poll: &Poll, window: (i64, i64)) -> bool {
    poll.is_known() && poll.end_ns <= window.1 && poll.start_ns.is_none_or(|start_ns| start_ns >= window.0)
}

/// A softirq's polls of one device. `known`: those with known time and packets. `last_known`: whether the last one is.
#[derive(Debug, Clone)]
pub struct OfDevice {
    pub device: u32,
    pub polls: i64,
    pub known: i64,
    pub last_known: bool,
}

/// The devices that a softirq polled, in order. Most poll one.
pub struct OfSoftirq {
    first: OfDevice,
    further: Vec<OfDevice>,
}

impl OfSoftirq {
    pub fn each(&self) -> impl Iterator<Item = &OfDevice> {
        std::iter::once(&self.first).chain(&self.further)
    }
}

/// Polls whose softirqs have not come yet, of one CPU.
#[derive(Default)]
pub struct Polled {
    by_softirq: FxHashMap<i64, OfSoftirq>,
}

impl Polled {
    /// Adds a poll.
    pub fn add(&mut self, poll: &Poll) {
        let Some(ordinal) = poll.softirq else { return };
        let is_known = poll.is_known();
        let new = || OfDevice { device: poll.device, polls: 0, known: 0, last_known: is_known };
        let of = self.by_softirq.entry(ordinal).or_insert_with(|| OfSoftirq { first: new(), further: Vec::new() });
        let place = of.each().position(|one| one.device == poll.device);
        let own = match place {
            Some(0) => &mut of.first,
            Some(place) => &mut of.further[place - 1],
            None => {
                let place = of.further.len();
                of.further.push(new());
                &mut of.further[place]
            }
        };
        own.polls += 1;
        own.known += i64::from(is_known);
        own.last_known = is_known;
    }

    /// Takes the polls of a softirq.
    pub fn take(&mut self, ordinal: i64) -> Option<OfSoftirq> {
        self.by_softirq.remove(&ordinal)
    }

    /// Takes what is left at the end.
    pub fn rest(&mut self) -> impl Iterator<Item = Option<OfSoftirq>> + '_ {
        self.by_softirq.drain().map(|(_, of)| Some(of))
    }
}
