//! A softirq from its entry to its exit, and the polls in it.
//!
//! ```text
//!   event    entry      poll eth0    poll eth1    exit       entry      exit
//!   segments | eth0's    | eth1's     | NET_RX's   |          | dispatch: it polled nothing
//! ```

use crate::ledger::cpu::polled::Polled;
use crate::ledger::cpu::raise::Origin;
use crate::ledger::network::{prove, Network};
use crate::ledger::rows::{Rows, SoftirqRow, ABSENT};
use crate::ledger::segment::Tail;
use crate::ledger::settings::Settings;
use crate::ledger::softirq::policy;
use crate::ledger::thief::{in_doubt, softirq_thief, turned, Class, RPS_DISPATCH};

/// How the softirq that enters was raised.
#[derive(Debug, Clone, Copy)]
pub struct Raised {
    pub origin: Origin,
    pub inherited: bool,
    pub first_ns: Option<i64>,
}

/// A softirq that is running or waiting with its task.
#[derive(Debug, Clone)]
pub struct Softirq {
    vec: u8,
    class: Class,
    origin: Origin,
    inherited: bool,
    ordinal: u32,
    raise_ns: Option<i64>,
    entry_ns: i64,
    self_ns: i64,
    poll_ns: i64,
    polls: u32,
    packets: u32,
    /// Where the next poll begins.
    poll_from: i64,
    /// Segments since the last poll, and their time in the window.
    pending: Vec<u64>,
    pending_ns: i64,
    is_flagged: bool,
    proved: Option<Network>,
    lines: Vec<i64>,
    /// Devices that its lines have been credited with.
    polled: Polled,
}

impl Softirq {
    /// A softirq of which only the exit was seen.
    pub fn unseen(vec: u8, ordinal: u32) -> Softirq {
        Softirq { vec, ordinal, ..Softirq::default() }
    }

    /// Enters as number `ordinal` on its CPU. Its lists are emptied but keep their capacity.
    #[inline(always)]
    pub fn enter(&mut self, vec: u8, ordinal: u32, raised: Raised, class: Class, now: i64, is_flagged: bool) {
        self.lines.clear();
        self.pending.clear();
        self.polled.clear();
        (self.vec, self.class, self.origin, self.inherited) = (vec, class, raised.origin, raised.inherited);
        (self.ordinal, self.raise_ns) = (ordinal, raised.first_ns.map(|raise_ns| raise_ns.min(now)));
        (self.entry_ns, self.poll_from, self.is_flagged, self.proved) = (now, now, is_flagged, None);
        (self.self_ns, self.poll_ns, self.pending_ns, self.polls, self.packets) = (0, 0, 0, 0, 0);
    }

    /// Sets the interrupt lines that led to it.
    #[inline(always)]
    pub fn led_by(&mut self, lines: &mut Vec<i64>) {
        std::mem::swap(&mut self.lines, lines);
    }

    #[inline(always)]
    pub fn vec(&self) -> u8 {
        self.vec
    }

    #[inline(always)]
    pub fn thief(&self) -> u32 {
        softirq_thief(self.vec)
    }

    #[inline(always)]
    pub fn class(&self) -> Class {
        self.class
    }

    pub fn origin(&self) -> Origin {
        self.origin
    }

    pub fn entry_ns(&self) -> i64 {
        self.entry_ns
    }

    /// Its number on this CPU.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Its entry had the softirq flag, so later events in it must have it too.
    #[inline(always)]
    pub fn is_flagged(&self) -> bool {
        self.is_flagged
    }

    /// Interrupt lines that raised it.
    pub fn lines(&self) -> &[i64] {
        &self.lines
    }

    /// Segments since the last poll.
    pub fn pending(&self) -> &[u64] {
        &self.pending
    }

    /// Adds time; a negative `ns` takes it back.
    #[inline(always)]
    pub fn book(&mut self, ns: i64, segment: Option<u64>) {
        (self.self_ns, self.pending_ns) = (self.self_ns + ns, self.pending_ns + ns);
        if let Some(segment) = segment {
            self.pending.push(segment);
        }
    }

    /// Notes what this run proves to be, whatever its thief says.
    pub fn prove(&mut self, network: Network) {
        prove(&mut self.proved, network);
    }

    /// Ends a poll of `work` packets; returns its start and its time.
    #[inline(always)]
    pub fn end_poll(&mut self, now: i64, work: i32) -> (i64, i64) {
        let ns = std::mem::take(&mut self.pending_ns);
        (self.poll_ns, self.polls) = (self.poll_ns + ns, self.polls + 1);
        self.packets = self.packets.saturating_add(work.max(0) as u32);
        (std::mem::replace(&mut self.poll_from, now), ns)
    }

    /// Whether this is its first poll of a device.
    #[inline(always)]
    pub fn polls_first(&mut self, device: u32) -> bool {
        self.polled.insert(device)
    }

    /// Gives what ran since the last poll to `thief`.
    #[inline(always)]
    pub fn give_poll(&mut self, tail: &mut Tail, thief: u32) {
        tail.give(&self.pending, self.thief(), thief);
        self.pending.clear();
    }

