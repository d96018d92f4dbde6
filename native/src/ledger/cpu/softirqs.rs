//! The softirq that is open in the running task, and what was raised for the next ones.
//!
//! ```text
//!   event   raise NET_RX (irq 25)   entry NET_RX    poll eth0   switch to B      switch to A   exit
//!   open    -                       NET_RX of 25    NET_RX      - (A's waits)    NET_RX        -
//! ```
//! Softirqs do not nest, but an RT kernel preempts the task of one: it waits with that task.

use rustc_hash::FxHashSet;

use crate::ledger::cpu::raise::{Origin, Raises};
use crate::ledger::network::Network;
use crate::ledger::softirq::{policy, VECTORS};
use crate::ledger::thief::Class;

/// Interrupt lines that lead to one NET_RX; damage may have more.
const MAX_LINES: usize = 64;
/// Devices that hardly any softirq polls more of.
const MANY_POLLED: usize = 64;

/// A softirq that is running, or waits with its task.
#[derive(Debug, Clone)]
pub struct Softirq {
    pub vec: u8,
    pub class: Class,
    pub origin: Origin,
    /// Every raise of it came from a softirq.
    pub inherited: bool,
    pub ordinal: u32,
    pub raise_ns: Option<i64>,
    pub entry_ns: i64,
    pub self_ns: i64,
    pub poll_ns: i64,
    pub polls: u32,
    pub packets: u32,
    /// Where the next poll begins.
    pub poll_from: i64,
    /// Segments since then, and their time in the window.
    pub pending: Vec<u64>,
    pub pending_ns: i64,
    /// Its entry's flags said softirq: later events in it must too.
    pub is_flagged: bool,
    /// What this run proved to be, other than its thief says.
    pub proved: Option<Network>,
    /// Interrupt lines that raised it, and the devices that they have been credited with.
    pub lines: Vec<i64>,
    pub polled: FxHashSet<u32>,
}

/// All softirqs of a CPU.
#[derive(Debug)]
pub struct Softirqs {
    /// The present one, or the last: every packet may be one, so its lists are used again.
    run: Softirq,
    is_open: bool,
    ordinal: u32,
    raises: [Raises; VECTORS],
    /// Interrupt lines that lead to the next NET_RX.
    lines: Vec<i64>,
}

/// Where the softirq that enters comes from.
#[derive(Debug, Clone, Copy)]
pub struct Raised {
    pub origin: Origin,
    pub inherited: bool,
    pub first_ns: Option<i64>,
}

impl Default for Softirqs {
    fn default() -> Self {
        let run = Softirq {
            vec: 0,
            class: Class::None,
            origin: Origin::Unknown,
            inherited: false,
            ordinal: 0,
            raise_ns: None,
            entry_ns: 0,
            self_ns: 0,
            poll_ns: 0,
            polls: 0,
            packets: 0,
            poll_from: 0,
            pending: Vec::new(),
            pending_ns: 0,
            is_flagged: false,
            proved: None,
            lines: Vec::new(),
            polled: FxHashSet::default(),
        };
        Softirqs { run, is_open: false, ordinal: 0, raises: [Raises::default(); VECTORS], lines: Vec::new() }
    }
}

impl Softirqs {
    /// The one that is open.
    #[inline(always)]
    pub fn open(&self) -> Option<&Softirq> {
        self.is_open.then_some(&self.run)
    }

    /// The same, to book to.
    #[inline(always)]
    pub fn open_mut(&mut self) -> Option<&mut Softirq> {
        self.is_open.then_some(&mut self.run)
    }

    /// How many have been entered.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// One is raised.
    pub fn raise(&mut self, vec: u8, time_ns: i64, from: Origin, inherited: bool) {
        self.raises[usize::from(vec) % VECTORS].add(time_ns, from, inherited);
    }

    /// What raised the one that enters now; the next one's raises are yet to come.
    pub fn take_raises(&mut self, vec: u8) -> Raised {
        let raises = &mut self.raises[usize::from(vec) % VECTORS];
        let first_ns = raises.first_ns;
        let (origin, inherited) = raises.take();
        Raised { origin, inherited, first_ns }
    }

