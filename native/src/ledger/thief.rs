//! Owners of time: what ran (thieves) and on top of whom (victims), each as a small number.

use rustc_hash::FxHashMap;

use crate::intern::{Interner, NONE};

/// Thieves must be told apart by 24 bits.
pub const MAX_THIEVES: usize = 1 << 24;

/// What a CPU was doing in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Context {
    /// The task itself.
    Task,
    /// The idle task.
    Idle,
    /// A device's interrupt handler.
    Hardirq,
    /// An interrupt vector that is no device's: timer, inter-processor interrupt.
    Vector,
    /// A softirq outside its polls.
    Softirq,
    /// A NAPI poll.
    Poll,
    /// The capture cannot tell.
    Unknown,
}

impl Context {
    /// Names, by number.
    pub const NAMES: [&'static str; 7] = ["task", "idle", "hardirq", "vector", "softirq", "poll", "unknown"];
}

/// Cost class of a segment; `None` for the time of ordinary tasks, idle and unknown time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// No cost class.
    None,
    /// Interrupt context on an idle CPU.
    FromIdle,
    /// In a kthread that exists for it, with the interrupts on top.
    Scheduled,
    /// The task's own softirq.
    Synchronous,
    /// On top of a task, from an interrupt.
    Stolen,
    /// Stolen or synchronous: the softirq's origin is mixed or unknown.
    Either,
}

impl Class {
    /// All, by number.
    pub const ALL: [Class; 6] =
        [Class::None, Class::FromIdle, Class::Scheduled, Class::Synchronous, Class::Stolen, Class::Either];

    /// Names, by number; the first stands for none.
    pub const NAMES: [&'static str; 6] =
        ["", "from_idle", "scheduled", "synchronous", "stolen", "stolen_or_synchronous"];
}

/// Whether time went to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Packets.
    Yes,
    /// Something else.
    No,
    /// Not to be told.
    Unknown,
    /// As the interrupt line turns out (resolved at the end).
    OfIrq(i32),
    /// No, if a run that raises NET_RX or wakes a NAPI thread would have been seen to (resolved at
    /// the end); such a run is another thief's.
    OfRun,
    /// No, unless the task that it woke was a NAPI thread: it never had a name (resolved at the end).
    OfThread,
    /// The question does not arise: a task's own time, idle.
    NotApplicable,
}

/// What ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Thief {
    /// In which context.
    pub context: Context,
    /// irq, vector number or softirq vec.
    pub id: Option<i64>,
    /// Interned name, or `NONE`.
    pub name: u32,
    /// Address of the NAPI instance.
    pub napi: Option<u64>,
    /// Interned device, or `NONE`; of interrupt lines it is found at the end.
    pub device: u32,
    /// Whether it is network work.
    pub network: Network,
}

/// All thieves of a capture. The first ones are always there.
#[derive(Debug)]
pub struct Thieves {
    /// By number.
    pub all: Vec<Thief>,
    keys: FxHashMap<(u8, i64, u64, u32), u32>,
}

/// Thief number of a task's own time.
pub const TASK: u32 = 0;
/// Thief number of the idle task.
pub const IDLE: u32 = 1;
/// Thief number of unknown time.
pub const UNKNOWN: u32 = 2;
/// Thief number of a NET_RX without a poll.
pub const RPS_DISPATCH: u32 = 3;
/// Own time of kthreads that are network work throughout (threaded NAPI, vhost).
pub const KTHREAD_NETWORK: u32 = 4;
/// Own time of kthreads that never are (timers, RCU).
pub const KTHREAD_OTHER: u32 = 5;
/// Own time of kthreads that serve whatever came (ksoftirqd).
pub const KTHREAD_ANY: u32 = 6;

/// In the place of a context in the keys of thieves that turned out otherwise.
const TURNED: u8 = 16;

/// Vector number of NET_RX, the same in every kernel that has a softirq_entry event.
pub const NET_RX: i64 = 3;
/// Vector number of HI: tasklets that go first.
pub const HI: i64 = 0;
/// Vector number of TASKLET.
pub const TASKLET: i64 = 6;
/// Vector number of NET_TX.
pub const NET_TX: i64 = 2;

