//! Events of some tracepoints in order of time, batch by batch. Memory does not grow with the recording.
//!
//! ```text
//!   first pass    who was called what when; whether rounds pass in order
//!   second pass   rows of all CPUs, settled up to a time: so many a batch | those behind it wait
//! ```

use std::ops::ControlFlow;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;

use crate::columns::EventColumns;
use crate::error::{bad, Result};
use crate::events::{missing, shown, Shown};
use crate::intern::Labels;
use crate::names::{Names, TaskNames};
use crate::progress::{flow, Progress};
use crate::recording::{Recording, Unit};
use crate::rounds::Rounds;
use crate::visit::{Sample, Side, Visitor, What};
use crate::within::Within;

/// Takes a batch, with a table per name; returns whether to go on.
pub type Sink<'s> = &'s mut dyn FnMut(Vec<(String, RecordBatch)>) -> bool;

/// What a first pass found, for any number of second passes.
#[derive(Debug)]
pub struct Surveyed {
    names: Names,
    labels: Labels,
    in_order: bool,
}

struct Survey<'p> {
    names: TaskNames,
    rounds: Rounds,
    timed: Vec<bool>,
    progress: Progress<'p>,
}

impl Visitor for Survey<'_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.names.sample(block, sample);
            if self.timed[sample.event as usize] {
                self.rounds.see(sample.time_ns);
            }
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        self.names.side(side);
        if side.what == What::Round {
            self.rounds.end();
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

fn timed(recording: &Recording) -> Vec<bool> {
    recording.events.iter().map(|event| event.has_time).collect()
}

/// The first pass.
pub fn survey(recording: &Recording, progress: Progress<'_>) -> Result<Surveyed> {
    let names = TaskNames::of(&recording.events);
    let mut survey = Survey { names, rounds: Rounds::default(), timed: timed(recording), progress };
    recording.walk(&mut survey)?;
    let names = survey.names.sealed();
    let labels = Labels::new(names.strings.values());
    Ok(Surveyed { names, labels, in_order: survey.rounds.in_order })
}

/// One tracepoint, and its rows that are not yet in a batch.
struct Table<'r> {
    shown: Shown<'r>,
    columns: EventColumns,
}

struct Pass<'r, 's> {
    surveyed: &'s Surveyed,
    unit: Unit,
    within: &'s Within,
    rows: usize,
    slots: Vec<Option<usize>>,
    tables: Vec<Table<'r>>,
    /// Tables with rows in the present block.
    pending: Vec<usize>,
    /// Rows since the last batch, and the time up to which that batch went.
    many: usize,
    until_ns: i64,
    rounds: Rounds,
    timed: Vec<bool>,
    is_over: bool,
    sink: Sink<'s>,
    given: Result<()>,
    progress: Progress<'s>,
}

impl Pass<'_, '_> {
    fn give(&mut self, until_ns: Option<i64>) -> Result<()> {
        self.many = 0;
        let Surveyed { names, labels, .. } = self.surveyed;
        let leave = |Table { shown, columns }: &mut Table<'_>| {
            shown.check(columns)?;
            Ok((shown.name.to_owned(), shown.table(columns.leave(until_ns), names, labels, self.unit)?))
        };
        let found: Vec<(String, RecordBatch)> = self.tables.iter_mut().map(leave).collect::<Result<_>>()?;
        // The reader of a recording without rows still gets the columns.
        if until_ns.is_some() && found.iter().all(|table| table.1.num_rows() == 0) {
            return Ok(());
        }
        match pieces(found, self.rows).all(|piece| (self.sink)(piece)) {
            true => Ok(()),
            false => Err(bad!(Interrupted, "interrupted")),
        }
    }
}

fn times(rows: &RecordBatch) -> &[i64] {
    rows.column(0).as_primitive::<Int64Type>().values()
}

/// Cuts tables at common times. A block may have many more rows than are wanted at once.
fn pieces(tables: Vec<(String, RecordBatch)>, rows: usize) -> impl Iterator<Item = Vec<(String, RecordBatch)>> {
    let mut every: Vec<i64> = tables.iter().flat_map(|table| times(&table.1)).copied().collect();
    every.sort_unstable();
    let mut ends: Vec<Option<i64>> = every.chunks(rows.max(1)).skip(1).map(|rows| Some(rows[0])).collect();
    ends.dedup();
    ends.push(None);
    let mut given = vec![0; tables.len()];
    ends.into_iter().map(move |end| {
        let piece = |((name, rows), given): (&(String, RecordBatch), &mut usize)| {
            let first = *given;
            *given = end.map_or(rows.num_rows(), |end| times(rows).partition_point(|&time| time < end));
            (name.clone(), rows.slice(first, *given - first))
        };
        tables.iter().zip(&mut given).map(piece).collect()
    })
}

impl Visitor for Pass<'_, '_> {
    fn by_time(&self) -> bool {
        true
    }

    fn cpus(&self) -> Option<&[u32]> {
        self.within.cpus.as_deref()
    }

    fn samples(&mut self, _block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            if self.timed[sample.event as usize] {
                self.rounds.see(sample.time_ns);
            }
            if let Some(slot) = self.slots[sample.event as usize].filter(|_| self.within.has(sample)) {
                if self.tables[slot].columns.add(sample.time_ns, sample.cpu, sample.raw, sample.raw_size) {
                    self.pending.push(slot);
                }
                self.many += 1;
            }
        }
        flow(!self.is_over)
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.what == What::Round {
            self.rounds.end();
            self.is_over |= self.within.is_past(&self.rounds);
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        self.pending.drain(..).for_each(|slot| self.tables[slot].columns.gather(block));
        let known_ns = self.rounds.known_ns();
        // If no round has ended, there is nothing to give, and finding that out would search all rows.
        if self.surveyed.in_order && self.many >= self.rows && known_ns > self.until_ns && self.given.is_ok() {
            self.until_ns = known_ns;
            self.given = self.give(Some(known_ns));
            self.is_over |= self.given.is_err();
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

/// Hands out the events of these names, about `rows` rows at a time, or all at once if rounds do not pass in order.
/// Each batch has a table per name, sorted by time, with nothing earlier than the rows of previous batches.
pub fn event_batches(
    recording: &Recording,
    surveyed: &Surveyed,
    wanted: &[String],
    within: &Within,
    rows: usize,
    sink: Sink<'_>,
    progress: Progress<'_>,
) -> Result<()> {
    let (slots, tables) = shown(recording, Some(wanted));
    if let Some(name) = wanted.iter().find(|name| !tables.iter().any(|table| table.name == **name)) {
        return Err(missing(recording, name));
    }
    if let Some(table) = tables.iter().find(|table| !table.has_time) {
        return Err(bad!(Missing, "events {} have no timestamps", table.name));
    }
    let fields = within.fields.as_deref();
    let mut pass = Pass {
        surveyed,
        unit: recording.unit,
        within,
        rows,
        slots,
        tables: tables.into_iter().map(|shown| Table { columns: shown.columns(fields), shown }).collect(),
        pending: Vec::new(),
        many: 0,
        until_ns: i64::MIN,
        rounds: Rounds::default(),
        timed: timed(recording),
        is_over: false,
        sink,
        given: Ok(()),
        progress,
    };
    let walked = recording.walk(&mut pass);
    std::mem::replace(&mut pass.given, Ok(()))?;
    walked?;
    pass.give(None)
}
