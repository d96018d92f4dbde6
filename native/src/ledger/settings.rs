//! What every CPU's machine knows from the start: what was recorded, and what is asked for.

use std::sync::Arc;

use crate::ledger::outcome::Outcome;
use crate::ledger::request::{Request, Want};
use crate::ledger::schema::EventSchemas;

/// It does not change during a pass.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What to produce.
    pub want: Want,
    /// Times outside this are not counted.
    pub window: (i64, i64),
    /// sched_switch is recorded: tasks between interrupts have names.
    pub has_switch: bool,
    /// softirq_raise is recorded: origins come from it.
    pub has_raise: bool,
    /// Every event says in which context it happened.
    pub has_flags: bool,
    /// Interrupts are known, from that or from the entries and exits of vectors and devices' handlers.
    pub has_contexts: bool,
    /// napi_poll is recorded: a NET_RX without a poll may be RPS dispatch.
    pub has_poll: bool,
    /// sched_wakeup is recorded; otherwise sched_waking stands in for it.
    pub has_wakeup: bool,
    /// The bit of prev_state that says "preempted, still runnable".
    pub preempted_bit: i64,
    /// Whether who waited for whom is asked for.
    pub has_waits: bool,
    /// Whether the CPUs' clocks have to be compared.
    pub compares_clocks: bool,
    /// Whether a row is kept of each time that a task ran.
    pub has_slices: bool,
    /// CPUs that need not tick while a task runs.
    pub tickless: Vec<u32>,
    /// What becomes of the CPUs, where a first pass has found out: then rows leave at the end of each round.
    pub outcome: Option<Arc<Outcome>>,
    /// Whether the pass may end once nothing in the window can change any more.
    pub may_stop: bool,
}

impl Settings {
    /// For a recording with these events.
    pub fn of(schemas: &EventSchemas, request: &Request, compares_clocks: bool) -> Settings {
        let want = request.want;
        Settings {
            want,
            window: request.window.unwrap_or((i64::MIN, i64::MAX)),
            has_switch: schemas.has_switch,
            has_raise: schemas.has_raise,
            has_flags: schemas.has_flags,
            has_contexts: schemas.has_contexts && (schemas.has_flags || schemas.has_softirqs),
            has_poll: schemas.has_poll,
            has_wakeup: schemas.has_wakeup,
            preempted_bit: schemas.preempted_bit,
            has_waits: want.slices || want.displaced,
            compares_clocks,
            has_slices: schemas.has_switch && (want.slices || want.migrations),
            tickless: request.host.tickless.clone(),
            outcome: None,
            may_stop: false,
        }
    }

    /// How much of a stretch lies in the window.
    #[inline(always)]
    pub fn clip(&self, start: i64, end: i64) -> i64 {
        (end.min(self.window.1) - start.max(self.window.0)).max(0)
    }

    /// Whether a stretch touches the window.
    #[inline(always)]
    pub fn touches(&self, start: i64, end: i64) -> bool {
        start <= self.window.1 && end >= self.window.0
    }
}
