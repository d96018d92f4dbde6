//! A task's slice on a CPU.

/// Stands for an unknown name.
pub const NOBODY: &[u8] = b"(unknown)";

/// A whole slice of a task on a CPU, even beyond the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slice {
    /// CPU number.
    pub cpu: i64,
    /// 0 for the idle tasks.
    pub tid: i64,
    /// Its name at the end.
    pub comm: u32,
    /// Start.
    pub in_ns: i64,
    /// End.
    pub out_ns: i64,
    /// How long it was runnable before.
    pub wait_ns: Option<i64>,
    /// That wait began with a wake-up.
    pub woken: bool,
    /// It left while still runnable.
    pub runnable: bool,
    /// It ended.
    pub dead: bool,
    /// It waits for something else. None of the three is set if the state was not recorded.
    pub asleep: bool,
}

/// Bits of prev_state above these mean that the task was preempted: 0x100 (TASK_REPORT_MAX) in today's formats, up to
/// 0x1000 in older ones.
const ASLEEP: i64 = 0xff;
/// EXIT_DEAD and EXIT_ZOMBIE, in either order. A task that leaves its CPU in these states never comes back.
const DEAD: i64 = 0x30;

/// Whether a task that leaves its CPU in a state waits for something else.
pub fn is_asleep(state: i64) -> bool {
    state & ASLEEP != 0
}

impl Slice {
    /// Sets how it ended, from the state in which the task left; `None` if that was not recorded.
    pub fn left(self, state: Option<i64>) -> Slice {
        let runnable = state.is_some_and(|state| !is_asleep(state));
        let dead = state.is_some_and(|state| state & DEAD != 0);
        Slice { runnable, dead, asleep: state.is_some() && !runnable, ..self }
    }
}
