//! One pass over all records, in file order.
//!
//! Within a CPU's ring file order is time order; across CPUs it is not, and nothing here sorts.

use std::ops::{ControlFlow, Range};

use crate::bytes::{u32_at, u64_at, Order};
use crate::error::{bad, Result};
use crate::input::Window;
use crate::perf::record::{self, is_guest, kind, misc};
use crate::perf::recording::{Part, PerfData};
use crate::perf::swap;
use crate::perf::unpack::Unpacked;
use crate::visit::{Feed, Sample, Side, Tally, Visitor};

/// Times beyond this (146 years) are damage; below it differences cannot overflow.
const LATEST_NS: u64 = 1 << 62;

impl PerfData {
    /// Shows every record to `visitor`.
    pub(super) fn walk_records(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        let visitor = &mut Feed::new(visitor);
        let mut walk = Walk {
            recording: self,
            counts: vec![0; 256],
            unreadable: 0,
            notes: Vec::new(),
            done: 0.0,
            turned: Vec::new(),
        };
        let total: u64 = self.parts.iter().map(|part| part.end - part.start).sum();
        let mut before = 0;
        for part in &self.parts {
            if walk.part(part, visitor, before, total)?.is_break() {
                break;
            }
            before += part.end - part.start;
        }
        let counted = walk.counts.iter().enumerate().filter(|(_, &count)| count > 0);
        Ok(Tally {
            records: counted.map(|(kind, &count)| (record::name(kind as u32), count)).collect(),
            unreadable: walk.unreadable,
            reversed: false,
            notes: walk.notes,
        })
    }
}

struct Walk<'a> {
    recording: &'a PerfData,
    counts: Vec<u64>,
    unreadable: u64,
    notes: Vec<String>,
    /// Fraction of the recording walked.
    done: f64,
    /// The present block of a big-endian recorder, turned around.
    turned: Vec<u8>,
}

/// Why a block's records were not walked to its end.
enum Stop {
    /// The next record is not whole, or none.
    Short,
    /// A record holds compressed records; its payload, in the block.
    Compressed(usize, usize),
    /// Bytes that are no records follow the last one.
    Skip(u64),
    /// The visitor wants no more.
    Enough,
}

