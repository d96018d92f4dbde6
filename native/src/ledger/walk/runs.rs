//! Samples of one CPU that follow each other: what they have in common is looked up once, not for each.

use crate::ledger::walk::Walk;
use crate::visit::Sample;

impl Walk<'_, '_> {
    /// Shows the samples at the start of `samples` that are of one CPU and sort; how many they were.
    pub(super) fn run(&mut self, block: &[u8], samples: &[Sample]) -> usize {
        let Some(Sample { cpu, event, .. }) = samples.first().copied() else { return 0 };
        let sort = self.sorts[event as usize];
        let alike = |sample: &&Sample| sample.cpu == cpu && self.sorts[sample.event as usize] == sort;
        let count = samples.iter().take_while(alike).count();
        let samples = &samples[..count];
        if sort.is_timed {
            let times = samples.iter().map(|sample| sample.time_ns);
            let (first, last) = times.fold(self.window, |(first, last), time| (first.min(time), last.max(time)));
            self.window = (first, last);
        }
        if sort.is_read {
            self.read(cpu, block, samples);
        }
        count
    }

    fn read(&mut self, cpu: u32, block: &[u8], mut samples: &[Sample]) {
        let same = self.present.is_some_and(|present| self.streams[present].cpu == cpu);
        if !same {
            self.end_flush(block);
            self.present = self.stream(cpu);
        }
        let Some(present) = self.present else {
            self.counters.unreadable += samples.len() as u64;
            return;
        };
        if self.may_repeat {
            samples = self.settle(present, block, samples);
        }
        self.take(present, block, samples);
    }

    /// Decides which of these samples repeat others; those that follow, which are new.
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

    #[inline(never)]
    pub(super) fn take(&mut self, stream: usize, block: &[u8], samples: &[Sample]) {
        let Walk { schemas, reader, dealer, streams, .. } = self;
        let running = &mut streams[stream].running;
        let unreadable = dealer.events(stream, samples, |sample, event| {
            reader.read(schemas, sample, sample.payload(block), running, event)
        });
        self.counters.unreadable += unreadable as u64;
        samples.iter().for_each(|sample| self.rounds.see(sample.time_ns));
        self.undealt += samples.len();
    }
}