    /// An interrupt line leads to the next NET_RX.
    pub fn led_by(&mut self, line: i64) {
        if self.lines.len() < MAX_LINES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// The lines that led to a poll outside softirqs.
    pub fn take_lines(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.lines)
    }

    /// Raises may be missing: records were lost.
    pub fn lose(&mut self) {
        self.raises.iter_mut().for_each(Raises::lose);
    }

    /// One enters.
    #[inline(always)]
    pub fn enter(&mut self, vec: u8, raised: Raised, class: Class, now: i64, is_flagged: bool) {
        let Softirqs { run, ordinal, lines, .. } = self;
        *ordinal += 1;
        run.lines.clear();
        if policy(vec).polls {
            std::mem::swap(&mut run.lines, lines);
        }
        run.pending.clear();
        // To clear one takes as long as it ever was large.
        if run.polled.capacity() > MANY_POLLED {
            run.polled = FxHashSet::default();
        }
        run.polled.clear();
        (run.vec, run.class, run.origin, run.inherited) = (vec, class, raised.origin, raised.inherited);
        (run.ordinal, run.raise_ns) = (*ordinal, raised.first_ns.map(|raise_ns| raise_ns.min(now)));
        (run.entry_ns, run.poll_from, run.is_flagged, run.proved) = (now, now, is_flagged, None);
        (run.self_ns, run.poll_ns, run.pending_ns, run.polls, run.packets) = (0, 0, 0, 0, 0);
        self.is_open = true;
    }

    /// It has ended; what it was can be read until the next one enters.
    #[inline(always)]
    pub fn end(&mut self) -> Option<&Softirq> {
        std::mem::take(&mut self.is_open).then_some(&self.run)
    }

    /// Its task is switched out in the middle of it.
    pub fn park(&mut self) -> Option<Softirq> {
        std::mem::take(&mut self.is_open).then(|| std::mem::replace(&mut self.run, Softirqs::default().run))
    }

    /// The task of this one is switched in again.
    pub fn resume(&mut self, softirq: Option<Softirq>) {
        self.is_open = softirq.is_some();
        if let Some(softirq) = softirq {
            self.run = softirq;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NET_RX: u8 = 3;
    const TIMER: u8 = 1;

    fn enter(softirqs: &mut Softirqs, vec: u8, now: i64) {
        let raised = softirqs.take_raises(vec);
        softirqs.enter(vec, raised, Class::Stolen, now, true);
    }

    #[test]
    fn a_softirq_waits_with_its_task() {
        let mut softirqs = Softirqs::default();
        softirqs.raise(NET_RX, 5, Origin::Irq, false);
        softirqs.led_by(25);
        enter(&mut softirqs, NET_RX, 10);
        let waiting = softirqs.park();
        assert!(softirqs.open().is_none());
        enter(&mut softirqs, TIMER, 20);
        assert_eq!(softirqs.end().map(|ended| (ended.vec, ended.ordinal)), Some((TIMER, 2)));
        softirqs.resume(waiting);
        let found = softirqs.open().map(|open| (open.vec, open.ordinal, open.raise_ns, open.lines.clone()));
        assert_eq!(found, Some((NET_RX, 1, Some(5), vec![25])));
    }

    #[test]
    fn nothing_of_one_run_is_in_the_next() {
        let mut softirqs = Softirqs::default();
        softirqs.led_by(25);
        enter(&mut softirqs, TIMER, 10);
        if let Some(open) = softirqs.open_mut() {
            (open.self_ns, open.polls, open.proved) = (7, 1, Some(Network::Yes));
            open.pending.push(3);
        }
        softirqs.end();
        softirqs.raise(NET_RX, 30, Origin::Task(7), false);
        enter(&mut softirqs, NET_RX, 20);
        let open = softirqs.open().expect("it has entered");
        assert_eq!((open.self_ns, open.polls, open.proved, open.pending.len()), (0, 0, None, 0));
        // TIMER polls nothing: the line leads to the first NET_RX. A raise is never later than its entry.
        assert_eq!((open.lines.as_slice(), open.raise_ns, open.origin), ([25].as_slice(), Some(20), Origin::Task(7)));
    }
}
