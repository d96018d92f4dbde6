//! An event as a CPU's machine takes it: its names, tasks and owners of time are already numbers.

use crate::ledger::network::Network;

#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub time_ns: i64,
    /// Place in the recording. It orders events that have the same time.
    pub order: u32,
    /// common_pid.
    pub pid: i32,
    /// The task with this pid.
    pub victim: u32,
    /// common_flags.
    pub flags: u8,
    /// common_preempt_count, where recorded. At softirq_entry: how far it is above that of an interrupt's exit on this
    /// task, where that is known.
    pub preempt: Option<u8>,
    pub what: Tracepoint,
}

impl Event {
    /// An event yet to be read.
    pub const NONE: Event =
        Event { time_ns: 0, order: 0, pid: 0, victim: 0, flags: 0, preempt: None, what: Tracepoint::Witness };
}

/// The tracepoint, with the fields that the ledger reads.
#[derive(Debug, Clone, Copy)]
pub enum Tracepoint {
    /// irq:softirq_raise.
    SoftirqRaise(u8),
    /// irq:softirq_entry.
    SoftirqEntry(u8),
    /// irq:softirq_entry if irq:softirq_exit was not recorded.
    SoftirqStart(u8),
    /// irq:softirq_exit.
    SoftirqExit(u8),
    /// irq:irq_handler_entry, or the entry of an interrupt vector.
    HardirqEntry(Interrupt),
    /// The exit of either.
    HardirqExit(Interrupt),
    /// napi:napi_poll.
    NapiPoll(NapiPoll),
    /// sched:sched_switch.
    Switch(Switch),
    /// sched:sched_wakeup or sched_wakeup_new.
    Wakeup(Wakeup),
    /// sched:sched_waking.
    Waking(Wakeup),
    /// sched:sched_migrate_task.
    Migrate(Migrate),
    /// sched:sched_process_exec.
    Exec,
    /// Any other event: it only witnesses context and task.
    Witness,
}

impl Tracepoint {
    /// Whether it is the entry or the exit of a softirq.
    #[inline(always)]
    pub fn is_of_softirq(&self) -> bool {
        matches!(self, Tracepoint::SoftirqEntry(_) | Tracepoint::SoftirqExit(_))
    }

    /// Whether it is the entry or the exit of a hardirq or vector.
    #[inline(always)]
    pub fn is_of_hardirq(&self) -> bool {
        matches!(self, Tracepoint::HardirqEntry(_) | Tracepoint::HardirqExit(_))
    }
}

/// The beginning or end of a hardirq or vector.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt {
    pub is_vector: bool,
    /// Whether it is the CPU's own timer.
    pub is_tick: bool,
    /// Whether it is network work, as far as its name tells.
    pub network: Network,
    /// The line, or the vector's place in `EventSchemas::vectors`.
    pub key: i64,
    /// The owner of its time.
    pub thief: u32,
    /// The handler's name.
    pub name: u32,
}

/// A completed poll.
#[derive(Debug, Clone, Copy)]
pub struct NapiPoll {
    /// The owner of its time.
    pub thief: u32,
    /// The device's name.
    pub device: u32,
    /// Packets handled.
    pub work: Option<i32>,
    /// Packets allowed.
    pub budget: Option<i32>,
}

#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// The task that leaves, under the name in the event.
    pub prev: u32,
    /// prev_state, where recorded.
    pub prev_state: Option<i64>,
    pub next_pid: i32,
    /// The task that comes.
    pub next: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Wakeup {
    pub pid: i32,
    /// The CPU on which it is to run, where recorded.
    pub target_cpu: Option<i32>,
    /// What this makes of the context that wakes it: NAPI threads do network work.
    pub network: Option<Network>,
}

#[derive(Debug, Clone, Copy)]
pub struct Migrate {
    pub pid: i32,
    pub victim: u32,
    pub orig_cpu: i32,
    pub dest_cpu: i32,
}
