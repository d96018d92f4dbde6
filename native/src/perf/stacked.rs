//! Samples with their chains as a table, and as sums by chain.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};

use crate::chains::{Chains, Selection, Sums, Wanted};
use crate::error::Result;
use crate::intern::{Labels, NONE};
use crate::names::TaskNames;
use crate::narrow::Narrow;
use crate::perf::chains::{chains, Keep, One};
use crate::perf::layout::sample;
use crate::perf::record::CPU_MODES;
use crate::perf::recording::PerfData;
use crate::progress::Progress;
use crate::tables::{batch, optional, plain};
use crate::visit::{Sample, Side};

struct Columns {
    times: Vec<i64>,
    cpus: Vec<i32>,
    pids: Vec<i32>,
    tids: Vec<i32>,
    modes: Vec<u8>,
    ips: Vec<u64>,
    periods: Vec<Option<u64>>,
    stacks: Vec<i32>,
    names: TaskNames,
    /// Whether names are known: they are the host's.
    named: bool,
    /// Fields that all samples have, `PERF_SAMPLE_*`.
    fields: u64,
}

impl Keep for Columns {
    fn keep(&mut self, one: &One, stack: usize) {
        self.times.push(one.time_ns);
        self.cpus.push(one.cpu);
        self.pids.push(one.pid);
        self.tids.push(one.tid);
        self.modes.push(one.mode);
        self.ips.push(one.ip);
        self.periods.push(one.period);
        self.stacks.push(stack.narrow());
    }

    fn seen(&mut self, block: &[u8], sample: &Sample) {
        self.names.sample(block, sample);
    }

    fn side(&mut self, side: &Side<'_>) {
        self.names.side(side);
    }
}

impl Columns {
    fn of(perf: &PerfData, events: &[usize]) -> Columns {
        let fields = fields(perf, events);
        let of_guest = events.iter().any(|&number| perf.events[number].guest.is_some());
        Columns {
            times: Vec::new(),
            cpus: Vec::new(),
            pids: Vec::new(),
            tids: Vec::new(),
            modes: Vec::new(),
            ips: Vec::new(),
            periods: Vec::new(),
            stacks: Vec::new(),
            names: TaskNames::of(&perf.events),
            named: fields & sample::TID != 0 && !of_guest,
            fields,
        }
    }

    fn finish(self) -> Result<RecordBatch> {
        let names = self.names.sealed();
        let comms = Labels::new(names.strings.values());
        let at = |(&tid, &time): (&i32, &i64)| names.at(tid, time).filter(|_| self.named).unwrap_or(NONE);
        let comms = comms.column(self.tids.iter().zip(&self.times).map(at));
        let rows = self.times.len();
        let nulls = |bit: u64| (self.fields & bit == 0).then(|| NullBuffer::new_null(rows));
        macro_rules! column {
            ($arrow:ty, $values:expr, $bit:expr) => {
                Arc::new(PrimitiveArray::<$arrow>::new(ScalarBuffer::from($values), nulls($bit))) as ArrayRef
            };
        }
        let mode = |mode: u8| u32::from(if usize::from(mode) < CPU_MODES.len() { mode } else { 0 });
        batch(vec![
            ("time_ns".into(), column!(Int64Type, self.times, sample::TIME)),
            ("cpu".into(), column!(Int32Type, self.cpus, sample::CPU)),
            ("pid".into(), column!(Int32Type, self.pids, sample::TID)),
            ("tid".into(), column!(Int32Type, self.tids, sample::TID)),
            ("comm".into(), comms),
            ("cpu_mode".into(), Labels::new(&CPU_MODES).column(self.modes.into_iter().map(mode))),
            ("ip".into(), column!(UInt64Type, self.ips, sample::IP)),
            ("period".into(), optional::<UInt64Type>(self.periods.into_iter())),
            ("stack".into(), plain::<Int32Type>(self.stacks.into_iter())),
        ])
    }
}

struct Summer {
    selection: Selection,
    has_cpu: bool,
    sums: Sums,
}

impl Keep for Summer {
    fn keep(&mut self, one: &One, stack: usize) {
        self.sums.add(&self.selection, self.has_cpu.then_some(one.cpu), one.time_ns, one.period, stack);
    }
}

/// Fields that the samples of all these events have.
fn fields(perf: &PerfData, events: &[usize]) -> u64 {
    events.iter().fold(u64::MAX, |all, &number| all & perf.layouts[number].sample_type)
}

/// The samples of the events of this name, in file order.
pub(super) fn table(perf: &PerfData, asked: Wanted<'_>, progress: Progress<'_>) -> Result<Chains<RecordBatch>> {
    let found = chains(perf, asked, |events| Columns::of(perf, events), progress)?;
    let Chains { samples, chains, came, spaces } = found;
    Ok(Chains { samples: samples.finish()?, chains, came, spaces })
}

/// Their sums by chain.
pub(super) fn sums(
    perf: &PerfData,
    asked: Wanted<'_>,
    selection: Selection,
    progress: Progress<'_>,
) -> Result<Chains<Sums>> {
    let made = |events: &[usize]| Summer {
        selection,
        has_cpu: fields(perf, events) & sample::CPU != 0,
        sums: Sums::default(),
    };
    let Chains { samples, chains, came, spaces } = chains(perf, asked, made, progress)?;
    Ok(Chains { samples: samples.sums, chains, came, spaces })
}
