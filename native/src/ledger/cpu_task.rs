//! Who runs: slices, switches, wake-ups, and the edges of what was recorded.

use crate::intern::NONE;
use crate::ledger::context::LedgerContext;
use crate::ledger::cpu::{Cpu, Head, Parked, Stay, ThreadPoll, Visibility};
use crate::ledger::event::{Event, Switch, Tracepoint};
use crate::ledger::point::{Point, What};
use crate::ledger::rows::{Cause, MigrationRow, SliceRow};
use crate::ledger::segment::Segment;
use crate::ledger::task::{Role, NOBODY};
use crate::ledger::thief::{Class, IDLE, TASK, UNKNOWN};

/// Tasks of one CPU that can be in the middle of a softirq: more means that exits are missing.
const MAX_PARKED: usize = 256;
/// EXIT_ZOMBIE and EXIT_DEAD, in either order, as prev_state shows a task that has ended.
const STATE_DEAD: i64 = 0x10 | 0x20;

impl Cpu {
    /// The first event, ever or after a loss. Nothing recorded means nothing changed, so the task
    /// it witnesses has run since the window's start, or since the loss ended.
    pub fn first_sight(&mut self, event: &Event, context: &mut LedgerContext) {
        let now = event.time_ns;
        let victim = context.task(event.pid);
        let untimed = self.untimed_loss.take();
        if let (Visibility::Lost(from), Some(lost)) = (self.visibility, untimed) {
            self.gap(from, now, "records were lost", lost, context);
            self.visibility = Visibility::Lost(now);
        }
        self.since = match self.visibility {
            Visibility::Lost(until) => until.min(now),
            _ => now,
        };
        self.become_task(event.pid, victim, context);
        self.begin_stay(self.since, context);
        if self.visibility == Visibility::Never {
            let ordinary = self.role == Role::Ordinary;
            let (thief, victim) = match (context.schemas.has_switch, event.pid) {
                (false, _) => (TASK, NOBODY),
                (true, 0) => (IDLE, self.victim),
                (true, _) => (self.own, self.victim),
            };
            let class = if ordinary || !context.schemas.has_switch { Class::None } else { Class::Scheduled };
            let slice = self.keeps_slices(context).then_some(self.stay.row);
            self.head = Some(Head {
                end_ns: now,
                victim,
                thief,
                class,
                slice,
                unknown: untimed.map(|_| "records were lost"),
                lost: untimed.unwrap_or(0),
            });
        } else {
            (self.no_hardirq_ns, self.no_softirq_ns) = (self.since, self.since);
        }
        self.visibility = Visibility::Clear;
        self.last_ns = self.since;
    }

    fn become_task(&mut self, tid: i32, victim: u32, context: &LedgerContext) {
        let found = context.tasks.victims[victim as usize];
        (self.tid, self.victim, self.role, self.own) = (tid, victim, found.role, found.own);
        (self.thread_poll, self.named) = (None, None);
    }

    /// A name for the running task arrived. It holds from that time on, which the next event shows
    /// to lie in the recording.
    pub fn rename(&mut self, tid: i32, victim: u32, now: i64, context: &mut LedgerContext) {
        if tid == self.tid && victim != self.victim && self.visibility == Visibility::Clear {
            self.apply_name(self.last_ns, context);
            self.named = Some((now, victim));
        }
    }

    /// Gives the running task the name that arrived, if one did.
    pub fn apply_name(&mut self, now: i64, context: &mut LedgerContext) {
        if let Some((since, victim)) = self.named.take() {
            self.close(since.clamp(self.last_ns, now), context);
            let found = context.tasks.victims[victim as usize];
            (self.victim, self.role, self.own) = (victim, found.role, found.own);
        }
    }

    fn keeps_slices(&self, context: &LedgerContext) -> bool {
        context.schemas.has_switch && (context.want.slices || context.want.migrations)
    }

