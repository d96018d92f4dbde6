//! Whether a CPU's timer ticks as it should.
//!
//! ```text
//!   tick tick tick | event ............... event tick tick | last event ................ end
//!   of other CPUs: tick tick tick tick tick tick tick tick tick tick tick tick tick tick tick
//! ```
//! A CPU that runs a task ticks, whatever the task does, unless it is in `nohz_full=`. If it is silent for a while, its
//! host paused it or the kernel kept interrupts off. If it is silent for long and until the end, it is no longer
//! recorded: perf never sees a CPU again that was unplugged and came back.

/// Ticks further apart than this have paused: at 100 Hz they are 10 ms apart.
const PAUSE_NS: i64 = 20_000_000;
/// This many ticks without a pause show that the CPU ticks at all.
const TICKING: u32 = 10;
/// This many ticks without a pause are no coincidence.
const REGULAR: u32 = 100;
/// A kernel that runs this long without interrupts hangs.
const SILENT_NS: i64 = 1_000_000_000;

/// The last ticks of a CPU.
#[derive(Debug, Default)]
pub struct Ticks {
    last_ns: i64,
    without_pause: u32,
}

impl Ticks {
    #[inline(always)]
    pub fn ticked(&mut self, now: i64) {
        let pause = now.saturating_sub(self.last_ns) > PAUSE_NS;
        self.without_pause = if pause { 1 } else { self.without_pause.saturating_add(1) };
        self.last_ns = now;
    }

    pub fn last_ns(&self) -> i64 {
        self.last_ns
    }

    /// Whether a CPU that was busy at its last event should have ticked between that and `now`, which is no earlier.
    #[inline(always)]
    pub fn have_paused(&self, last_event_ns: i64, now: i64) -> bool {
        // The difference always fits without a sign.
        now.wrapping_sub(last_event_ns) as u64 > PAUSE_NS as u64 && self.went_on_until(last_event_ns, TICKING)
    }

    fn went_on_until(&self, last_event_ns: i64, ticks: u32) -> bool {
        self.without_pause >= ticks && last_event_ns.saturating_sub(self.last_ns) <= PAUSE_NS
    }

    /// Whether it should have ticked until `elsewhere_ns`, as other CPUs did.
    pub fn have_stopped(&self, last_event_ns: i64, elsewhere_ns: i64) -> bool {
        elsewhere_ns.saturating_sub(last_event_ns) > SILENT_NS && self.went_on_until(last_event_ns, REGULAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn ticking(count: i64) -> Ticks {
        let mut ticks = Ticks::default();
        (1..=count).for_each(|tick| ticks.ticked(tick * 4 * MS));
        ticks
    }

    #[test]
    fn they_have_stopped_where_others_went_on() {
        let last = 400 * MS;
        let stopped = |ticks: &Ticks, event, elsewhere| ticks.have_stopped(event, elsewhere);
        assert!(stopped(&ticking(100), last + MS, last + 1002 * MS));
        assert!(!stopped(&ticking(100), last + MS, last + 900 * MS));
        // The first had already run without ticks. The second had too few.
        assert!(!stopped(&ticking(100), last + 21 * MS, last + 2000 * MS));
        assert!(!stopped(&ticking(99), 396 * MS, 2000 * MS));
    }

    #[test]
    fn they_have_paused_where_a_task_ran() {
        let last = 400 * MS;
        assert!(ticking(100).have_paused(last + MS, last + 22 * MS));
        assert!(!ticking(100).have_paused(last + MS, last + 21 * MS));
        assert!(!ticking(100).have_paused(last + 21 * MS, last + 99 * MS));
        assert!(!ticking(9).have_paused(36 * MS, last));
    }

    #[test]
    fn a_pause_begins_anew() {
        let mut ticks = ticking(100);
        ticks.ticked(450 * MS);
        assert_eq!(ticks.last_ns(), 450 * MS);
        assert!(!ticks.have_stopped(450 * MS, 2000 * MS));
    }
}
