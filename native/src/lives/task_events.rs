//! What events show about tasks, gathered during a pass. Of millions of wake-ups only each task's last is kept.

use std::ops::ControlFlow;

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::bytes::until_nul;
use crate::columns::field_bytes;
use crate::counts::{countable, integer};
use crate::error::Result;
use crate::format::{Element, Field, Format, Kind};
use crate::intern::{Interner, Labels};
use crate::narrow::Narrow;
use crate::progress::Progress;
use crate::recording::{Event, Recording, Unit};
use crate::tables::{plain, Plan};
use crate::together::{Reporter, Together};
use crate::visit::{Sample, Visitor};

/// Events of one name, and which of their fields hold the task, its name, and the CPU that it comes to.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The tracepoint.
    pub event: String,
    /// The field of the tid.
    pub tid: String,
    /// The field of the name.
    pub comm: Option<String>,
    /// The field of the CPU.
    pub cpu: Option<String>,
    /// Keep only the last event of each task and CPU, up to this time.
    pub last_until: Option<i64>,
}

/// The same fields in a recording's format.
struct Fields {
    tid: Field,
    comm: Option<Field>,
    cpu: Option<Field>,
    fixed_size: u32,
}

impl Fields {
    /// `None` if the format lacks the tid. A missing name or CPU is left out.
    fn of(format: &Format, wanted: &Wanted) -> Option<Fields> {
        let comm = wanted.comm.as_ref().and_then(|name| format.field(name)).filter(|field| is_text(field));
        Some(Fields {
            tid: countable(format, &wanted.tid)?,
            comm: comm.cloned(),
            cpu: wanted.cpu.as_ref().and_then(|name| countable(format, name)),
            fixed_size: format.fixed_size().narrow(),
        })
    }
}

fn is_text(field: &Field) -> bool {
    use Kind::{Array, DataLoc, RelLoc, Tail};
    matches!(field.kind, Array(Element::Char) | Tail(Element::Char) | DataLoc(Element::Char) | RelLoc(Element::Char))
}

/// What was found for one of `wanted`.
struct Found {
    fields: Fields,
    last_until: Option<i64>,
    /// Time, task, name and CPU.
    rows: Vec<(i64, i64, u32, i64)>,
    last: FxHashMap<(i64, i64), i64>,
}

/// Gathers what a pass shows.
pub struct TaskEvents {
    /// By event number: the place in `found`.
    place_of: Vec<Option<usize>>,
    found: Vec<Found>,
    /// By place in `wanted`: the place in `found`.
    places: Vec<Option<usize>>,
    names: Interner,
}

impl TaskEvents {
    /// Starts gathering.
    pub fn new(recording: &Recording, wanted: &[Wanted]) -> TaskEvents {
        let mut events = TaskEvents {
            place_of: vec![None; recording.events.len()],
            found: Vec::new(),
            places: Vec::new(),
            names: Interner::default(),
        };
        for one in wanted {
            let place = events.add(recording, one);
            events.places.push(place);
        }
        events
    }

    fn add(&mut self, recording: &Recording, wanted: &Wanted) -> Option<usize> {
        let named = || recording.events.iter().enumerate().filter(|(_, event)| event.name == wanted.event);
        let format = |event: &Event| event.format.clone().filter(|_| event.has_payload);
        let is_timed = recording.unit == Unit::Nanoseconds && named().all(|(_, event)| event.has_time);
        let fields = Fields::of(&*named().find_map(|(_, event)| format(event))?, wanted).filter(|_| is_timed)?;
        let place = self.found.len();
        for (number, _) in named().filter(|(_, event)| format(event).is_some()) {
            self.place_of[number] = Some(place);
        }
        let last_until = wanted.last_until;
        self.found.push(Found { fields, last_until, rows: Vec::new(), last: FxHashMap::default() });
        Some(place)
    }

    /// A table for each of `wanted`; `None` for events that were not recorded with a time and a task.
    pub fn finish(self) -> Result<Vec<Option<RecordBatch>>> {
        let labels = Labels::new(self.names.values());
        let tables: Vec<RecordBatch> =
            self.found.into_iter().map(|found| found.table(&labels)).collect::<Result<_>>()?;
        Ok(self.places.into_iter().map(|place| place.map(|place| tables[place].clone())).collect())
    }
}

impl Found {
    #[inline(always)]
    fn add(&mut self, sample: &Sample, payload: &[u8], names: &mut Interner) {
        let Fields { tid, comm, cpu, fixed_size } = &self.fields;
        if sample.raw_size < *fixed_size {
            return;
        }
        let (tid, time_ns) = (integer(tid, payload), sample.time_ns);
        let cpu = cpu.as_ref().map_or(0, |cpu| integer(cpu, payload));
        match self.last_until {
            None => {
                let name = comm.as_ref().map(|comm| field_bytes(comm, payload, (0, payload.len().narrow())));
                self.rows.push((time_ns, tid, names.code(until_nul(name.unwrap_or_default())), cpu));
            }
            Some(until) if time_ns <= until => {
                let last = self.last.entry((tid, cpu)).or_insert(time_ns);
                *last = time_ns.max(*last);
            }
            Some(_) => {}
        }
    }

    fn table(mut self, labels: &Labels) -> Result<RecordBatch> {
        self.rows.extend(self.last.into_iter().map(|((tid, cpu), time_ns)| (time_ns, tid, 0, cpu)));
        if self.last_until.is_some() {
            self.rows.sort_unstable();
        }
        let rows = self.rows.as_slice();
        let mut plan = Plan::new();
        plan.add("time_ns", || plain::<Int64Type>(rows.iter().map(|row| row.0)))
            .add("tid", || plain::<Int64Type>(rows.iter().map(|row| row.1)));
        if self.fields.comm.is_some() {
            plan.add("comm", || labels.column(rows.iter().map(|row| row.2)));
        }
        if self.fields.cpu.is_some() {
            plan.add("cpu", || plain::<Int64Type>(rows.iter().map(|row| row.3)));
        }
        plan.batch()
    }
}

impl Visitor for TaskEvents {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            if let Some(place) = self.place_of[sample.event as usize] {
                self.found[place].add(sample, sample.payload(block), &mut self.names);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Gathers in a pass of its own.
pub fn task_events(
    recording: &Recording,
    wanted: &[Wanted],
    progress: Progress<'_>,
) -> Result<Vec<Option<RecordBatch>>> {
    let mut events = TaskEvents::new(recording, wanted);
    if !events.found.is_empty() {
        recording.walk(&mut Together(&mut Reporter(progress), &mut [&mut events]))?;
    }
    events.finish()
}
