//! Tasks: one per (tid, start), under the names they had at the time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::intern::{Interner, NONE};
use crate::ledger::thief::{Thieves, KTHREAD_ANY, KTHREAD_NETWORK, KTHREAD_OTHER, TASK};
use crate::narrow::Narrow;

/// What a task exists for, according to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An ordinary task, which can be a victim.
    Ordinary,
    /// ksoftirqd/N: deferred softirqs.
    Ksoftirqd,
    /// Threaded NAPI and backlog threads.
    Napi,
    /// irq/N-name: a threaded interrupt handler.
    IrqThread(i64),
    /// vhost: a guest's packets.
    Vhost,
    /// ktimers, rcuc: timers and RCU on PREEMPT_RT.
    Other,
}

impl Role {
    /// The role that a name implies.
    pub fn of(comm: &str) -> Role {
        let starts = |prefix: &str| comm.starts_with(prefix);
        if starts("ksoftirqd/") {
            Role::Ksoftirqd
        } else if starts("napi/") || starts("backlog_napi/") {
            Role::Napi
        } else if starts("vhost-") {
            Role::Vhost
        } else if starts("ktimers/") || starts("ktimersoftd/") || starts("rcuc/") {
            Role::Other
        } else if let Some(rest) = comm.strip_prefix("irq/") {
            let number = rest.split('-').next().and_then(|number| number.parse().ok());
            number.map_or(Role::Ordinary, Role::IrqThread)
        } else {
            Role::Ordinary
        }
    }
}

/// A task under one of its names: what segments and sums are charged to.
#[derive(Debug, Clone, Copy)]
pub struct Victim {
    pub tid: i32,
    /// Tells tasks apart that had the same tid.
    pub task: u32,
    /// Interned name, or `NONE` until it is known.
    pub comm: u32,
    pub role: Role,
    /// The thief of its own time.
    pub own: u32,
    /// Whether it is the thread that moves tasks by force.
    pub is_stopper: bool,
    /// Whether it is the thread that takes its CPU offline and brings it back.
    pub is_hotplug: bool,
}

impl Victim {
    const NOBODY: Victim =
        Victim { tid: -1, task: 0, comm: NONE, role: Role::Ordinary, own: TASK, is_stopper: false, is_hotplug: false };
}

fn publish(published: &Mutex<Vec<Block>>, number: usize, victim: Victim) {
    let mut blocks = published.lock().unwrap_or_else(PoisonError::into_inner);
    if number / BLOCK >= blocks.len() {
        blocks.push(Arc::new((0..BLOCK).map(|_| OnceLock::new()).collect()));
    }
    if let Some(block) = blocks.get(number / BLOCK) {
        let _ = block[number % BLOCK].set(victim);
    }
}

/// The victim of time whose owner is unknown.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Current {
    victim: u32,
    comm: u32,
    dead: bool,
    /// When it was first seen.
    since_ns: i64,
}

/// Every task seen, under every name.
#[derive(Debug, Default)]
pub struct Tasks {
    pub victims: Vec<Victim>,
    known: FxHashMap<(u32, u32), u32>,
    by_tid: FxHashMap<i32, Current>,
    next_task: u32,
    /// Time of the current event.
    pub now_ns: i64,
    /// Increases with every change of who has a tid, or under which name.
    pub version: u64,
    published: Arc<Mutex<Vec<Block>>>,
}

/// Victims of one block; written once, read by all threads.
type Block = Arc<Vec<OnceLock<Victim>>>;
const BLOCK: usize = 1024;

/// The victims as another thread sees them: those in the events that it was given.
#[derive(Debug, Default)]
pub struct Victims {
    known: Vec<Block>,
    published: Arc<Mutex<Vec<Block>>>,
}

impl Victims {
    #[inline(always)]
    pub fn get(&mut self, victim: u32) -> Victim {
        let (block, place) = (victim as usize / BLOCK, victim as usize % BLOCK);
        if self.known.len() <= block {
            let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
            self.known.extend_from_slice(&published[self.known.len()..]);
        }
        self.known.get(block).and_then(|block| block[place].get()).copied().unwrap_or(Victim::NOBODY)
    }
}

impl Tasks {
    pub fn new() -> Tasks {
        // Version 0 means "never looked up".
        Tasks { version: 1, ..Tasks::default() }
    }

    /// The victims, for another thread.
    pub fn shared(&self) -> Victims {
        Victims { known: Vec::new(), published: Arc::clone(&self.published) }
    }

