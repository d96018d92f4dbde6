//! The softirq that is open in the running task, and the raises of the next ones.
//!
//! ```text
//!   event   raise NET_RX (irq 25)   entry NET_RX    poll eth0   switch to B      switch to A   exit
//!   open    -                       NET_RX of 25    NET_RX      - (A's waits)    NET_RX        -
//! ```
//! Softirqs do not nest, but an RT kernel can preempt the task of one. The softirq then waits with that task.

use crate::ledger::cpu::raise::{Origin, Raises};
use crate::ledger::cpu::softirq::{Raised, Softirq};
use crate::ledger::softirq::{policy, VECTORS};
use crate::ledger::thief::Class;

/// Most interrupt lines that lead to one NET_RX. Damaged input may have more.
const MAX_LINES: usize = 64;

#[derive(Debug, Default)]
pub struct Softirqs {
    /// The present softirq, or the last one. There may be one for every packet, so its lists are reused.
    run: Softirq,
    is_open: bool,
    ordinal: u32,
    /// By vector, up to the highest that was raised.
    raises: Vec<Raises>,
    /// Records were lost, which may be of any vector.
    has_lost: bool,
    /// Interrupt lines that lead to the next NET_RX.
    lines: Vec<i64>,
}

impl Softirqs {
    #[inline(always)]
    pub fn open(&self) -> Option<&Softirq> {
        self.is_open.then_some(&self.run)
    }

    #[inline(always)]
    pub fn open_mut(&mut self) -> Option<&mut Softirq> {
        self.is_open.then_some(&mut self.run)
    }

    /// Ends a softirq whose entry was not seen. It gets a number of its own.
    pub fn end_unseen(&mut self, vec: u8) -> Softirq {
        self.ordinal += 1;
        Softirq::unseen(vec, self.ordinal)
    }

    pub fn raise(&mut self, vec: u8, time_ns: i64, from: Origin, inherited: bool) {
        self.raises_of(vec).add(time_ns, from, inherited);
    }

    /// Takes the raises of the softirq that enters now.
    pub fn take_raises(&mut self, vec: u8) -> Raised {
        let raises = self.raises_of(vec);
        let first_ns = raises.first_ns;
        let (origin, inherited) = raises.take();
        Raised { origin, inherited, first_ns }
    }

    #[inline(always)]
    fn raises_of(&mut self, vec: u8) -> &mut Raises {
        let vec = usize::from(vec) % VECTORS;
        if self.raises.len() <= vec {
            self.raises.resize(vec + 1, Raises::behind(self.has_lost));
        }
        &mut self.raises[vec]
    }

    /// Notes an interrupt line that leads to the next NET_RX.
    pub fn led_by(&mut self, line: i64) {
        if self.lines.len() < MAX_LINES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Takes the lines that led to a poll outside softirqs.
    pub fn take_lines(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.lines)
    }

    /// Records were lost, so raises may be missing.
    pub fn lose(&mut self) {
        self.has_lost = true;
        self.raises.iter_mut().for_each(Raises::lose);
    }

    #[inline(always)]
    pub fn enter(&mut self, vec: u8, raised: Raised, class: Class, now: i64, is_flagged: bool) {
        self.ordinal += 1;
        self.run.enter(vec, self.ordinal, raised, class, now, is_flagged);
        if policy(vec).polls {
            self.run.led_by(&mut self.lines);
        }
        self.is_open = true;
    }

    /// Ends the open softirq. It can be read until the next one enters.
    #[inline(always)]
    pub fn end(&mut self) -> Option<&Softirq> {
        std::mem::take(&mut self.is_open).then_some(&self.run)
    }

    /// Parks the open softirq: its task is switched out.
    pub fn park(&mut self) -> Option<Softirq> {
        std::mem::take(&mut self.is_open).then(|| std::mem::take(&mut self.run))
    }

    /// Resumes a softirq: its task is switched in again.
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
        assert_eq!(softirqs.end().map(|ended| (ended.vec(), ended.ordinal())), Some((TIMER, 2)));
        softirqs.resume(waiting);
        let open = softirqs.open().expect("it is back");
        assert_eq!((open.vec(), open.row(7, false, None).raise_ns, open.lines()), (NET_RX, 5, [25].as_slice()));
    }

    #[test]
    fn one_that_only_ends_has_a_number_of_its_own() {
        let mut softirqs = Softirqs::default();
        enter(&mut softirqs, NET_RX, 10);
        let first = softirqs.end().map(Softirq::ordinal);
        let unseen = softirqs.end_unseen(NET_RX).ordinal();
        enter(&mut softirqs, NET_RX, 20);
        assert_eq!((first, unseen, softirqs.end().map(Softirq::ordinal)), (Some(1), 2, Some(3)));
    }

    #[test]
    fn a_line_leads_to_the_first_that_polls() {
        let mut softirqs = Softirqs::default();
        softirqs.led_by(25);
        for (vec, led) in [(TIMER, [].as_slice()), (NET_RX, &[25]), (NET_RX, &[])] {
            enter(&mut softirqs, vec, 10);
            assert_eq!(softirqs.open().map(Softirq::lines), Some(led));
            softirqs.end();
        }
    }
}
