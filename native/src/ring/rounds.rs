//! One pass over the rings of all CPUs.
//!
//! Each CPU's pages are a stream in order of time. A round reads a run of pages of every CPU, and
//! shows what happened up to the moment to which all of them are known: many events of one CPU
//! after the other, or all in the order of time.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::bytes::Order;
use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::payload;
use crate::recording::{Event, Source};
use crate::ring::clock::Clock;
use crate::ring::page::{Missed, PageLayout};
use crate::ring::source::Pages;
use crate::visit::{Feed, Sample, Side, Tally, Visitor, What};

/// Times beyond this (146 years) are damage; below it differences cannot overflow.
const LATEST: u64 = 1 << 62;
/// Bytes of pages that a round holds for all CPUs.
const ROUND: usize = 32 << 20;
/// And for one CPU at most.
const MAX_OF_ONE: usize = 1 << 20;

/// The rings of one buffer.
#[derive(Debug)]
pub struct Ring {
    /// How pages are laid out.
    pub layout: PageLayout,
    /// How time stamps are read.
    pub clock: Clock,
    /// CPU numbers and their pages.
    pub cpus: Vec<(u32, Pages)>,
    /// Task names that the kernel knew at the end.
    pub cmdlines: Vec<(i32, String)>,
    /// What was recorded.
    pub events: Arc<Vec<Event>>,
    /// `common_type` to number of the event.
    pub by_type: Vec<u32>,
    /// Whether it rolled: what a CPU's ring lost before its oldest event was overwritten, as was meant.
    pub rolls: bool,
}

/// One event in a round's pages.
#[derive(Debug, Clone, Copy)]
struct Row {
    time: i64,
    /// The latest time so far: what orders the CPU's events, also where the clock went back.
    latest: i64,
    at: u32,
    size: u32,
    event: u32,
}

/// One CPU in a pass.
struct CpuPages {
    cpu: u32,
    pages: Pages,
    /// First byte of its pages in the round's memory.
    base: usize,
    rows: Vec<Row>,
    next: usize,
    /// Losses right before a row.
    lost: VecDeque<(usize, What)>,
    /// A loss after the last row so far.
    pending: Missed,
    /// The latest time so far; `i64::MIN` before its oldest event.
    latest: i64,
    unreadable: u64,
    unsound: u64,
    ended: bool,
    problem: Option<String>,
}

impl Ring {
    /// Stands in `by_type` for a number that no recorded event has.
    pub const ABSENT: u32 = u32::MAX;

    /// Which number each `common_type` has, for `by_type`: of two events with one type the last.
    pub fn index(events: &[Event]) -> Vec<u32> {
        let mut by_type = vec![Self::ABSENT; 1 << 16];
        for (number, event) in events.iter().enumerate() {
            if let Some(slot) = usize::try_from(event.config).ok().and_then(|kind| by_type.get_mut(kind)) {
                *slot = number.narrow();
            }
        }
        by_type
    }