impl Walk<'_> {
    fn part(&mut self, part: &Part, visitor: &mut Feed<'_>, before: u64, total: u64) -> Result<ControlFlow<()>> {
        let mut window = Window::new(&part.file, part.start, part.end);
        let mut unpacked: Option<Unpacked> = None;
        let mut want = 8;
        loop {
            let offset = window.offset();
            let block = window.peek(want)?;
            let available = block.len();
            if available < 8 {
                if available > 0 {
                    self.notes
                        .push(format!("file cut short at byte {offset}: {available} bytes of a record left over"));
                }
                break;
            }
            let (used, stop) = self.block(block, visitor);
            let next = block.get(used..).and_then(|rest| record::header(rest, self.recording.order));
            let mut skip = 0;
            let asked = std::mem::replace(&mut want, record::HEADER);
            match stop {
                Stop::Short if next.is_some_and(|(_, size)| size < record::HEADER) => {
                    let at = offset + used as u64;
                    self.notes.push(format!(
                        "record at byte {at} has a size smaller than its header: the {} bytes from there on are not read",
                        part.end.saturating_sub(at)
                    ));
                    break;
                }
                Stop::Short => {
                    let size = next.map_or(record::HEADER, |(_, size)| size);
                    if used == 0 && asked >= size {
                        self.notes
                            .push(format!("file cut short at byte {offset}: a record of {size} bytes has {available}"));
                        break;
                    }
                    want = size;
                }
                Stop::Compressed(from, to) => {
                    let unpacked = unpacked.get_or_insert_with(Unpacked::new);
                    match unpacked.feed(&block[from..to], |bytes| self.inner(bytes, visitor)) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => return Ok(ControlFlow::Break(())),
                        Err(reason) => {
                            self.notes.push(format!(
                                "compressed record at byte {} is damaged ({reason}): the records after it are lost",
                                offset + from as u64
                            ));
                            break;
                        }
                    }
                }
                Stop::Skip(size) => skip = size,
                Stop::Enough => return Ok(ControlFlow::Break(())),
            }
            window.advance(used as u64)?;
            window.advance(skip)?;
            let done = before + window.offset() - part.start;
            self.done = done as f64 / total.max(1) as f64;
            if visitor.progress(self.done).is_break() {
                return Err(bad!(Interrupted, "interrupted"));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Records that came out of a compressed one: bytes used, or a stop.
    fn inner(&mut self, bytes: &[u8], visitor: &mut Feed<'_>) -> std::result::Result<(usize, ControlFlow<()>), String> {
        let (used, stop) = self.block(bytes, visitor);
        if visitor.progress(self.done).is_break() {
            return Err("interrupted".to_owned());
        }
        let next = bytes.get(used..).and_then(|rest| record::header(rest, self.recording.order));
        if next.is_some_and(|(_, size)| size < record::HEADER) {
            return Err("it holds a record smaller than its header".to_owned());
        }
        match stop {
            Stop::Short => Ok((used, ControlFlow::Continue(()))),
            Stop::Enough => Ok((used, ControlFlow::Break(()))),
            Stop::Compressed(..) | Stop::Skip(_) => Err("what it holds is no plain record".to_owned()),
        }
    }

    /// Shows the whole records at the start of `block`, which are in the recorder's byte order: bytes
    /// used, or a stop.
    fn block(&mut self, block: &[u8], visitor: &mut Feed<'_>) -> (usize, Stop) {
        if self.recording.order == Order::Little {
            return self.records(block, visitor);
        }
        let mut turned = std::mem::take(&mut self.turned);
        turned.clear();
        turned.extend_from_slice(&block[..swap::extent(block)]);
        swap::to_little(self.recording, &mut turned);
        let seen = self.records(&turned, visitor);
        self.turned = turned;
        seen
    }

    fn records(&mut self, block: &[u8], visitor: &mut Feed<'_>) -> (usize, Stop) {
        let mut at = 0;
        let mut stop = Stop::Short;
        while let Some(rest) = block.get(at..) {
            let Some((kind, size)) = record::header(rest, Order::Little) else { break };
            let Some(bytes) = rest.get(..size).filter(|_| size >= record::HEADER) else { break };
            self.counts[(kind as usize).min(255)] += 1;
            let begin = at;
            at += size;
            if kind == kind::SAMPLE {
                match self.sample(bytes, begin) {
                    Some(sample) => {
                        if visitor.sample(block, sample).is_break() {
                            stop = Stop::Enough;
                            break;
                        }
                    }
                    None => self.unreadable += 1,
                }
            } else if let Some(other) = self.side(kind, block, begin..at, visitor) {
                stop = other;
                break;
            }
        }
        match visitor.block_end(&block[..at]) {
            ControlFlow::Continue(()) => (at, stop),
            ControlFlow::Break(()) => (at, Stop::Enough),
        }
    }

    #[inline(always)]
    fn sample(&self, bytes: &[u8], at: usize) -> Option<Sample> {
        let event = self.recording.event_of_sample(bytes, Order::Little)?;
        let layout = self.recording.layouts.get(event as usize)?;
        let time_ns = match layout.time {
            Some(at) => u64_at(bytes, at).filter(|&time| time < LATEST_NS)? as i64,
            None => 0,
        };
        let cpu = match layout.cpu {
            Some(at) => u32_at(bytes, at)?,
            None => 0,
        };
        let (raw, raw_size) = layout.raw(bytes).unwrap_or_default();
        Some(Sample {
            event,
            time_ns,
            cpu,
            raw: (at + raw) as u32,
            raw_size: raw_size as u32,
            record: at as u32,
            record_size: bytes.len() as u32,
            in_guest: is_guest(misc(bytes)),
        })
    }

    fn side(&mut self, kind: u32, block: &[u8], place: Range<usize>, visitor: &mut Feed<'_>) -> Option<Stop> {
        let (at, bytes) = (place.start, &block[place]);
        match kind {
            kind::COMPRESSED => return Some(Stop::Compressed(at + 8, at + bytes.len())),
            kind::COMPRESSED2 => {
                let size = u64_at(bytes, 8).and_then(|size| usize::try_from(size).ok())?;
                let from = at + 16.min(bytes.len());
                return Some(Stop::Compressed(from, from.saturating_add(size).min(at + bytes.len())));
            }
            kind::AUXTRACE => return Some(Stop::Skip(u64_at(bytes, 8)?)),
            kind::HEADER_TRACING_DATA => return Some(Stop::Skip(u64::from(u32_at(bytes, 8)?))),
            _ => {}
        }
        let find = |id| self.recording.ids.find(id);
        let mut side = Side {
            kind,
            bytes,
            guest: is_guest(misc(bytes)),
            time_ns: None,
            cpu: None,
            what: record::what(kind, bytes, find),
        };
        if kind < kind::HEADER_ATTR {
            let layout = self.recording.layout_of_trailer(bytes, Order::Little);
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
