//! One CPU's state machine: from its events, in ring order, to exclusive segments.
//!
//! Hardirqs nest on the CPU; a softirq belongs to the task it runs in and waits for it when that
//! task is switched out (PREEMPT_RT):
//!
//! ```text
//!   time   ------------------------------------------------------------------>
//!   event  switch    irq     irq    softirq          irq  irq   poll  softirq   switch
//!          A->B     entry    exit    entry          entry exit         exit     B->A
//!   owner  |   B    | irq 25 |  B  |  NET_RX (poll)  | 25 | (poll) |RX |   B    |  A
//!   depth  |   0    |   1    |  0  |      1          |  2 |   1    | 1 |   0    |  0
//! ```
//! Every event also witnesses: its `common_pid` is the running task, its `common_flags` the
//! context. Where they contradict the stack, the stretch since the last witness is unknown and the
//! stack follows them.

use crate::intern::NONE;
use crate::ledger::context::{LedgerContext, SOFTIRQ_VECTORS};
use crate::ledger::event::{Event, Happened, Int, Interrupt, NapiPoll, Switch, Tracepoint};
use crate::ledger::raise::Raises;
use crate::ledger::rows::CpuRows;
use crate::ledger::segment::{Finished, Segment, Tail};
pub use crate::ledger::state::{Hardirq, Head, Parked, Softirq, Spare, Stay, ThreadPoll, Visibility};
use crate::ledger::task::{Role, NOBODY};
use crate::ledger::thief::{Class, IDLE, NET_RX, TASK, UNKNOWN};
use rustc_hash::FxHashMap;

/// `TRACE_FLAG_HARDIRQ` in common_flags.
pub const FLAG_HARDIRQ: u8 = 0x08;
/// `TRACE_FLAG_SOFTIRQ`: serving a softirq, not merely bottom halves off.
pub const FLAG_SOFTIRQ: u8 = 0x10;
/// `TRACE_FLAG_NMI`.
pub const FLAG_NMI: u8 = 0x40;

/// One CPU.
#[derive(Debug)]
pub struct Cpu {
    pub number: u32,
    pub visibility: Visibility,
    pub head: Option<Head>,
    pub last_ns: i64,
    pub since: i64,
    pub tid: i32,
    pub victim: u32,
    pub role: Role,
    pub own: u32,
    pub hardirqs: Vec<Hardirq>,
    /// Tracepoint pairs whose exit has been seen here.
    pub exits_seen: u64,
    pub softirq: Option<Softirq>,
    pub spare: Spare,
    pub thread_poll: Option<ThreadPoll>,
    pub parked: FxHashMap<i32, Parked>,
    pub raises: [Raises; SOFTIRQ_VECTORS],
    pub net_irqs: Vec<i64>,
    pub last_irq_exit: Option<i64>,
    pub ordinal: u32,
    pub stay: Stay,
    pub tail: Tail,
    pub finished: Finished,
    pub rows: CpuRows,
    /// The device's line whose handler ended last since the present task was switched in.
    pub last_line: Option<i64>,
    /// Last time an event showed the context absent: no orphan began before.
    pub no_hardirq_ns: i64,
    pub no_softirq_ns: i64,
    pub waking: i32,
    pub migrating: Option<(usize, i32)>,
    /// Records lost at a place whose end the next event tells.
    pub untimed_loss: Option<u64>,
    /// A new name of the running task, and since when.
    pub named: Option<(i64, u32)>,
}

impl Cpu {
    pub fn new(number: u32) -> Cpu {
        Cpu {
            number,
            visibility: Visibility::Never,
            head: None,
            last_ns: i64::MIN,
            since: i64::MIN,
            tid: -1,
            victim: NOBODY,
            role: Role::Ordinary,
            own: TASK,
            hardirqs: Vec::new(),
            exits_seen: 0,
            softirq: None,
            spare: Spare::default(),
            thread_poll: None,
            parked: FxHashMap::default(),
            raises: [Raises::default(); SOFTIRQ_VECTORS],
            net_irqs: Vec::new(),
            last_irq_exit: None,
            ordinal: 0,
            stay: Stay::default(),
            tail: Tail::default(),
            finished: Finished::default(),
            rows: CpuRows::default(),
            last_line: None,
            no_hardirq_ns: i64::MIN,
            no_softirq_ns: i64::MIN,
            waking: -1,
            migrating: None,
            untimed_loss: None,
            named: None,
        }
    }