    fn begin_stay(&mut self, now: i64, context: &mut LedgerContext) {
        let by_softirq = std::mem::take(&mut self.stay.by_softirq);
        self.stay = Stay { by_softirq, in_ns: now, ..Stay::default() };
        self.stay.by_softirq.clear();
        if self.keeps_slices(context) {
            self.stay.row = context.rows.slices.len();
            context.rows.slices.push(SliceRow {
                cpu: self.number,
                victim: self.victim,
                in_ns: now,
                out_ns: now,
                ..Default::default()
            });
        }
        if context.want.slices || context.want.displaced {
            // Whom a CPU's first event witnesses has run since before the capture.
            let since = if self.visibility == Visibility::Never { i64::MIN } else { now };
            let what = What::In(self.stay.row, self.victim);
            context.waits.point(Point { time_ns: since, tid: self.tid, cpu: self.number, what });
        }
        if self.role == Role::Napi {
            if context.napi_home.insert(self.tid, self.number) != Some(self.number) {
                // It ran elsewhere since: what was parked here ended there.
                if let Some(parked) = self.parked.get_mut(&self.tid) {
                    parked.poll = None;
                }
            }
            self.thread_poll = Some(ThreadPoll { from: now, ..Default::default() });
        }
    }

    fn end_stay(&mut self, out_ns: i64, prev_state: Option<i64>, context: &mut LedgerContext) {
        if self.keeps_slices(context) {
            let row = &mut context.rows.slices[self.stay.row];
            row.victim = self.victim;
            (row.out_ns, row.prev_state) = (out_ns, prev_state);
            (row.task_ns, row.hardirq_ns, row.softirq_ns) =
                (self.stay.task_ns, self.stay.hardirq_ns, self.stay.softirq_ns);
            (row.poll_ns, row.unknown_ns) = (self.stay.poll_ns, self.stay.unknown_ns);
            row.by_softirq.clone_from(&self.stay.by_softirq);
        }
    }

    pub fn switch(&mut self, switch: Switch, now: i64, context: &mut LedgerContext) {
        let Switch { prev_comm, prev_state, next_pid: next, next_comm } = switch;
        self.close(now, context);
        let state = prev_state.unwrap_or(0);
        let runnable = state & !context.schemas.preempted_bit == 0;
        let named = context.named_task(self.tid, prev_comm);
        if named != self.victim {
            let found = context.tasks.victims[named as usize];
            (self.victim, self.role, self.own) = (named, found.role, found.own);
        }
        self.end_stay(now, prev_state, context);
        if context.want.slices || context.want.displaced {
            let what = What::Out(runnable);
            context.waits.point(Point { time_ns: now, tid: self.tid, cpu: self.number, what });
        }
        if state & STATE_DEAD != 0 && !runnable {
            context.tasks.died(self.tid);
        }
        let mut poll = self.thread_poll.take().filter(|_| runnable);
        if let Some(poll) = &mut poll {
            poll.earlier.push((self.stay.row, std::mem::take(&mut poll.pending_ns)));
        }
        let softirq = self.softirq.take();
        if poll.is_some() || softirq.is_some() {
            if self.parked.len() >= MAX_PARKED {
                self.end_parked(context);
            }
            self.parked.insert(self.tid, Parked { victim: self.victim, softirq, poll });
        }
        let victim = context.named_task(next, next_comm);
        self.become_task(next, victim, context);
        if let (Role::Napi, Some(irq)) = (self.role, self.last_line.take()) {
            context.irqs.switched_to(irq, next);
        }
        self.begin_stay(now, context);
        if let Some(parked) = self.parked.remove(&next) {
            self.softirq = parked.softirq;
            self.thread_poll = parked.poll.or(self.thread_poll.take());
        }
    }

