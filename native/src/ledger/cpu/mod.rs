//! One CPU's state machine: it turns the CPU's events, in ring order, into exclusive segments.
//!
//! Hardirqs nest on the CPU. A softirq belongs to the task it runs in, and waits with that task when it is switched out
//! (PREEMPT_RT):
//!
//! ```text
//!   time   ------------------------------------------------------------------>
//!   event  switch    irq     irq    softirq          irq  irq   poll  softirq   switch
//!          A->B     entry    exit    entry          entry exit         exit     B->A
//!   owner  |   B    | irq 25 |  B  |  NET_RX (poll)  | 25 | (poll) |RX |   B    |  A
//!   depth  |   0    |   1    |  0  |      1          |  2 |   1    | 1 |   0    |  0
//! ```
//!
//! Every event is also a witness: its `common_pid` is the running task, its `common_flags` are the context. Where they
//! contradict the stack, the stretch since the last witness is unknown and the stack follows them.
//!
//! Small machines (`hardirqs`, `softirqs`, `napi_thread`, `current`, `cause`) keep what is open; they know only the
//! times they are given. `on_hardirq`, `on_softirq` and `on_task` interpret events. `edges` handles the recording's
//! start, end and holes. Only `booking` books time.

mod booking;
mod cause;
mod current;
mod edges;
mod hardirqs;
mod leave;
mod napi_thread;
mod on_hardirq;
mod on_poll;
mod on_softirq;
mod on_task;
mod polled;
mod raise;
mod slice;
mod softirq;
mod softirqs;
mod ticks;
mod visibility;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ledger::counters::{Counters, Silence};
use crate::ledger::event::{Event, Tracepoint};
use crate::ledger::irqs::Irqs;
use crate::ledger::outcome::{Head, OfCpu};
use crate::ledger::point::{Absence, Part};
use crate::ledger::rows::Rows;
use crate::ledger::segment::{Finished, Tail};
use crate::ledger::settings::Settings;
use crate::ledger::task::Victims;
use crate::ledger::thief::Class;
use cause::Causes;
use current::Current;
use hardirqs::Hardirqs;
use napi_thread::{Poll, ResumedPoll};
use slice::{Kinds, Slice};
use softirq::Softirq;
use softirqs::Softirqs;
use ticks::Ticks;
use visibility::Visibility;

pub use raise::ORIGINS;

/// `TRACE_FLAG_HARDIRQ` in common_flags.
const FLAG_HARDIRQ: u8 = 0x08;
/// `TRACE_FLAG_SOFTIRQ`: serving a softirq, not merely bottom halves off.
const FLAG_SOFTIRQ: u8 = 0x10;
/// `TRACE_FLAG_NMI`.
const FLAG_NMI: u8 = 0x40;

#[derive(Debug)]
pub struct Cpu {
    number: u32,
    settings: Arc<Settings>,
    /// `Event::order` of the current event.
    order: u32,
    visibility: Visibility,
    head: Option<Head>,
    /// Records lost in a gap whose end the next event shows.
    untimed_loss: Option<u64>,
    /// Time of the last event.
    last_ns: i64,
    /// When an event last showed the context absent: no orphan began before that.
    no_hardirq_ns: i64,
    no_softirq_ns: i64,
    /// Start of the open segment.
    since: i64,
    current: Current,
    slice: Slice,
    hardirqs: Hardirqs,
    /// The device line whose handler ended with the last event.
    last_exit: Option<i64>,
    /// The device line whose handler ended last since the present task was switched in.
    last_line: Option<i64>,
    ticks: Ticks,
    softirqs: Softirqs,
    napi_poll: Option<Poll>,
    parked: FxHashMap<i32, Parked>,
    /// How often a NAPI thread was preempted here in mid-poll.
    absences: usize,
    resumed_polls: Vec<ResumedPoll>,
    causes: Causes,
    tail: Tail,
    finished: Finished,
    rows: Rows,
    irqs: Irqs,
    counters: Counters,
    part: Part,
    kinds: Kinds,
    outcome: OfCpu,
    is_over: bool,
}

/// What a task left open when it was switched out.
#[derive(Debug)]
struct Parked {
    victim: u32,
    in_kthread: bool,
    softirq: Option<Softirq>,
    poll: Option<Poll>,
}

