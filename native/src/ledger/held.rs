//! How long scheduled network work held a CPU.

/// Stretches in which scheduled network work held one CPU, in order, with their running sum.
#[derive(Debug, Default)]
pub struct Held {
    stretches: Vec<(i64, i64, i64)>,
}

impl Held {
    pub fn push(&mut self, start: i64, end: i64) {
        match self.stretches.last_mut() {
            Some(last) if last.1 == start => (last.1, last.2) = (end, last.2 + end - start),
            last => {
                let before = last.map_or(0, |last| last.2);
                self.stretches.push((start, end, before + end - start));
            }
        }
    }

    /// Drops stretches that ended before `at`. No one who waits now began to wait on this CPU earlier.
    pub fn forget(&mut self, at: i64) {
        const WORTH_MOVING: usize = 1 << 12;
        let count = self.stretches.partition_point(|stretch| stretch.1 < at);
        if count > WORTH_MOVING {
            // The last of them stays for its running sum.
            self.stretches.drain(..count - 1);
        }
    }

    /// Time held before `at`.
    pub fn until(&self, at: i64) -> i64 {
        let after = self.stretches.partition_point(|stretch| stretch.0 < at);
        match after.checked_sub(1).map(|index| self.stretches[index]) {
            Some((_, end, sum)) => sum - (end - at).max(0),
            None => self.stretches.first().map_or(0, |first| first.2 - (first.1 - first.0)),
        }
    }
}