    /// One event of this CPU's ring.
    #[inline(always)]
    pub fn step(&mut self, event: &mut Event, context: &mut LedgerContext) {
        if event.time_ns < self.last_ns {
            context.counters.backwards += 1;
            event.time_ns = self.last_ns;
        }
        let now = event.time_ns;
        if matches!(self.visibility, Visibility::Throttled(_)) {
            return;
        }
        if self.visibility != Visibility::Clear {
            self.first_sight(event, context);
        } else if self.named.is_some() {
            self.apply_name(now, context);
        }
        if !context.schemas.has_flags {
            event.flags = self.implied_flags(&event.what);
        }
        if event.flags & FLAG_NMI != 0 {
            // It says who runs, but its context bits are those of the NMI.
            self.last_ns = now;
            return;
        }
        self.check(event, context);
        match event.what {
            Tracepoint::IrqEntry { irq, name } => self.hardirq_entry(Interrupt::of_line(irq, name), event, context),
            Tracepoint::IrqExit { irq } => self.hardirq_exit(Interrupt::of_line(irq, NONE), now, context),
            Tracepoint::VectorEntry { pair, vector } => {
                self.hardirq_entry(Interrupt::of_vector(pair, vector), event, context);
            }
            Tracepoint::VectorExit { pair, vector } => {
                self.hardirq_exit(Interrupt::of_vector(pair, vector), now, context);
            }
            Tracepoint::SoftirqRaise { vec } => self.softirq_raise(vec.unwrap_or(-1), event, context),
            Tracepoint::SoftirqEntry { vec } => self.softirq_entry(vec.unwrap_or(-1), event, context),
            Tracepoint::SoftirqExit { vec } => self.softirq_exit(vec.unwrap_or(-1), now, context),
            Tracepoint::NapiPoll { napi, work, budget, dev_name: device } => {
                let half = |number: Int| number.get().map(|number| number as i32);
                let poll = NapiPoll { napi: napi.unwrap_or(-1) as u64, work: half(work), budget: half(budget), device };
                self.napi_poll(poll, event, context);
            }
            Tracepoint::Switch { prev_comm, prev_state, next_pid, next_comm } => {
                let next_pid = next_pid.unwrap_or(-1) as i32;
                let switch = Switch { prev_comm, prev_state: prev_state.get(), next_pid, next_comm };
                self.switch(switch, now, context);
            }
            Tracepoint::Wakeup { pid, target_cpu } => {
                self.wakeup(pid.unwrap_or(-1) as i32, target_cpu.get(), false, event, context);
            }
            Tracepoint::Waking { pid, target_cpu } => {
                self.wakeup(pid.unwrap_or(-1) as i32, target_cpu.get(), true, event, context);
            }
            Tracepoint::Migrate { pid, orig_cpu, dest_cpu } => {
                let (orig_cpu, dest_cpu) = (orig_cpu.unwrap_or(-1), dest_cpu.unwrap_or(-1));
                self.migrate(pid.unwrap_or(-1) as i32, orig_cpu, dest_cpu, now, context);
            }
            Tracepoint::Exec => context.rows.execs.push((now, event.pid)),
            Tracepoint::Witness => {}
        }
        let what = &event.what;
        let opens = what.is_hardirq_entry() && self.hardirqs.len() == 1;
        let closes = what.is_hardirq_exit() && self.hardirqs.is_empty();
        if event.flags & FLAG_HARDIRQ == 0 || opens || closes {
            self.no_hardirq_ns = now;
        }
        if event.flags & FLAG_SOFTIRQ == 0 || what.is_of_softirq() {
            self.no_softirq_ns = now;
        }
        // try_to_wake_up runs with interrupts off: what belongs to it follows at once.
        if !matches!(what, Tracepoint::Waking { .. }) {
            self.waking = -1;
        }
        if !matches!(what, Tracepoint::Migrate { .. }) {
            self.migrating = None;
        }
        if !matches!(what, Tracepoint::IrqExit { .. }) {
            self.last_irq_exit = None;
        }
        self.last_ns = now;
        if self.tail.is_full() {
            self.drain(false, context);
        }
    }