/// A CPU's results, once it is over.
#[derive(Debug, Default)]
pub struct Found {
    pub number: u32,
    /// Segments and sums.
    pub finished: Finished,
    pub rows: Rows,
    /// What each interrupt line led to.
    pub irqs: Irqs,
    pub counters: Counters,
    /// Softirq vectors and classes for which slices in the window have time.
    pub kinds: Vec<(u8, Class)>,
    /// What a second pass must know in advance.
    pub outcome: OfCpu,
}

impl Cpu {
    pub fn new(number: u32, settings: Arc<Settings>, victims: Victims) -> Cpu {
        Cpu {
            number,
            settings,
            order: 0,
            visibility: Visibility::Never,
            head: None,
            untimed_loss: None,
            last_ns: i64::MIN,
            no_hardirq_ns: i64::MIN,
            no_softirq_ns: i64::MIN,
            since: i64::MIN,
            current: Current::nobody(victims),
            slice: Slice::default(),
            hardirqs: Hardirqs::default(),
            last_exit: None,
            last_line: None,
            ticks: Ticks::default(),
            softirqs: Softirqs::default(),
            napi_poll: None,
            parked: FxHashMap::default(),
            absences: 0,
            resumed_polls: Vec::new(),
            causes: Causes::default(),
            tail: Tail::default(),
            finished: Finished::default(),
            rows: Rows::default(),
            irqs: Irqs::default(),
            counters: Counters::default(),
            part: Part { cpu: number, ..Part::default() },
            kinds: Kinds::default(),
            outcome: OfCpu::default(),
            is_over: false,
        }
    }

    /// Takes the next event of this CPU's ring.
    #[inline(always)]
    pub fn step(&mut self, event: &mut Event) {
        if event.time_ns < self.last_ns {
            self.counters.backwards += 1;
            event.time_ns = self.last_ns;
        }
        let now = event.time_ns;
        self.order = event.order;
        if self.visibility != Visibility::Clear {
            if matches!(self.visibility, Visibility::Throttled(_)) {
                return;
            }
            self.first_sight(event);
        } else {
            if self.current.is_renamed() {
                self.apply_name(now);
            }
            if self.ticks.have_paused(self.last_ns, now) {
                self.silent(now);
            }
        }
        if !self.settings.has_flags {
            event.flags = self.implied_flags(&event.what);
        }
        if event.flags & FLAG_NMI != 0 {
            // An event in an NMI shows the running task, but its context bits are the NMI's.
            self.last_ns = now;
            return;
        }
        self.check(event);
        let (mut no_hardirq, mut no_softirq) = (event.flags & FLAG_HARDIRQ == 0, event.flags & FLAG_SOFTIRQ == 0);
        let mut is_line_exit = false;
        match event.what {
            Tracepoint::HardirqEntry(interrupt) => {
                self.hardirq_entry(interrupt, event);
                no_hardirq |= self.hardirqs.depth() == 1;
            }
            Tracepoint::HardirqExit(interrupt) => {
                self.hardirq_exit(interrupt, now);
                no_hardirq |= self.hardirqs.is_empty();
                is_line_exit = !interrupt.is_vector;
            }
            Tracepoint::SoftirqRaise(vec) => self.softirq_raise(vec, event),
            Tracepoint::SoftirqEntry(vec) => {
                self.softirq_entry(vec, event);
                no_softirq = true;
            }
            Tracepoint::SoftirqStart(vec) => self.softirq_start(vec, event),
            Tracepoint::SoftirqExit(vec) => {
                self.softirq_exit(vec, now);
                no_softirq = true;
            }
            Tracepoint::NapiPoll(poll) => self.napi_poll(poll, event),
            Tracepoint::Switch(switch) => self.switch(switch, now),
            Tracepoint::Wakeup(wakeup) => self.wakeup(wakeup, event),
            Tracepoint::Waking(wakeup) => self.waking(wakeup, event),
            Tracepoint::Migrate(migrate) => self.migrate(migrate, now),
            Tracepoint::Exec => self.rows.execs.push((now, event.pid)),
            Tracepoint::Witness => {}
        }
        if no_hardirq {
            self.no_hardirq_ns = now;
        }
        if no_softirq {
            self.no_softirq_ns = now;
        }
        self.causes.after(&event.what);
        if !is_line_exit {
            self.last_exit = None;
        }
        self.last_ns = now;
        if self.tail.is_full() {
            self.drain(false);
        }
    }