    /// Whether its raiser may have left packets to another CPU. If an interrupt raised it and it polled nothing, its
    /// packets were polled with the previous raise.
    fn was_sent(&self) -> bool {
        match self.origin {
            Origin::Unknown => false,
            Origin::Irq => self.inherited,
            Origin::Task(_) | Origin::Mixed => true,
        }
    }

    /// Settles a softirq that is over: its segments go to what it proved to be. `is_seen`: its exit was recorded.
    #[inline(always)]
    pub fn settle(&self, is_seen: bool, settings: &Settings, tail: &mut Tail) {
        let (policy, thief) = (policy(self.vec), self.thief());
        if policy.polls && self.polls == 0 && settings.has_poll && is_seen && self.was_sent() {
            tail.give(&self.pending, thief, RPS_DISPATCH);
        }
        if let Some(proved) = if is_seen { self.proved } else { in_doubt(policy.network, self.proved) } {
            tail.give(&self.pending, thief, turned(thief, policy.network, proved));
        }
    }

    /// Adds its row once it is over.
    #[inline(always)]
    pub fn write(
        &self,
        victim: u32,
        in_kthread: bool,
        exit_ns: Option<i64>,
        last_ns: i64,
        settings: &Settings,
        rows: &mut Rows,
    ) {
        rows.ended(self.thief(), self.self_ns);
        if settings.want.softirqs && settings.touches(self.entry_ns, exit_ns.unwrap_or(last_ns)) {
            rows.softirqs.push(self.row(victim, in_kthread, exit_ns));
        }
    }

    pub fn row(&self, victim: u32, in_kthread: bool, exit_ns: Option<i64>) -> SoftirqRow {
        SoftirqRow {
            ordinal: self.ordinal,
            raise_ns: self.raise_ns.unwrap_or(ABSENT),
            entry_ns: self.entry_ns,
            exit_ns: exit_ns.unwrap_or(ABSENT),
            vec: self.vec.into(),
            victim,
            origin: self.origin.label(self.inherited),
            in_kthread,
            class: self.class,
            self_ns: self.self_ns,
            poll_ns: self.poll_ns,
            polls: self.polls,
            packets: self.packets,
        }
    }
}

impl Default for Softirq {
    fn default() -> Softirq {
        Softirq {
            vec: 0,
            class: Class::None,
            origin: Origin::Unknown,
            inherited: false,
            ordinal: 0,
            raise_ns: None,
            entry_ns: ABSENT,
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
            polled: Polled::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::segment::Segment;

    const NET_RX: u8 = 3;
    const ETH0: u32 = 1000;
    const ETH1: u32 = 1001;

    fn entered(now: i64) -> Softirq {
        let mut softirq = Softirq::default();
        let raised = Raised { origin: Origin::Task(7), inherited: false, first_ns: Some(now + 1) };
        softirq.enter(NET_RX, 1, raised, Class::Stolen, now, true);
        softirq
    }

    /// Runs it for another ten nanoseconds.
    fn run(softirq: &mut Softirq, tail: &mut Tail) {
        let segment = Segment { thief: softirq.thief(), ..Segment::unknown(0, 10) };
        softirq.book(10, Some(tail.push(segment)));
    }

    fn thieves(tail: &mut Tail) -> Vec<u32> {
        let mut found: Vec<u32> = tail.newest_first().map(|segment| segment.thief).collect();
        found.reverse();
        found
    }

    #[test]
    fn a_poll_owns_what_ran_since_the_one_before() {
        let (mut softirq, mut tail) = (entered(100), Tail::default());
        for (end_ns, eth, wanted) in [(110, ETH0, (100, 10)), (120, ETH1, (110, 10))] {
            run(&mut softirq, &mut tail);
            assert_eq!(softirq.end_poll(end_ns, 3), wanted);
            softirq.give_poll(&mut tail, eth);
        }
        run(&mut softirq, &mut tail);
        assert_eq!(thieves(&mut tail), [ETH0, ETH1, softirq_thief(NET_RX)]);
        let row = softirq.row(7, false, Some(130));
        assert_eq!((row.self_ns, row.poll_ns, row.polls, row.packets), (30, 20, 2, 6));
    }

    #[test]
    fn nothing_of_one_run_is_in_the_next() {
        let (mut softirq, mut tail) = (entered(10), Tail::default());
        run(&mut softirq, &mut tail);
        softirq.end_poll(15, 1);
        softirq.prove(Network::Yes);
        assert!(softirq.polls_first(ETH0) && !softirq.polls_first(ETH0));
        let raised = Raised { origin: Origin::Task(7), inherited: false, first_ns: Some(30) };
        softirq.enter(NET_RX, 2, raised, Class::Stolen, 20, true);
        let row = softirq.row(7, false, None);
        assert_eq!((row.self_ns, row.polls, softirq.proved, softirq.pending().len()), (0, 0, None, 0));
        assert!(softirq.polls_first(ETH0));
        // A raise is never later than its entry.
        assert_eq!((row.raise_ns, softirq.origin()), (20, Origin::Task(7)));
    }
}
