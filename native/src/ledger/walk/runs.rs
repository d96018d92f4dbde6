//! Consecutive samples of one CPU: what they have in common is looked up once.

use crate::ledger::walk::Walk;
use crate::visit::Sample;

/// First and last time of no samples.
const NEVER: (i64, i64) = (i64::MAX, i64::MIN);

/// Extends a first and last time by one sample.
#[inline(always)]
fn within((first, last): (i64, i64), sample: &Sample) -> (i64, i64) {
    (first.min(sample.time_ns), last.max(sample.time_ns))
}

impl Walk<'_, '_> {
    /// Takes the first samples that share a CPU and a sort. Returns their number.
    pub(super) fn run(&mut self, block: &[u8], samples: &[Sample]) -> usize {
        let Some(Sample { cpu, event, .. }) = samples.first().copied() else { return 0 };
        let sort = self.sorts[event as usize];
        let alike = |sample: &&Sample| sample.cpu == cpu && self.sorts[sample.event as usize] == sort;
        let (mut count, mut span) = (0, NEVER);
        for sample in samples.iter().take_while(alike) {
            (count, span) = (count + 1, within(span, sample));
        }
        if sort.is_timed {
            self.window = (self.window.0.min(span.0), self.window.1.max(span.1));
        }
        if sort.is_read {
            self.read(cpu, block, &samples[..count], span);
        }
        count
    }

    fn read(&mut self, cpu: u32, block: &[u8], samples: &[Sample], mut span: (i64, i64)) {
        let same = self.present.is_some_and(|present| self.streams[present].cpu == cpu);
        if !same {
            self.end_flush(block);
            self.present = self.stream(cpu);
        }
        let Some(present) = self.present else {
            self.counters.unreadable += samples.len() as u64;
            return;
        };
        let fresh = if self.may_repeat { self.settle(present, block, samples) } else { samples };
        if fresh.len() < samples.len() {
            span = fresh.iter().fold(NEVER, within);
        }
        self.take(present, block, fresh, span);
    }

    /// Decides which of these samples are repeats. Returns the rest, which is new.
    fn settle<'s>(&mut self, present: usize, block: &[u8], mut samples: &'s [Sample]) -> &'s [Sample] {
        if std::mem::take(&mut self.new_flush) {
            self.streams[present].flush.keep(block);
            self.streams[present].flush.begin(&samples[0]);
        }
        while let Some((sample, rest)) = samples.split_first().filter(|_| self.streams[present].flush.is_in_doubt()) {
            if self.streams[present].flush.is_settled_by(block, sample) {
                self.settle_present();
            }
            samples = rest;
        }
        self.streams[present].flush.remember(samples);
        samples
    }

    /// `span`: first and last time of the samples.
    #[inline(never)]
    pub(super) fn take(&mut self, stream: usize, block: &[u8], samples: &[Sample], span: (i64, i64)) {
        let Walk { schemas, reader, dealer, streams, .. } = self;
        let running = &mut streams[stream].running;
        let unreadable = dealer.events(stream, samples, |sample, event| {
            reader.read(schemas, sample, sample.payload(block), running, event)
        });
        self.counters.unreadable += unreadable as u64;
        if !samples.is_empty() {
            self.rounds.see(span.0);
            self.rounds.see(span.1);
        }
        self.undealt += samples.len();
    }
}