    /// The flags as they would be if no event were missing. Text recordings often have none.
    fn implied_flags(&self, what: &Tracepoint) -> u8 {
        let is_switch = matches!(what, Tracepoint::Switch(_));
        let of_hardirq = what.is_of_hardirq();
        let hardirq = of_hardirq || (!self.hardirqs.is_empty() && !is_switch);
        let softirq = what.is_of_softirq() || (self.softirqs.open().is_some() && !is_switch);
        (u8::from(hardirq) * FLAG_HARDIRQ) | (u8::from(softirq) * FLAG_SOFTIRQ)
    }

    /// Lets the pid and the flags overrule the stack.
    #[inline(always)]
    fn check(&mut self, event: &Event) {
        if event.pid != self.current.tid() {
            self.another_task(event);
        }
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0;
        let in_softirq = event.flags & FLAG_SOFTIRQ != 0;
        if let Some(top) = self.hardirqs.top() {
            // A poll inside a hardirq is netpoll's. Switches and softirqs cannot happen inside one.
            let ended = matches!(event.what, Tracepoint::Switch(_)) || event.what.is_of_softirq();
            if (top.is_flagged && !in_hardirq) || ended {
                self.abandon_hardirqs(0, event.time_ns);
            }
        } else if in_hardirq && self.since < self.no_hardirq_ns {
            // An interrupt's entry may be missing. If only its exit follows, its time may begin here.
            self.close(self.no_hardirq_ns);
        }
        if let Some(softirq) = self.softirqs.open() {
            if softirq.is_flagged() && !in_softirq {
                self.abandon_softirq(event.time_ns);
            }
        } else if in_softirq && self.since < self.no_softirq_ns {
            self.close(self.no_softirq_ns);
        }
    }

    /// Counts a silence: nothing was recorded since the last event, and the timer should have ticked.
    #[cold]
    fn silent(&mut self, now: i64) {
        if self.may_tick() && self.hardirqs.is_empty() && self.softirqs.open().is_none() {
            self.counters.silence(Silence { ns: now - self.last_ns, start_ns: self.last_ns, cpu: self.number });
        }
    }

    /// Whether the timer ticks while the current task runs.
    fn may_tick(&self) -> bool {
        self.current.tid() != 0 && !self.settings.tickless.contains(&self.number)
    }

    /// Time of the last tick.
    pub fn ticked_ns(&self) -> i64 {
        self.ticks.last_ns()
    }

    /// What happened since the last call, for the stage that joins CPUs.
    pub fn part(&mut self) -> Part {
        self.drain(false);
        self.part.unsettled_since = self.unsettled_since();
        if self.settings.may_stop {
            self.part.final_until = self.final_until();
        }
        for (&tid, parked) in &self.parked {
            let part = parked.poll.as_ref().and_then(|poll| poll.earlier().last());
            self.part.away.extend(part.map(|part| Absence { tid, out_ns: part.out_ns, number: part.number }));
        }
        if self.settings.outcome.is_some() {
            self.part.left = self.leave();
        }
        let next = Part { cpu: self.number, has_events: self.part.has_events, ..Part::default() };
        std::mem::replace(&mut self.part, next)
    }

    /// What a first pass found out about this CPU.
    fn foreseen(&self) -> Option<&OfCpu> {
        self.settings.outcome.as_ref()?.cpus.get(&self.number)
    }

    /// Whether a first pass found that the poll went on here after this absence of its thread.
    fn continued(&self, absence: usize) -> bool {
        self.foreseen().is_some_and(|foreseen| foreseen.continued.contains(absence))
    }

    /// The results, once it is over; `None` for a CPU that recorded nothing.
    pub fn found(self) -> Option<Found> {
        let Cpu { number, finished, rows, irqs, counters, kinds, outcome, .. } = self;
        let kinds = kinds.known;
        (self.visibility != Visibility::Never).then_some(Found {
            number,
            finished,
            rows,
            irqs,
            counters,
            kinds,
            outcome,
        })
    }
}
