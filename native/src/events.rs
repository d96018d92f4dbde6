//! Passes that do not need the ledger: what is in a capture, and its events as tables.

use std::ops::ControlFlow;

use indexmap::IndexMap;
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::columns::EventColumns;
use crate::error::{bad, Result};
use crate::gaps::{Gap, Gaps, Why};
use crate::intern::{Labels, NONE};
use crate::names::{Names, TaskNames};
use crate::progress::{flow, Progress};
use crate::recording::{Event, Recording, Source};
use crate::rounds::Rounds;
use crate::tables::batch;
use crate::together::{Reporter, Together};
use crate::visit::{Sample, Side, Tally, Visitor, What};
pub use crate::within::Within;
use arrow_array::{ArrayRef, RecordBatch};

/// What one pass over a recording found in it.
#[derive(Debug, Default, Clone)]
pub struct Scan {
    /// Times of the earliest and the latest sample.
    pub window: Option<(i64, i64)>,
    /// Samples per event, in the recording's order.
    pub counts: Vec<u64>,
    /// CPUs with samples.
    pub cpus: Vec<u32>,
    /// Where samples were lost.
    pub gaps: Vec<Gap>,
    /// Sum of LOST records.
    pub lost: u64,
    /// Losses of an unknown number of events.
    pub lost_unknown: u64,
    /// Sum of LOST_SAMPLES records, which count the same losses again.
    pub lost_samples: u64,
    /// Samples that end before their format or sample_type says: no table has them.
    pub short: u64,
    /// Samples taken while a guest ran.
    pub guest_samples: u64,
    /// Whether nothing came after rounds that had passed it: then a pass can tell when a window is over.
    pub in_order: bool,
    /// Records by type and what was unreadable.
    pub tally: Tally,
}

/// Counts what a pass shows.
pub struct Scanner<'r> {
    scan: Scan,
    first: i64,
    last: i64,
    gaps: Gaps,
    rounds: Rounds,
    timed: Vec<bool>,
    placed: Vec<bool>,
    /// Bytes that a payload has at least.
    fixed_sizes: Vec<u32>,
    source: &'r dyn Source,
}

