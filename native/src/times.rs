//! When tracepoints happened, and on which CPU: nothing else of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::events::fixed_size;
use crate::progress::Progress;
use crate::recording::{Event, Recording, Unit};
use crate::tables::{plain, Plan};
use crate::together::{Reporter, Together};
use crate::visit::{Sample, Visitor};

struct Times {
    /// By number of the event what its payload has at least; `None` of one that does not count.
    fixed_sizes: Vec<Option<u32>>,
    window: (i64, i64),
    of_cpu: BTreeMap<u32, Vec<i64>>,
}

impl Visitor for Times {
    fn samples(&mut self, _block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        let (start, end) = self.window;
        for sample in samples {
            let is_whole = self.fixed_sizes[sample.event as usize].is_some_and(|size| sample.raw_size >= size);
            if is_whole && (start..=end).contains(&sample.time_ns) {
                if let Some(times) = self.of_cpu.get_mut(&sample.cpu) {
                    times.push(sample.time_ns);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// A row per tracepoint's event on `cpus` in a window, its ends included: cpu, time_ns, in their order. Of a name whose
/// events do not all tell when and where there is none, and none of a recording whose clock does not count nanoseconds.
pub fn event_times(
    recording: &Recording,
    window: (i64, i64),
    cpus: &[u32],
    progress: Progress<'_>,
) -> Result<RecordBatch> {
    let events = &recording.events;
    let untold = events.iter().filter(|event| !event.has_time || !event.has_cpu);
    let untold: FxHashSet<&str> = untold.map(|event| event.name.as_str()).collect();
    let counts = |event: &Event| event.format.is_some() && event.has_payload && !untold.contains(event.name.as_str());
    let mut times = Times {
        fixed_sizes: events.iter().map(|event| counts(event).then(|| fixed_size(event))).collect(),
        window,
        of_cpu: cpus.iter().map(|&cpu| (cpu, Vec::new())).collect(),
    };
    if recording.unit == Unit::Nanoseconds {
        recording.walk(&mut Together(&mut Reporter(progress), &mut [&mut times]))?;
    }
    times.of_cpu.par_iter_mut().for_each(|(_, times)| times.sort_unstable());
    let rows = || times.of_cpu.iter().flat_map(|(&cpu, times)| times.iter().map(move |&time| (i64::from(cpu), time)));
    let mut plan = Plan::new();
    plan.add("cpu", || plain::<Int64Type>(rows().map(|row| row.0)))
        .add("time_ns", || plain::<Int64Type>(rows().map(|row| row.1)));
    plan.batch()
}
