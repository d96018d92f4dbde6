//! Where a CPU's record begins and ends, and where it has holes.
//!
//! ```text
//!   start        first event                 LOST            next event      end
//!   | head: who  |  Clear ...................|  Lost ........|  Clear .......|
//!   | runs there |                           | unknown up to LOST; who runs  |
//!   | ran before |                           | next, ran since then          |
//! ```

use crate::ledger::cpu::visibility::Visibility;
use crate::ledger::cpu::Cpu;
use crate::ledger::event::Event;
use crate::ledger::outcome::Head;
use crate::ledger::rows::CoverageRow;
use crate::ledger::segment::Segment;
use crate::ledger::task::NOBODY;
use crate::ledger::thief::{Class, TASK};

impl Cpu {
    /// Handles the first event, ever or after a loss. Nothing recorded means nothing changed, so the task that it shows
    /// has run since the window's start or since the loss ended.
    #[cold]
    pub(super) fn first_sight(&mut self, event: &Event) {
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
        self.begin_slice(self.since, now);
        if self.visibility == Visibility::Never {
            let (victim, owner) = match self.settings.has_switch {
                true => (self.current.victim(), self.current.owner()),
                false => (NOBODY, (TASK, Class::None)),
            };
            let slice = self.settings.has_slices.then_some(self.slice.row());
            let lossy = untimed.map(|lost| Head::lost(now, "records were lost", lost));
            self.head = Some(lossy.unwrap_or(Head::of(now, victim, owner, slice)));
            self.show_head();
        } else {
            (self.no_hardirq_ns, self.no_softirq_ns) = (self.since, self.since);
        }
        self.visibility = Visibility::Clear;
        self.last_ns = self.since;
    }

    /// Marks a stretch outside any slice as unknown.
    pub(super) fn gap(&mut self, from: i64, to: i64, why: &'static str, lost: u64) {
        let from = self.since.max(from).min(to);
        if to > from {
            self.tail.push(Segment::unknown(from, to));
        }
        self.uncovered(from, to, why, lost);
        self.since = self.since.max(to);
    }

    /// ```text
    ///   ... r7 | LOST 120 | r8 ...      unknown from r7 to LOST; r8 tells who runs since LOST
    /// ```
    pub fn lose(&mut self, until: Option<i64>, lost: u64, why: &'static str) {
        if until.is_none() {
            let untimed = self.untimed_loss.get_or_insert(0);
            *untimed = untimed.saturating_add(lost);
            if self.visibility == Visibility::Never {
                return;
            }
        }
        let until = until.unwrap_or(self.last_ns).max(self.last_ns);
        let before = self.last_ns;
        self.forget();
        match self.visibility {
            _ if self.untimed_loss.is_some() => {} // the next event shows how long it was
            Visibility::Never => {
                self.head = Some(Head::lost(until, why, lost));
                self.show_head();
                self.since = until;
            }
            Visibility::Lost(from) => self.gap(from, until, why, lost),
            Visibility::Clear | Visibility::Throttled(_) => self.gap(self.last_ns, until, why, lost),
        }
        self.softirqs.lose();
        self.since = self.since.max(until);
        (self.last_ns, self.visibility) = (until, Visibility::Lost(until));
        self.part.gaps.push((before, until));
    }

    /// Closes everything that is open at the last event: its fate is unknown.
    fn forget(&mut self) {
        if self.visibility != Visibility::Clear {
            return;
        }
        self.close(self.last_ns);
        self.drop_hardirqs(0);
        self.end_softirq(None);
        self.end_parked();
        (self.napi_poll, self.last_line) = (None, None);
        self.end_slice(self.last_ns, None);
    }

    /// A needed event is throttled: it is not recorded until the kernel resumes it.
    pub fn throttle(&mut self, now: i64) {
        if self.visibility == Visibility::Clear {
            self.last_ns = now.max(self.last_ns);
            self.forget();
            self.visibility = Visibility::Throttled(self.last_ns);
        }
    }

