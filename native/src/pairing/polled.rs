//! Polls: summed by their packets, and what each softirq polled.

use rustc_hash::FxHashMap;

use crate::pairing::line::{added, Stretches};
use crate::pairing::rows::Poll;

/// Where the kernel's napi_poll has no work.
pub const NO_WORK: i64 = -1;

/// Device, CPU and packets.
pub type Size = (u32, i64, i64);

/// Sums of all polls.
#[derive(Default)]
pub struct Polls {
    /// Polls; known, those whose time and packets are, and their ns; whole, those of them that lie whole in the window,
    /// and theirs.
    pub sizes: FxHashMap<Size, [i64; 5]>,
    /// Of those with packets that lie whole in the window.
    pub stretches: Stretches,
}

impl Polls {
    /// The next ones of a CPU, in the order of the table.
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

/// Whether it is known, and no part of it lies outside of the window.
fn is_whole(poll: &Poll, window: (i64, i64)) -> bool {
    poll.is_known() && poll.end_ns <= window.1 && poll.start_ns.is_none_or(|start_ns| start_ns >= window.0)
}

/// The polls of one device by one softirq; `known`: whose time and packets are; `last_known`: whether those of the last
/// one are.
#[derive(Debug, Clone)]
pub struct OfDevice {
    pub device: u32,
    pub polls: i64,
    pub known: i64,
    pub last_known: bool,
}

/// What a softirq polled, in that order: most poll one device.
pub struct OfSoftirq {
    first: OfDevice,
    further: Vec<OfDevice>,
}

impl OfSoftirq {
    /// Device by device.
    pub fn each(&self) -> impl Iterator<Item = &OfDevice> {
        std::iter::once(&self.first).chain(&self.further)
    }
}

/// Polls of softirqs of a CPU that have not come yet.
#[derive(Default)]
pub struct Polled {
    by_softirq: FxHashMap<i64, OfSoftirq>,
}

impl Polled {
    /// The next poll.
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

    /// What a softirq polled.
    pub fn take(&mut self, ordinal: i64) -> Option<OfSoftirq> {
        self.by_softirq.remove(&ordinal)
    }

    /// What is left when nothing comes any more.
    pub fn rest(&mut self) -> impl Iterator<Item = Option<OfSoftirq>> + '_ {
        self.by_softirq.drain().map(|(_, of)| Some(of))
    }
}