impl<'r> Scanner<'r> {
    /// Nothing counted yet.
    pub fn new(recording: &'r Recording) -> Scanner<'r> {
        let events = &recording.events;
        Scanner {
            scan: Scan { counts: vec![0; events.len()], ..Default::default() },
            first: i64::MAX,
            last: i64::MIN,
            gaps: Gaps::default(),
            rounds: Rounds::default(),
            timed: events.iter().map(|event| event.has_time).collect(),
            placed: events.iter().map(|event| event.has_cpu).collect(),
            fixed_sizes: events.iter().map(fixed_size).collect(),
            source: &*recording.source,
        }
    }

    /// What was found in a whole pass.
    pub fn finish(self, tally: Tally) -> Scan {
        let window = (self.first <= self.last).then_some((self.first, self.last));
        let (cpus, gaps) = (self.gaps.cpus(), window.map(|window| self.gaps.finish(window)).unwrap_or_default());
        Scan { window, cpus, gaps, tally, in_order: self.rounds.in_order, ..self.scan }
    }
}

impl Visitor for Scanner<'_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            let event = sample.event as usize;
            self.scan.counts[event] += 1;
            self.scan.guest_samples += u64::from(sample.in_guest);
            let whole =
                sample.raw_size >= self.fixed_sizes[event] && self.source.is_whole(sample.event, sample.bytes(block));
            self.scan.short += u64::from(!whole);
            if self.timed[event] {
                self.first = self.first.min(sample.time_ns);
                self.last = self.last.max(sample.time_ns);
                self.rounds.see(sample.time_ns);
                if self.placed[event] {
                    self.gaps.sample(sample.cpu, sample.time_ns);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        if let Some(time) = side.time_ns.filter(|_| side.what.is_place()) {
            (self.first, self.last) = (self.first.min(time), self.last.max(time));
        }
        match side.what {
            What::Lost(count) => {
                self.scan.lost = self.scan.lost.saturating_add(count);
                self.gaps.loss(side, count, Why::Lost);
            }
            What::LostUnknown => {
                self.scan.lost_unknown += 1;
                self.gaps.loss(side, 0, Why::Lost);
            }
            What::Overwritten(count) => self.gaps.loss(side, count, Why::Overwritten),
            What::PassedOver => self.gaps.loss(side, 0, Why::PassedOver),
            What::Round => self.rounds.end(),
            What::LostSamples(count) => self.scan.lost_samples = self.scan.lost_samples.saturating_add(count),
            _ => {}
        }
    }
}

/// What a payload of this event has at least; 0 where none is expected.
pub fn fixed_size(event: &Event) -> u32 {
    let format = event.format.as_ref().filter(|_| event.has_payload);
    format.map_or(0, |format| format.fixed_size() as u32)
}

/// Counts everything.
pub fn scan(recording: &Recording, progress: Progress<'_>) -> Result<Scan> {
    let mut scanner = Scanner::new(recording);
    let tally = recording.walk(&mut Together(&mut Reporter(progress), &mut [&mut scanner]))?;
    Ok(scanner.finish(tally))
}

struct Decoder<'p, 'w> {
    within: &'w Within,
    rounds: Rounds,
    timed: Vec<bool>,
    /// Whether a name of an earlier time may yet come.
    names_come_late: bool,
    /// Rounds since the window was over.
    rounds_past: u64,
    is_over: bool,
    slots: Vec<Option<usize>>,
    columns: Vec<EventColumns>,
    /// Tables with rows in the present block.
    pending: Vec<usize>,
    names: TaskNames,
    limit: usize,
    progress: Progress<'p>,
}

impl Decoder<'_, '_> {
    /// Whether all tasks in the tables have names that nothing can change any more.
    fn is_named(&self) -> bool {
        let mut tasks: FxHashMap<i32, i64> = FxHashMap::default();
        for columns in &self.columns {
            for (&tid, &time) in columns.pids().into_iter().flatten().zip(&columns.times) {
                let first = tasks.entry(tid).or_insert(time);
                *first = time.min(*first);
            }
        }
        self.names.know(&tasks, self.names_come_late)
    }
}

impl Visitor for Decoder<'_, '_> {
    fn by_time(&self) -> bool {
        true
    }

    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.names.sample(block, sample);
            if self.timed[sample.event as usize] {
                self.rounds.see(sample.time_ns);
            }
            if let Some(slot) = self.slots[sample.event as usize].filter(|_| self.within.has(sample)) {
                let columns = &mut self.columns[slot];
                if columns.add(sample.time_ns, sample.cpu, sample.raw, sample.raw_size) {
                    self.pending.push(slot);
                }
                flow(columns.row_count() < self.limit)?;
            }
        }
        flow(!self.is_over)
    }

    fn side(&mut self, side: &Side<'_>) {
        self.names.side(side);
        if side.what == What::Round {
            self.rounds.end();
            self.rounds_past += u64::from(self.within.is_past(&self.rounds));
            // Asking takes as long as there are rows and names: it is worth it less and less often.
            let is_asked = self.rounds_past.is_power_of_two() && self.pending.is_empty();
            self.is_over = self.is_over || (is_asked && self.is_named());
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        // Dealing a small block to several threads costs more than it saves.
        const WORTH_SHARING: usize = 1 << 18;
        if block.len() < WORTH_SHARING || self.pending.len() < 2 {
            self.pending.drain(..).for_each(|slot| self.columns[slot].gather(block));
        } else {
            self.pending.clear();
            self.columns.par_iter_mut().for_each(|columns| columns.gather(block));
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

/// The events of these names as tables, in file order, as far as they can be shown; every tracepoint
/// where `wanted` is `None`. A name recorded by several events gives one table.
pub fn tables(
    recording: &Recording,
    wanted: Option<&[String]>,
    limit: Option<usize>,
    within: &Within,
    progress: Progress<'_>,
) -> Result<Vec<(String, RecordBatch)>> {
    let mut tables: IndexMap<&str, EventColumns, FxBuildHasher> = IndexMap::default();
    let mut slots = Vec::new();
    // Whether all events of a name have a time and a CPU, and whether one is a guest's.
    let mut shared: FxHashMap<&str, (bool, bool, bool)> = FxHashMap::default();
    for event in recording.events.iter() {
        let (timed, placed, guest) = shared.entry(&event.name).or_insert((true, true, false));
        *timed &= event.has_time;
        *placed &= event.has_cpu;
        *guest |= event.guest.is_some();
    }
    for event in recording.events.iter() {
        let chosen = event.format.as_ref().filter(|_| wanted.is_none_or(|wanted| wanted.contains(&event.name)));
        let Some(format) = chosen.filter(|_| event.has_payload) else {
            slots.push(None);
            continue;
        };
        let table = tables.entry(&event.name);
        slots.push(Some(table.index()));
        let (timed, placed, _) = shared[event.name.as_str()];
        let columns = || EventColumns::new(format, timed, placed);
        table.or_insert_with(|| within.fields.as_ref().map_or_else(columns, |fields| columns().only(fields)));
    }
    if wanted.is_some() && tables.is_empty() {
        return Ok(Vec::new());
    }
    let (names, columns): (Vec<&str>, _) = tables.into_iter().unzip();
    let mut decoder = Decoder {
        within,
        rounds: Rounds::default(),
        timed: recording.events.iter().map(|event| event.has_time).collect(),
        names_come_late: recording.format == "perf.data",
        rounds_past: 0,
        is_over: false,
        slots,
        columns,
        pending: Vec::new(),
        names: TaskNames::of(&recording.events),
        limit: limit.unwrap_or(usize::MAX).max(1),
        progress,
    };
    recording.walk(&mut decoder)?;
    let task_names = decoder.names.sealed();
    let labels = Labels::new(task_names.strings.values());
    let finish = |(name, columns): (&str, EventColumns)| {
        if let Some(column) = columns.overfull() {
            return Err(bad!(Refused, "column '{column}' of {name} holds more than 2 GiB: ask for fewer rows (limit)"));
        }
        let comms = comm_column(&columns, &task_names, &labels, !shared[name].2);
        Ok((name.to_owned(), batch(columns.finish(comms, recording.unit))?))
    };
    names.into_par_iter().zip(decoder.columns).map(finish).collect()
}

/// Task names are the host's: a guest's events (`named` false) have none.
fn comm_column(columns: &EventColumns, names: &Names, labels: &Labels, named: bool) -> ArrayRef {
    match columns.pids().filter(|_| named) {
        Some(pids) => {
            let at = |(&pid, &time): (&i32, &i64)| names.at(pid, time).unwrap_or(NONE);
            labels.column(pids.iter().zip(&columns.times).map(at))
        }
        None => labels.column(std::iter::repeat_n(NONE, columns.row_count())),
    }
}

/// Why there is no table of an event.
pub fn missing(recording: &Recording, wanted: &str) -> crate::error::Error {
    if let Some(event) = recording.events.iter().find(|event| event.name == wanted) {
        let why = if event.format.is_none() { "no format was recorded for it" } else { "its samples carry no payload" };
        return bad!(Missing, "event '{wanted}' cannot be shown as a table: {why}");
    }
    let mut names: Vec<&str> =
        recording.events.iter().filter(|event| event.format.is_some()).map(|event| event.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        bad!(Missing, "no event '{wanted}': this capture holds no tracepoints")
    } else {
        bad!(Missing, "no event '{wanted}' in this capture; it holds {}", names.join(", "))
    }
}
