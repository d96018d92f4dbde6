//! The poll of a NAPI thread. No event marks its beginning: the poll is what ran since the thread was switched in or
//! since its previous poll.
//!
//! ```text
//!   CPU 0   | napi/eth0 .... | other tasks | napi/eth0 ... poll | poll |
//!           begin            preempt       resume          end    end
//! ```

use crate::ledger::segment::{Segment, Tail};

/// A poll in progress.
#[derive(Debug, Clone)]
pub struct Poll {
    from_ns: i64,
    pending: Vec<u64>,
    pending_ns: i64,
    earlier: Vec<Earlier>,
}

/// Part of a poll, in an earlier slice.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Number of the absence that followed (`Absence::number`).
    pub number: usize,
    /// When the thread left the CPU and when it came back.
    pub out_ns: i64,
    pub in_ns: i64,
    /// Row of that slice.
    pub row: usize,
    /// The poll's time in that slice.
    pub ns: i64,
    /// Number of pending segments at the end of this part.
    pub pending: usize,
}

/// A poll whose earlier parts may not belong to it: the thread may have polled elsewhere in between.
#[derive(Debug)]
pub struct ResumedPoll {
    /// The earlier parts, each with its segments.
    pub earlier: Vec<(Earlier, Vec<Segment>)>,
    /// Thief of the thread's own time.
    pub own: u32,
    /// The poll's row, where there is one.
    pub row: Option<usize>,
}

impl Poll {
    pub fn begin(now: i64) -> Poll {
        Poll { from_ns: now, pending: Vec::new(), pending_ns: 0, earlier: Vec::new() }
    }

    pub fn start_ns(&self) -> i64 {
        self.from_ns
    }

    pub fn pending(&self) -> &[u64] {
        &self.pending
    }

    /// Time in the present slice.
    pub fn pending_ns(&self) -> i64 {
        self.pending_ns
    }

    /// The part before each preemption in mid-poll.
    pub fn earlier(&self) -> &[Earlier] {
        &self.earlier
    }

    /// Adds the thread's own time; a negative `ns` takes it back.
    #[inline(always)]
    pub fn book(&mut self, ns: i64, segment: Option<u64>) {
        self.pending_ns += ns;
        self.pending.extend(segment);
    }

    /// Ends a poll that was given to `thief`. Returns what may have to be undone if it was ever preempted: only the
    /// other CPUs know whether it was one poll.
    pub fn resumed(self, tail: &Tail, thief: u32, own: u32, row: Option<usize>) -> Option<ResumedPoll> {
        let mut begin = 0;
        let with_segments = |part: Earlier| {
            let pending = &self.pending[begin..part.pending];
            begin = part.pending;
            let found = pending.iter().filter_map(|&index| tail.get(index));
            (part, found.filter(|segment| segment.thief == thief).copied().collect())
        };
        let earlier: Vec<_> = self.earlier.into_iter().map(with_segments).collect();
        (!earlier.is_empty()).then_some(ResumedPoll { earlier, own, row })
    }

    /// The thread is preempted in mid-poll, for the `number`th time on this CPU. `row`: its slice.
    pub fn preempt(&mut self, now: i64, row: usize, number: usize) {
        let (ns, pending) = (std::mem::take(&mut self.pending_ns), self.pending.len());
        self.earlier.push(Earlier { number, out_ns: now, in_ns: now, row, ns, pending });
    }

    /// The thread is back. Returns the part before its absence.
    pub fn resume(&mut self, now: i64) -> Option<&Earlier> {
        let last = self.earlier.last_mut()?;
        last.in_ns = now;
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_was_preempted_twice_has_two_earlier_parts() {
        let mut poll = Poll::begin(100);
        for (row, (ns, out_ns, in_ns)) in [(100, 200, 300), (50, 350, 400)].into_iter().enumerate() {
            poll.book(ns, Some(row as u64));
            poll.preempt(out_ns, row, row);
            assert_eq!(poll.resume(in_ns).map(|earlier| earlier.out_ns), Some(out_ns));
        }
        let found: Vec<_> = poll.earlier.iter().map(|part| (part.in_ns, part.ns, part.pending)).collect();
        assert_eq!(found, [(300, 100, 1), (400, 50, 2)]);
        assert_eq!(poll.pending_ns, 0);
    }
}
