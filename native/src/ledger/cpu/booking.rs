//! Books a CPU's time: each stretch to the one owner that it had, or to nobody.

use crate::ledger::cpu::Cpu;
use crate::ledger::rows::CoverageRow;
use crate::ledger::segment::Segment;
use crate::ledger::settings::Settings;
use crate::ledger::task::NOBODY;
use crate::ledger::thief::{displaces, Class, TASK, UNKNOWN};
use crate::narrow::Narrow;

impl Cpu {
    /// Who owns the CPU: thief, class.
    fn owner(&self) -> (u32, Class) {
        match (self.hardirqs.top(), self.softirqs.open()) {
            (Some(hardirq), _) => (hardirq.interrupt.thief, hardirq.class),
            (None, Some(softirq)) => (softirq.thief(), softirq.class()),
            (None, None) => self.current.owner(),
        }
    }

    /// How many interrupts and softirqs are open.
    #[inline(always)]
    fn depth(&self) -> u8 {
        self.hardirqs.depth().narrow::<u8>() + u8::from(self.softirqs.open().is_some())
    }

    /// Ends the open segment at `now` and books it to its owner.
    #[inline(always)]
    pub(super) fn close(&mut self, now: i64) {
        if now > self.since {
            self.end_segment(now);
        }
    }

    // Kept out of line because it has many callers. It looks up the owner once.
    #[inline(never)]
    fn end_segment(&mut self, now: i64) {
        let (start, depth) = (std::mem::replace(&mut self.since, now), self.depth());
        let (mut thief, mut class) = self.book(self.settings.clip(start, now), Some(self.tail.next()));
        let mut victim = self.current.victim();
        if depth == 0 && !self.settings.has_switch {
            // Without sched_switch, task time has no owner and no class, so that neighbouring segments merge.
            (thief, victim, class) = (TASK, NOBODY, Class::None);
        }
        self.tail.push(Segment { start, end: now, victim, thief, class, depth });
    }

    /// Adds time to the running context and returns what `owner` does. A negative `ns` has no segment.
    #[inline(always)]
    fn book(&mut self, ns: i64, segment: Option<u64>) -> (u32, Class) {
        if let Some(hardirq) = self.hardirqs.top_mut() {
            hardirq.self_ns += ns;
            self.slice.add_hardirq(ns);
            (hardirq.interrupt.thief, hardirq.class)
        } else if let Some(softirq) = self.softirqs.open_mut() {
            softirq.book(ns, segment);
            self.slice.add_softirq(softirq.vec(), softirq.class(), ns);
            (softirq.thief(), softirq.class())
        } else {
            self.slice.add_task(ns);
            if let Some(poll) = &mut self.napi_poll {
                poll.book(ns, segment);
            }
            self.current.owner()
        }
    }

    /// Books the stretch up to `now` as unknown within the running slice.
    pub(super) fn unknown_until(&mut self, now: i64, why: &'static str) {
        if now > self.since {
            self.slice.add_unknown(self.settings.clip(self.since, now));
            let victim = if self.settings.has_switch { self.current.victim() } else { NOBODY };
            self.tail.push(Segment { victim, ..Segment::unknown(self.since, now) });
            self.uncovered(self.since, now, why, 0);
            self.since = now;
        }
    }

    /// Handles an exit without its entry. The exiting context was last known absent at `from`: time booked to the
    /// running context since then may have been its own.
    pub(super) fn doubt(&mut self, from: i64, now: i64, why: &'static str) {
        self.counters.orphan_exits += 1;
        self.close(from);
        let (thief, depth, victim) = (self.owner().0, self.depth(), self.current.victim());
        let (mut earliest, mut taken) = (now, 0);
        // Where no flags witness its absence, the context may have been open in an earlier slice of the same task. Its
        // time there comes off that slice.
        let mut row = self.slice.row();
        for segment in self.tail.newest_first() {
            if segment.start < from || segment.end <= from {
                break;
            }
            let earlier = segment.start < self.slice.in_ns();
            if earlier && depth > 0 {
                break;
            }
            if segment.thief == thief && segment.victim == victim {
                (segment.thief, segment.class, segment.depth) = (UNKNOWN, Class::None, 0);
                let ns = self.settings.clip(segment.start, segment.end);
                if earlier {
                    row = self.rows.doubt_slice(row, segment.start, ns);
                } else {
                    taken += ns;
                }
                earliest = segment.start;
            }
        }
        self.book(-taken, None);
        self.slice.add_unknown(taken);
        if earliest < self.since {
            self.uncovered(earliest, self.since, why, 0);
        }
        self.unknown_until(now, why);
        if let Some(head) = self.head.as_mut().filter(|_| from == i64::MIN) {
            head.doubt();
        }
    }

    /// Segments that ended by this time are in no open interrupt, and no exit without its entry can put them in doubt.
    /// A CPU that idles for hours can thus release everything before.
    fn certain_until(&self) -> i64 {
        let absent = self.no_hardirq_ns.min(self.no_softirq_ns);
        self.hardirqs.first_entry_ns().map_or(absent, |entry_ns| entry_ns.min(absent))
    }

    /// Start of the first stretch of scheduled work that is not settled yet; `i64::MAX` if there is none.
    pub(super) fn unsettled_since(&self) -> i64 {
        let open = if self.owner().1 == Class::Scheduled { self.since } else { i64::MAX };
        self.tail.first_of(Class::Scheduled).unwrap_or(open).min(open)
    }

    /// Moves settled segments from the tail to the sums and the table.
    pub(super) fn drain(&mut self, all: bool) {
        let mut pending: Option<u64> = None;
        let mut hold = |indices: &[u64]| pending = indices.first().copied().into_iter().chain(pending).min();
        self.softirqs.open().iter().for_each(|softirq| hold(softirq.pending()));
        self.napi_poll.iter().for_each(|poll| hold(poll.pending()));
        for parked in self.parked.values() {
            parked.softirq.iter().for_each(|softirq| hold(softirq.pending()));
            parked.poll.iter().for_each(|poll| hold(poll.pending()));
        }
        let settled_ns = self.certain_until();
        let Cpu { settings, tail, finished, part, .. } = self;
        let Settings { window, has_waits, want, .. } = **settings;
        // Copied out of the settings, so that the closure reads no references.
        tail.drain(pending, settled_ns, all, move |segment| {
            let (start, end) = (segment.start.max(window.0), segment.end.min(window.1));
            if start >= end {
                return;
            }
            if has_waits && segment.class == Class::Scheduled && displaces(segment.thief) {
                part.held.push((start, end));
            }
            finished.take(&Segment { start, end, ..*segment }, want.segments);
        });
    }

    /// Records a stretch that cannot be accounted for.
    pub(super) fn uncovered(&mut self, start_ns: i64, end_ns: i64, why: &'static str, lost: u64) {
        self.rows.coverage.push(CoverageRow { start_ns, end_ns, why, lost });
    }
}

#[cfg(test)]
mod tests {
    use super::super::edges::tests::{cpu, see};
    use super::*;

    #[test]
    fn a_cpu_that_idles_leaves_nothing_unsettled() {
        let mut cpu = cpu();
        see(&mut cpu, 100, 7);
        cpu.tail.push(Segment { class: Class::Scheduled, ..Segment::unknown(100, 200) });
        assert_eq!(cpu.part().unsettled_since, 100);
        see(&mut cpu, 200, 0);
        assert_eq!(cpu.part().unsettled_since, i64::MAX);
    }
}
