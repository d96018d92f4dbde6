//! The ledger: every nanosecond of every recorded CPU has exactly one owner.
//!
//! One pass in file order feeds each CPU's state machine (`cpu`); finished segments go to integer
//! sums and, where asked for, to tables. `context` is what the CPUs share.

mod causality;
mod context;
mod cpu;
mod cpu_hardirq;
mod cpu_softirq;
mod cpu_task;
mod event;
mod flush;
#[allow(missing_docs)]
mod frames;
mod irqs;
mod output;
mod point;
mod raise;
mod refuse;
mod request;
mod resolve;
#[allow(missing_docs)]
mod rows;
mod schema;
#[allow(missing_docs)]
mod segment;
#[allow(missing_docs)]
mod state;
mod stem;
mod task;
mod thief;
mod wait;

use std::ops::ControlFlow;

use crate::error::{bad, Result};
use crate::intern::NONE;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::visit::{Sample, Side, Visitor, What, MAX_CPUS};
use causality::Causality;
use context::{LedgerContext, LIKELY_DEVICE, LIKELY_HANDLER, SOFTIRQ_VECTORS};
use cpu::{Cpu, Visibility};
use event::{Event, Int, Tracepoint};
use flush::{Flush, Verdict};
use schema::{EventSchema, EventSchemas, Fields, Place};

pub use output::Output;
pub use request::{Request, Want};

struct CpuStream {
    cpu: Cpu,
    flush: Flush,
}

struct Ledger<'p> {
    context: LedgerContext,
    streams: Vec<CpuStream>,
    /// CPU number to stream.
    stream_of: Vec<u32>,
    present: Option<usize>,
    new_flush: bool,
    /// Whether a flush may begin with what the one before ended with.
    may_repeat: bool,
    /// Events with times, by number.
    timed: Vec<bool>,
    window: (i64, i64),
    lost: u64,
    lost_samples: u64,
    progress: Progress<'p>,
}

const ABSENT: u32 = u32::MAX;

/// Runs the ledger over a recording.
pub fn run(recording: &Recording, request: &Request, progress: Progress<'_>) -> Result<Output> {
    let schemas = EventSchemas::of(recording);
    refuse::refuse(recording, &schemas)?;
    let causality = Causality::of(recording, request.clock_doubt.as_deref());
    let mut context = LedgerContext::new(schemas, request.want, request.window, request.bin_ns);
    context.waits.causality = causality.filter(|_| request.want.slices || request.want.displaced);
    let mut ledger = Ledger {
        context,
        streams: Vec::new(),
        stream_of: Vec::new(),
        present: None,
        new_flush: true,
        may_repeat: recording.source.may_repeat(),
        timed: recording.events.iter().map(|event| event.has_time).collect(),
        window: (i64::MAX, i64::MIN),
        lost: 0,
        lost_samples: 0,
        progress,
    };
    let tally = recording.walk(&mut ledger)?;
    ledger.settle_present();
    refuse::refuse_reversed(&tally)?;
    let (start, end) = ledger.window;
    if start > end {
        return Err(bad!(
            "nothing to account for: the capture holds no sample of an interrupt, softirq, napi or scheduler event"
        ));
    }
    // Rings are written one after the other: where the rest of a file is missing, so may be what
    // the other CPUs did meanwhile.
    let in_full = recording.finished && !recording.cut && tally.notes.is_empty();
    for stream in &mut ledger.streams {
        stream.cpu.end(start, end, in_full, &mut ledger.context);
    }
    ledger.context.waits.end(end);
    let mut notes = recording.notes.clone();
    notes.extend(refuse::caveat(recording));
    notes.extend(tally.notes);
    if tally.unreadable > 0 {
        notes.push(format!("{} samples could not be read: unknown event or cut short", tally.unreadable));
    }
    let cpus: Vec<Cpu> =
        ledger.streams.into_iter().map(|stream| stream.cpu).filter(|cpu| cpu.visibility != Visibility::Never).collect();
    if cpus.is_empty() {
        return Err(bad!("nothing to account for: the capture holds no readable sample of an interrupt, softirq, napi or scheduler event"));
    }
    output::build(ledger.context, cpus, request, (start, end), (ledger.lost, ledger.lost_samples), notes)
}

