//! Passes that do not need the ledger: what a capture contains, and its events as tables.

use std::ops::ControlFlow;

use indexmap::IndexMap;
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::columns::EventColumns;
use crate::error::{bad, Result};
use crate::format::Format;
use crate::gaps::{told_apart, Gap, Gaps, Merged, Why, MOST_GAPS};
use crate::intern::{Labels, NONE};
use crate::names::{Names, TaskNames};
use crate::narrow::Narrow;
use crate::progress::{flow, Progress};
use crate::recording::{Event, Recording, Source, Unit};
use crate::rounds::Rounds;
use crate::tables::batch;
use crate::together::{Reporter, Together};
use crate::visit::{Sample, Side, Tally, Visitor, What};
pub use crate::within::Within;
use arrow_array::{ArrayRef, RecordBatch};

/// What one pass over a recording found.
#[derive(Debug, Default, Clone)]
pub struct Scan {
    /// Times of the earliest and latest samples.
    pub window: Option<(i64, i64)>,
    /// Samples per event, in the recording's order.
    pub counts: Vec<u64>,
    /// CPUs with samples.
    pub cpus: Vec<u32>,
    /// Where samples were lost.
    pub gaps: Vec<Gap>,
    /// Set if there were more gaps than are kept apart.
    pub merged: Option<Merged>,
    /// Sum of LOST records.
    pub lost: u64,
    /// Losses of an unknown number of events.
    pub lost_unknown: u64,
    /// Sum of LOST_SAMPLES records, which count the same losses again.
    pub lost_samples: u64,
    /// Samples that end before their format or sample_type says. No table has them.
    pub short: u64,
    /// Samples taken while a guest ran.
    pub guest_samples: u64,
    /// Whether no event came after rounds that had passed it. Only then can a pass tell when a window is over.
    pub in_order: bool,
    /// Records by type, and what was unreadable.
    pub tally: Tally,
}

/// Scans what a pass shows.
pub struct Scanner<'r> {
    scan: Scan,
    first: i64,
    last: i64,
    gaps: Gaps,
    rounds: Rounds,
    timed: Vec<bool>,
    placed: Vec<bool>,
    /// Smallest payload of each event, in bytes.
    fixed_sizes: Vec<u32>,
    source: &'r dyn Source,
}

impl<'r> Scanner<'r> {
    /// Starts with all counts at 0.
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

