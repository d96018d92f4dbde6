//! The meaning of the scheduler's events: slices, wake-ups, migrations.

use crate::ledger::cpu::napi_thread::Poll;
use crate::ledger::cpu::visibility::Visibility;
use crate::ledger::cpu::{Cpu, Parked};
use crate::ledger::event::{Event, Migrate, Switch, Tracepoint, Wakeup};
use crate::ledger::point::{Absence, Point, What};
use crate::ledger::rows::{Cause, MigrationRow, SliceRow};
use crate::ledger::task::Role;

/// Most tasks of one CPU that can be inside a softirq. More means that exits are missing.
const MAX_PARKED: usize = 256;

impl Cpu {
    /// A new name arrived for the running task.
    pub fn rename(&mut self, tid: i32, victim: u32, now: i64) {
        let is_other = victim != self.current.victim();
        if tid == self.current.tid() && is_other && self.visibility == Visibility::Clear {
            self.apply_name(self.last_ns);
            self.current.name(victim, now);
        }
    }

    /// Gives the running task its new name, if one arrived.
    pub(super) fn apply_name(&mut self, now: i64) {
        if let Some((since, victim)) = self.current.take_name() {
            self.close(since.clamp(self.last_ns, now));
            self.current.charge(victim);
        }
    }

    /// Passes a point to the stage that joins CPUs.
    fn point(&mut self, time_ns: i64, tid: i32, what: What) {
        if self.settings.has_waits && tid != 0 {
            self.part.points.push(Point { time_ns, order: self.order, tid, cpu: self.number, what });
        }
    }

    pub(super) fn become_task(&mut self, tid: i32, victim: u32) {
        self.current.become_task(tid, victim);
        self.napi_poll = None;
    }

    /// Begins the running task's slice. `seen_ns`: when an event showed the task.
    pub(super) fn begin_slice(&mut self, now: i64, seen_ns: i64) {
        let victim = self.current.victim();
        let row = self.rows.slices.next();
        self.slice.begin(now, row);
        if self.settings.has_slices {
            self.rows.slices.push(SliceRow { victim, in_ns: now, out_ns: now, ..SliceRow::default() });
        }
        // The task that a CPU's first event shows was running before the capture began.
        let since = if self.visibility == Visibility::Never { i64::MIN } else { now };
        self.part.has_events = true;
        self.point(since, self.current.tid(), What::In(row, victim));
        if self.current.role() == Role::Napi {
            self.part.napi_slices.push((seen_ns, self.current.tid()));
            self.napi_poll = Some(Poll::begin(now));
        }
    }

    /// Ends the running task's slice.
    pub(super) fn end_slice(&mut self, out_ns: i64, prev_state: Option<i64>) {
        if let Some(row) = self.rows.slices.get_mut(self.slice.row()).filter(|_| self.settings.has_slices) {
            self.slice.end(row, self.current.victim(), out_ns, prev_state);
        }
        let window = self.settings.window;
        if self.slice.in_ns() <= window.1 && out_ns >= window.0 {
            self.kinds.add(self.slice.kinds());
        }
        if self.kinds.first.is_none() {
            self.kinds.first = Some(self.slice.kinds().filter(|_| out_ns >= window.0).collect());
        }
    }

