//! The tracepoints that the ledger reads, and one event of them.

/// A tracepoint with its fields, by the kernel's names. `N`: an integer, `T`: a text; where they lie in a
/// payload, or what they are in an event.
#[derive(Debug, Clone, Copy)]
pub enum Tracepoint<N, T> {
    /// irq:softirq_raise.
    SoftirqRaise { vec: N },
    /// irq:softirq_entry.
    SoftirqEntry { vec: N },
    /// irq:softirq_exit.
    SoftirqExit { vec: N },
    /// irq:irq_handler_entry.
    IrqEntry { irq: N, name: T },
    /// irq:irq_handler_exit.
    IrqExit { irq: N },
    /// Entry of an interrupt vector; `pair`: its place in `EventSchemas::vectors`.
    VectorEntry { pair: u16, vector: N },
    /// Its exit.
    VectorExit { pair: u16, vector: N },
    /// napi:napi_poll.
    NapiPoll { napi: N, work: N, budget: N, dev_name: T },
    /// sched:sched_switch.
    Switch { prev_comm: T, prev_state: N, next_pid: N, next_comm: T },
    /// sched:sched_wakeup or sched_wakeup_new.
    Wakeup { pid: N, target_cpu: N },
    /// sched:sched_waking.
    Waking { pid: N, target_cpu: N },
    /// sched:sched_migrate_task.
    Migrate { pid: N, orig_cpu: N, dest_cpu: N },
    /// sched:sched_process_exec.
    Exec,
    /// Others: they witness context and task, no more.
    Witness,
}

/// What an entry and its exit bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// A softirq.
    Softirq,
    /// A device's hardirq.
    Irq,
    /// An interrupt vector, by its place in `EventSchemas::vectors`.
    Vector(u16),
}

impl<N, T> Tracepoint<N, T> {
    /// What this is the entry of.
    pub fn entry_of(&self) -> Option<Pair> {
        match self {
            Tracepoint::SoftirqEntry { .. } => Some(Pair::Softirq),
            Tracepoint::IrqEntry { .. } => Some(Pair::Irq),
            Tracepoint::VectorEntry { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }

    /// What this is the exit of.
    pub fn exit_of(&self) -> Option<Pair> {
        match self {
            Tracepoint::SoftirqExit { .. } => Some(Pair::Softirq),
            Tracepoint::IrqExit { .. } => Some(Pair::Irq),
            Tracepoint::VectorExit { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }

    /// Whether it is the entry or the exit of a softirq.
    #[inline(always)]
    pub fn is_of_softirq(&self) -> bool {
        matches!(self, Tracepoint::SoftirqEntry { .. } | Tracepoint::SoftirqExit { .. })
    }

    /// Whether it is the entry of a hardirq or vector.
    #[inline(always)]
    pub fn is_hardirq_entry(&self) -> bool {
        matches!(self, Tracepoint::IrqEntry { .. } | Tracepoint::VectorEntry { .. })
    }

    /// Whether it is the exit of a hardirq or vector.
    #[inline(always)]
    pub fn is_hardirq_exit(&self) -> bool {
        matches!(self, Tracepoint::IrqExit { .. } | Tracepoint::VectorExit { .. })
    }
}

/// An integer, or none where the format lacks it: in half the bytes of an `Option`, for every event is written and read.
#[derive(Debug, Clone, Copy)]
pub struct Int(i64);

impl Int {
    const ABSENT: i64 = i64::MIN;

    /// What was read.
    #[inline(always)]
    pub fn of(value: Option<i64>) -> Int {
        Int(value.unwrap_or(Self::ABSENT))
    }

    /// The value.
    #[inline(always)]
    pub fn get(self) -> Option<i64> {
        (self.0 != Self::ABSENT).then_some(self.0)
    }

    /// The value, or another where there is none.
    #[inline(always)]
    pub fn unwrap_or(self, other: i64) -> i64 {
        self.get().unwrap_or(other)
    }
}

/// What happened; texts are interned.
pub type Happened = Tracepoint<Int, u32>;

/// One event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Time.
    pub time_ns: i64,
    /// common_flags.
    pub flags: u8,
    /// common_preempt_count, where recorded.
    pub preempt: Option<u8>,
    /// common_pid.
    pub pid: i32,
    /// The tracepoint and its fields.
    pub what: Happened,
}

impl Event {
    /// Nothing but its time.
    pub fn at(time_ns: i64) -> Event {
        Event { time_ns, flags: 0, preempt: None, pid: 0, what: Tracepoint::Witness }
    }
}

/// A hardirq or vector that begins or ends.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt {
    /// Whether it is a vector.
    pub is_vector: bool,
    /// The line, or the vector's place in `EventSchemas::vectors`.
    pub key: i64,
    /// The handler's name.
    pub name: u32,
    /// The vector's number, where it was recorded.
    pub vector: Option<i64>,
}

impl Interrupt {
    /// Of a line.
    pub fn of_line(irq: Int, name: u32) -> Interrupt {
        Interrupt { is_vector: false, key: irq.unwrap_or(-1), name, vector: None }
    }

    /// Of a vector.
    pub fn of_vector(pair: u16, vector: Int) -> Interrupt {
        let vector = vector.get().filter(|&vector| vector >= 0);
        Interrupt { is_vector: true, key: pair.into(), name: crate::intern::NONE, vector }
    }
}

/// A poll that is over.
#[derive(Debug, Clone, Copy)]
pub struct NapiPoll {
    pub napi: u64,
    pub work: Option<i32>,
    pub budget: Option<i32>,
    pub device: u32,
}

/// A task goes, another comes.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    pub prev_comm: u32,
    pub prev_state: Option<i64>,
    pub next_pid: i32,
    pub next_comm: u32,
}
