//! Events of packets, sockets and wake-ups in order of time, read by a pass of its own on another thread.

use std::sync::mpsc::{sync_channel, Receiver, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, Int64Array, RecordBatch};
use arrow_schema::DataType;

use crate::error::{bad, Result};
use crate::event_batches::{event_batches, survey, Surveyed};
use crate::intern::Interner;
use crate::lives::read::{at, integers, numbers, required, Texts};
use crate::lives::slice::NOBODY;
use crate::recording::Recording;
use crate::traffic::packets::End;
use crate::within::Within;

/// common_flags: in a hardirq, in a softirq (TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ).
const HARDIRQ: i64 = 0x08;
const SOFTIRQ: i64 = 0x10;
/// Events in a batch.
const ROWS: usize = 250_000;
/// Pause before looking again for the other thread's output.
const PAUSE: Duration = Duration::from_micros(50);

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A packet was queued for a device.
    Queued,
    /// A packet was received.
    Received,
    /// A packet was copied to a task, or consumed.
    Taken,
    /// A packet was dropped.
    Freed,
    /// A socket announced data.
    Ready,
    /// A task was woken.
    Woken,
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Result<Kind> {
        Ok(match name {
            "queued" => Kind::Queued,
            "received" => Kind::Received,
            "taken" => Kind::Taken,
            "freed" => Kind::Freed,
            "ready" => Kind::Ready,
            "woken" => Kind::Woken,
            _ => return Err(bad!(Refused, "no kind of event is called '{name}'")),
        })
    }
}

/// What to read, and what is already known.
#[derive(Debug)]
pub struct Wanted {
    /// Source of the events.
    pub recording: Arc<Recording>,
    /// Findings of an earlier pass over these events.
    pub surveyed: Arc<OnceLock<Surveyed>>,
    /// The tracepoints, each with the field that holds the packet, the socket or the task. Events at the same time
    /// happened in this order.
    pub events: Vec<(Kind, String, String)>,
    /// Whether times of different CPUs can be compared, so that packets can be followed.
    pub follows: bool,
    /// CPUs to show; `None` for all.
    pub cpus: Option<Vec<u32>>,
    /// The name that each task had for longest.
    pub longest: Vec<(i64, String)>,
    /// Sockets that belong to one task.
    pub sockets: Vec<(i64, i64, String)>,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub kind: Kind,
    pub time_ns: i64,
    pub cpu: i64,
    pub tid: i64,
    /// The packet, the socket, or the task that was woken.
    pub what: i64,
    /// Name of the woken task, or else of the running one.
    pub name: u32,
    in_hardirq: Option<bool>,
    in_softirq: Option<bool>,
}

impl Event {
    /// The task that did it, if outside interrupts.
    pub fn by_task(&self) -> Option<End> {
        let is_outside = self.in_hardirq == Some(false) && self.in_softirq == Some(false);
        (is_outside && self.tid > 0).then_some((self.tid, self.name))
    }

    /// Whether it may have happened in a softirq, not in an interrupt on top of one.
    pub fn is_in_softirq(&self) -> bool {
        self.in_hardirq != Some(true) && self.in_softirq != Some(false)
    }
}

type Tables = Vec<(String, RecordBatch)>;

/// Reads the events batch by batch.
pub struct Events {
    wanted: Arc<Wanted>,
    batches: Receiver<Result<Tables>>,
    found: Vec<Event>,
}

impl Events {
    /// Starts reading.
    pub fn of(wanted: &Arc<Wanted>) -> Events {
        let (give, batches) = sync_channel(1);
        let source = Arc::clone(wanted);
        // The thread ends when nobody takes its batches any more.
        std::thread::spawn(move || {
            if let Err(error) = read(&source, &mut |tables| give.send(Ok(tables)).is_ok()) {
                give.send(Err(error)).ok();
            }
        });
        Events { wanted: Arc::clone(wanted), batches, found: Vec::new() }
    }

    /// The next events, by time; `None` if there are no more.
    pub fn next(&mut self, strings: &mut Interner) -> Result<Option<&[Event]>> {
        let Some(tables) = self.batch() else { return Ok(None) };
        let tables = tables?;
        self.found.clear();
        for (kind, name, field) in &self.wanted.events {
            for (_, table) in tables.iter().filter(|table| table.0 == *name) {
                add(&mut self.found, *kind, table, field, strings)?;
            }
        }
        self.found.sort_by_key(|event| event.time_ns);
        Ok(Some(&self.found))
    }

    /// Waits without blocking other work from this core.
    fn batch(&self) -> Option<Result<Tables>> {
        loop {
            match self.batches.try_recv() {
                Ok(tables) => return Some(tables),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if rayon::yield_now() == Some(rayon::Yield::Executed) => {}
                Err(TryRecvError::Empty) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn read(wanted: &Wanted, give: &mut dyn FnMut(Tables) -> bool) -> Result<()> {
    let Wanted { recording, surveyed, events, .. } = wanted;
    let names: Vec<String> = events.iter().map(|event| event.1.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut fields: Vec<String> = ["common_flags", "comm"].map(str::to_owned).into();
    fields.extend(events.iter().map(|event| event.2.clone()));
    let surveyed = match surveyed.get() {
        Some(surveyed) => surveyed,
        None => {
            let found = survey(recording, &mut |_| true)?;
            surveyed.get_or_init(|| found)
        }
    };
    let within = Within { window: None, cpus: None, fields: Some(fields), in_order: false };
    event_batches(recording, surveyed, &names, &within, ROWS, give, &mut |_| true)
}

/// Kernel addresses are above 2^63, so they become negative.
fn wide(table: &RecordBatch, name: &str) -> Option<Int64Array> {
    let column = table.column_by_name(name)?;
    match column.data_type() {
        DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().unary(|value| value as i64)),
        _ => integers(table, name),
    }
}

fn add(found: &mut Vec<Event>, kind: Kind, table: &RecordBatch, field: &str, strings: &mut Interner) -> Result<()> {
    let times = numbers(table, "time_ns")?;
    let (cpus, tids) = (numbers(table, "common_cpu")?, numbers(table, "common_pid")?);
    let whats = required(wide(table, field), field)?;
    let flags = integers(table, "common_flags");
    let nobody = strings.code(NOBODY);
    let names = match Texts::of(table, "comm", strings) {
        Some(names) if kind == Kind::Woken => Some(names),
        _ => Texts::of(table, "common_comm", strings),
    };
    for row in 0..table.num_rows() {
        let flags = flags.as_ref().and_then(|flags| at(flags, row));
        found.push(Event {
            kind,
            time_ns: times.value(row),
            cpu: cpus.value(row),
            tid: tids.value(row),
            what: whats.value(row),
            name: names.as_ref().and_then(|names| names.code(row)).unwrap_or(nobody),
            in_hardirq: flags.map(|flags| flags & HARDIRQ != 0),
            in_softirq: flags.map(|flags| flags & SOFTIRQ != 0),
        });
    }
    Ok(())
}
