//! One pass in file order: numbers what the records name, and deals them to the CPUs they happened on.

mod runs;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::ledger::counters::Counters;
use crate::ledger::cpu::Cpu;
use crate::ledger::deal::{Between, Dealer};
use crate::ledger::fields::EventSchema;
use crate::ledger::flush::Flush;
use crate::ledger::migrated::EXEC_WITHIN_NS;
use crate::ledger::read::{Reader, Running};
use crate::ledger::request::DeviceName;
use crate::ledger::schema::EventSchemas;
use crate::ledger::settings::Settings;
use crate::ledger::stream::Stream;
use crate::narrow::Narrow;
use crate::progress::{flow, Progress};
use crate::recording::{Event, Recording};
use crate::rounds::Rounds;
use crate::visit::{Sample, Side, Visitor, What, MAX_CPUS};

/// A CPU, as far as the file has been read.
#[derive(Debug)]
struct CpuStream {
    cpu: u32,
    flush: Flush,
    running: Running,
}

pub struct Walk<'w, 'p> {
    pub schemas: EventSchemas,
    pub reader: Reader,
    pub settings: Arc<Settings>,
    pub dealer: Dealer<'w>,
    pub counters: Counters,
    /// First and last time.
    pub window: (i64, i64),
    /// Lost records, and those of them without a place in time.
    pub lost: (u64, u64),
    streams: Vec<CpuStream>,
    /// CPU number to stream.
    stream_of: Vec<u32>,
    present: Option<usize>,
    new_flush: bool,
    /// Whether a flush may begin with the end of the previous one.
    may_repeat: bool,
    /// Whether all CPUs share their rounds. In a folder of `perf record --threads` each file has its own.
    has_rounds: bool,
    /// By event number.
    sorts: Vec<Sort>,
    /// Events since the last round was dealt.
    undealt: usize,
    /// Rounds of the ledger's events.
    pub rounds: Rounds,
    /// Where rows go before the pass is over.
    pub stream: Option<Stream<'p>>,
    /// Number of CPUs that record anything, if the pass may end once nothing in the window can change any more.
    pub expected: Option<usize>,
    /// Whether it ended that way.
    pub is_done: bool,
    progress: Progress<'p>,
}

/// What the pass does with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sort {
    is_timed: bool,
    is_read: bool,
}

const ABSENT: u32 = u32::MAX;
/// Events after which it is worth looking at every CPU and task.
const WORTH_JOINING: usize = 1 << 15;
/// The limit, however many tasks there are: reports of CPUs, and the rows they keep, take memory until they are joined.
const MOST_UNJOINED: usize = 1 << 19;

impl<'w, 'p> Walk<'w, 'p> {
    pub fn new(
        recording: &Recording,
        schemas: EventSchemas,
        settings: Arc<Settings>,
        names: &[DeviceName],
        dealer: Dealer<'w>,
        stream: Option<Stream<'p>>,
        progress: Progress<'p>,
    ) -> Self {
        let pairs = recording.events.iter().zip(&schemas.events);
        let sort = |(event, schema): (&Event, &EventSchema)| Sort {
            is_timed: event.has_time,
            is_read: schema.tracepoint.is_some(),
        };
        Walk {
            sorts: pairs.map(sort).collect(),
            reader: Reader::new(&schemas, names),
            schemas,
            settings,
            dealer,
            counters: Counters::default(),
            window: (i64::MAX, i64::MIN),
            lost: (0, 0),
            streams: Vec::new(),
            stream_of: Vec::new(),
            present: None,
            new_flush: true,
            may_repeat: recording.source.may_repeat(),
            has_rounds: recording.mode != "directory",
            undealt: 0,
            rounds: Rounds::default(),
            stream,
            expected: None,
            is_done: false,
            progress,
        }
    }

    fn stream(&mut self, cpu: u32) -> Option<usize> {
        if cpu >= MAX_CPUS {
            return None;
        }
        if self.stream_of.len() <= cpu as usize {
            self.stream_of.resize(cpu as usize + 1, ABSENT);
        }
        let stream = &mut self.stream_of[cpu as usize];
        if *stream == ABSENT {
            *stream = self.streams.len().narrow();
            self.streams.push(CpuStream { cpu, flush: Flush::default(), running: Running::default() });
            self.dealer.add(Cpu::new(cpu, Arc::clone(&self.settings), self.reader.tasks.shared()));
        }
        Some(*stream as usize)
    }

