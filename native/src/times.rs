//! Times and CPUs of tracepoints, and nothing else.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::events::fixed_size;
use crate::progress::{flow, Progress};
use crate::recording::{Event, Recording, Unit};
use crate::rounds::Rounds;
use crate::tables::{plain, Plan};
use crate::visit::{Sample, Side, Visitor, What};
use crate::within::Within;

struct Times<'p> {
    rounds: Rounds,
    timed: Vec<bool>,
    is_over: bool,
    within: Within,
    progress: Progress<'p>,
    /// Smallest payload by event number; `None` for events that do not count.
    fixed_sizes: Vec<Option<u32>>,
    of_cpu: BTreeMap<u32, Vec<i64>>,
}

impl Visitor for Times<'_> {
    fn cpus(&self) -> Option<&[u32]> {
        self.within.cpus.as_deref()
    }

    fn samples(&mut self, _block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            if self.timed[sample.event as usize] {
                self.rounds.see(sample.time_ns);
            }
            let is_whole = self.fixed_sizes[sample.event as usize].is_some_and(|size| sample.raw_size >= size);
            if is_whole && self.within.has_time(sample.time_ns) {
                if let Some(times) = self.of_cpu.get_mut(&sample.cpu) {
                    times.push(sample.time_ns);
                }
            }
        }
        flow(!self.is_over)
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.what == What::Round {
            self.rounds.end();
            self.is_over = self.within.is_past(&self.rounds);
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}

/// A row per tracepoint event on `cpus` in a window (ends included), in order: cpu, time_ns. Names are left out if some
/// of their events lack a time or CPU. A recording whose clock does not count nanoseconds has no rows. Rings of other
/// CPUs are not read, nor is anything after the window if the recording is `in_order`.
pub fn event_times<'p>(
    recording: &Recording,
    window: (i64, i64),
    cpus: &'p [u32],
    in_order: bool,
    progress: Progress<'p>,
) -> Result<RecordBatch> {
    let events = &recording.events;
    let mut ascending = cpus.to_vec();
    ascending.sort_unstable();
    let untold = events.iter().filter(|event| !event.has_time || !event.has_cpu);
    let untold: FxHashSet<&str> = untold.map(|event| event.name.as_str()).collect();
    let counts = |event: &Event| event.format.is_some() && event.has_payload && !untold.contains(event.name.as_str());
    let mut times = Times {
        rounds: Rounds::default(),
        timed: events.iter().map(|event| event.has_time).collect(),
        is_over: false,
        within: Within { window: Some(window), cpus: Some(ascending), in_order, ..Within::default() },
        progress,
        fixed_sizes: events.iter().map(|event| counts(event).then(|| fixed_size(event))).collect(),
        of_cpu: cpus.iter().map(|&cpu| (cpu, Vec::new())).collect(),
    };
    if recording.unit == Unit::Nanoseconds {
        recording.walk(&mut times)?;
    }
    times.of_cpu.par_iter_mut().for_each(|(_, times)| times.sort_unstable());
    let rows = || times.of_cpu.iter().flat_map(|(&cpu, times)| times.iter().map(move |&time| (i64::from(cpu), time)));
    let mut plan = Plan::new();
    plan.add("cpu", || plain::<Int64Type>(rows().map(|row| row.0)))
        .add("time_ns", || plain::<Int64Type>(rows().map(|row| row.1)));
    plan.batch()
}