    fn rounds(&self, visitor: &mut Feed<'_>) -> Result<Tally> {
        let page = self.layout.size;
        let cpus = || self.cpus.iter().filter(|of| visitor.wants(of.0));
        let count = cpus().count();
        let of_one = (ROUND / count.max(1)).clamp(page, MAX_OF_ONE.max(page)) / page * page;
        let mut memory = vec![0; of_one * count];
        let mut streams: Vec<CpuPages> =
            cpus().zip(0..).map(|((cpu, pages), place)| stream(*cpu, pages, place * of_one)).collect();
        for (tid, comm) in &self.cmdlines {
            visitor.side(&memory, &Side::of(What::Known { tid: *tid, comm: comm.clone() }, None, None));
        }
        let total: u64 = streams.iter().map(|stream| stream.pages.bytes()).sum();
        let mut tally = Tally::default();
        let mut samples = 0;
        loop {
            let load = |(stream, region): (&mut CpuPages, &mut [u8])| stream.load(region, self);
            streams.par_iter_mut().zip(memory.par_chunks_mut(of_one.max(1))).for_each(load);
            let known =
                streams.iter().filter(|stream| !stream.ended).map(|stream| stream.latest).min().unwrap_or(i64::MAX);
            let flow = match visitor.by_time() {
                true => by_time(&mut streams, &memory, known, visitor, &mut samples),
                false => by_cpu(&mut streams, &memory, known, visitor, &mut samples),
            };
            if flow.is_break() | visitor.block_end(&memory).is_break() {
                break;
            }
            visitor.side(&memory, &Side::of(What::Round, None, None));
            let done: u64 = streams.iter().map(|stream| stream.pages.done()).sum();
            if visitor.progress(done as f64 / total.max(1) as f64).is_break() {
                return Err(bad!(Interrupted, "interrupted"));
            }
            if streams.iter().all(|stream| stream.ended && stream.next == stream.rows.len()) {
                break;
            }
        }
        for stream in &mut streams {
            stream.end(visitor);
            tally.unreadable += stream.unreadable;
            tally.notes.extend(stream.problem.take());
        }
        let unsound: u64 = streams.iter().map(|stream| stream.unsound).sum();
        if unsound > 0 {
            tally.notes.push(format!("{unsound} pages are damaged: their events before the damage are kept"));
        }
        tally.records.insert("SAMPLE".to_owned(), samples + tally.unreadable);
        Ok(tally)
    }
}

impl Source for Ring {
    fn walk(&self, visitor: &mut dyn Visitor) -> Result<Tally> {
        self.rounds(&mut Feed::new(visitor))
    }

    fn set_cycles_per_s(&mut self, hertz: u64) -> bool {
        self.clock.tsc = Some(Clock::tsc_of(hertz));
        true
    }

    fn set_rolling(&mut self) {
        self.rolls = true;
    }
}

fn stream(cpu: u32, pages: &Pages, base: usize) -> CpuPages {
    CpuPages {
        cpu,
        pages: pages.clone(),
        base,
        rows: Vec::new(),
        next: 0,
        lost: VecDeque::new(),
        pending: Missed::No,
        latest: i64::MIN,
        unreadable: 0,
        unsound: 0,
        ended: false,
        problem: None,
    }
}

impl CpuPages {
    /// Reads the next pages once all events of the present ones were shown.
    fn load(&mut self, region: &mut [u8], ring: &Ring) {
        while self.next == self.rows.len() && !self.ended {
            self.rows.clear();
            self.lost.clear();
            self.next = 0;
            let (filled, error) = self.pages.fill(region);
            self.ended = filled < region.len() || error.is_some();
            let size = ring.layout.size;
            let rest = filled % size;
            self.problem = match error {
                Some(error) => Some(format!("CPU {}: {error}: its events from there on are lost", self.cpu)),
                None if rest > 0 => {
                    Some(format!("CPU {}: the last page has only {rest} of {size} bytes: left out", self.cpu))
                }
                None => self.problem.take(),
            };
            for (place, page) in region[..filled].chunks_exact_mut(size).enumerate() {
                self.read(page, self.base + place * size, ring);
            }
        }
    }

