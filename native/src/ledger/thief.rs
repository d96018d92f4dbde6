//! Owners of time: what ran (thieves) and on top of whom (victims), each as a small number.

use rustc_hash::FxHashMap;

use crate::intern::{Interner, NONE};
use crate::ledger::network::Network;
use crate::ledger::softirq::{policy, NET_RX, VECTORS};
use crate::narrow::Narrow;

/// Bits of a thief's number. The highest hold what a run of it proved to be (`turned`), and whether it is a poll.
pub const THIEF_BITS: u32 = 24;
/// Most thieves of a recording.
const MAX_THIEVES: usize = 1 << 21;
/// What a run may prove to be.
pub const TURNED_TO: [Network; 3] = [Network::Yes, Network::OfThread, Network::Unknown];
const POLL: u32 = 1 << 23;

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

/// Cost class of a segment; `None` for time of ordinary tasks, idle time and unknown time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    None,
    /// Interrupt context on an idle CPU.
    FromIdle,
    /// In a kthread that exists for it, with the interrupts on top of it.
    Scheduled,
    /// The task's own softirq.
    Synchronous,
    /// On top of a task, from an interrupt.
    Stolen,
    /// Stolen or synchronous: the softirq's origin is mixed or unknown.
    Either,
}

impl Class {
    /// All classes, by number.
    pub const ALL: [Class; 6] =
        [Class::None, Class::FromIdle, Class::Scheduled, Class::Synchronous, Class::Stolen, Class::Either];

    /// Its number; `NONE` for `Class::None`.
    pub fn code(self) -> u32 {
        if self == Class::None {
            NONE
        } else {
            self as u32
        }
    }

    /// Names, by number. The first stands for no class.
    pub const NAMES: [&'static str; 6] =
        ["", "from_idle", "scheduled", "synchronous", "stolen", "stolen_or_synchronous"];
}

/// What ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Thief {
    pub context: Context,
    /// irq, vector number or softirq vec.
    pub id: Option<i64>,
    /// Interned name, or `NONE`.
    pub name: u32,
    /// Address of the NAPI instance.
    pub napi: Option<u64>,
    /// Interned device, or `NONE`. That of an interrupt line is found at the end.
    pub device: u32,
    pub network: Network,
}

/// All thieves of a capture. The fixed ones come first.
#[derive(Debug)]
pub struct Thieves {
    pub all: Vec<Thief>,
    keys: FxHashMap<(u8, i64, u64, u32), u32>,
    /// Instance, device and thief of the last poll.
    poll: (u64, u32, u32),
    /// Line, name and thief of the last line: at its entry, and at its exit, which has no name.
    lines: [(i64, u32, u32); 2],
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

/// Thief number of the first softirq vector; the others follow.
const SOFTIRQS: u32 = 7;

/// The thief of a softirq vector outside its polls.
#[inline(always)]
pub fn softirq_thief(vec: u8) -> u32 {
    SOFTIRQS + u32::from(vec)
}

/// A thief's index in `Thieves::all`.
#[inline(always)]
pub fn place(thief: u32) -> usize {
    thief as usize & (MAX_THIEVES - 1)
}

/// What a run of this thief proved to be: 0 for nothing, else its index in `TURNED_TO` plus 1.
#[inline(always)]
pub fn turned_to(thief: u32) -> usize {
    (thief as usize / MAX_THIEVES) & 3
}

/// The thief number at `place` whose run proved to be `turned`, with the poll bit of `thief`.
#[inline(always)]
pub fn alike(thief: u32, place: usize, turned: usize) -> u32 {
    (place + turned * MAX_THIEVES).narrow::<u32>() | (thief & POLL)
}

/// The number of a run of `thief`, `known` to be one thing, that proved to be another.
pub fn turned(thief: u32, known: Network, proved: Network) -> u32 {
    let settled = proved == Network::OfThread && known != Network::OfRun;
    let turned = TURNED_TO.iter().position(|&network| network == proved).filter(|_| known != proved && !settled);
    turned.map_or(thief, |turned| thief | ((turned.narrow::<u32>() + 1) * MAX_THIEVES.narrow::<u32>()))
}

/// What a run proved to be if its end was not seen.
pub fn in_doubt(known: Network, proved: Option<Network>) -> Option<Network> {
    let doubt = (known == Network::OfRun).then_some(Network::Unknown);
    proved.filter(|&proved| proved == Network::Yes).or(doubt)
}

/// Whether this is network work other than an interrupt. Where it is scheduled, others wait for it.
#[inline(always)]
pub fn displaces(thief: u32) -> bool {
    if thief & POLL != 0 || thief == RPS_DISPATCH || thief == KTHREAD_NETWORK {
        return true;
    }
    let vec = place(thief).narrow::<u32>().checked_sub(SOFTIRQS).filter(|&vec| vec < VECTORS.narrow::<u32>());
    let proved = turned_to(thief).checked_sub(1).map(|turned| TURNED_TO[turned]);
    vec.is_some_and(|vec| proved.unwrap_or(policy(vec.narrow()).network) == Network::Yes)
}

impl Thieves {
    /// The fixed thieves. `names`: of softirq vectors.
    pub fn new(names: &[(i64, String)], strings: &mut Interner) -> Thieves {
        let plain = |context, network| Thief { context, id: None, name: NONE, napi: None, device: NONE, network };
        let softirq = |vec, name, network| Thief { id: Some(vec), name, ..plain(Context::Softirq, network) };
        let dispatch = strings.code(b"RPS dispatch");
        let mut all = vec![
            plain(Context::Task, Network::NotApplicable),
            plain(Context::Idle, Network::NotApplicable),
            plain(Context::Unknown, Network::NotApplicable),
            softirq(NET_RX.into(), dispatch, Network::Yes),
            plain(Context::Task, Network::Yes),
            plain(Context::Task, Network::No),
            plain(Context::Task, Network::Unknown),
        ];
        for vec in 0..VECTORS.narrow() {
            let name = names.iter().find(|symbol| symbol.0 == i64::from(vec));
            let name = name.map_or_else(|| format!("softirq {vec}"), |symbol| symbol.1.clone());
            all.push(softirq(vec.into(), strings.code(name.as_bytes()), policy(vec).network));
        }
        Thieves { all, keys: FxHashMap::default(), poll: (0, 0, UNKNOWN), lines: [(0, 0, UNKNOWN); 2] }
    }

