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

use std::sync::Arc;

use crate::ledger::counters::Counters;
use crate::ledger::event::{Event, What};
use crate::ledger::irqs::Irqs;
use crate::ledger::point::Part;
use crate::ledger::raise::Raises;
use crate::ledger::rows::{CoverageRow, Rows};
use crate::ledger::segment::{Finished, Segment, Tail};
use crate::ledger::settings::Settings;
use crate::ledger::softirq::{policy, VECTORS};
pub use crate::ledger::state::{
    Earlier, Hardirq, Head, Parked, ResumedPoll, Softirq, Spare, Stay, ThreadPoll, Visibility,
};
use crate::ledger::task::{Role, Victims, NOBODY};
use crate::ledger::thief::{displaces, Class, IDLE, TASK, UNKNOWN};
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
    pub settings: Arc<Settings>,
    pub victims: Victims,
    /// `Event::order` of the event at hand.
    pub order: u32,
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
    pub resumed_polls: Vec<ResumedPoll>,
    pub raises: [Raises; VECTORS],
    pub net_irqs: Vec<i64>,
    pub last_irq_exit: Option<i64>,
    pub ordinal: u32,
    pub stay: Stay,
    pub tail: Tail,
    pub finished: Finished,
    pub rows: Rows,
    pub irqs: Irqs,
    pub counters: Counters,
    /// For the stage that joins CPUs, since it was last told.
    pub part: Part,
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
    pub fn new(number: u32, settings: Arc<Settings>, victims: Victims) -> Cpu {
        Cpu {
            number,
            settings,
            victims,
            order: 0,
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
            resumed_polls: Vec::new(),
            raises: [Raises::default(); VECTORS],
            net_irqs: Vec::new(),
            last_irq_exit: None,
            ordinal: 0,
            stay: Stay::default(),
            tail: Tail::default(),
            finished: Finished::default(),
            rows: Rows::default(),
            irqs: Irqs::default(),
            counters: Counters::default(),
            part: Part { cpu: number, ..Part::default() },
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
    pub fn step(&mut self, event: &mut Event) {
        if event.time_ns < self.last_ns {
            self.counters.backwards += 1;
            event.time_ns = self.last_ns;
        }
        let now = event.time_ns;
        self.order = event.order;
        if matches!(self.visibility, Visibility::Throttled(_)) {
            return;
        }
        if self.visibility != Visibility::Clear {
            self.first_sight(event);
        } else if self.named.is_some() {
            self.apply_name(now);
        }
        if !self.settings.has_flags {
            event.flags = self.implied_flags(&event.what);
        }
        if event.flags & FLAG_NMI != 0 {
            // It says who runs, but its context bits are those of the NMI.
            self.last_ns = now;
            return;
        }
        self.check(event);
        match event.what {
            What::HardirqEntry(interrupt) => self.hardirq_entry(interrupt, event),
            What::HardirqExit(interrupt) => self.hardirq_exit(interrupt, now),
            What::SoftirqRaise(vec) => self.softirq_raise(vec, event),
            What::SoftirqEntry(vec) => self.softirq_entry(vec, event),
            What::SoftirqExit(vec) => self.softirq_exit(vec, now),
            What::NapiPoll(poll) => self.napi_poll(poll, event),
            What::Switch(switch) => self.switch(switch, now),
            What::Wakeup(wakeup) => self.wakeup(wakeup, false, event),
            What::Waking(wakeup) => self.wakeup(wakeup, true, event),
            What::Migrate(migrate) => self.migrate(migrate, now),
            What::Exec => self.rows.execs.push((now, event.pid)),
            What::Witness => {}
        }
        let what = &event.what;
        let opens = matches!(what, What::HardirqEntry(_)) && self.hardirqs.len() == 1;
        let closes = matches!(what, What::HardirqExit(_)) && self.hardirqs.is_empty();
        if event.flags & FLAG_HARDIRQ == 0 || opens || closes {
            self.no_hardirq_ns = now;
        }
        if event.flags & FLAG_SOFTIRQ == 0 || what.is_of_softirq() {
            self.no_softirq_ns = now;
        }
        // try_to_wake_up runs with interrupts off: what belongs to it follows at once.
        if !matches!(what, What::Waking(_)) {
            self.waking = -1;
        }
        if !matches!(what, What::Migrate(_)) {
            self.migrating = None;
        }
        if !matches!(what, What::HardirqExit(interrupt) if !interrupt.is_vector) {
            self.last_irq_exit = None;
        }
        self.last_ns = now;
        if self.tail.is_full() {
            self.drain(false);
        }
    }

    /// What the flags would be if nothing was missed: texts often have none.
    fn implied_flags(&self, what: &What) -> u8 {
        let is_switch = matches!(what, What::Switch(_));
        let of_hardirq = what.is_of_hardirq();
        let hardirq = of_hardirq || (!self.hardirqs.is_empty() && !is_switch);
        let softirq = what.is_of_softirq() || (self.softirq.is_some() && !is_switch);
        (u8::from(hardirq) * FLAG_HARDIRQ) | (u8::from(softirq) * FLAG_SOFTIRQ)
    }

    /// The pid and the flags overrule the stack.
    #[inline(always)]
    fn check(&mut self, event: &Event) {
        if event.pid != self.tid {
            self.another_task(event);
        }
        let in_hardirq = event.flags & FLAG_HARDIRQ != 0;
        let in_softirq = event.flags & FLAG_SOFTIRQ != 0;
        if let Some(top) = self.hardirqs.last() {
            // A poll inside a hardirq is netpoll's; the others cannot be.
            let ended = matches!(event.what, What::Switch(_)) || event.what.is_of_softirq();
            if (top.flagged && !in_hardirq) || ended {
                self.abandon_hardirqs(0, event.time_ns);
            }
        } else if in_hardirq && self.since < self.no_hardirq_ns {
            // An interrupt that may prove unrecorded: if its exit comes alone, this is its border.
            self.close(self.no_hardirq_ns);
        }
        if let Some(softirq) = &self.softirq {
            if softirq.flagged && !in_softirq {
                self.abandon_softirq(event.time_ns);
            }
        } else if in_softirq && self.since < self.no_softirq_ns {
            self.close(self.no_softirq_ns);
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
    pub fn close(&mut self, now: i64) {
        if now <= self.since {
            return;
        }
        let (mut thief, mut class, depth) = self.owner();
        let mut victim = self.victim;
        if depth == 0 && !self.settings.has_switch {
            // Nobody's, so of no class either: neighbours become one segment.
            (thief, victim, class) = (TASK, NOBODY, Class::None);
        }
        let ns = self.settings.clip(self.since, now);
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
            if policy(softirq.vec).polls {
                softirq.pending_ns += ns;
            }
            softirq.pending.extend(segment);
            self.stay.softirq_ns += ns;
            let key = (softirq.vec, softirq.class);
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
    pub fn unknown_until(&mut self, now: i64, why: &'static str) {
        if now > self.since {
            self.stay.unknown_ns += self.settings.clip(self.since, now);
            let victim = if self.settings.has_switch { self.victim } else { NOBODY };
            self.tail.push(Segment {
                start: self.since,
                end: now,
                victim,
                thief: UNKNOWN,
                class: Class::None,
                depth: 0,
            });
            self.uncovered(self.since, now, why, 0);
            self.since = now;
        }
    }

    /// An exit came without its entry: what the running context was booked since `from`, when the
    /// context was last seen absent, may have been the exiting one's.
    pub fn doubt(&mut self, from: i64, now: i64, why: &'static str) {
        self.counters.orphan_exits += 1;
        self.close(from);
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
                let ns = self.settings.clip(segment.start, segment.end);
                if earlier {
                    row = self.rows.doubt_stay(row, segment.start, ns);
                } else {
                    taken += ns;
                }
                earliest = segment.start;
            }
        }
        self.book(-taken, None);
        self.stay.unknown_ns += taken;
        if earliest < self.since {
            self.uncovered(earliest, self.since, why, 0);
        }
        self.unknown_until(now, why);
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
    pub fn drain(&mut self, all: bool) {
        let mut pending: Option<u64> = None;
        let mut hold = |indices: &[u64]| pending = indices.first().copied().into_iter().chain(pending).min();
        self.softirq.iter().for_each(|softirq| hold(&softirq.pending));
        self.thread_poll.iter().for_each(|poll| hold(&poll.pending));
        for parked in self.parked.values() {
            parked.softirq.iter().for_each(|softirq| hold(&softirq.pending));
            parked.poll.iter().for_each(|poll| hold(&poll.pending));
        }
        let Cpu { number, settings, tail, finished, part, .. } = self;
        tail.drain(pending, all, |segment| {
            let mut segment = *segment;
            segment.start = segment.start.max(settings.window.0);
            segment.end = segment.end.min(settings.window.1);
            if segment.start >= segment.end {
                return;
            }
            if settings.has_waits && segment.class == Class::Scheduled && displaces(segment.thief) {
                part.held.push((segment.start, segment.end));
            }
            finished.take(*number, &segment, settings.bin_ns, settings.want.segments);
        });
    }

    /// Notes a stretch that cannot be accounted for.
    pub fn uncovered(&mut self, start_ns: i64, end_ns: i64, why: &'static str, lost: u64) {
        self.rows.coverage.push(CoverageRow { start_ns, end_ns, why, lost });
    }

    /// What happened since it was last asked, for the stage that joins CPUs.
    pub fn part(&mut self) -> Part {
        self.drain(false);
        self.part.unsettled_since = self.unsettled_since();
        let polls = self.parked.values().filter_map(|parked| parked.poll.as_ref()).chain(&self.thread_poll);
        let since = polls.filter_map(|poll| poll.earlier.as_ref()).map(|earlier| earlier.since_ns).min();
        self.part.preempted_since = since.unwrap_or(i64::MAX);
        let next = Part { cpu: self.number, has_events: self.part.has_events, ..Part::default() };
        std::mem::replace(&mut self.part, next)
    }
}
