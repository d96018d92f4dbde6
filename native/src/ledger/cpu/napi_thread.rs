//! The poll of a NAPI thread. Nothing tells when it begins: it is what ran since the thread was switched in, or since
//! its poll before.
//!
//! ```text
//!   CPU 0   | napi/eth0 .... | other tasks | napi/eth0 ... poll | poll |
//!           begin            preempt       resume          end    end
//! ```

use crate::ledger::segment::Segment;

/// A poll in the making.
#[derive(Debug, Clone)]
pub struct Poll {
    /// When it began.
    pub from_ns: i64,
    /// Its segments.
    pub pending: Vec<u64>,
    /// Its time in the present stay.
    pub pending_ns: i64,
    /// What there was of it before the thread was preempted in the middle.
    pub earlier: Option<Earlier>,
}

/// The part of a poll in earlier stays.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// When the thread left the CPU first.
    pub since_ns: i64,
    /// When it came back last.
    pub until_ns: i64,
    /// Its time by row of the slice.
    pub slices: Vec<(usize, i64)>,
    /// How many of the pending segments are from then.
    pub pending: usize,
}

/// A poll with an earlier part that may prove to be none of it: the thread may have polled elsewhere meanwhile.
#[derive(Debug)]
pub struct ResumedPoll {
    /// That part.
    pub earlier: Earlier,
    /// Its segments.
    pub segments: Vec<Segment>,
    /// The thread's own time.
    pub own: u32,
    /// The poll's row, where there is one.
    pub row: Option<usize>,
}

impl Poll {
    /// One begins.
    pub fn begin(now: i64) -> Poll {
        Poll { from_ns: now, pending: Vec::new(), pending_ns: 0, earlier: None }
    }

    /// The thread is preempted in the middle of it; `row`: of its slice.
    pub fn preempt(&mut self, now: i64, row: usize) {
        let pending = self.pending.len();
        let earlier = Earlier { since_ns: now, until_ns: now, slices: Vec::new(), pending };
        let earlier = self.earlier.get_or_insert(earlier);
        earlier.slices.push((row, std::mem::take(&mut self.pending_ns)));
        earlier.pending = pending;
    }

    /// The thread is back.
    pub fn resume(&mut self, now: i64) {
        if let Some(earlier) = &mut self.earlier {
            earlier.until_ns = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_was_preempted_twice_has_two_earlier_slices() {
        let mut poll = Poll::begin(100);
        for (row, (out_ns, in_ns)) in [(200, 300), (350, 400)].into_iter().enumerate() {
            poll.pending.push(row as u64);
            poll.pending_ns += out_ns - 100;
            poll.preempt(out_ns, row);
            poll.resume(in_ns);
        }
        let earlier = poll.earlier.expect("it was preempted");
        assert_eq!((earlier.since_ns, earlier.until_ns, earlier.pending), (200, 400, 2));
        assert_eq!((earlier.slices, poll.pending_ns), (vec![(0, 100), (1, 250)], 0));
    }
}