    /// The result of a whole pass.
    pub fn finish(self, tally: Tally) -> Scan {
        let window = (self.first <= self.last).then_some((self.first, self.last));
        let (cpus, gaps) = (self.gaps.cpus(), window.map(|window| self.gaps.finish(window)).unwrap_or_default());
        let (gaps, merged) = told_apart(gaps, MOST_GAPS);
        Scan { window, cpus, gaps, merged, tally, in_order: self.rounds.in_order, ..self.scan }
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

/// Smallest payload of this event, in bytes; 0 if none is expected.
pub fn fixed_size(event: &Event) -> u32 {
    let format = event.format.as_ref().filter(|_| event.has_payload);
    format.map_or(0, |format| format.fixed_size().narrow())
}

/// Scans a recording.
pub fn scan(recording: &Recording, progress: Progress<'_>) -> Result<Scan> {
    let mut scanner = Scanner::new(recording);
    let tally = recording.walk(&mut Together(&mut Reporter(progress), &mut [&mut scanner]))?;
    Ok(scanner.finish(tally))
}

struct Decoder<'p, 'w> {
    within: &'w Within,
    rounds: Rounds,
    timed: Vec<bool>,
    /// Whether names for earlier times may still come.
    names_come_late: bool,
    /// Rounds since the window ended.
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
    /// Whether all tasks in the tables have final names.
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
            // Checking costs time by rows and names, so it happens less and less often.
            let is_asked = self.rounds_past.is_power_of_two() && self.pending.is_empty();
            self.is_over = self.is_over || (is_asked && self.is_named());
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        // Sharing a small block between threads costs more than it saves.
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

/// The events of these names as tables, in file order, as far as they can be shown; every tracepoint if `wanted` is
/// `None`. A name recorded by several events gives one table.
pub fn tables(
    recording: &Recording,
    wanted: Option<&[String]>,
    limit: Option<usize>,
    within: &Within,
    progress: Progress<'_>,
) -> Result<Vec<(String, RecordBatch)>> {
    let (slots, shown) = shown(recording, wanted);
    if wanted.is_some() && shown.is_empty() {
        return Ok(Vec::new());
    }
    let columns = shown.iter().map(|shown| shown.columns(within.fields.as_deref())).collect();
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
    let finish = |(shown, columns): (Shown<'_>, EventColumns)| {
        shown.check(&columns)?;
        Ok((shown.name.to_owned(), shown.table(columns, &task_names, &labels, recording.unit)?))
    };
    shown.into_par_iter().zip(decoder.columns).map(finish).collect()
}

/// A table of one tracepoint, or of several events that share its name.
pub(crate) struct Shown<'r> {
    pub(crate) name: &'r str,
    format: &'r Format,
    /// Whether all of its events have a time and a CPU.
    pub(crate) has_time: bool,
    has_cpu: bool,
    /// Task names are the host's, so a guest's events have none.
    is_guest: bool,
}

/// The tables of these names, or of every tracepoint, and each event's table by event number.
pub(crate) fn shown<'r>(recording: &'r Recording, wanted: Option<&[String]>) -> (Vec<Option<usize>>, Vec<Shown<'r>>) {
    let mut tables: IndexMap<&str, Shown<'r>, FxBuildHasher> = IndexMap::default();
    let is_wanted = |event: &&Event| event.has_payload && wanted.is_none_or(|wanted| wanted.contains(&event.name));
    for event in recording.events.iter().filter(is_wanted) {
        if let Some(format) = &event.format {
            let new = Shown { name: &event.name, format, has_time: true, has_cpu: true, is_guest: false };
            tables.entry(&event.name).or_insert(new);
        }
    }
    for event in recording.events.iter() {
        if let Some(table) = tables.get_mut(event.name.as_str()) {
            table.has_time &= event.has_time;
            table.has_cpu &= event.has_cpu;
            table.is_guest |= event.guest.is_some();
        }
    }
    let is_shown = |event: &&Event| event.format.is_some() && event.has_payload;
    let slot = |event: &Event| Some(event).filter(is_shown).and_then(|event| tables.get_index_of(event.name.as_str()));
    (recording.events.iter().map(slot).collect(), tables.into_values().collect())
}

impl Shown<'_> {
    /// Empty columns for these fields, or for all.
    pub(crate) fn columns(&self, fields: Option<&[String]>) -> EventColumns {
        let columns = EventColumns::new(self.format, self.has_time, self.has_cpu);
        match fields {
            Some(fields) => columns.only(fields),
            None => columns,
        }
    }

    /// Fails if a column holds more than a table can.
    pub(crate) fn check(&self, columns: &EventColumns) -> Result<()> {
        let refused = |column: &str| {
            let name = self.name;
            bad!(Refused, "column '{column}' of {name} holds more than 2 GiB: ask for fewer rows (limit)")
        };
        columns.overfull().map_or(Ok(()), |column| Err(refused(column)))
    }

    /// Builds the table. `labels`: of the names.
    pub(crate) fn table(
        &self,
        columns: EventColumns,
        names: &Names,
        labels: &Labels,
        unit: Unit,
    ) -> Result<RecordBatch> {
        let comms = comm_column(&columns, names, labels, !self.is_guest);
        batch(columns.finish(comms, unit))
    }
}

fn comm_column(columns: &EventColumns, names: &Names, labels: &Labels, named: bool) -> ArrayRef {
    match columns.pids().filter(|_| named) {
        Some(pids) => {
            // Consecutive rows mostly have the same task.
            let mut last = (0, names.history(0));
            let at = |(&pid, &time): (&i32, &i64)| {
                if pid != last.0 {
                    last = (pid, names.history(pid));
                }
                last.1.and_then(|history| Names::then(history, time)).unwrap_or(NONE)
            };
            labels.column(pids.iter().zip(&columns.times).map(at))
        }
        None => labels.column(std::iter::repeat_n(NONE, columns.row_count())),
    }
}

/// A tracepoint's own fields that its table has as columns, and the general columns that all its events have.
pub fn fields(recording: &Recording, name: &str) -> Result<Vec<String>> {
    let (_, tables) = shown(recording, Some(&[name.to_owned()]));
    let table = tables.first().ok_or_else(|| missing(recording, name))?;
    let known = [("time_ns", table.has_time && recording.unit == Unit::Nanoseconds), ("common_cpu", table.has_cpu)];
    let known = known.into_iter().filter(|known| known.1).map(|known| known.0.to_owned());
    Ok(known.chain(table.format.fields.iter().map(|field| field.name.clone())).collect())
}

/// The error for an event that has no table.
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
