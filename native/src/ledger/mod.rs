//! The ledger: every nanosecond of every recorded CPU has exactly one owner.
//!
//! One pass in file order feeds each CPU's state machine (`cpu`); finished segments go to integer
//! sums and, where asked for, to tables. `world` is what the CPUs share.

mod causality;
mod cpu;
mod cpu_hardirq;
mod cpu_softirq;
mod cpu_task;
mod flush;
#[allow(missing_docs)]
mod frames;
mod irqs;
mod output;
mod point;
mod raise;
mod refuse;
mod resolve;
#[allow(missing_docs)]
mod rows;
#[allow(missing_docs)]
mod segment;
mod shape;
#[allow(missing_docs)]
mod state;
mod stem;
mod task;
mod thief;
mod wait;
mod world;

use std::ops::ControlFlow;

use crate::error::{bad, Result};
use crate::intern::NONE;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::visit::{Sample, Side, Visitor, What, MOST_CPUS};
use causality::Causality;
use cpu::{Cpu, Sight};
use flush::{Flush, Verdict};
use shape::{Kind, Shape, Shapes};
use world::{Event, World, SOFTIRQ_VECTORS};

pub use output::Output;
pub use world::Want;

/// What a pass is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Tables besides the sums.
    pub want: Want,
    /// Absolute times; `None`: the whole capture.
    pub window: Option<(i64, i64)>,
    /// CPUs to show; `None`: all.
    pub cpus: Option<Vec<u32>>,
    /// Width of the sums' time bins; `None`: one bin.
    pub bin_ns: Option<i64>,
    /// Why CPUs of this machine may not agree on the time.
    pub clock_doubt: Option<String>,
    /// Network devices of interrupt lines, by number, as files beside the recording have them.
    pub lines: Vec<(i64, String)>,
}

struct Lane {
    cpu: Cpu,
    flush: Flush,
}

struct Ledger<'p> {
    world: World,
    lanes: Vec<Lane>,
    /// CPU number to lane.
    lane_of: Vec<u32>,
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
    let shapes = Shapes::of(recording);
    refuse::refuse(recording, &shapes)?;
    let causality = Causality::of(recording, request.clock_doubt.as_deref());
    let mut world = World::new(shapes, request.want, request.window, request.bin_ns);
    world.waits.causality = causality.filter(|_| request.want.slices || request.want.displaced);
    let mut ledger = Ledger {
        world,
        lanes: Vec::new(),
        lane_of: Vec::new(),
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
    for lane in &mut ledger.lanes {
        lane.cpu.end(start, end, in_full, &mut ledger.world);
    }
    ledger.world.waits.end(end);
    let mut notes = recording.notes.clone();
    notes.extend(refuse::caveat(recording));
    notes.extend(tally.notes);
    if tally.unreadable > 0 {
        notes.push(format!("{} samples could not be read: unknown event or cut short", tally.unreadable));
    }
    let cpus: Vec<Cpu> =
        ledger.lanes.into_iter().map(|lane| lane.cpu).filter(|cpu| cpu.sight != Sight::Never).collect();
    if cpus.is_empty() {
        return Err(bad!("nothing to account for: the capture holds no readable sample of an interrupt, softirq, napi or scheduler event"));
    }
    output::build(ledger.world, cpus, request, (start, end), (ledger.lost, ledger.lost_samples), notes)
}

impl Ledger<'_> {
    fn lane(&mut self, cpu: u32) -> Option<usize> {
        if cpu >= MOST_CPUS {
            return None;
        }
        if self.lane_of.len() <= cpu as usize {
            self.lane_of.resize(cpu as usize + 1, ABSENT);
        }
        let lane = &mut self.lane_of[cpu as usize];
        if *lane == ABSENT {
            *lane = self.lanes.len() as u32;
            self.lanes.push(Lane { cpu: Cpu::new(cpu), flush: Flush::default() });
        }
        Some(*lane as usize)
    }

    /// The present CPU's flush is over.
    fn end_flush(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.lanes[present].flush.keep(block);
            self.settle_present();
        }
        self.new_flush = true;
    }

    fn settle_present(&mut self) {
        let Some(present) = self.present else { return };
        if self.lanes[present].flush.is_holding() {
            let (repeated, fresh) = self.lanes[present].flush.release();
            self.world.counters.repeats += repeated;
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
        if self.world.shapes.events[sample.event as usize].kind == Kind::Ignored {
            return;
        }
        let same = self.present.is_some_and(|present| self.lanes[present].cpu.number == sample.cpu);
        if !same {
            self.end_flush(block);
            self.present = self.lane(sample.cpu);
        }
        let Some(present) = self.present else {
            self.world.counters.unreadable += 1;
            return;
        };
        if !self.may_repeat {
            self.take(present, block, sample);
            return;
        }
        let first = std::mem::take(&mut self.new_flush);
        if first {
            self.lanes[present].flush.keep(block);
        }
        match self.lanes[present].flush.record(block, sample, first) {
            Verdict::Take => self.take(present, block, sample),
            Verdict::Held => {}
            Verdict::Settled => self.settle_present(),
        }
    }

    #[inline(always)]
    fn take(&mut self, lane: usize, block: &[u8], sample: &Sample) {
        let shape = self.world.shapes.events[sample.event as usize];
        if shape.kind == Kind::Ignored {
            return;
        }
        let mut event = Event::default();
        if read(&shape, sample, block, &mut self.world, &mut event).is_none() {
            self.world.counters.unreadable += 1;
            return;
        }
        self.world.tasks.now_ns = event.time_ns;
        self.lanes[lane].cpu.step(shape.kind, &mut event, &mut self.world);
    }
}