impl Thieves {
    /// The fixed ones.
    pub fn new(strings: &mut Interner) -> Thieves {
        let plain = |context, network| Thief { context, id: None, name: NONE, napi: None, device: NONE, network };
        let mut rps = plain(Context::Softirq, Network::Yes);
        (rps.id, rps.name) = (Some(NET_RX), strings.code(b"RPS dispatch"));
        let all = vec![
            plain(Context::Task, Network::NotApplicable),
            plain(Context::Idle, Network::NotApplicable),
            plain(Context::Unknown, Network::NotApplicable),
            rps,
            plain(Context::Task, Network::Yes),
            plain(Context::Task, Network::No),
            plain(Context::Task, Network::Unknown),
        ];
        Thieves { all, keys: FxHashMap::default() }
    }

    fn find(&mut self, key: (u8, i64, u64, u32), make: impl FnOnce() -> Thief) -> u32 {
        let all = &mut self.all;
        if all.len() >= MAX_THIEVES {
            // No host has so many lines and devices; damage may. Its time stays accounted for.
            return self.keys.get(&key).copied().unwrap_or(UNKNOWN);
        }
        *self.keys.entry(key).or_insert_with(|| {
            all.push(make());
            all.len() as u32 - 1
        })
    }

    /// A device's interrupt line.
    pub fn hardirq(&mut self, irq: i64, name: u32) -> u32 {
        let network = Network::OfIrq(irq as i32);
        self.find((Context::Hardirq as u8, irq, 0, name), || Thief {
            context: Context::Hardirq,
            id: Some(irq),
            name,
            napi: None,
            device: NONE,
            network,
        })
    }

    /// An interrupt vector, by the tracepoint's name.
    pub fn vector(&mut self, vector: Option<i64>, name: u32, text: &str) -> u32 {
        // A timer may be the NIC's interrupt (napi_defer_hard_irqs). Inter-processor calls carry RPS
        // kicks, which raise nothing where NET_RX is at work, as well as TLB flushes.
        let network = match text {
            "local_timer" => Network::OfRun,
            "thermal_apic" | "threshold_apic" | "deferred_error_apic" | "error_apic" | "spurious_apic" => Network::No,
            _ => Network::Unknown,
        };
        let id = vector.unwrap_or(-1);
        self.find((Context::Vector as u8, id, 0, name), || Thief {
            context: Context::Vector,
            id: vector,
            name,
            napi: None,
            device: NONE,
            network,
        })
    }

    /// A softirq vector, outside its polls.
    pub fn softirq(&mut self, vec: i64, name: u32) -> u32 {
        // HI, TIMER, IRQ_POLL, TASKLET and HRTIMER run what drivers and sockets put there.
        let network = match vec {
            NET_RX | NET_TX => Network::Yes,
            HI | 1 | 5 | TASKLET | 8 => Network::OfRun,
            _ => Network::No,
        };
        self.find((Context::Softirq as u8, vec, 0, 0), || Thief {
            context: Context::Softirq,
            id: Some(vec),
            name,
            napi: None,
            device: NONE,
            network,
        })
    }

    /// The thief of a run of `thief` that turned out to be otherwise.
    pub fn turned(&mut self, thief: u32, network: Network) -> u32 {
        let mut other = self.all[thief as usize].clone();
        let settled = network == Network::OfThread && other.network != Network::OfRun;
        if other.network == network || settled {
            return thief;
        }
        other.network = network;
        let variant = match network {
            Network::Yes => TURNED,
            Network::OfThread => TURNED + 1,
            _ => TURNED + 2,
        };
        self.find((variant, i64::from(thief), 0, 0), || other)
    }

    /// What a run of `thief` is whose end was not seen.
    pub fn in_doubt(&self, thief: u32, turned: Option<Network>) -> Option<Network> {
        turned
            .filter(|&turned| turned == Network::Yes)
            .or((self.all[thief as usize].network == Network::OfRun).then_some(Network::Unknown))
    }

    /// A NAPI instance of a device.
    pub fn poll(&mut self, napi: u64, device: u32) -> u32 {
        self.find((Context::Poll as u8, 0, napi, device), || Thief {
            context: Context::Poll,
            id: Some(NET_RX),
            name: NONE,
            napi: Some(napi),
            device,
            network: Network::Yes,
        })
    }

    /// The own time of an interrupt line's thread.
    pub fn irq_thread(&mut self, irq: i64) -> u32 {
        self.find((Context::Task as u8, irq, 0, 0), || Thief {
            context: Context::Task,
            id: Some(irq),
            name: NONE,
            napi: None,
            device: NONE,
            network: Network::OfIrq(irq as i32),
        })
    }
}
