//! Who runs: slices, switches, wake-ups, and the edges of what was recorded.

use crate::ledger::cpu::{Cpu, Earlier, Head, Parked, Stay, ThreadPoll, Visibility};
use crate::ledger::event::{Event, Migrate, Switch, Wakeup, What as Happened};
use crate::ledger::point::{Point, What};
use crate::ledger::rows::{Cause, MigrationRow, SliceRow};
use crate::ledger::segment::Segment;
use crate::ledger::task::{Role, NOBODY};
use crate::ledger::thief::{Class, IDLE, TASK, UNKNOWN};

/// Tasks of one CPU that can be in the middle of a softirq: more means that exits are missing.
const MAX_PARKED: usize = 256;

impl Cpu {
    /// The first event, ever or after a loss. Nothing recorded means nothing changed, so the task
    /// it witnesses has run since the window's start, or since the loss ended.
    pub fn first_sight(&mut self, event: &Event) {
        let now = event.time_ns;
        let untimed = self.untimed_loss.take();
        if let (Visibility::Lost(from), Some(lost)) = (self.visibility, untimed) {
            self.gap(from, now, "records were lost", lost);
            self.visibility = Visibility::Lost(now);
        }
        self.since = match self.visibility {
            Visibility::Lost(until) => until.min(now),
            _ => now,
        };
        self.become_task(event.pid, event.victim);
        self.begin_stay(self.since);
        if self.visibility == Visibility::Never {
            let ordinary = self.role == Role::Ordinary;
            let (thief, victim) = match (self.settings.has_switch, event.pid) {
                (false, _) => (TASK, NOBODY),
                (true, 0) => (IDLE, self.victim),
                (true, _) => (self.own, self.victim),
            };
            let class = if ordinary || !self.settings.has_switch { Class::None } else { Class::Scheduled };
            let slice = self.settings.has_slices.then_some(self.stay.row);
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

    fn become_task(&mut self, tid: i32, victim: u32) {
        self.tid = tid;
        self.charge(victim);
        (self.thread_poll, self.named) = (None, None);
    }

    /// A name for the running task arrived. It holds from that time on, which the next event shows
    /// to lie in the recording.
    pub fn rename(&mut self, tid: i32, victim: u32, now: i64) {
        if tid == self.tid && victim != self.victim && self.visibility == Visibility::Clear {
            self.apply_name(self.last_ns);
            self.named = Some((now, victim));
        }
    }

    /// Gives the running task the name that arrived, if one did.
    pub fn apply_name(&mut self, now: i64) {
        if let Some((since, victim)) = self.named.take() {
            self.close(since.clamp(self.last_ns, now));
            self.charge(victim);
        }
    }

    fn charge(&mut self, victim: u32) {
        let found = self.victims.get(victim);
        (self.victim, self.role, self.own) = (victim, found.role, found.own);
    }

    /// Tells the stage that joins CPUs.
    fn point(&mut self, time_ns: i64, tid: i32, what: What) {
        if self.settings.has_waits && tid != 0 {
            self.part.points.push(Point { time_ns, order: self.order, tid, cpu: self.number, what });
        }
    }

    fn begin_stay(&mut self, now: i64) {
        let by_softirq = std::mem::take(&mut self.stay.by_softirq);
        self.stay = Stay { by_softirq, in_ns: now, ..Stay::default() };
        self.stay.by_softirq.clear();
        if self.settings.has_slices {
            self.stay.row = self.rows.slices.len();
            self.rows.slices.push(SliceRow { victim: self.victim, in_ns: now, out_ns: now, ..Default::default() });
        }
        // Whom a CPU's first event witnesses has run since before the capture.
        let since = if self.visibility == Visibility::Never { i64::MIN } else { now };
        self.part.has_events = true;
        self.point(since, self.tid, What::In(self.stay.row, self.victim));
        if self.role == Role::Napi {
            self.part.napi_stays.push((now, self.tid));
            self.thread_poll = Some(ThreadPoll { from: now, ..Default::default() });
        }
    }

    fn end_stay(&mut self, out_ns: i64, prev_state: Option<i64>) {
        if self.settings.has_slices {
            let row = &mut self.rows.slices[self.stay.row];
            row.victim = self.victim;
            (row.out_ns, row.prev_state) = (out_ns, prev_state);
            (row.task_ns, row.hardirq_ns, row.softirq_ns) =
                (self.stay.task_ns, self.stay.hardirq_ns, self.stay.softirq_ns);
            (row.poll_ns, row.unknown_ns) = (self.stay.poll_ns, self.stay.unknown_ns);
            row.by_softirq.clone_from(&self.stay.by_softirq);
        }
    }

    pub fn switch(&mut self, switch: Switch, now: i64) {
        let Switch { prev, prev_state, next_pid, next } = switch;
        self.close(now);
        let state = prev_state.unwrap_or(0);
        let runnable = state & !self.settings.preempted_bit == 0;
        if prev != self.victim {
            self.charge(prev);
        }
        self.end_stay(now, prev_state);
        self.point(now, self.tid, What::Out(runnable));
        let mut poll = self.thread_poll.take().filter(|_| runnable);
        if let Some(poll) = &mut poll {
            let pending = poll.pending.len();
            let new = || Earlier { since_ns: now, until_ns: now, slices: Vec::new(), pending };
            let earlier = poll.earlier.get_or_insert_with(new);
            earlier.slices.push((self.stay.row, std::mem::take(&mut poll.pending_ns)));
            earlier.pending = pending;
        }
        let softirq = self.softirq.take();
        if poll.is_some() || softirq.is_some() {
            if self.parked.len() >= MAX_PARKED {
                self.end_parked();
            }
            self.parked.insert(self.tid, Parked { victim: self.victim, softirq, poll });
        }
        self.become_task(next_pid, next);
        if let (Role::Napi, Some(irq)) = (self.role, self.last_line.take()) {
            self.irqs.switched_to(irq, next_pid);
        }
        self.begin_stay(now);
        if let Some(parked) = self.parked.remove(&next_pid) {
            self.softirq = parked.softirq;
            self.thread_poll = parked.poll.or(self.thread_poll.take());
            if let Some(earlier) = self.thread_poll.as_mut().and_then(|poll| poll.earlier.as_mut()) {
                earlier.until_ns = now;
            }
        }
    }

    /// An event of a task that was not switched in: the switch was not seen.
    pub fn another_task(&mut self, event: &Event) {
        let now = event.time_ns;
        let is_exec = matches!(event.what, Happened::Exec);
        if !self.settings.has_switch || is_exec {
            // Without sched_switch that is normal; an exec gives a thread its leader's tid.
            self.close(if is_exec { now } else { self.last_ns });
            self.become_task(event.pid, event.victim);
            return;
        }
        self.counters.disagreements += 1;
        self.close(self.last_ns);
        self.drop_hardirqs(0);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None);
        }
        self.end_stay(self.last_ns, None);
        self.become_task(event.pid, event.victim);
        self.gap(self.last_ns, now, "a switch was not recorded", 0);
        self.point(now, self.tid, What::Unseen);
        self.begin_stay(now);
    }

