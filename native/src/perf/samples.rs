//! Samples of any event as a table: when, where, who, at which address, called by whom.

use std::ops::ControlFlow;

use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, LargeListArray, RecordBatch, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

use crate::bytes::{i32_at, u64_at, Order};
use crate::error::{bad, Result};
use crate::intern::{Labels, NONE};
use crate::names::TaskNames;
use crate::narrow::Narrow;
use crate::perf::counters::Counters;
use crate::perf::layout::{sample, Layout, Parts};
use crate::perf::record::{misc, CPU_MODES, MISC_CPUMODE_MASK};
use crate::perf::recording::PerfData;
use crate::progress::{flow, Progress};
use crate::recording::{Rate, Source};
use crate::tables::{batch, optional, plain};
use crate::visit::{Sample, Side, Visitor};

/// `enum perf_callchain_context`. Only these mark; what else lies near -1 is an address that a stack
/// without frame pointers gave.
pub(super) const CONTEXT_USER_DEFERRED: u64 = -640i64 as u64;
/// The least number of them, of which there are 4,095 at most (`PERF_CONTEXT_MAX`).
pub const FIRST_CONTEXT: u64 = -4095i64 as u64;
pub(super) const CONTEXT_KERNEL: u64 = -128i64 as u64;
pub(super) const CONTEXT_USER: u64 = -512i64 as u64;
/// The addresses behind these marks are the program's.
pub const CONTEXTS_OF_USER: [u64; 2] = [CONTEXT_USER, -2560i64 as u64];
pub(super) const CONTEXTS_OF_KERNEL: [u64; 4] = [-32i64 as u64, CONTEXT_KERNEL, -2048i64 as u64, -2176i64 as u64];

/// Fields of one word each that a sample may have: name, sample_type bit, and place.
type Extra = (&'static str, u64, fn(&Layout, &Parts) -> Option<usize>);
const EXTRAS: [Extra; 8] = [
    ("addr", sample::ADDR, |layout, _| layout.addr),
    ("weight", sample::WEIGHT | sample::WEIGHT_STRUCT, |_, parts| parts.weight),
    ("data_src", sample::DATA_SRC, |_, parts| parts.data_src),
    ("transaction", sample::TRANSACTION, |_, parts| parts.transaction),
    ("phys_addr", sample::PHYS_ADDR, |_, parts| parts.phys_addr),
    ("cgroup", sample::CGROUP, |_, parts| parts.cgroup),
    ("data_page_size", sample::DATA_PAGE_SIZE, |_, parts| parts.data_page_size),
    ("code_page_size", sample::CODE_PAGE_SIZE, |_, parts| parts.code_page_size),
];
const WEIGHT: usize = 1;

#[derive(Default)]
struct Columns {
    times: Vec<i64>,
    cpus: Vec<i32>,
    pids: Vec<i32>,
    tids: Vec<i32>,
    modes: Vec<u8>,
    ips: Vec<u64>,
    periods: Vec<Option<u64>>,
    frames: Vec<u64>,
    /// Where each row's frames end.
    ends: Vec<i64>,
    kernel_frames: Vec<i32>,
    extras: [Vec<u64>; EXTRAS.len()],
}

struct Sampler<'r, 'p> {
    perf: &'r PerfData,
    wanted: &'r [bool],
    columns: Columns,
    counters: Counters,
    names: TaskNames,
    limit: usize,
    progress: Progress<'p>,
}

impl Visitor for Sampler<'_, '_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.names.sample(block, sample);
            let number = sample.event as usize;
            if !self.wanted[number] {
                continue;
            }
            let (record, layout) = (sample.bytes(block), &self.perf.layouts[number]);
            let (parts, true) = layout.parts(record, Order::Little) else { continue };
            self.columns.add(layout, self.perf.events[number].rate, record, sample, &parts);
            self.counters.add(&self.perf.ids, sample.event, layout, &parts, record);
            flow(self.columns.times.len() < self.limit)?;
        }
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        self.names.side(side);
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

impl Columns {
    fn add(&mut self, layout: &Layout, rate: Rate, record: &[u8], sample: &Sample, parts: &Parts) {
        let word = |at: Option<usize>| at.and_then(|at| u64_at(record, at));
        let half = |at: Option<usize>| at.and_then(|at| i32_at(record, at));
        self.times.push(sample.time_ns);
        self.cpus.push(sample.cpu as i32);
        self.pids.push(half(layout.tid).unwrap_or(0));
        self.tids.push(half(layout.tid.map(|at| at + 4)).unwrap_or(0));
        self.modes.push((misc(record) & MISC_CPUMODE_MASK) as u8);
        self.ips.push(word(layout.ip).unwrap_or(0));
        let fixed = if let Rate::Period(period) = rate { Some(period) } else { None };
        self.periods.push(word(layout.period).or(fixed));
        self.add_chain(parts.callchain, record);
        for (column, (_, _, place)) in self.extras.iter_mut().zip(EXTRAS) {
            column.push(word(place(layout, parts)).unwrap_or(0));
        }
    }