    /// An event of a task that was not switched in: the switch was not seen.
    pub fn another_task(&mut self, event: &Event, context: &mut LedgerContext) {
        let now = event.time_ns;
        let victim = context.task(event.pid);
        let is_exec = matches!(event.what, Tracepoint::Exec);
        if !context.schemas.has_switch || is_exec {
            // Without sched_switch that is normal; an exec gives a thread its leader's tid.
            self.close(if is_exec { now } else { self.last_ns }, context);
            self.become_task(event.pid, victim, context);
            return;
        }
        context.counters.disagreements += 1;
        self.close(self.last_ns, context);
        self.drop_hardirqs(0, context);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None, context);
        }
        self.end_stay(self.last_ns, None, context);
        self.become_task(event.pid, victim, context);
        self.gap(self.last_ns, now, "a switch was not recorded", 0, context);
        if context.want.slices || context.want.displaced {
            context.waits.point(Point { time_ns: now, tid: self.tid, cpu: self.number, what: What::Unseen });
        }
        self.begin_stay(now, context);
    }

    /// A stretch outside any stay.
    fn gap(&mut self, from: i64, to: i64, why: &'static str, lost: u64, context: &mut LedgerContext) {
        let from = self.since.max(from).min(to);
        if to > from {
            self.tail.push(Segment {
                start: from,
                end: to,
                victim: NOBODY,
                thief: UNKNOWN,
                class: Class::None,
                depth: 0,
            });
        }
        context.uncovered(self.number, from, to, why, lost);
        self.since = self.since.max(to);
    }

    /// ```text
    ///   ... r7 | LOST 120 | r8 ...      unknown from r7 to LOST; r8 tells who runs since LOST
    /// ```
    pub fn lose(&mut self, until: Option<i64>, lost: u64, why: &'static str, context: &mut LedgerContext) {
        if until.is_none() {
            *self.untimed_loss.get_or_insert(0) += lost;
            if self.visibility == Visibility::Never {
                return;
            }
        }
        let until = until.unwrap_or(self.last_ns).max(self.last_ns);
        let before = self.last_ns;
        self.forget(context);
        match self.visibility {
            _ if self.untimed_loss.is_some() => {} // the next event tells how long it was
            Visibility::Never => {
                let nothing = Head {
                    end_ns: until,
                    victim: NOBODY,
                    thief: UNKNOWN,
                    class: Class::None,
                    slice: None,
                    unknown: Some(why),
                    lost,
                };
                self.head = Some(nothing);
                self.since = until;
            }
            Visibility::Lost(from) => self.gap(from, until, why, lost, context),
            Visibility::Clear | Visibility::Throttled(_) => self.gap(self.last_ns, until, why, lost, context),
        }
        self.raises.iter_mut().for_each(|raises| raises.lose());
        self.since = self.since.max(until);
        (self.last_ns, self.visibility) = (until, Visibility::Lost(until));
        context.waits.lose(before, until);
    }

    /// Closes everything that is open at the last event: what becomes of it is not known.
    fn forget(&mut self, context: &mut LedgerContext) {
        if self.visibility != Visibility::Clear {
            return;
        }
        self.close(self.last_ns, context);
        self.drop_hardirqs(0, context);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None, context);
        }
        self.end_parked(context);
        (self.thread_poll, self.last_line) = (None, None);
        self.end_stay(self.last_ns, None, context);
    }

    /// A needed event stops being recorded until the kernel resumes it.
    pub fn throttle(&mut self, now: i64, context: &mut LedgerContext) {
        if self.visibility == Visibility::Clear {
            self.last_ns = now.max(self.last_ns);
            self.forget(context);
            self.visibility = Visibility::Throttled(self.last_ns);
        }
    }

    pub fn unthrottle(&mut self, now: i64, context: &mut LedgerContext) {
        if let Visibility::Throttled(_) = self.visibility {
            self.lose(Some(now), 0, "an event was throttled", context);
        }
    }

    /// `waking`: it begins to be woken, else it is runnable now.
    pub fn wakeup(
        &mut self,
        tid: i32,
        target_cpu: Option<i64>,
        waking: bool,
        event: &Event,
        context: &mut LedgerContext,
    ) {
        if !self.hardirqs.is_empty() || self.softirq.is_some() || self.role != Role::Ordinary {
            self.wakes(tid, event, context);
        }
        if waking {
            self.waking = tid;
        } else if let Some((row, moved)) = self.migrating.take() {
            if let Some(row) = context.rows.migrations.get_mut(row).filter(|_| moved == tid) {
                row.cause = Cause::WakeUp;
            }
        }
        if context.want.slices || context.want.displaced {
            let what = if waking != context.schemas.has_wakeup {
                What::Wake(target_cpu.unwrap_or(i64::from(self.number)) as u32)
            } else if context.waits.causality.is_some() {
                What::Waking
            } else {
                return;
            };
            context.waits.point(Point { time_ns: event.time_ns, tid, cpu: self.number, what });
        }
    }

    pub fn migrate(&mut self, tid: i32, orig_cpu: i64, dest_cpu: i64, now: i64, context: &mut LedgerContext) {
        if context.want.slices || context.want.displaced {
            let what = What::Migrate(orig_cpu as u32, dest_cpu as u32);
            context.waits.point(Point { time_ns: now, tid, cpu: self.number, what });
        }
        if !context.want.migrations || !context.touches(now, now) {
            return;
        }
        let comm = context.tasks.victims[self.victim as usize].comm;
        let cause = if self.waking == tid {
            Cause::WakeUp
        } else if context.strings.get(comm).starts_with("migration/") {
            Cause::Stopper
        } else {
            Cause::Balance
        };
        self.waking = -1;
        // Without sched_waking, a wake-up of the same task right after tells the same.
        self.migrating = Some((context.rows.migrations.len(), tid));
        let victim = context.named_task(tid, NONE);
        context.rows.migrations.push(MigrationRow { time_ns: now, tid, victim, orig_cpu, dest_cpu, cause });
    }

    /// The recording ends: what is open is carried to `end`, interrupt context excepted, whose end
    /// must lie where events were already being switched off.
    pub fn end(&mut self, start: i64, end: i64, in_full: bool, context: &mut LedgerContext) {
        self.apply_name(end.max(self.last_ns), context);
        match self.visibility {
            Visibility::Never => return,
            Visibility::Clear if !in_full && end > self.last_ns => {
                self.forget(context);
                self.gap(self.last_ns, end, "the recording is cut short", 0, context);
            }
            Visibility::Clear => {
                let inside = !self.hardirqs.is_empty() || self.softirq.is_some();
                self.close(self.last_ns, context);
                self.distrust_hardirqs(0, "the recording ended inside an interrupt", context);
                if inside && end > self.last_ns {
                    self.forget(context);
                    self.gap(self.last_ns, end, "the recording ended inside an interrupt", 0, context);
                } else {
                    self.close(end, context);
                    self.drop_hardirqs(0, context);
                    if let Some(softirq) = self.softirq.take() {
                        self.end_softirq(softirq, None, context);
                    }
                    self.end_stay(end, None, context);
                }
                self.end_parked(context);
            }
            Visibility::Lost(from) | Visibility::Throttled(from) => {
                let lost = self.untimed_loss.take().unwrap_or(0);
                self.gap(from, end, "the recording ended after a loss", lost, context);
            }
        }
        self.drain(true, context);
        self.patch_head(start, context);
        if let Some(width) = context.bin_ns {
            self.finished.sums.flush(self.number, width);
        } else {
            self.finished.sums.flush(self.number, 1);
        }
    }

    /// The head was not counted while the window's start was unknown.
    fn patch_head(&mut self, start: i64, context: &mut LedgerContext) {
        let Some(head) = self.head.take() else { return };
        let (from, to) = (start.max(context.window.0), head.end_ns.min(context.window.1));
        let (mut victim, mut thief, mut class) = (head.victim, head.thief, head.class);
        if let Some(why) = head.unknown {
            (victim, thief, class) = (NOBODY, UNKNOWN, Class::None);
            context.uncovered(self.number, start, head.end_ns.max(start), why, head.lost);
        } else if let Some(row) = head.slice {
            let row = &mut context.rows.slices[row];
            (row.in_ns, row.task_ns) = (start.min(row.in_ns), row.task_ns + (to - from).max(0));
        }
        if to > from {
            let segment = Segment { start: from, end: to, victim, thief, class, depth: 0 };
            self.finished.take_head(self.number, &segment, context.bin_ns, context.want.segments);
        }
    }
}