impl Ledger<'_> {
    fn stream(&mut self, cpu: u32) -> Option<usize> {
        if cpu >= MAX_CPUS {
            return None;
        }
        if self.stream_of.len() <= cpu as usize {
            self.stream_of.resize(cpu as usize + 1, ABSENT);
        }
        let stream = &mut self.stream_of[cpu as usize];
        if *stream == ABSENT {
            *stream = self.streams.len() as u32;
            self.streams.push(CpuStream { cpu: Cpu::new(cpu), flush: Flush::default() });
        }
        Some(*stream as usize)
    }

    /// The present CPU's flush is over.
    fn end_flush(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.streams[present].flush.keep(block);
            self.settle_present();
        }
        self.new_flush = true;
    }

    fn settle_present(&mut self) {
        let Some(present) = self.present else { return };
        if self.streams[present].flush.is_holding() {
            let (repeated, fresh) = self.streams[present].flush.release();
            self.context.counters.repeats += repeated;
            for (mut sample, bytes) in fresh {
                sample.raw -= sample.record;
                self.take(present, &bytes, &sample);
            }
        }
    }

    #[inline(always)]
    fn sample(&mut self, block: &[u8], sample: &Sample) {
        if self.timed[sample.event as usize] {
            self.window = (self.window.0.min(sample.time_ns), self.window.1.max(sample.time_ns));
        }
        if self.context.schemas.events[sample.event as usize].tracepoint.is_none() {
            return;
        }
        let same = self.present.is_some_and(|present| self.streams[present].cpu.number == sample.cpu);
        if !same {
            self.end_flush(block);
            self.present = self.stream(sample.cpu);
        }
        let Some(present) = self.present else {
            self.context.counters.unreadable += 1;
            return;
        };
        if !self.may_repeat {
            self.take(present, block, sample);
            return;
        }
        let first = std::mem::take(&mut self.new_flush);
        if first {
            self.streams[present].flush.keep(block);
        }
        match self.streams[present].flush.record(block, sample, first) {
            Verdict::Take => self.take(present, block, sample),
            Verdict::Held => {}
            Verdict::Settled => self.settle_present(),
        }
    }

    #[inline(always)]
    fn take(&mut self, stream: usize, block: &[u8], sample: &Sample) {
        let schema = self.context.schemas.events[sample.event as usize];
        let Some(fields) = &schema.tracepoint else { return };
        let mut event = Event::at(sample.time_ns);
        if read(&schema, fields, sample.payload(block), &mut self.context, &mut event).is_none() {
            self.context.counters.unreadable += 1;
            return;
        }
        self.context.tasks.now_ns = event.time_ns;
        self.streams[stream].cpu.step(&mut event, &mut self.context);
    }
}

/// Reads the event's fields; `None` where the payload is too short for them, or names no softirq. Where they are is
/// where they stay: a copy of what has just been written in parts makes the processor wait.
#[inline(always)]
fn read(
    schema: &EventSchema,
    fields: &Fields,
    payload: &[u8],
    context: &mut LedgerContext,
    event: &mut Event,
) -> Option<()> {
    event.flags = schema.flags.read(payload).or((!context.schemas.has_flags).then_some(0))? as u8;
    event.preempt = schema.preempt.read(payload).map(|count| count as u8);
    event.pid = schema.pid.read(payload)? as i32;
    let of_softirq = |vec: Place| {
        let vec = vec.read(payload);
        vec.is_some_and(|vec| (0..SOFTIRQ_VECTORS as i64).contains(&vec)).then_some(Int::of(vec))
    };
    let comm = |place: Place, context: &mut LedgerContext| {
        place.comm(payload).map_or(NONE, |comm| context.comms.code(comm, &mut context.strings))
    };
    event.what = match *fields {
        Tracepoint::SoftirqRaise { vec } => Tracepoint::SoftirqRaise { vec: of_softirq(vec)? },
        Tracepoint::SoftirqEntry { vec } => Tracepoint::SoftirqEntry { vec: of_softirq(vec)? },
        Tracepoint::SoftirqExit { vec } => Tracepoint::SoftirqExit { vec: of_softirq(vec)? },
        Tracepoint::IrqEntry { irq, name } => {
            let name = context.name(name.string(payload), LIKELY_HANDLER);
            Tracepoint::IrqEntry { irq: irq.int(payload), name }
        }
        Tracepoint::IrqExit { irq } => Tracepoint::IrqExit { irq: irq.int(payload) },
        Tracepoint::VectorEntry { pair, vector } => Tracepoint::VectorEntry { pair, vector: vector.int(payload) },
        Tracepoint::VectorExit { pair, vector } => Tracepoint::VectorExit { pair, vector: vector.int(payload) },
        Tracepoint::NapiPoll { napi, work, budget, dev_name } => Tracepoint::NapiPoll {
            napi: napi.int(payload),
            work: work.int(payload),
            budget: budget.int(payload),
            dev_name: context.name(dev_name.string(payload), LIKELY_DEVICE),
        },
        Tracepoint::Switch { prev_comm, prev_state, next_pid, next_comm } => Tracepoint::Switch {
            next_comm: comm(next_comm, context),
            prev_comm: comm(prev_comm, context),
            prev_state: prev_state.int(payload),
            next_pid: next_pid.int(payload),
        },
        Tracepoint::Wakeup { pid, target_cpu } => {
            Tracepoint::Wakeup { pid: pid.int(payload), target_cpu: target_cpu.int(payload) }
        }
        Tracepoint::Waking { pid, target_cpu } => {
            Tracepoint::Waking { pid: pid.int(payload), target_cpu: target_cpu.int(payload) }
        }
        Tracepoint::Migrate { pid, orig_cpu, dest_cpu } => Tracepoint::Migrate {
            pid: pid.int(payload),
            orig_cpu: orig_cpu.int(payload),
            dest_cpu: dest_cpu.int(payload),
        },
        Tracepoint::Exec => Tracepoint::Exec,
        Tracepoint::Witness => Tracepoint::Witness,
    };
    Some(())
}

