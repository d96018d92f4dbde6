//! A task's slice on a CPU, as the table slices has it.

/// In place of a name that is not known.
pub const NOBODY: &[u8] = b"(unknown)";

/// A slice of a task on a CPU, whole, also beyond the window.
#[derive(Debug, Clone, Copy)]
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
    /// How it left: it still wanted the CPU.
    pub runnable: bool,
    /// It ended.
    pub dead: bool,
    /// It waits for something else. None of them where that was not recorded.
    pub asleep: bool,
}