/// The fields the ledger needs; `None` where the payload is too short for them. Where they are is where
/// they stay: a copy of what has just been written in parts makes the processor wait.
#[inline(always)]
fn read(shape: &Shape, sample: &Sample, block: &[u8], world: &mut World, event: &mut Event) -> Option<()> {
    let payload = sample.payload(block);
    *event = Event {
        time_ns: sample.time_ns,
        flags: shape.flags.read(payload).or((!world.shapes.has_flags).then_some(0))? as u8,
        preempt: shape.preempt.read(payload).map(|count| count as u8),
        pid: shape.pid.read(payload)? as i32,
        a: shape.a.read(payload).unwrap_or(-1),
        b: shape.b.read(payload),
        c: shape.c.read(payload),
        text: NONE,
        text2: NONE,
    };
    match shape.kind {
        Kind::Switch => {
            for (place, text) in [(shape.text, &mut event.text), (shape.text2, &mut event.text2)] {
                if let Some(comm) = Shape::comm(place, payload) {
                    *text = world.comms.code(comm, &mut world.strings);
                }
            }
        }
        Kind::IrqEntry | Kind::NapiPoll => {
            let likely = &mut world.likely[usize::from(shape.kind == Kind::NapiPoll)];
            event.text =
                Shape::string(shape.text, payload).map_or(NONE, |text| world.strings.code_likely(text, likely));
        }
        Kind::SoftirqRaise | Kind::SoftirqEntry | Kind::SoftirqExit
            if !(0..SOFTIRQ_VECTORS as i64).contains(&event.a) =>
        {
            return None;
        }
        _ => {}
    }
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
        let lane = side.cpu.and_then(|cpu| self.lane_of.get(cpu as usize).copied()).filter(|&lane| lane != ABSENT);
        let time = side.time_ns.unwrap_or(0);
        if let (What::Lost(_) | What::LostUnknown | What::PassedOver | What::Throttle(..), Some(time)) =
            (&side.what, side.time_ns)
        {
            self.window = (self.window.0.min(time), self.window.1.max(time));
        }
        match &side.what {
            What::Comm { tid, comm } => {
                self.settle_present();
                let world = &mut self.world;
                world.tasks.now_ns = time;
                let comm = world.strings.code(comm.as_bytes());
                let victim = world.named_task(*tid, comm);
                if let Some(lane) = lane {
                    self.lanes[lane as usize].cpu.rename(*tid, victim, time, world);
                }
            }
            What::Known { tid, comm } => {
                let comm = self.world.strings.code(comm.as_bytes());
                self.world.named_task(*tid, comm);
            }
            What::Fork { tid, parent } if tid != parent => {
                let World { tasks, strings, thieves, .. } = &mut self.world;
                tasks.forked(*tid, *parent, time, strings, thieves);
            }
            What::Lost(count) => {
                self.settle_present();
                self.lost = self.lost.saturating_add(*count);
                let lane = match side.cpu {
                    Some(cpu) => self.lane(cpu),
                    None => self.present,
                };
                if let Some(lane) = lane {
                    self.lanes[lane].cpu.lose(side.time_ns, *count, "records were lost", &mut self.world);
                }
            }
            What::LostUnknown => {
                self.settle_present();
                self.world.counters.lost_unknown += 1;
                if let Some(lane) = side.cpu.and_then(|cpu| self.lane(cpu)) {
                    self.lanes[lane].cpu.lose(
                        side.time_ns,
                        0,
                        "an unknown number of records was lost",
                        &mut self.world,
                    );
                }
            }
            What::PassedOver => {
                self.settle_present();
                if let Some(lane) = side.cpu.and_then(|cpu| self.lane(cpu)) {
                    self.lanes[lane].cpu.lose(side.time_ns, 0, "lines that could not be read", &mut self.world);
                }
            }
            What::LostSamples(count) => self.lost_samples = self.lost_samples.saturating_add(*count),
            What::Throttle(begins, event) => {
                let needed = event.is_none_or(|event| {
                    self.world.shapes.events.get(event as usize).is_some_and(|shape| shape.kind != Kind::Ignored)
                });
                if let (true, Some(lane)) = (needed, lane) {
                    let cpu = &mut self.lanes[lane as usize].cpu;
                    if *begins {
                        cpu.throttle(time, &mut self.world);
                    } else {
                        cpu.unthrottle(time, &mut self.world);
                    }
                }
            }
            What::Round => {
                self.settle_present();
                self.new_flush = true;
                if self.world.waits.round() {
                    let mut settled = i64::MAX;
                    for lane in &mut self.lanes {
                        lane.cpu.drain(false, &mut self.world);
                        settled = settled.min(lane.cpu.unsettled_since());
                    }
                    self.world.waits.settle_round(settled, self.lanes.len());
                    self.world.take_answers();
                }
            }
            _ => {}
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.lanes[present].flush.keep(block);
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
