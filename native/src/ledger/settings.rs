//! What every CPU's machine knows from the start: what was recorded, and what is asked for.

use std::sync::Arc;

use crate::ledger::outcome::Outcome;
use crate::ledger::request::{Request, Want};
use crate::ledger::schema::EventSchemas;

/// Constant during a pass.
#[derive(Debug, Clone)]
pub struct Settings {
    pub want: Want,
    /// Times outside this window are not counted.
    pub window: (i64, i64),
    /// This and the next six: see `EventSchemas`.
    pub has_switch: bool,
    pub has_raise: bool,
    pub has_flags: bool,
    pub has_contexts: bool,
    pub has_poll: bool,
    pub has_wakeup: bool,
    pub preempted_bit: i64,
    /// Whether waits are asked for.
    pub has_waits: bool,
    /// Whether the CPUs' clocks must be compared.
    pub compares_clocks: bool,
    /// Whether slices have rows.
    pub has_slices: bool,
    /// CPUs that need not tick while a task runs.
    pub tickless: Vec<u32>,
    /// Facts about CPUs from a first pass, if there was one. Rows then leave at the end of each round.
    pub outcome: Option<Arc<Outcome>>,
    /// Whether the pass may end once nothing in the window can change any more.
    pub may_stop: bool,
}

impl Settings {
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

    /// The length of a stretch within the window.
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