    fn find(&mut self, key: (u8, i64, u64, u32), make: impl FnOnce() -> Thief) -> u32 {
        let all = &mut self.all;
        if all.len() >= MAX_THIEVES {
            // No host has this many lines and devices, but a damaged file may. The time is still accounted for.
            return self.keys.get(&key).copied().unwrap_or(UNKNOWN);
        }
        *self.keys.entry(key).or_insert_with(|| {
            all.push(make());
            all.len().narrow::<u32>() - 1
        })
    }

    /// The thief of a device's interrupt line.
    #[inline(always)]
    pub fn hardirq(&mut self, irq: i64, name: u32) -> u32 {
        let last = self.lines[usize::from(name == NONE)];
        if (last.0, last.1) != (irq, name) || last.2 == UNKNOWN {
            let thief = self.other_line(irq, name);
            self.lines[usize::from(name == NONE)] = (irq, name, thief);
            return thief;
        }
        last.2
    }

    fn other_line(&mut self, irq: i64, name: u32) -> u32 {
        self.find((Context::Hardirq as u8, irq, 0, name), || Thief {
            context: Context::Hardirq,
            id: Some(irq),
            name,
            napi: None,
            device: NONE,
            network: Network::OfIrq,
        })
    }

    /// The thief of an interrupt vector, by the tracepoint's name.
    pub fn vector(&mut self, vector: Option<i64>, name: u32, text: &str) -> u32 {
        // A timer may be the NIC's interrupt (napi_defer_hard_irqs). Inter-processor calls carry TLB flushes, but also
        // RPS kicks, which raise nothing where NET_RX is already at work.
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

    /// The thief of a NAPI instance of a device.
    #[inline(always)]
    pub fn poll(&mut self, napi: u64, device: u32) -> u32 {
        // The next poll usually has the same device.
        if (self.poll.0, self.poll.1) != (napi, device) || self.poll.2 == UNKNOWN {
            let thief = self.find((Context::Poll as u8, 0, napi, device), || Thief {
                context: Context::Poll,
                id: Some(NET_RX.into()),
                name: NONE,
                napi: Some(napi),
                device,
                network: Network::Yes,
            });
            self.poll = (napi, device, if thief == UNKNOWN { thief } else { thief | POLL });
        }
        self.poll.2
    }

    /// The thief of an interrupt thread's own time.
    pub fn irq_thread(&mut self, irq: i64) -> u32 {
        self.find((Context::Task as u8, irq, 0, 0), || Thief {
            context: Context::Task,
            id: Some(irq),
            name: NONE,
            napi: None,
            device: NONE,
            network: Network::OfIrq,
        })
    }
}
