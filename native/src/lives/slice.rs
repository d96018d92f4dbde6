//! A task's slice on a CPU.

/// In place of a name that is not known.
pub const NOBODY: &[u8] = b"(unknown)";

/// A slice of a task on a CPU, whole, also beyond the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slice {
    /// Where.
    pub cpu: i64,
    /// Who; 0 of the idle tasks.
    pub tid: i64,
    /// Its name as it ended.
    pub comm: u32,
    /// From when.
    pub in_ns: i64,
    /// Until when.
    pub out_ns: i64,
    /// For how long it was runnable before.
    pub wait_ns: Option<i64>,
    /// A wake-up began that wait.
    pub woken: bool,
    /// How it left: it still wanted the CPU.
    pub runnable: bool,
    /// It ended.
    pub dead: bool,
    /// It waits for something else. None of them where that was not recorded.
    pub asleep: bool,
}

/// Bits of prev_state above these say that the task was preempted: 0x100 (TASK_REPORT_MAX) in today's formats, up to
/// 0x1000 in older ones.
const ASLEEP: i64 = 0xff;
/// EXIT_DEAD and EXIT_ZOMBIE, in either order: a task that leaves its CPU so never comes back.
const DEAD: i64 = 0x30;

/// Whether a task that leaves its CPU in a state waits for something else.
pub fn is_asleep(state: i64) -> bool {
    state & ASLEEP != 0
}

impl Slice {
    /// How it ended, by the state in which it left; `None` where that was not recorded.
    pub fn left(self, state: Option<i64>) -> Slice {
        let runnable = state.is_some_and(|state| !is_asleep(state));
        let dead = state.is_some_and(|state| state & DEAD != 0);
        Slice { runnable, dead, asleep: state.is_some() && !runnable, ..self }
    }
}