    /// The kernel resumes the throttled event.
    pub fn unthrottle(&mut self, now: i64) {
        if let Visibility::Throttled(_) = self.visibility {
            self.lose(Some(now), 0, "an event was throttled");
        }
    }

    /// Ends the recording. Open state is carried to `end`, except interrupt context: its end must lie where events were
    /// already being switched off. `ticked_ns`: the last tick of any CPU.
    pub fn end(&mut self, start: i64, end: i64, ticked_ns: i64, in_full: bool) {
        self.apply_name(end.max(self.last_ns));
        let unseen = self.unseen(in_full, ticked_ns).filter(|_| end > self.last_ns);
        match (self.visibility, unseen) {
            (Visibility::Never, _) => return,
            (Visibility::Clear, Some(why)) => {
                self.forget();
                self.gap(self.last_ns, end, why, 0);
            }
            (Visibility::Clear, None) => {
                let inside = !self.hardirqs.is_empty() || self.softirqs.open().is_some();
                self.close(self.last_ns);
                self.distrust_hardirqs(0, "the recording ended inside an interrupt");
                if inside && end > self.last_ns {
                    self.forget();
                    self.gap(self.last_ns, end, "the recording ended inside an interrupt", 0);
                } else {
                    self.close(end);
                    self.drop_hardirqs(0);
                    self.end_softirq(None);
                    self.end_slice(end, None);
                }
                self.end_parked();
            }
            (Visibility::Lost(from) | Visibility::Throttled(from), _) => {
                let lost = self.untimed_loss.take().unwrap_or(0);
                self.gap(from, end, "the recording ended after a loss", lost);
            }
        }
        self.drain(true);
        self.is_over = true;
        if self.settings.outcome.is_none() {
            self.patch_head(start);
        }
        self.finished.sums.flush(self.number, 0);
    }

    /// Why the time after the last event is unknown, if it is.
    fn unseen(&self, in_full: bool, ticked_ns: i64) -> Option<&'static str> {
        match () {
            _ if !in_full => Some("the recording is cut short"),
            _ if self.current.is_hotplug() => Some("the CPU went offline"),
            _ if self.ticks.have_stopped(self.last_ns, ticked_ns) && self.may_tick() => {
                Some("the CPU's timer stopped ticking")
            }
            _ => None,
        }
    }

    /// Shows the head at once where a first pass has determined it. The head joins the present slice, if there is one.
    fn show_head(&mut self) {
        let Some(outcome) = &self.settings.outcome else { return };
        let Some(head) = outcome.cpus.get(&self.number).and_then(|foreseen| foreseen.head) else { return };
        let start = outcome.start_ns;
        let (from, to) = (start.max(self.settings.window.0), head.end_ns().min(self.settings.window.1));
        if let Some((why, lost)) = head.unknown() {
            self.uncovered(start, head.end_ns().max(start), why, lost);
        } else {
            self.slice.add_task((to - from).max(0));
            if let Some(row) = self.rows.slices.get_mut(self.slice.row()) {
                row.in_ns = start.min(row.in_ns);
            }
        }
        if to > from {
            let segment = segment_of(&head, from, to);
            self.finished.take(&segment, self.settings.want.segments);
        }
    }

    /// Counts the head, whose start was unknown until the end.
    fn patch_head(&mut self, start: i64) {
        let Some(head) = self.head.take() else { return };
        self.outcome.head = Some(head);
        let (from, to) = (start.max(self.settings.window.0), head.end_ns().min(self.settings.window.1));
        if let Some((why, lost)) = head.unknown() {
            // Everything else in the table begins later.
            let row = CoverageRow { start_ns: start, end_ns: head.end_ns().max(start), why, lost };
            self.rows.coverage.insert(0, row);
        } else {
            if let Some(row) = head.slice().and_then(|row| self.rows.slices.get_mut(row)) {
                (row.in_ns, row.task_ns) = (start.min(row.in_ns), row.task_ns + (to - from).max(0));
            }
            if start <= self.settings.window.1 {
                let first = self.kinds.first.take().unwrap_or_default();
                self.kinds.add(first.into_iter());
            }
        }
        if to > from {
            self.finished.take_head(&segment_of(&head, from, to), self.settings.want.segments);
        }
    }
}

