//! The recording's tracepoints as Perfetto's bundles of ftrace events, of one CPU each.

use std::ops::ControlFlow;

use crate::events::Within;
use crate::perfetto::describe::{describe, event};
use crate::perfetto::out::Out;
use crate::perfetto::plan::Plan;
use crate::perfetto::proto::{message, number};
use crate::perfetto::repeats::Repeats;
use crate::progress::{flow, Progress};
use crate::recording::Recording;
use crate::rounds::Rounds;
use crate::visit::{Sample, Side, Visitor, What};

/// Perfetto's reader takes a larger number for damage, and the file with it.
const MAX_CPUS: usize = 1024;
/// Bytes of a CPU's events that are written at once.
const AT_ONCE: usize = 1 << 15;
/// `TracePacket.ftrace_events`.
const BUNDLE: u32 = 1;

/// Events of a CPU that are not written yet.
#[derive(Debug, Default)]
struct Waiting {
    events: Vec<u8>,
    /// Whether there were more before them, which are lost.
    lost: bool,
}

/// Events that are left out, counted.
#[derive(Debug, Default)]
struct LeftOut {
    guests: u64,
    unplaced: u64,
    far: u64,
    short: u64,
}

/// The pass.
pub struct Ftrace<'o, 'w, 'p> {
    writer: Writer<'o, 'w>,
    repeats: Repeats,
    rounds: Rounds,
    progress: Progress<'p>,
}

struct Writer<'o, 'w> {
    out: &'o mut Out<'w>,
    within: Within,
    /// Of each event of the recording.
    plans: Vec<Option<Plan>>,
    /// Whether events of it say when and where they were.
    placed: Vec<bool>,
    guest: Vec<bool>,
    /// Whether it was described.
    described: Vec<bool>,
    /// Those whose first event waits.
    to_describe: Vec<usize>,
    cpus: Vec<Waiting>,
    count: u64,
    left_out: LeftOut,
}

impl<'o, 'w, 'p> Ftrace<'o, 'w, 'p> {
    /// Nothing seen yet.
    pub fn new(recording: &Recording, within: Within, out: &'o mut Out<'w>, progress: Progress<'p>) -> Self {
        let events = &recording.events;
        let plan = |(place, event): (usize, &crate::recording::Event)| {
            let format = event.format.as_ref().filter(|_| event.has_payload)?;
            Some(Plan::of(place, &event.name, format))
        };
        let writer = Writer {
            out,
            within,
            plans: events.iter().enumerate().map(plan).collect(),
            placed: events.iter().map(|event| event.has_time && event.has_cpu).collect(),
            guest: events.iter().map(|event| event.guest.is_some()).collect(),
            described: vec![false; events.len()],
            to_describe: Vec::new(),
            cpus: Vec::new(),
            count: 0,
            left_out: LeftOut::default(),
        };
        let repeats = Repeats::new(recording.source.may_repeat());
        Ftrace { writer, repeats, rounds: Rounds::default(), progress }
    }

    /// Writes what waits; how many events were written in all, and what was left out, and why.
    pub fn finish(mut self) -> (u64, Vec<String>) {
        self.repeats.settle(|block, sample| self.writer.take(block, sample));
        (0..self.writer.cpus.len()).for_each(|cpu| self.writer.write(cpu));
        let Writer { count, left_out, plans, described, .. } = self.writer;
        let say = |count: u64, what: &str| (count > 0).then(|| format!("{count} events {what}"));
        let wide = plans.iter().flatten().zip(&described).filter(|(plan, &seen)| seen && plan.left_out > 0);
        let notes = [
            say(left_out.guests, "of guests are left out: Perfetto would take their CPUs for the host's"),
            say(left_out.unplaced, "without a time or a CPU are left out"),
            say(left_out.far, "of CPUs from 1024 on are left out: Perfetto takes CPU numbers that high for damage"),
            say(left_out.short, "were cut short and are left out"),
        ];
        let wide = wide.map(|(plan, _)| {
            format!("the last {} fields of {} are left out", plan.left_out, plan.generic.as_deref().unwrap_or(""))
        });
        (count, notes.into_iter().flatten().chain(wide).collect())
    }
}

impl Writer<'_, '_> {
    #[inline(always)]
    fn take(&mut self, block: &[u8], sample: &Sample) {
        let place = sample.event as usize;
        let Some(plan) = &self.plans[place] else { return };
        if !self.placed[place] {
            self.left_out.unplaced += 1;
            return;
        }
        if !self.within.has(sample) {
            return;
        }
        if self.guest[place] || sample.in_guest {
            self.left_out.guests += 1;
            return;
        }
        let cpu = sample.cpu as usize;
        if cpu >= MAX_CPUS {
            self.left_out.far += 1;
            return;
        }
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Waiting::default);
        }
        if !event(&mut self.cpus[cpu].events, plan, sample.time_ns, sample.payload(block)) {
            self.left_out.short += 1;
            return;
        }
        self.count += 1;
        if !self.described[place] {
            self.described[place] = true;
            if plan.generic.is_some() {
                self.to_describe.push(place);
            }
        }
        if self.cpus[cpu].events.len() >= AT_ONCE {
            self.write(cpu);
        }
    }

    fn write(&mut self, cpu: usize) {
        let Writer { out, plans, to_describe, cpus, .. } = self;
        let waiting = &mut cpus[cpu];
        if waiting.events.is_empty() && !waiting.lost {
            return;
        }
        // Before their events, in a packet of their own.
        if !to_describe.is_empty() {
            out.packet(|to| {
                message(to, BUNDLE, |to| {
                    number(to, 1, cpu as u64);
                    for plan in to_describe.drain(..).filter_map(|place| plans[place].as_ref()) {
                        describe(to, plan, plan.generic.as_deref().unwrap_or_default());
                    }
                });
            });
        }
        out.packet(|to| {
            message(to, BUNDLE, |to| {
                number(to, 1, cpu as u64);
                to.extend_from_slice(&waiting.events);
                if waiting.lost {
                    number(to, 3, 1);
                }
            });
        });
        waiting.events.clear();
        waiting.lost = false;
    }

    /// Events are missing before the next ones of a CPU.
    fn lose(&mut self, side: &Side<'_>) {
        let Some(cpu) = side.cpu.filter(|&cpu| (cpu as usize) < MAX_CPUS) else { return };
        let is_shown = self.within.cpus.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
            && side.time_ns.is_none_or(|time_ns| self.within.has_time(time_ns));
        let cpu = cpu as usize;
        if is_shown {
            if self.cpus.len() <= cpu {
                self.cpus.resize_with(cpu + 1, Waiting::default);
            }
            self.write(cpu);
            self.cpus[cpu].lost = true;
        }
    }
}

impl Visitor for Ftrace<'_, '_, '_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        let Ftrace { writer, repeats, rounds, .. } = self;
        for sample in samples {
            if writer.placed[sample.event as usize] {
                rounds.see(sample.time_ns);
            }
            if writer.plans[sample.event as usize].is_some() {
                repeats.sample(block, sample, |block, sample| writer.take(block, sample));
            }
        }
        flow(!writer.out.has_failed() && !writer.within.is_past(rounds))
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.guest {
            return;
        }
        if side.what.ends_repeats() {
            self.repeats.settle(|block, sample| self.writer.take(block, sample));
        }
        match side.what {
            What::Lost(_) | What::LostUnknown | What::PassedOver => self.writer.lose(side),
            What::Round => {
                self.repeats.round();
                self.rounds.end();
            }
            _ => {}
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        self.repeats.block_end(block);
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction))
    }
}
