//! One pass over all records, in file order.
//!
//! Within a CPU's ring file order is time order; across CPUs it is not, and nothing here sorts.

use std::ops::{ControlFlow, Range};

use crate::bytes::{u32_at, u64_at, Order};
use crate::error::Result;
use crate::narrow::Narrow;
use crate::perf::blocks::{self, follows, is_last, Records, Stop};
use crate::perf::record::{self, is_guest, kind, misc};
use crate::perf::recording::PerfData;
use crate::perf::swap;
use crate::visit::{Feed, Sample, Side, Tally, Visitor};

/// Times beyond this (146 years) are damage; below it differences cannot overflow.
const LATEST_NS: u64 = 1 << 62;

impl PerfData {
    /// Shows every record to `visitor`.
    pub(super) fn walk_records(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        let mut walk = Walk {
            recording: self,
            visitor: Feed::new(visitor),
            counts: Box::new([0; 256]),
            unreadable: 0,
            notes: Vec::new(),
            before: 0,
            total: self.parts.iter().map(|part| part.end - part.start).sum(),
            turned: Vec::new(),
        };
        for part in &self.parts {
            if blocks::walk(part, self.order, &mut walk)?.is_break() {
                break;
            }
            walk.before += part.end - part.start;
        }
        let counted = walk.counts.iter().enumerate().filter(|(_, &count)| count > 0);
        Ok(Tally {
            records: counted.map(|(kind, &count)| (record::name(kind.narrow()), count)).collect(),
            unreadable: walk.unreadable,
            reversed: false,
            notes: walk.notes,
        })
    }
}

struct Walk<'a, 'v> {
    recording: &'a PerfData,
    visitor: Feed<'v>,
    counts: Box<[u64; 256]>,
    unreadable: u64,
    notes: Vec<String>,
    /// Bytes of the parts before this one, and of all.
    before: u64,
    total: u64,
    /// The present block of a big-endian recorder, turned around.
    turned: Vec<u8>,
}

impl Records for Walk<'_, '_> {
    /// The records are in the recorder's byte order.
    fn block(&mut self, block: &[u8], _offset: Option<u64>) -> (usize, Stop) {
        if self.recording.order == Order::Little {
            return self.records(block);
        }
        let mut turned = std::mem::take(&mut self.turned);
        turned.clear();
        turned.extend_from_slice(&block[..swap::extent(block)]);
        swap::to_little(self.recording, &mut turned);
        let seen = self.records(&turned);
        self.turned = turned;
        seen
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn progress(&mut self, done: u64) -> ControlFlow<()> {
        self.visitor.progress((self.before + done) as f64 / self.total.max(1) as f64)
    }
}

impl Walk<'_, '_> {
    fn records(&mut self, block: &[u8]) -> (usize, Stop) {
        let Walk { recording, visitor, counts, unreadable, .. } = self;
        let mut at = 0;
        let mut stop = Stop::Short;
        while let Some(rest) = block.get(at..) {
            let Some((kind, size)) = record::header(rest, Order::Little) else { break };
            let Some(bytes) = rest.get(..size).filter(|_| size >= record::HEADER) else { break };
            counts[(kind as usize).min(255)] += 1;
            let begin = at;
            at += size;
            if kind == kind::SAMPLE {
                match recording.sample(bytes, begin) {
                    Some(sample) => {
                        if visitor.sample(block, sample).is_break() {
                            stop = Stop::Enough;
                            break;
                        }
                    }
                    None => *unreadable += 1,
                }
            } else if let Some(other) = recording.side(kind, block, begin..at, visitor) {
                stop = other;
                break;
            }
        }
        match visitor.block_end(&block[..at]) {
            ControlFlow::Continue(()) => (at, stop),
            ControlFlow::Break(()) => (at, Stop::Enough),
        }
    }
}

impl PerfData {
    #[inline(always)]
    fn sample(&self, bytes: &[u8], at: usize) -> Option<Sample> {
        let event = self.event_of_sample(bytes, Order::Little)?;
        let layout = self.layouts.get(event as usize)?;
        let (time, cpu, (raw, raw_size)) = match layout.usual(bytes) {
            Some(found) => found,
            None => layout.unusual(bytes)?,
        };
        Some(Sample {
            event,
            time_ns: Some(time).filter(|&time| time < LATEST_NS)? as i64,
            cpu,
            raw: (at + raw).narrow(),
            raw_size: raw_size.narrow(),
            record: at.narrow(),
            record_size: bytes.len().narrow(),
            in_guest: is_guest(misc(bytes)),
        })
    }

    fn side(&self, kind: u32, block: &[u8], place: Range<usize>, visitor: &mut Feed<'_>) -> Option<Stop> {
        let (at, bytes) = (place.start, &block[place]);
        if is_last(kind) {
            return follows(kind, bytes, at, Order::Little);
        }
        let find = |id| self.ids.find(id);
        let mut side = Side {
            kind,
            bytes,
            guest: is_guest(misc(bytes)),
            time_ns: None,
            cpu: None,
            what: record::what(kind, bytes, find),
        };
        if kind < kind::HEADER_ATTR {
            let layout = self.layout_of_trailer(bytes, Order::Little);
            let from_end = |back: usize| bytes.len().checked_sub(back).filter(|&at| at >= record::HEADER);
            let time = layout.trailer_time.and_then(from_end).and_then(|at| u64_at(bytes, at));
            side.time_ns = time.filter(|&time| time < LATEST_NS).map(|time| time as i64);
            side.cpu = layout.trailer_cpu.and_then(from_end).and_then(|at| u32_at(bytes, at));
            side.bytes = &bytes[..from_end(layout.trailer).unwrap_or(bytes.len())];
        }
        visitor.side(block, &side);
        None
    }
}