    /// The task that now has this tid, under its present name.
    #[inline(always)]
    pub fn current(&mut self, tid: i32, strings: &mut Interner, thieves: &mut Thieves) -> u32 {
        match self.by_tid.get(&tid) {
            Some(current) if !current.dead => current.victim,
            _ => self.begin(tid, NONE, strings, thieves),
        }
    }

    /// The role of the task with this tid; `None` while its name is unknown.
    pub fn role(&self, tid: i32) -> Option<Role> {
        let current = self.by_tid.get(&tid).filter(|current| !current.dead)?;
        let victim = &self.victims[current.victim as usize];
        (tid == 0 || victim.comm != NONE).then_some(victim.role)
    }

    /// Tid and name of every NAPI thread.
    pub fn napi_threads(&self) -> FxHashMap<i32, u32> {
        let napi = self.victims.iter().filter(|victim| victim.role == Role::Napi);
        napi.map(|victim| (victim.tid, victim.comm)).collect()
    }

    /// The task that now has this tid, under the name in an event.
    #[inline(always)]
    pub fn named(&mut self, tid: i32, comm: u32, strings: &mut Interner, thieves: &mut Thieves) -> u32 {
        match self.by_tid.get(&tid) {
            Some(current) if !current.dead && (current.comm == comm || tid == 0) => current.victim,
            Some(current) if !current.dead => {
                let task = self.victims[current.victim as usize].task;
                self.rename(tid, task, comm, strings, thieves)
            }
            _ => self.begin(tid, comm, strings, thieves),
        }
    }

    /// A new task, under a new tid or a reused one.
    pub fn begin(&mut self, tid: i32, comm: u32, strings: &mut Interner, thieves: &mut Thieves) -> u32 {
        let comm = if tid == 0 { strings.code(b"swapper") } else { comm };
        self.next_task += 1;
        self.rename(tid, self.next_task, comm, strings, thieves)
    }

    fn rename(&mut self, tid: i32, task: u32, comm: u32, strings: &mut Interner, thieves: &mut Thieves) -> u32 {
        let victims = &mut self.victims;
        let victim = *self.known.entry((task, comm)).or_insert_with(|| {
            let role = if tid == 0 { Role::Ordinary } else { Role::of(strings.get(comm)) };
            let own = match role {
                Role::Ordinary => TASK,
                Role::Ksoftirqd => KTHREAD_ANY,
                Role::Napi | Role::Vhost => KTHREAD_NETWORK,
                Role::Other => KTHREAD_OTHER,
                Role::IrqThread(irq) => thieves.irq_thread(irq),
            };
            let name = strings.get(comm);
            let (is_stopper, is_hotplug) = (name.starts_with("migration/"), name.starts_with("cpuhp/"));
            let victim = Victim { tid, task, comm, role, own, is_stopper, is_hotplug };
            victims.push(victim);
            publish(&self.published, victims.len() - 1, victim);
            victims.len().narrow::<u32>() - 1
        });
        let known = self.by_tid.get(&tid).filter(|known| self.victims[known.victim as usize].task == task);
        let since_ns = known.map_or(self.now_ns, |known| known.since_ns);
        self.by_tid.insert(tid, Current { victim, comm, dead: false, since_ns });
        self.version += 1;
        victim
    }

    /// The task will not run again. Its tid may be reused.
    pub fn died(&mut self, tid: i32) {
        if let Some(current) = self.by_tid.get_mut(&tid) {
            current.dead = tid != 0;
            self.version += 1;
        }
    }

    /// A task was created under its parent's name. If its CPU's ring was read before its parent's, it has been known
    /// since after its birth and is no new task.
    pub fn forked(&mut self, tid: i32, parent: i32, time_ns: i64, strings: &mut Interner, thieves: &mut Thieves) {
        self.now_ns = time_ns;
        let comm = self.by_tid.get(&parent).map_or(NONE, |parent| parent.comm);
        match self.by_tid.get(&tid) {
            Some(known) if !known.dead && known.since_ns >= time_ns => {
                if known.comm == NONE && comm != NONE {
                    self.named(tid, comm, strings, thieves);
                }
            }
            _ => {
                self.begin(tid, comm, strings, thieves);
            }
        }
    }

    /// Tid and name of every victim: its own name, or the first that its task had.
    pub fn resolved(&self) -> Vec<(i32, u32)> {
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        for victim in self.victims.iter().filter(|victim| victim.comm != NONE) {
            first.entry(victim.task).or_insert(victim.comm);
        }
        let name = |victim: &Victim| match victim.comm {
            NONE => first.get(&victim.task).copied().unwrap_or(NONE),
            comm => comm,
        };
        self.victims.iter().map(|victim| (victim.tid, name(victim))).collect()
    }
}
