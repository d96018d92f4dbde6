//! Rings that were written newest first (`perf record --overwrite`), shown in the order of time.
//!
//! ```text
//!   file   | CPU 0: r9 r8 .. r3 | CPU 1: s5 s4 s3 | end of the round | ...
//!   shown  | overwritten up to r3, r3 .. r8 r9    | s3 s4 s5         | end of the round | ...
//! ```
//! One ring at a time is in memory. What came before its oldest record was overwritten, if the ring was full.

use std::ops::{ControlFlow, Range};

use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::perf::recording::PerfData;
use crate::progress::flow;
use crate::visit::{Sample, Side, Tally, Visitor, What};

/// No record is larger: a ring with more room than that has overwritten nothing.
const MAX_RECORD: usize = 1 << 16;
/// Bytes of the largest ring that is read.
const MAX_RING: usize = 1 << 30;
/// Samples shown at once.
const AT_ONCE: usize = 256;

impl PerfData {
    /// Shows every record to `visitor`, those of each CPU in the order of time.
    pub(super) fn walk_in_time(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        let is_backward: Vec<bool> = self.events.iter().map(|event| event.newest_first).collect();
        if !is_backward.contains(&true) {
            return self.walk_records(visitor);
        }
        // All rings are of one size, a power of two, which the file does not tell.
        let mut sizes = Sizes { visitor, is_backward: &is_backward, present: (0, 0), largest: 0 };
        self.walk_records(&mut sizes)?;
        let size = sizes.largest.next_power_of_two();
        let mut rings = Rings { visitor, is_backward, ring: Ring { size, ..Ring::default() }, enough: false };
        let tally = self.walk_records(&mut rings);
        rings.end();
        if rings.ring.bytes.len() > MAX_RING {
            return Err(bad!(
                Refused,
                "a CPU's ring of more than 1 GiB was recorded with --overwrite: record with a smaller one (perf's -m)"
            ));
        }
        tally
    }
}

/// How large the largest ring is.
struct Sizes<'v> {
    visitor: &'v mut dyn Visitor,
    is_backward: &'v [bool],
    /// CPU and bytes.
    present: (u32, usize),
    largest: usize,
}

impl Visitor for Sizes<'_> {
    fn samples(&mut self, _block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples.iter().filter(|sample| self.is_backward[sample.event as usize]) {
            let before = if sample.cpu == self.present.0 { self.present.1 } else { 0 };
            self.present = (sample.cpu, before + sample.record_size as usize);
            self.largest = self.largest.max(self.present.1);
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        match side.what {
            What::Round => self.present.1 = 0,
            _ => self.present.1 += if side.cpu == Some(self.present.0) { side.bytes.len() } else { 0 },
        }
    }

    fn progress(&mut self, _fraction: f64) -> ControlFlow<()> {
        self.visitor.progress(0.0)
    }
}

/// A CPU's ring, as far as it was read: newest first.
#[derive(Default)]
struct Ring {
    /// Its size, at least.
    size: usize,
    bytes: Vec<u8>,
    samples: Vec<Sample>,
    /// Records between samples, with the number of samples before each.
    sides: Vec<(usize, Owned)>,
}

struct Owned {
    kind: u32,
    bytes: Range<usize>,
    guest: bool,
    time_ns: Option<i64>,
    what: What,
}

struct Rings<'v> {
    visitor: &'v mut dyn Visitor,
    /// By number of the event.
    is_backward: Vec<bool>,
    ring: Ring,
    enough: bool,
}

impl Ring {
    fn cpu(&self) -> Option<u32> {
        self.samples.first().map(|sample| sample.cpu)
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }

    fn add(&mut self, block: &[u8], sample: &Sample) {
        let at = self.keep(sample.bytes(block)).start.narrow();
        let raw = sample.raw.wrapping_sub(sample.record).wrapping_add(at);
        self.samples.push(Sample { raw, record: at, ..*sample });
    }

    /// Whether what came before has been overwritten; where there is doubt, yes.
    fn was_full(&self) -> bool {
        self.bytes.len() + MAX_RECORD > self.size
    }

    fn show(&mut self, visitor: &mut dyn Visitor) -> ControlFlow<()> {
        let Some(oldest) = self.samples.last().filter(|_| self.was_full()) else { return self.records(visitor) };
        visitor.side(&Side::of(What::Overwritten(0), Some(oldest.time_ns), Some(oldest.cpu)));
        self.records(visitor)
    }

    fn records(&mut self, visitor: &mut dyn Visitor) -> ControlFlow<()> {
        let (cpu, count) = (self.cpu(), self.samples.len());
        self.samples.reverse();
        let mut shown = 0;
        for (before, side) in self.sides.iter().rev() {
            for samples in self.samples[shown..count - before].chunks(AT_ONCE) {
                visitor.samples(&self.bytes, samples)?;
            }
            shown = count - before;
            let bytes = &self.bytes[side.bytes.clone()];
            let Owned { kind, guest, time_ns, ref what, .. } = *side;
            visitor.side(&Side { kind, bytes, guest, time_ns, cpu, what: what.clone() });
        }
        self.samples[shown..].chunks(AT_ONCE).try_for_each(|samples| visitor.samples(&self.bytes, samples))
    }
}

impl Rings<'_> {
    /// The ring is over.
    fn end(&mut self) {
        if self.ring.bytes.len() > MAX_RING {
            return;
        }
        if !self.enough {
            self.enough = self.ring.show(self.visitor).is_break();
            self.visitor.block_end(&self.ring.bytes);
        }
        self.ring.bytes.clear();
        self.ring.samples.clear();
        self.ring.sides.clear();
    }
}

impl Visitor for Rings<'_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for run in samples.chunk_by(|one, next| (one.event, one.cpu) == (next.event, next.cpu)) {
            if !self.is_backward[run[0].event as usize] {
                self.enough |= self.visitor.samples(block, run).is_break();
                continue;
            }
            if self.ring.cpu().is_some_and(|cpu| cpu != run[0].cpu) {
                self.end();
            }
            run.iter().for_each(|sample| self.ring.add(block, sample));
        }
        flow(!self.enough && self.ring.bytes.len() <= MAX_RING)
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.cpu.is_some() && side.cpu == self.ring.cpu() {
            let Side { kind, guest, time_ns, ref what, .. } = *side;
            let bytes = self.ring.keep(side.bytes);
            self.ring.sides.push((self.ring.samples.len(), Owned { kind, bytes, guest, time_ns, what: what.clone() }));
            return;
        }
        if side.what == What::Round {
            self.end();
        }
        if !self.enough {
            self.visitor.side(side);
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        self.visitor.block_end(block);
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        self.visitor.progress(fraction)
    }
}