    pub(super) fn switch(&mut self, switch: Switch, now: i64) {
        let Switch { prev, prev_state, next_pid, next } = switch;
        self.counters.switches += 1;
        self.close(now);
        let is_runnable = prev_state.unwrap_or(0) & !self.settings.preempted_bit == 0;
        let tid = self.current.tid();
        if prev != self.current.victim() {
            self.current.charge(prev);
        }
        self.end_slice(now, prev_state);
        self.point(now, tid, What::Out(is_runnable));
        let mut poll = self.napi_poll.take().filter(|_| is_runnable);
        if let Some(poll) = &mut poll {
            poll.preempt(now, self.slice.row(), self.absences);
            self.absences += 1;
        }
        let softirq = self.softirqs.park();
        if poll.is_some() || softirq.is_some() {
            if self.parked.len() >= MAX_PARKED {
                self.end_parked();
            }
            self.parked.insert(
                tid,
                Parked { victim: self.current.victim(), in_kthread: !self.current.is_ordinary(), softirq, poll },
            );
        }
        self.become_task(next_pid, next);
        if let (Role::Napi, Some(irq)) = (self.current.role(), self.last_line.take()) {
            self.irqs.switched_to(irq, next_pid);
        }
        self.begin_slice(now, now);
        if let Some(Parked { softirq, poll, .. }) = self.parked.remove(&next_pid) {
            self.softirqs.resume(softirq);
            if let Some(mut poll) = poll {
                if let Some(part) = poll.resume(now) {
                    self.part.back.push((Absence { tid: next_pid, out_ns: part.out_ns, number: part.number }, now));
                }
                self.napi_poll = Some(poll);
            }
        }
    }

    /// Handles an event of a task whose switch-in was not recorded.
    pub(super) fn another_task(&mut self, event: &Event) {
        let now = event.time_ns;
        let is_exec = matches!(event.what, Tracepoint::Exec);
        if !self.settings.has_switch || is_exec {
            // This is normal without sched_switch. An exec gives a thread its leader's tid.
            self.close(if is_exec { now } else { self.last_ns });
            self.become_task(event.pid, event.victim);
            return;
        }
        self.counters.disagreements += 1;
        self.counters.switches_missing += 1;
        self.close(self.last_ns);
        self.drop_hardirqs(0);
        self.end_softirq(None);
        self.end_slice(self.last_ns, None);
        // The task came back unseen, so what it has done since is unknown.
        if let Some(parked) = self.parked.get_mut(&event.pid) {
            parked.poll = None;
        }
        self.become_task(event.pid, event.victim);
        self.gap(self.last_ns, now, "a switch was not recorded", 0);
        self.point(now, event.pid, What::Unseen);
        self.begin_slice(now, now);
    }

    pub(super) fn waking(&mut self, wakeup: Wakeup, event: &Event) {
        self.wakes_from_interrupt(&wakeup, event);
        self.causes.waking(wakeup.pid);
        if !self.settings.has_wakeup {
            self.wake(&wakeup, event);
        } else if self.settings.compares_clocks {
            self.point(event.time_ns, wakeup.pid, What::Waking);
        }
    }

    pub(super) fn wakeup(&mut self, wakeup: Wakeup, event: &Event) {
        self.wakes_from_interrupt(&wakeup, event);
        if let Some(row) = self.causes.woken(wakeup.pid).and_then(|row| self.rows.migrations.get_mut(row)) {
            row.cause = Cause::WakeUp;
        }
        if self.settings.has_wakeup {
            self.wake(&wakeup, event);
        }
    }

    fn wake(&mut self, wakeup: &Wakeup, event: &Event) {
        let cpu = wakeup.target_cpu.map_or(self.number, |cpu| cpu as u32);
        self.point(event.time_ns, wakeup.pid, What::Wake(cpu));
    }

    fn wakes_from_interrupt(&mut self, wakeup: &Wakeup, event: &Event) {
        if !self.hardirqs.is_empty() || self.softirqs.open().is_some() || !self.current.is_ordinary() {
            self.wakes(wakeup.pid, wakeup.network, event);
        }
    }

    pub(super) fn migrate(&mut self, migrate: Migrate, now: i64) {
        let Migrate { pid, victim, orig_cpu, dest_cpu } = migrate;
        self.point(now, pid, What::Migrate(orig_cpu as u32, dest_cpu as u32));
        if !self.settings.want.migrations || !self.settings.touches(now, now) {
            return;
        }
        let cause = self.causes.moved(pid, self.rows.migrations.next(), self.current.is_stopper());
        let order = self.order;
        self.rows.migrations.push(MigrationRow { time_ns: now, order, tid: pid, victim, orig_cpu, dest_cpu, cause });
    }
}