    /// A stretch outside any stay.
    fn gap(&mut self, from: i64, to: i64, why: &'static str, lost: u64) {
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
        self.uncovered(from, to, why, lost);
        self.since = self.since.max(to);
    }

    /// ```text
    ///   ... r7 | LOST 120 | r8 ...      unknown from r7 to LOST; r8 tells who runs since LOST
    /// ```
    pub fn lose(&mut self, until: Option<i64>, lost: u64, why: &'static str) {
        if until.is_none() {
            *self.untimed_loss.get_or_insert(0) += lost;
            if self.visibility == Visibility::Never {
                return;
            }
        }
        let until = until.unwrap_or(self.last_ns).max(self.last_ns);
        let before = self.last_ns;
        self.forget();
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
            Visibility::Lost(from) => self.gap(from, until, why, lost),
            Visibility::Clear | Visibility::Throttled(_) => self.gap(self.last_ns, until, why, lost),
        }
        self.raises.iter_mut().for_each(|raises| raises.lose());
        self.since = self.since.max(until);
        (self.last_ns, self.visibility) = (until, Visibility::Lost(until));
        self.part.gaps.push((before, until));
    }

    /// Closes everything that is open at the last event: what becomes of it is not known.
    fn forget(&mut self) {
        if self.visibility != Visibility::Clear {
            return;
        }
        self.close(self.last_ns);
        self.drop_hardirqs(0);
        if let Some(softirq) = self.softirq.take() {
            self.end_softirq(softirq, None);
        }
        self.end_parked();
        (self.thread_poll, self.last_line) = (None, None);
        self.end_stay(self.last_ns, None);
    }

    /// A needed event stops being recorded until the kernel resumes it.
    pub fn throttle(&mut self, now: i64) {
        if self.visibility == Visibility::Clear {
            self.last_ns = now.max(self.last_ns);
            self.forget();
            self.visibility = Visibility::Throttled(self.last_ns);
        }
    }

    pub fn unthrottle(&mut self, now: i64) {
        if let Visibility::Throttled(_) = self.visibility {
            self.lose(Some(now), 0, "an event was throttled");
        }
    }

    /// `waking`: it begins to be woken, else it is runnable now.
    pub fn wakeup(&mut self, wakeup: Wakeup, waking: bool, event: &Event) {
        let Wakeup { pid, target_cpu, network } = wakeup;
        if !self.hardirqs.is_empty() || self.softirq.is_some() || self.role != Role::Ordinary {
            self.wakes(pid, network, event);
        }
        if waking {
            self.waking = pid;
        } else if let Some((row, moved)) = self.migrating.take() {
            if let Some(row) = self.rows.migrations.get_mut(row).filter(|_| moved == pid) {
                row.cause = Cause::WakeUp;
            }
        }
        if waking != self.settings.has_wakeup {
            let cpu = target_cpu.map_or(self.number, |cpu| cpu as u32);
            self.point(event.time_ns, pid, What::Wake(cpu));
        } else if self.settings.compares_clocks {
            self.point(event.time_ns, pid, What::Waking);
        }
    }

    pub fn migrate(&mut self, migrate: Migrate, now: i64) {
        let Migrate { pid, victim, orig_cpu, dest_cpu } = migrate;
        self.point(now, pid, What::Migrate(orig_cpu as u32, dest_cpu as u32));
        if !self.settings.want.migrations || !self.settings.touches(now, now) {
            return;
        }
        let cause = if self.waking == pid {
            Cause::WakeUp
        } else if self.victims.get(self.victim).is_stopper {
            Cause::Stopper
        } else {
            Cause::Balance
        };
        self.waking = -1;
        // Without sched_waking, a wake-up of the same task right after tells the same.
        self.migrating = Some((self.rows.migrations.len(), pid));
        let order = self.order;
        self.rows.migrations.push(MigrationRow { time_ns: now, order, tid: pid, victim, orig_cpu, dest_cpu, cause });
    }

    /// The recording ends: what is open is carried to `end`, interrupt context excepted, whose end
    /// must lie where events were already being switched off.
    pub fn end(&mut self, start: i64, end: i64, in_full: bool) {
        self.apply_name(end.max(self.last_ns));
        match self.visibility {
            Visibility::Never => return,
            Visibility::Clear if !in_full && end > self.last_ns => {
                self.forget();
                self.gap(self.last_ns, end, "the recording is cut short", 0);
            }
            Visibility::Clear => {
                let inside = !self.hardirqs.is_empty() || self.softirq.is_some();
                self.close(self.last_ns);
                self.distrust_hardirqs(0, "the recording ended inside an interrupt");
                if inside && end > self.last_ns {
                    self.forget();
                    self.gap(self.last_ns, end, "the recording ended inside an interrupt", 0);
                } else {
                    self.close(end);
                    self.drop_hardirqs(0);
                    if let Some(softirq) = self.softirq.take() {
                        self.end_softirq(softirq, None);
                    }
                    self.end_stay(end, None);
                }
                self.end_parked();
            }
            Visibility::Lost(from) | Visibility::Throttled(from) => {
                let lost = self.untimed_loss.take().unwrap_or(0);
                self.gap(from, end, "the recording ended after a loss", lost);
            }
        }
        self.drain(true);
        self.patch_head(start);
        if let Some(width) = self.settings.bin_ns {
            self.finished.sums.flush(self.number, width);
        } else {
            self.finished.sums.flush(self.number, 1);
        }
    }

    /// The head was not counted while the window's start was unknown.
    fn patch_head(&mut self, start: i64) {
        let Some(head) = self.head.take() else { return };
        let (from, to) = (start.max(self.settings.window.0), head.end_ns.min(self.settings.window.1));
        let (mut victim, mut thief, mut class) = (head.victim, head.thief, head.class);
        if let Some(why) = head.unknown {
            (victim, thief, class) = (NOBODY, UNKNOWN, Class::None);
            self.uncovered(start, head.end_ns.max(start), why, head.lost);
        } else if let Some(row) = head.slice {
            let row = &mut self.rows.slices[row];
            (row.in_ns, row.task_ns) = (start.min(row.in_ns), row.task_ns + (to - from).max(0));
        }
        if to > from {
            let segment = Segment { start: from, end: to, victim, thief, class, depth: 0 };
            self.finished.take_head(self.number, &segment, self.settings.bin_ns, self.settings.want.segments);
        }
    }
}