    fn read(&mut self, page: &mut [u8], base: usize, ring: &Ring) {
        let order = ring.layout.order;
        let plain = ring.clock.is_plain();
        let first = self.rows.len();
        let oldest = self.latest == i64::MIN;
        let (rows, latest, unreadable) = (&mut self.rows, &mut self.latest, &mut self.unreadable);
        let end = ring.layout.walk(page, |row| {
            let kind = order.u16(page, row.at as usize).map_or(0, usize::from);
            let event = ring.by_type.get(kind).copied().unwrap_or(Ring::ABSENT);
            let time = if plain { row.time } else { ring.clock.time(row.time, self.cpu as usize) };
            if event == Ring::ABSENT || time >= LATEST || row.size < 2 {
                *unreadable += 1;
                return;
            }
            *latest = (*latest).max(time as i64);
            rows.push(Row {
                time: time as i64,
                latest: *latest,
                at: base.narrow::<u32>() + row.at,
                size: row.size,
                event,
            });
        });
        if order == Order::Big {
            for row in &self.rows[first..] {
                let at = row.at as usize - base;
                let format = ring.events.get(row.event as usize).and_then(|event| event.format.as_deref());
                payload::to_little(format, &mut page[at..at + row.size as usize]);
            }
        }
        self.unsound += u64::from(!end.sound);
        if end.missed != Missed::No {
            self.pending = end.missed;
        }
        if first < self.rows.len() && self.pending != Missed::No {
            let missed = std::mem::replace(&mut self.pending, Missed::No);
            self.lost.push_back((first, if ring.rolls && oldest { overwritten(missed) } else { lost(missed) }));
        }
    }

    /// Rows that may be shown: those up to the time that all CPUs are known to.
    fn ready(&self, known: i64) -> usize {
        self.next + self.rows[self.next..].partition_point(|row| row.latest <= known)
    }

    #[inline(always)]
    fn show(&mut self, place: usize, memory: &[u8], visitor: &mut Feed<'_>) -> ControlFlow<()> {
        let row = self.rows[place];
        let next = self.lost.front().is_some_and(|lost| lost.0 == place);
        if let Some((_, what)) = next.then(|| self.lost.pop_front()).flatten() {
            visitor.side(memory, &Side::of(what, Some(row.time), Some(self.cpu)));
        }
        let sample = Sample {
            event: row.event,
            time_ns: row.time,
            cpu: self.cpu,
            raw: row.at,
            raw_size: row.size,
            record: row.at,
            record_size: 0,
            in_guest: false,
        };
        visitor.sample(memory, sample)
    }

    /// A loss that no event follows.
    fn end(&mut self, visitor: &mut Feed<'_>) {
        if self.pending != Missed::No && self.latest > i64::MIN {
            visitor.side(&[], &Side::of(lost(self.pending), Some(self.latest), Some(self.cpu)));
        }
    }
}

fn lost(missed: Missed) -> What {
    match missed {
        Missed::Some(count) => What::Lost(count),
        _ => What::LostUnknown,
    }
}

fn overwritten(missed: Missed) -> What {
    match missed {
        Missed::Some(count) => What::Overwritten(count),
        _ => What::Overwritten(0),
    }
}

fn by_cpu(
    streams: &mut [CpuPages],
    memory: &[u8],
    known: i64,
    visitor: &mut Feed<'_>,
    samples: &mut u64,
) -> ControlFlow<()> {
    for stream in streams {
        let ready = stream.ready(known);
        for place in stream.next..ready {
            *samples += 1;
            stream.show(place, memory, visitor)?;
        }
        stream.next = ready;
    }
    ControlFlow::Continue(())
}

fn by_time(
    streams: &mut [CpuPages],
    memory: &[u8],
    known: i64,
    visitor: &mut Feed<'_>,
    samples: &mut u64,
) -> ControlFlow<()> {
    let ready: Vec<usize> = streams.iter().map(|stream| stream.ready(known)).collect();
    let mut order: Vec<(i64, u32, u32)> =
        Vec::with_capacity(streams.iter().zip(&ready).map(|(stream, ready)| ready - stream.next).sum());
    for (number, (stream, ready)) in streams.iter().zip(&ready).enumerate() {
        order.extend((stream.next..*ready).map(|place| (stream.rows[place].latest, number.narrow(), place.narrow())));
    }
    // Each CPU's samples are in order already: the sort merges them.
    order.sort_by_key(|entry| entry.0);
    for &(_, number, place) in &order {
        *samples += 1;
        streams[number as usize].show(place as usize, memory, visitor)?;
    }
    for (stream, ready) in streams.iter_mut().zip(ready) {
        stream.next = ready;
    }
    ControlFlow::Continue(())
}
