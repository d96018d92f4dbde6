//! One event as a CPU's machine takes it: its names, tasks and owners of time are numbers already.

use crate::ledger::network::Network;

/// An event of one CPU.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Time.
    pub time_ns: i64,
    /// Place in the recording, which tells which of two at one time came first.
    pub order: u32,
    /// common_pid.
    pub pid: i32,
    /// The task that has this pid.
    pub victim: u32,
    /// common_flags.
    pub flags: u8,
    /// common_preempt_count, where recorded; at softirq_entry how far it is above that of an interrupt's exit on this
    /// task, where that is known.
    pub preempt: Option<u8>,
    /// What happened.
    pub what: Tracepoint,
}

impl Event {
    /// Yet to be read.
    pub const NONE: Event =
        Event { time_ns: 0, order: 0, pid: 0, victim: 0, flags: 0, preempt: None, what: Tracepoint::Witness };
}

/// What happened: the tracepoint, with the fields that the ledger reads.
#[derive(Debug, Clone, Copy)]
pub enum Tracepoint {
    /// irq:softirq_raise of a vector.
    SoftirqRaise(u8),
    /// irq:softirq_entry.
    SoftirqEntry(u8),
    /// irq:softirq_entry where irq:softirq_exit was not recorded.
    SoftirqStart(u8),
    /// irq:softirq_exit.
    SoftirqExit(u8),
    /// irq:irq_handler_entry, or the entry of an interrupt vector.
    HardirqEntry(Interrupt),
    /// Its exit.
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
    /// Others: they witness context and task, no more.
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

/// A hardirq or vector that begins or ends.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt {
    /// Whether it is a vector.
    pub is_vector: bool,
    /// Whether it is the CPU's own timer.
    pub is_tick: bool,
    /// Whether it is the network's, as far as its name tells.
    pub network: Network,
    /// The line, or the vector's place in `EventSchemas::vectors`.
    pub key: i64,
    /// Whose time it is.
    pub thief: u32,
    /// The handler's name.
    pub name: u32,
}

/// A poll that is over.
#[derive(Debug, Clone, Copy)]
pub struct NapiPoll {
    /// Whose time it is.
    pub thief: u32,
    /// The device's name.
    pub device: u32,
    /// Packets.
    pub work: Option<i32>,
    /// Packets allowed.
    pub budget: Option<i32>,
}

/// A task goes, another comes.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// The one that goes, under the name that the event gives it.
    pub prev: u32,
    /// prev_state, where recorded.
    pub prev_state: Option<i64>,
    /// The one that comes.
    pub next_pid: i32,
    /// The same as a victim.
    pub next: u32,
}

/// A task is woken.
#[derive(Debug, Clone, Copy)]
pub struct Wakeup {
    /// Which.
    pub pid: i32,
    /// Where it shall run, where recorded.
    pub target_cpu: Option<i32>,
    /// What this makes of the context that wakes it: NAPI threads work for the network.
    pub network: Option<Network>,
}

/// A task is moved.
#[derive(Debug, Clone, Copy)]
pub struct Migrate {
    /// Which.
    pub pid: i32,
    /// The same as a victim.
    pub victim: u32,
    /// From where.
    pub orig_cpu: i32,
    /// To where.
    pub dest_cpu: i32,
}