    /// Ends the present CPU's flush.
    fn end_flush(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.streams[present].flush.keep(block);
            self.settle_present();
        }
        self.new_flush = true;
    }

    /// Ends the doubt about held records: no more may repeat for now.
    pub fn settle_present(&mut self) {
        let Some(present) = self.present else { return };
        if self.streams[present].flush.is_holding() {
            let (repeated, fresh) = self.streams[present].flush.release();
            self.counters.repeats += repeated;
            for (mut sample, bytes) in fresh {
                sample.raw -= sample.record;
                self.take(present, &bytes, &[sample], (sample.time_ns, sample.time_ns));
            }
        }
    }

    /// Records are missing from a CPU's ring, or from that of stream `otherwise`.
    fn lose(&mut self, side: &Side<'_>, lost: u64, why: &'static str, otherwise: Option<usize>) {
        if let Some(stream) = side.cpu.map_or(otherwise, |cpu| self.stream(cpu)) {
            self.dealer.between(stream, Between::Lose { until_ns: side.time_ns, lost, why });
        }
    }

    fn goes_on(&self) -> bool {
        self.stream.as_ref().is_none_or(Stream::goes_on)
    }

    /// Ends a round of flushes.
    fn round(&mut self) {
        self.new_flush = true;
        self.rounds.end();
        let tasks = self.reader.tasks.victims.len() + self.reader.unnamed_wakeups / 8;
        let most = self.stream.as_ref().map_or(MOST_UNJOINED, |stream| stream.rows.min(MOST_UNJOINED));
        // If the pass may end here, a smaller round is worth it.
        let worth = if self.expected.is_some() { WORTH_JOINING / 8 } else { WORTH_JOINING };
        let worth = (worth + tasks + self.streams.len()).min(most);
        if self.has_rounds && self.undealt > worth {
            self.undealt = 0;
            self.dealer.round(self.rounds.known_ns());
            if let Some(stream) = &mut self.stream {
                stream.give(self.dealer.settled(), &self.reader, false, true);
            }
            self.is_done = self.expected.is_some_and(|cpus| self.is_over(cpus));
        }
    }

    /// Whether nothing in the window can change any more on any of these CPUs.
    fn is_over(&self, cpus: usize) -> bool {
        let (done, end) = (self.dealer.done(), self.settings.window.1);
        // An exec may still show why a task was moved.
        let soon = if self.settings.want.migrations { EXEC_WITHIN_NS } else { 0 };
        let displaced = self.settings.want.displaced && done.displaced_ns <= end;
        done.cpus == cpus && done.until_ns > end.saturating_add(soon) && !displaced
    }
}

impl Visitor for Walk<'_, '_> {
    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        let mut shown = 0;
        while shown < samples.len() {
            shown += self.run(block, &samples[shown..]);
        }
        flow(self.goes_on() && !self.is_done)
    }

    fn side(&mut self, side: &Side<'_>) {
        if side.guest {
            return;
        }
        if let Some(time) = side.time_ns.filter(|_| side.what.is_place()) {
            self.window = (self.window.0.min(time), self.window.1.max(time));
            self.rounds.check(time);
        }
        if side.what.ends_repeats() {
            self.settle_present();
        }
        let time_ns = side.time_ns.unwrap_or(0);
        let known = side.cpu.and_then(|cpu| self.stream_of.get(cpu as usize).copied());
        let known = known.filter(|&stream| stream != ABSENT).map(|stream| stream as usize);
        match &side.what {
            What::Comm { tid: pid, comm } => {
                let victim = self.reader.renamed(*pid, comm, Some(time_ns));
                if let Some(stream) = known {
                    self.dealer.between(stream, Between::Rename { pid: *pid, victim, time_ns });
                }
            }
            What::Known { tid, comm } => drop(self.reader.renamed(*tid, comm, None)),
            What::Fork { tid, parent } if tid != parent => self.reader.forked(*tid, *parent, time_ns),
            What::Lost(count) => {
                self.lost.0 = self.lost.0.saturating_add(*count);
                self.lose(side, *count, "records were lost", self.present);
            }
            What::LostUnknown => {
                self.counters.lost_unknown += 1;
                self.lose(side, 0, "an unknown number of records was lost", None);
            }
            What::Overwritten(count) => self.lose(side, *count, "overwritten", None),
            What::PassedOver => self.lose(side, 0, "lines that could not be read", None),
            What::LostSamples(count) => self.lost.1 = self.lost.1.saturating_add(*count),
            What::Throttle(begins, event) => {
                let event = event.map(|event| self.schemas.events.get(event as usize));
                let needed = event.is_none_or(|schema| schema.is_some_and(|schema| schema.tracepoint.is_some()));
                if let Some(stream) = known.filter(|_| needed) {
                    self.dealer.between(stream, Between::Throttle { begins: *begins, time_ns });
                }
            }
            What::Round => self.round(),
            _ => {}
        }
    }

    fn block_end(&mut self, block: &[u8]) {
        if let Some(present) = self.present {
            self.streams[present].flush.keep(block);
        }
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.progress)(fraction) && !self.dealer.has_failed() && self.goes_on())
    }
}
