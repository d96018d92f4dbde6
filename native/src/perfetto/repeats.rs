//! Samples of a pass without those that perf had written twice, as the ledger takes them.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::ledger::Flush;
use crate::visit::Sample;

/// By CPU what its last flush ended with.
#[derive(Debug)]
pub struct Repeats {
    /// Whether there may be any.
    may_be: bool,
    flushes: IndexMap<u32, Flush, FxBuildHasher>,
    present: Option<usize>,
    is_new: bool,
}

impl Repeats {
    /// Nothing seen yet.
    pub fn new(may_be: bool) -> Repeats {
        Repeats { may_be, flushes: IndexMap::default(), present: None, is_new: true }
    }

    /// The next sample; `take` is called with those that are no repeats, in the order of each CPU.
    #[inline(always)]
    pub fn sample(&mut self, block: &[u8], sample: &Sample, mut take: impl FnMut(&[u8], &Sample)) {
        if !self.may_be {
            take(block, sample);
            return;
        }
        if self.present.is_none_or(|present| self.flushes.get_index(present).is_none_or(|at| *at.0 != sample.cpu)) {
            self.end(block, &mut take);
            let entry = self.flushes.entry(sample.cpu);
            self.present = Some(entry.index());
            entry.or_default();
        }
        let Some(present) = self.present else { return };
        let flush = &mut self.flushes[present];
        let first = std::mem::take(&mut self.is_new);
        if first {
            flush.keep(block);
            flush.begin(sample);
        }
        if !flush.is_in_doubt() {
            flush.remember(std::slice::from_ref(sample));
            take(block, sample);
        } else if flush.is_settled_by(block, sample) {
            self.settle(take);
        }
    }

    fn end(&mut self, block: &[u8], take: impl FnMut(&[u8], &Sample)) {
        if let Some(present) = self.present {
            self.flushes[present].keep(block);
            self.settle(take);
        }
        self.is_new = true;
    }

    /// No more records may repeat others for now.
    pub fn settle(&mut self, mut take: impl FnMut(&[u8], &Sample)) {
        let Some(present) = self.present else { return };
        if self.flushes[present].is_holding() {
            for (mut sample, bytes) in self.flushes[present].release().1 {
                sample.raw -= sample.record;
                take(&bytes, &sample);
            }
        }
    }

    /// A round of flushes ended.
    pub fn round(&mut self) {
        self.is_new = true;
    }

    /// The bytes of `block` are about to go away.
    pub fn block_end(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.flushes[present].keep(block);
        }
    }
}
