//! Records that perf wrote twice at a flush boundary.
//!
//! ```text
//!   CPU 1's flush n    ... r7 r8 r9 |
//!   CPU 1's flush n+1               | r8 r9 r10 ...      r8 r9 repeat the tail: dropped, counted
//! ```
//! A repeat can only begin with a record no later than the last one of the previous flush, so one comparison of times
//! settles nearly every flush.

use crate::bytes::slice;
use crate::narrow::Narrow;
use crate::visit::Sample;

/// The longest run of repeats to look for.
const LONGEST: usize = 256;

/// Bytes kept per CPU before the oldest are dropped.
const MAX_BYTES: usize = 1 << 20;

/// A record with its bytes, since its block may be gone.
pub type Owned = (Sample, Box<[u8]>);

/// The last records of one CPU's previous flush, and those of the present one that may repeat them.
#[derive(Debug, Default)]
pub struct Flush {
    /// Bytes of the last records, and where each lies in them.
    bytes: Vec<u8>,
    tail: Vec<(u32, u32)>,
    tail_ns: i64,
    recent: Vec<(u32, u32)>,
    recent_ns: i64,
    /// Starts in `tail` from which every held record has matched so far.
    candidates: Vec<usize>,
    held: Vec<Owned>,
    matched: usize,
}

impl Flush {
    /// Begins a flush with this record.
    pub fn begin(&mut self, sample: &Sample) {
        if !self.tail.is_empty() && sample.time_ns <= self.tail_ns {
            self.candidates = (self.tail.len().saturating_sub(LONGEST)..self.tail.len()).collect();
            self.matched = 0;
        }
    }

    /// Whether the next record may be a repeat. If so, ask `is_settled_by`; if not, it is new: `remember` it.
    #[inline(always)]
    pub fn is_in_doubt(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Holds the next record of this CPU, which may be a repeat. Returns whether the held ones are settled: if so, take
    /// what `release` returns.
    pub fn is_settled_by(&mut self, block: &[u8], sample: &Sample) -> bool {
        let bytes = sample.bytes(block);
        let position = self.held.len();
        let (tail, known) = (&self.tail, &self.bytes);
        let same = |&(at, size): &(u32, u32)| slice(known, at as usize, size as usize) == Some(bytes);
        self.candidates.retain(|&start| tail.get(start + position).is_some_and(same));
        self.held.push((*sample, bytes.into()));
        if self.candidates.iter().any(|&start| start + position + 1 == self.tail.len()) {
            self.matched = position + 1;
            self.candidates.retain(|&start| start + position + 1 < self.tail.len());
        }
        self.candidates.is_empty()
    }

    /// Ends the doubt. Returns the number of repeats, and the held records that are new, each as a block of its own.
    pub fn release(&mut self) -> (u64, Vec<Owned>) {
        self.candidates.clear();
        let held = std::mem::take(&mut self.held);
        let repeated = std::mem::take(&mut self.matched);
        let fresh: Vec<Owned> = held.into_iter().skip(repeated).collect();
        for (sample, bytes) in &fresh {
            self.tail.push((self.bytes.len().narrow(), bytes.len().narrow()));
            self.bytes.extend_from_slice(bytes);
            self.tail_ns = sample.time_ns;
        }
        self.trim();
        (repeated as u64, fresh)
    }

    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Notes the next records of this CPU, which are new.
    pub fn remember(&mut self, samples: &[Sample]) {
        let Some(last) = samples.last() else { return };
        let newest = &samples[samples.len().saturating_sub(LONGEST)..];
        if self.recent.len() + newest.len() > 2 * LONGEST {
            self.recent.drain(..self.recent.len() - LONGEST);
        }
        self.recent.extend(newest.iter().map(|sample| (sample.record, sample.record_size)));
        self.recent_ns = last.time_ns;
    }

    /// Copies what may be repeated out of a block that goes away or a flush that ends.
    pub fn keep(&mut self, block: &[u8]) {
        let from = self.recent.len().saturating_sub(LONGEST);
        let Some((&first, &last)) = self.recent.get(from).zip(self.recent.last()) else { return };
        if self.recent.len() >= LONGEST {
            self.bytes.clear();
            self.tail.clear();
        }
        // Records of one flush lie side by side, so they are copied in one piece unless much lies between them.
        let span = (last.0 + last.1 - first.0) as usize;
        if span <= LONGEST * 512 {
            let base = self.bytes.len().narrow::<u32>();
            self.bytes.extend_from_slice(slice(block, first.0 as usize, span).unwrap_or_default());
            self.tail.extend(self.recent[from..].iter().map(|&(at, size)| (base + at - first.0, size)));
        } else {
            for &(at, size) in &self.recent[from..] {
                self.tail.push((self.bytes.len().narrow::<u32>(), size));
                self.bytes.extend_from_slice(slice(block, at as usize, size as usize).unwrap_or_default());
            }
        }
        self.recent.clear();
        self.tail_ns = self.recent_ns;
        self.trim();
    }

    /// Forgets all but the longest run, once there is enough to make moving it cheap.
    fn trim(&mut self) {
        if self.tail.len() > 8 * LONGEST || (self.tail.len() > LONGEST && self.bytes.len() > MAX_BYTES) {
            self.tail.drain(..self.tail.len() - LONGEST);
            let start = self.tail[0].0;
            self.bytes.drain(..start as usize);
            for entry in &mut self.tail {
                entry.0 -= start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u8) -> (Sample, [u8; 1]) {
        let sample = Sample {
            event: 0,
            time_ns: i64::from(number),
            cpu: 1,
            raw: 0,
            raw_size: 0,
            record: 0,
            record_size: 1,
            in_guest: false,
        };
        (sample, [number])
    }

    /// Feeds flushes of one-byte records; returns the records taken and the number dropped.
    fn run(flushes: &[&[u8]]) -> (Vec<u8>, u64) {
        let (mut flush, mut taken, mut dropped) = (Flush::default(), Vec::new(), 0);
        for records in flushes {
            for (index, &number) in records.iter().enumerate() {
                let (sample, block) = sample(number);
                if index == 0 {
                    flush.begin(&sample);
                }
                if !flush.is_in_doubt() {
                    flush.remember(&[sample]);
                    taken.push(number);
                } else if flush.is_settled_by(&block, &sample) {
                    let (repeated, fresh) = flush.release();
                    dropped += repeated;
                    taken.extend(fresh.iter().map(|(_, bytes)| bytes[0]));
                }
                flush.keep(&block);
            }
            if flush.is_holding() {
                let (repeated, fresh) = flush.release();
                dropped += repeated;
                taken.extend(fresh.iter().map(|(_, bytes)| bytes[0]));
            }
        }
        (taken, dropped)
    }

    #[test]
    fn a_repeated_tail_is_dropped_once() {
        assert_eq!(run(&[&[6, 7, 8, 9], &[8, 9, 10]]), (vec![6, 7, 8, 9, 10], 2));
    }

    #[test]
    fn a_flush_that_is_all_repeat_is_dropped() {
        assert_eq!(run(&[&[6, 7, 8], &[7, 8]]), (vec![6, 7, 8], 2));
    }

    #[test]
    fn what_only_begins_like_the_tail_is_kept() {
        assert_eq!(run(&[&[6, 7, 8], &[7, 9]]), (vec![6, 7, 8, 7, 9], 0));
    }
}