impl Visitor for Ledger<'_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        samples.iter().for_each(|sample| self.sample(block, sample));
        ControlFlow::Continue(())
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.guest {
            return;
        }
        let stream =
            side.cpu.and_then(|cpu| self.stream_of.get(cpu as usize).copied()).filter(|&stream| stream != ABSENT);
        let time = side.time_ns.unwrap_or(0);
        if let (What::Lost(_) | What::LostUnknown | What::PassedOver | What::Throttle(..), Some(time)) =
            (&side.what, side.time_ns)
        {
            self.window = (self.window.0.min(time), self.window.1.max(time));
        }
        match &side.what {
            What::Comm { tid, comm } => {
                self.settle_present();
                let context = &mut self.context;
                context.tasks.now_ns = time;
                let comm = context.strings.code(comm.as_bytes());
                let victim = context.named_task(*tid, comm);
                if let Some(stream) = stream {
                    self.streams[stream as usize].cpu.rename(*tid, victim, time, context);
                }
            }
            What::Known { tid, comm } => {
                let comm = self.context.strings.code(comm.as_bytes());
                self.context.named_task(*tid, comm);
            }
            What::Fork { tid, parent } if tid != parent => {
                let LedgerContext { tasks, strings, thieves, .. } = &mut self.context;
                tasks.forked(*tid, *parent, time, strings, thieves);
            }
            What::Lost(count) => {
                self.settle_present();
                self.lost = self.lost.saturating_add(*count);
                let stream = match side.cpu {
                    Some(cpu) => self.stream(cpu),
                    None => self.present,
                };
                if let Some(stream) = stream {
                    self.streams[stream].cpu.lose(side.time_ns, *count, "records were lost", &mut self.context);
                }
            }
            What::LostUnknown => {
                self.settle_present();
                self.context.counters.lost_unknown += 1;
                if let Some(stream) = side.cpu.and_then(|cpu| self.stream(cpu)) {
                    self.streams[stream].cpu.lose(
                        side.time_ns,
                        0,
                        "an unknown number of records was lost",
                        &mut self.context,
                    );
                }
            }
            What::PassedOver => {
                self.settle_present();
                if let Some(stream) = side.cpu.and_then(|cpu| self.stream(cpu)) {
                    self.streams[stream].cpu.lose(side.time_ns, 0, "lines that could not be read", &mut self.context);
                }
            }
            What::LostSamples(count) => self.lost_samples = self.lost_samples.saturating_add(*count),
            What::Throttle(begins, event) => {
                let needed = event.is_none_or(|event| {
                    self.context.schemas.events.get(event as usize).is_some_and(|schema| schema.tracepoint.is_some())
                });
                if let (true, Some(stream)) = (needed, stream) {
                    let cpu = &mut self.streams[stream as usize].cpu;
                    if *begins {
                        cpu.throttle(time, &mut self.context);
                    } else {
                        cpu.unthrottle(time, &mut self.context);
                    }
                }
            }
            What::Round => {
                self.settle_present();
                self.new_flush = true;
                if self.context.waits.round() {
                    let mut settled = i64::MAX;
                    for stream in &mut self.streams {
                        stream.cpu.drain(false, &mut self.context);
                        settled = settled.min(stream.cpu.unsettled_since());
                    }
                    self.context.waits.settle_round(settled, self.streams.len());
                    self.context.take_answers();
                }
            }
            _ => {}
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.streams[present].flush.keep(block);
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        if (self.progress)(fraction) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