    /// What the flags would be if nothing was missed: texts often have none.
    fn implied_flags(&self, what: &Happened) -> u8 {
        let is_switch = matches!(what, Tracepoint::Switch { .. });
        let of_hardirq = what.is_hardirq_entry() || what.is_hardirq_exit();
        let hardirq = of_hardirq || (!self.hardirqs.is_empty() && !is_switch);
        let softirq = what.is_of_softirq() || (self.softirq.is_some() && !is_switch);
        (u8::from(hardirq) * FLAG_HARDIRQ) | (u8::from(softirq) * FLAG_SOFTIRQ)
    }

    /// The pid and the flags overrule the stack.
    #[inline(always)]
    fn check(&mut self, event: &Event, context: &mut LedgerContext) {
        if event.pid != self.tid {
            self.another_task(event, context);
        }
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0;
        let in_softirq = event.flags & FLAG_SOFTIRQ != 0;
        if let Some(top) = self.hardirqs.last() {
            // A poll inside a hardirq is netpoll's; the others cannot be.
            let ended = matches!(event.what, Tracepoint::Switch { .. }) || event.what.is_of_softirq();
            if (top.flagged && !in_hardirq) || ended {
                self.abandon_hardirqs(0, event.time_ns, context);
            }
        } else if in_hardirq && self.since < self.no_hardirq_ns {
            // An interrupt that may prove unrecorded: if its exit comes alone, this is its border.
            self.close(self.no_hardirq_ns, context);
        }
        if let Some(softirq) = &self.softirq {
            if softirq.flagged && !in_softirq {
                self.abandon_softirq(event.time_ns, context);
            }
        } else if in_softirq && self.since < self.no_softirq_ns {
            self.close(self.no_softirq_ns, context);
        }
    }

    /// Who owns the CPU: thief, class, depth.
    #[inline(always)]
    fn owner(&self) -> (u32, Class, u8) {
        let depth = (self.hardirqs.len() + usize::from(self.softirq.is_some())).min(255) as u8;
        if let Some(hardirq) = self.hardirqs.last() {
            return (hardirq.thief, hardirq.class, depth);
        }
        if let Some(softirq) = &self.softirq {
            return (softirq.thief, softirq.class, depth);
        }
        let class = if self.role == Role::Ordinary { Class::None } else { Class::Scheduled };
        (if self.tid == 0 { IDLE } else { self.own }, class, depth)
    }

    /// Class of an interrupt on top of the running task.
    pub fn hardirq_class(&self) -> Class {
        match (self.tid, self.role) {
            (0, _) => Class::FromIdle,
            (_, Role::Ordinary) => Class::Stolen,
            _ => Class::Scheduled,
        }
    }

    /// Ends the open segment at `now` and books it to its owner.
    #[inline(always)]
    pub fn close(&mut self, now: i64, context: &mut LedgerContext) {
        if now <= self.since {
            return;
        }
        let (mut thief, mut class, depth) = self.owner();
        let mut victim = self.victim;
        if depth == 0 && !context.schemas.has_switch {
            // Nobody's, so of no class either: neighbours become one segment.
            (thief, victim, class) = (TASK, NOBODY, Class::None);
        }
        let ns = context.clip(self.since, now);
        let index = self.tail.push(Segment { start: self.since, end: now, victim, thief, class, depth });
        self.book(ns, Some(index));
        self.since = now;
    }

