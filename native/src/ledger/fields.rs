//! The tracepoints that the ledger reads, and where their fields lie.

use crate::bytes::u64_at;
use crate::format::Format;
use crate::ledger::event::Event;
use crate::ledger::place::Place;
use crate::narrow::low_half;

/// Where an event's fields lie.
#[derive(Debug, Clone, Copy)]
pub struct EventSchema {
    /// Whether the common fields lie as in today's formats, in one word.
    is_usual: bool,
    pub flags: Place,
    pub preempt: Place,
    pub pid: Place,
    /// `None` if the ledger does not read the event.
    pub tracepoint: Option<Fields>,
}

impl EventSchema {
    /// An event that the ledger does not read.
    pub const IGNORED: EventSchema = EventSchema {
        is_usual: false,
        flags: Place::ABSENT,
        preempt: Place::ABSENT,
        pid: Place::ABSENT,
        tracepoint: None,
    };

    pub fn new(format: &Format, tracepoint: Option<Fields>) -> EventSchema {
        let at = |name| Place::of(format, name);
        let (flags, preempt, pid) = (at("common_flags"), at("common_preempt_count"), at("common_pid"));
        let is_usual = flags.is_at(2, 1) && preempt.is_at(3, 1) && pid.is_at(4, 4);
        EventSchema { is_usual, flags, preempt, pid, tracepoint }
    }

    /// Reads the common fields into `event`. `None` if the payload is too short, or lacks the flags that all events
    /// have.
    #[inline(always)]
    pub fn common(&self, payload: &[u8], has_flags: bool, event: &mut Event) -> Option<()> {
        if self.is_usual {
            let word = u64_at(payload, 0)?;
            (event.flags, event.preempt) = ((word >> 16 & 0xff) as u8, Some((word >> 24 & 0xff) as u8));
            event.pid = (word >> 32) as i32;
            return Some(());
        }
        let byte = |place: Place| place.read(payload).map(|value| (value & 0xff) as u8);
        event.flags = byte(self.flags).or((!has_flags).then_some(0))?;
        event.preempt = byte(self.preempt);
        event.pid = low_half(self.pid.read(payload)? as u64) as i32;
        Some(())
    }
}

/// A tracepoint and its fields, under the kernel's names. Task names are stored in place, other texts by `__data_loc`.
#[derive(Debug, Clone, Copy)]
pub enum Fields {
    /// irq:softirq_raise.
    SoftirqRaise { vec: Place },
    /// irq:softirq_entry.
    SoftirqEntry { vec: Place },
    /// irq:softirq_entry if irq:softirq_exit was not recorded.
    SoftirqStart { vec: Place },
    /// irq:softirq_exit.
    SoftirqExit { vec: Place },
    /// irq:irq_handler_entry.
    IrqEntry { irq: Place, name: Place },
    /// irq:irq_handler_exit.
    IrqExit { irq: Place },
    /// Entry of an interrupt vector. `pair`: its place in `EventSchemas::vectors`.
    VectorEntry { pair: u16, vector: Place },
    /// Its exit.
    VectorExit { pair: u16, vector: Place },
    /// napi:napi_poll.
    NapiPoll { napi: Place, work: Place, budget: Place, dev_name: Place },
    /// sched:sched_switch.
    Switch { prev_comm: Place, prev_state: Place, next_pid: Place, next_comm: Place },
    /// sched:sched_wakeup or sched_wakeup_new.
    Wakeup { pid: Place, target_cpu: Place },
    /// sched:sched_waking.
    Waking { pid: Place, target_cpu: Place },
    /// sched:sched_migrate_task.
    Migrate { pid: Place, orig_cpu: Place, dest_cpu: Place },
    /// sched:sched_process_exec.
    Exec,
    /// Any other event: it only witnesses context and task.
    Witness,
}

/// What a pair of entry and exit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pair {
    /// A softirq.
    Softirq,
    /// A device's hardirq.
    Irq,
    /// An interrupt vector, by its place in `EventSchemas::vectors`.
    Vector(u16),
}

impl Fields {
    pub fn entry_of(&self) -> Option<Pair> {
        match self {
            Fields::SoftirqEntry { .. } => Some(Pair::Softirq),
            Fields::IrqEntry { .. } => Some(Pair::Irq),
            Fields::VectorEntry { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }

    pub fn exit_of(&self) -> Option<Pair> {
        match self {
            Fields::SoftirqExit { .. } => Some(Pair::Softirq),
            Fields::IrqExit { .. } => Some(Pair::Irq),
            Fields::VectorExit { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }
}
