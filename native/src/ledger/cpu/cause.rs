//! The cause of a migration, from the events recorded right before and after it.
//!
//! ```text
//!   waking 7    migrate 7                 placed while it is woken
//!               migrate 7    wakeup 7     the same, where sched_waking is not recorded
//!               migrate 7                 balanced, or by the stopper if that runs
//! ```
//! try_to_wake_up runs with interrupts disabled, so its events follow one another directly.

use crate::ledger::event::Tracepoint;
use crate::ledger::rows::Cause;

/// Earlier events that the next event may belong to.
#[derive(Debug, Default)]
pub struct Causes {
    waking: Option<i32>,
    /// Row of the last migration, and the tid that was moved.
    migrated: Option<(usize, i32)>,
}

impl Causes {
    pub fn waking(&mut self, pid: i32) {
        self.waking = Some(pid);
    }

    /// Returns the row of this task's migration if that was the previous event.
    pub fn woken(&mut self, pid: i32) -> Option<usize> {
        self.migrated.take().filter(|migrated| migrated.1 == pid).map(|migrated| migrated.0)
    }

    /// Notes a migration in row `row`, and returns its cause as far as it is known.
    pub fn moved(&mut self, pid: i32, row: usize, by_stopper: bool) -> Cause {
        self.migrated = Some((row, pid));
        match (self.waking.take() == Some(pid), by_stopper) {
            (true, _) => Cause::WakeUp,
            (false, true) => Cause::Stopper,
            (false, false) => Cause::Balance,
        }
    }

    /// Row of the last migration while its cause is not settled.
    pub fn last_moved(&self) -> Option<usize> {
        self.migrated.map(|migrated| migrated.0)
    }

    /// Forgets what the next event cannot belong to after `what`.
    #[inline(always)]
    pub fn after(&mut self, what: &Tracepoint) {
        if self.waking.is_some() && !matches!(what, Tracepoint::Waking(_)) {
            self.waking = None;
        }
        if self.migrated.is_some() && !matches!(what, Tracepoint::Migrate(_)) {
            self.migrated = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_cases() {
        let mut causes = Causes::default();
        causes.waking(7);
        assert_eq!(causes.moved(7, 0, true), Cause::WakeUp);
        assert_eq!(causes.woken(7), Some(0));
        assert_eq!(causes.moved(7, 1, false), Cause::Balance);
        assert_eq!(causes.woken(8), None);
        causes.waking(7);
        causes.after(&Tracepoint::Exec);
        assert_eq!(causes.moved(7, 2, true), Cause::Stopper);
        causes.after(&Tracepoint::Exec);
        assert_eq!(causes.woken(7), None);
    }
}