    /// Addresses without the markers between them, which say whose the next ones are.
    fn add_chain(&mut self, chain: Option<(usize, usize)>, record: &[u8]) {
        let (at, count) = chain.unwrap_or_default();
        let begin = self.frames.len();
        let mut kernel = 0;
        let mut in_user = false;
        for place in 0..count {
            match u64_at(record, at + 8 * place) {
                // This is no address: it says whose addresses follow.
                Some(CONTEXT_USER_DEFERRED) => break,
                Some(marker) if CONTEXTS_OF_USER.contains(&marker) => in_user = true,
                Some(marker) if CONTEXTS_OF_KERNEL.contains(&marker) => in_user = false,
                Some(frame) => {
                    self.frames.push(frame);
                    if !in_user {
                        kernel = self.frames.len() - begin;
                    }
                }
                None => break,
            }
        }
        self.ends.push(self.frames.len() as i64);
        self.kernel_frames.push(kernel.narrow());
    }

    fn finish(self, has: impl Fn(u64) -> bool, comms: ArrayRef) -> Vec<(String, ArrayRef)> {
        let rows = self.times.len();
        let nulls = |known: bool| (!known).then(|| NullBuffer::new_null(rows));
        macro_rules! column {
            ($arrow:ty, $values:expr, $bit:expr) => {{
                let values = ScalarBuffer::from($values);
                Arc::new(arrow_array::PrimitiveArray::<$arrow>::new(values, nulls(has($bit)))) as ArrayRef
            }};
        }
        let modes = Labels::new(&CPU_MODES);
        let mode = |mode: u8| u32::from(if usize::from(mode) < CPU_MODES.len() { mode } else { 0 });
        let frames: ArrayRef = Arc::new(UInt64Array::new(ScalarBuffer::from(self.frames), None));
        let item = Arc::new(Field::new("item", DataType::UInt64, false));
        let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(self.ends)));
        let has_chain = has(sample::CALLCHAIN);
        let mut table: Vec<(String, ArrayRef)> = vec![
            ("time_ns".into(), column!(Int64Type, self.times, sample::TIME)),
            ("cpu".into(), column!(Int32Type, self.cpus, sample::CPU)),
            ("pid".into(), column!(Int32Type, self.pids, sample::TID)),
            ("tid".into(), column!(Int32Type, self.tids, sample::TID)),
            ("comm".into(), comms),
            ("cpu_mode".into(), modes.column(self.modes.into_iter().map(mode))),
            ("ip".into(), column!(UInt64Type, self.ips, sample::IP)),
            ("period".into(), optional::<UInt64Type>(self.periods.into_iter())),
            ("callchain".into(), Arc::new(LargeListArray::new(item, offsets, frames, nulls(has_chain)))),
            ("kernel_frames".into(), column!(Int32Type, self.kernel_frames, sample::CALLCHAIN)),
        ];
        let structured = has(sample::WEIGHT_STRUCT);
        for (place, (values, (name, bits, _))) in self.extras.into_iter().zip(EXTRAS).enumerate() {
            if place == WEIGHT && structured {
                let parts = [("weight", 0, 32), ("weight2", 32, 16), ("weight3", 48, 16)];
                table.extend(parts.map(|(name, shift, bits)| {
                    let part = values.iter().map(|value| value >> shift & ((1 << bits) - 1));
                    (name.to_owned(), plain::<UInt64Type>(part))
                }));
            } else if has(bits) {
                table.push((name.to_owned(), plain::<UInt64Type>(values.into_iter())));
            }
        }
        table
    }
}

/// Which events have this name; an error where none has.
pub(super) fn chosen(perf: &PerfData, name: &str) -> Result<Vec<bool>> {
    let wanted: Vec<bool> = perf.events.iter().map(|event| event.name == name).collect();
    if !wanted.contains(&true) {
        let mut names: Vec<&str> = perf.events.iter().map(|event| event.name.as_str()).collect();
        names.dedup();
        return Err(bad!(Missing, "no event '{name}' in this capture; it holds {}", names.join(", ")));
    }
    Ok(wanted)
}

/// The samples of the events of this name, in file order.
pub fn samples(perf: &PerfData, name: &str, limit: Option<usize>, progress: Progress<'_>) -> Result<RecordBatch> {
    let wanted = chosen(perf, name)?;
    let of = || (0..wanted.len()).filter(|&number| wanted[number]);
    let has = |bits: u64| of().all(|number| perf.attrs[number].has(bits));
    // Names of tasks are known of the host only.
    let guests = of().any(|number| perf.events[number].guest.is_some());
    let named = has(sample::TID) && !guests;
    let mut sampler = Sampler {
        perf,
        wanted: &wanted,
        columns: Columns::default(),
        counters: Counters::default(),
        names: TaskNames::of(&perf.events),
        limit: limit.unwrap_or(usize::MAX).max(1),
        progress,
    };
    perf.walk(&mut sampler)?;
    let names = sampler.names.sealed();
    let comms = Labels::new(names.strings.values());
    let at = |(&tid, &time): (&i32, &i64)| names.at(tid, time).filter(|_| named).unwrap_or(NONE);
    let Columns { tids, times, .. } = &sampler.columns;
    let comms = comms.column(tids.iter().zip(times).map(at));
    let rows = sampler.columns.times.len();
    let mut table = sampler.columns.finish(has, comms);
    table.extend(sampler.counters.finish(&perf.events, rows));
    batch(table)
}