fn segment_of(head: &Head, start: i64, end: i64) -> Segment {
    let (victim, thief, class) = head.owner();
    Segment { start, end, victim, thief, class, depth: 0 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ledger::request::Want;
    use crate::ledger::settings::Settings;
    use crate::ledger::task::Tasks;

    pub fn cpu() -> Cpu {
        let settings = Settings {
            want: Want { segments: true, ..Want::default() },
            window: (i64::MIN, i64::MAX),
            has_switch: true,
            has_raise: true,
            has_flags: true,
            has_contexts: true,
            has_poll: true,
            has_wakeup: true,
            preempted_bit: 0x100,
            has_waits: false,
            compares_clocks: false,
            has_slices: false,
            tickless: Vec::new(),
            outcome: None,
            may_stop: false,
        };
        Cpu::new(0, settings.into(), Tasks::new().shared())
    }

    /// Feeds an event of task `pid`.
    pub fn see(cpu: &mut Cpu, time_ns: i64, pid: i32) -> Visibility {
        cpu.step(&mut Event { time_ns, pid, victim: pid as u32, ..Event::NONE });
        cpu.visibility
    }

    /// Start and victim of each segment, and each gap in coverage: from, to, records lost.
    type Ended = (Vec<(i64, u32)>, Vec<(i64, i64, u64)>);

    fn ended(mut cpu: Cpu) -> Ended {
        cpu.end(0, 400, 0, true);
        let found = cpu.found().expect("events");
        let segments = found.finished.table.slices().flatten().map(|segment| (segment.start, segment.victim)).collect();
        (segments, found.rows.coverage.iter().map(|row| (row.start_ns, row.end_ns, row.lost)).collect())
    }

    #[test]
    fn the_drawn_case() {
        let mut cpu = cpu();
        assert_eq!(cpu.visibility, Visibility::Never);
        assert_eq!([100, 200].map(|now| see(&mut cpu, now, 7)), [Visibility::Clear; 2]);
        cpu.lose(Some(250), 3, "records were lost");
        assert_eq!(cpu.visibility, Visibility::Lost(250));
        assert_eq!(see(&mut cpu, 300, 8), Visibility::Clear);
        assert_eq!(ended(cpu), (vec![(0, 7), (200, NOBODY), (250, 8)], vec![(200, 250, 3)]));
    }

    #[test]
    fn where_the_first_record_was_lost_the_head_is_nobodys() {
        let mut cpu = cpu();
        cpu.lose(Some(250), 3, "records were lost");
        assert_eq!(cpu.visibility, Visibility::Lost(250));
        see(&mut cpu, 300, 8);
        assert_eq!(ended(cpu), (vec![(0, NOBODY), (250, 8)], vec![(0, 250, 3)]));
    }

    #[test]
    fn the_next_event_tells_how_long_a_loss_without_a_time_was() {
        let mut cpu = cpu();
        see(&mut cpu, 100, 7);
        cpu.lose(None, 3, "records were lost");
        see(&mut cpu, 300, 8);
        assert_eq!(ended(cpu), (vec![(0, 7), (100, NOBODY), (300, 8)], vec![(100, 300, 3)]));
    }

    #[test]
    fn nothing_is_known_while_an_event_is_throttled() {
        let mut cpu = cpu();
        see(&mut cpu, 100, 7);
        cpu.throttle(150);
        assert_eq!(see(&mut cpu, 160, 8), Visibility::Throttled(150));
        cpu.unthrottle(200);
        see(&mut cpu, 210, 8);
        assert_eq!(ended(cpu), (vec![(0, 7), (150, NOBODY), (200, 8)], vec![(150, 200, 0)]));
    }
}