    /// Adds time to the running context, or takes it back (then without a segment).
    fn book(&mut self, ns: i64, segment: Option<u64>) {
        if let Some(hardirq) = self.hardirqs.last_mut() {
            hardirq.self_ns += ns;
            self.stay.hardirq_ns += ns;
        } else if let Some(softirq) = &mut self.softirq {
            softirq.self_ns += ns;
            if softirq.vec == NET_RX {
                softirq.pending_ns += ns;
            }
            softirq.pending.extend(segment);
            self.stay.softirq_ns += ns;
            let key = (softirq.vec as u8, softirq.class);
            match self.stay.by_softirq.iter_mut().find(|entry| (entry.0, entry.1) == key) {
                Some(entry) => entry.2 += ns,
                None => self.stay.by_softirq.push((key.0, key.1, ns)),
            }
        } else {
            self.stay.task_ns += ns;
            if let Some(poll) = &mut self.thread_poll {
                poll.pending_ns += ns;
                poll.pending.extend(segment);
            }
        }
    }

    /// The stretch up to `now` is nobody's: books it as unknown, inside the running stay.
    pub fn unknown_until(&mut self, now: i64, why: &'static str, context: &mut LedgerContext) {
        if now > self.since {
            self.stay.unknown_ns += context.clip(self.since, now);
            let victim = if context.schemas.has_switch { self.victim } else { NOBODY };
            self.tail.push(Segment {
                start: self.since,
                end: now,
                victim,
                thief: UNKNOWN,
                class: Class::None,
                depth: 0,
            });
            context.uncovered(self.number, self.since, now, why, 0);
            self.since = now;
        }
    }

    /// An exit came without its entry: what the running context was booked since `from`, when the
    /// context was last seen absent, may have been the exiting one's.
    pub fn doubt(&mut self, from: i64, now: i64, why: &'static str, context: &mut LedgerContext) {
        context.counters.orphan_exits += 1;
        self.close(from, context);
        let (thief, _, depth) = self.owner();
        let victim = self.victim;
        let (mut earliest, mut taken) = (now, 0);
        // Where no flags witness a context's absence it may have been open in an earlier stay of
        // the same task: its time there is that stay's.
        let mut row = self.stay.row;
        for segment in self.tail.newest_first() {
            if segment.start < from || segment.end <= from {
                break;
            }
            let earlier = segment.start < self.stay.in_ns;
            if earlier && depth > 0 {
                break;
            }
            if segment.thief == thief && segment.victim == victim {
                (segment.thief, segment.class, segment.depth) = (UNKNOWN, Class::None, 0);
                let ns = context.clip(segment.start, segment.end);
                if earlier {
                    row = context.rows.doubt_stay(row, self.number, segment.start, ns);
                } else {
                    taken += ns;
                }
                earliest = segment.start;
            }
        }
        self.book(-taken, None);
        self.stay.unknown_ns += taken;
        if earliest < self.since {
            context.uncovered(self.number, earliest, self.since, why, 0);
        }
        self.unknown_until(now, why, context);
        if let Some(head) = self.head.as_mut().filter(|_| from == i64::MIN) {
            head.unknown.get_or_insert("before the first event whose context is certain");
        }
    }

    /// Since when it is not settled yet whether scheduled work held this CPU.
    pub fn unsettled_since(&self) -> i64 {
        let open = if self.owner().1 == Class::Scheduled { self.since } else { i64::MAX };
        self.tail.first_of(Class::Scheduled).unwrap_or(open).min(open)
    }

    /// Moves settled segments on to sums and table.
    pub fn drain(&mut self, all: bool, context: &mut LedgerContext) {
        let mut pending: Option<u64> = None;
        let mut hold = |indices: &[u64]| pending = indices.first().copied().into_iter().chain(pending).min();
        self.softirq.iter().for_each(|softirq| hold(&softirq.pending));
        self.thread_poll.iter().for_each(|poll| hold(&poll.pending));
        for parked in self.parked.values() {
            parked.softirq.iter().for_each(|softirq| hold(&softirq.pending));
            parked.poll.iter().for_each(|poll| hold(&poll.pending));
        }
        let (number, finished) = (self.number, &mut self.finished);
        self.tail.drain(pending, all, |segment| context.finish_segment(number, finished, segment));
    }
}
