//! Turns samples into events, in file order: fields are read, names and tasks become numbers. Whatever CPUs must agree
//! on is settled here, so that each can then be accounted for alone.

use crate::intern::{CommCache, Interner, Likely, NONE};
use crate::ledger::devices::Namesakes;
use crate::ledger::event::{Event, Interrupt, Migrate, NapiPoll, Switch, Tracepoint, Wakeup};
use crate::ledger::fields::Fields;
use crate::ledger::network::Network;
use crate::ledger::place::Place;
use crate::ledger::request::DeviceName;
use crate::ledger::schema::EventSchemas;
use crate::ledger::softirq::VECTORS;
use crate::ledger::task::{Role, Tasks};
use crate::ledger::thief::{place, Thieves};
use crate::narrow::Narrow;
use crate::visit::Sample;

/// EXIT_ZOMBIE and EXIT_DEAD, in either order: the prev_state of a task that has ended.
const STATE_DEAD: i64 = 0x10 | 0x20;

/// common_preempt_count if only the recorder raises it, on a task and on the idle task, which holds one level. Derived
/// from a sched_switch, where the scheduler holds two. perf sees a level of its own, ftrace subtracts it, and a kernel
/// without the count shows 0 throughout.
fn unraised(at_switch: u8) -> Option<[u8; 2]> {
    match at_switch {
        0 => Some([0, 0]),
        count => count.checked_sub(2).map(|count| [count, count + 1]),
    }
}

/// Who runs on a CPU, as far as the file has been read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Running {
    pid: i32,
    victim: u32,
    /// `Tasks::version` at the time of the lookup.
    version: u64,
}

/// Reads events and numbers what they name.
#[derive(Debug)]
pub struct Reader {
    pub strings: Interner,
    pub tasks: Tasks,
    /// Every owner of time.
    pub thieves: Thieves,
    namesakes: Namesakes,
    /// Name of arm64's handler for the CPU's timer.
    arch_timer: u32,
    comms: CommCache,
    /// The last handler's name and the last device's.
    likely: [Likely; 2],
    /// The last thief of each interrupt vector, by its place in `EventSchemas::vectors`.
    vectors: Vec<(Option<i64>, u32)>,
    /// Wake-ups of tasks without a name. Each may be a different task.
    pub unnamed_wakeups: usize,
    /// common_preempt_count if only the recorder raises it: on a task, and on the idle task.
    unraised: Option<[u8; 2]>,
    order: u32,
}

impl Reader {
    /// `names`: of devices. Numbering does not depend on what is asked for.
    pub fn new(schemas: &EventSchemas, names: &[DeviceName]) -> Reader {
        let mut strings = Interner::default();
        let thieves = Thieves::new(&schemas.softirqs, &mut strings);
        Reader {
            vectors: vec![(None, NONE); schemas.vectors.len()],
            arch_timer: strings.code(b"arch_timer"),
            strings,
            tasks: Tasks::new(),
            thieves,
            namesakes: Namesakes::new(names),
            comms: CommCache::default(),
            likely: Default::default(),
            unnamed_wakeups: 0,
            unraised: None,
            order: 0,
        }
    }

    /// Reads the next event of a CPU on which `running` runs. False if the payload is too short for its fields or names
    /// no softirq. The event is written where it stays: copying what was just written in parts stalls the processor.
    #[inline(always)]
    pub fn read(
        &mut self,
        schemas: &EventSchemas,
        sample: &Sample,
        payload: &[u8],
        running: &mut Running,
        event: &mut Event,
    ) -> bool {
        self.fill(schemas, sample, payload, running, event).is_some()
    }

    #[inline(always)]
    fn fill(
        &mut self,
        schemas: &EventSchemas,
        sample: &Sample,
        payload: &[u8],
        running: &mut Running,
        event: &mut Event,
    ) -> Option<()> {
        let schema = schemas.events.get(sample.event as usize)?;
        let fields = schema.tracepoint.as_ref()?;
        schema.common(payload, schemas.has_flags, event)?;
        let pid = event.pid;
        event.time_ns = sample.time_ns;
        self.tasks.now_ns = sample.time_ns;
        if running.pid != pid || running.version != self.tasks.version {
            self.look_up(pid, running);
        }
        event.victim = running.victim;
        self.order = self.order.wrapping_add(1);
        event.order = self.order;
        self.what(schemas, fields, payload, running, event)
    }

    #[cold]
    fn look_up(&mut self, pid: i32, running: &mut Running) {
        let victim = self.tasks.current(pid, &mut self.strings, &mut self.thieves);
        *running = Running { pid, victim, version: self.tasks.version };
    }

    #[inline(always)]
    fn what(
        &mut self,
        schemas: &EventSchemas,
        fields: &Fields,
        payload: &[u8],
        running: &mut Running,
        event: &mut Event,
    ) -> Option<()> {
        let Event { pid, preempt, what, .. } = event;
        let vec = |vec: Place| {
            let vec = vec.read(payload).filter(|vec| (0..VECTORS as i64).contains(vec));
            vec.map(|vec| vec.narrow())
        };
        let pid_at = |place: Place| place.narrow(payload).unwrap_or(-1);
        match *fields {
            Fields::SoftirqRaise { vec: at } => *what = Tracepoint::SoftirqRaise(vec(at)?),
            Fields::SoftirqEntry { vec: at } => {
                *what = Tracepoint::SoftirqEntry(vec(at)?);
                let unraised = self.unraised.map(|counts| counts[usize::from(*pid == 0)]);
                *preempt = preempt.zip(unraised).and_then(|(count, unraised)| count.checked_sub(unraised));
            }
            Fields::SoftirqStart { vec: at } => *what = Tracepoint::SoftirqStart(vec(at)?),
            Fields::SoftirqExit { vec: at } => *what = Tracepoint::SoftirqExit(vec(at)?),
            Fields::IrqEntry { irq, name } => {
                let name = self.name(name.text(payload), 0);
                *what = Tracepoint::HardirqEntry(self.line(irq.read(payload), name));
            }
            Fields::IrqExit { irq } => *what = Tracepoint::HardirqExit(self.line(irq.read(payload), NONE)),
            Fields::VectorEntry { pair, vector } => {
                *what = Tracepoint::HardirqEntry(self.vector(schemas, pair, vector.read(payload)))
            }
            Fields::VectorExit { pair, vector } => {
                *what = Tracepoint::HardirqExit(self.vector(schemas, pair, vector.read(payload)))
            }
            Fields::NapiPoll { napi, work, budget, dev_name } => {
                let device = self.name(dev_name.text(payload), 1);
                let napi = napi.read(payload).unwrap_or(-1) as u64;
                let device = self.namesakes.shown(device, napi, &mut self.strings);
                let thief = self.thieves.poll(napi, device);
                let (work, budget) = (work.narrow(payload), budget.narrow(payload));
                *what = Tracepoint::NapiPoll(NapiPoll { thief, device, work, budget });
            }
            Fields::Switch { prev_comm, prev_state, next_pid, next_comm } => {
                self.unraised = preempt.and_then(unraised);
                let prev = self.named(*pid, prev_comm.comm(payload));
                let prev_state = prev_state.read(payload);
                if prev_state.is_some_and(|state| state & STATE_DEAD != 0) {
                    self.tasks.died(*pid);
                }
                let next_pid = pid_at(next_pid);
                let next = self.named(next_pid, next_comm.comm(payload));
                *running = Running { pid: next_pid, victim: next, version: self.tasks.version };
                *what = Tracepoint::Switch(Switch { prev, prev_state, next_pid, next });
            }
            Fields::Wakeup { pid, target_cpu } => {
                *what = Tracepoint::Wakeup(self.wakeup(pid_at(pid), target_cpu.narrow(payload)))
            }
            Fields::Waking { pid, target_cpu } => {
                *what = Tracepoint::Waking(self.wakeup(pid_at(pid), target_cpu.narrow(payload)))
            }
            Fields::Migrate { pid, orig_cpu, dest_cpu } => {
                let pid = pid_at(pid);
                let victim = self.named(pid, None);
                let (orig_cpu, dest_cpu) = (pid_at(orig_cpu), pid_at(dest_cpu));
                *what = Tracepoint::Migrate(Migrate { pid, victim, orig_cpu, dest_cpu });
            }
            Fields::Exec => *what = Tracepoint::Exec,
            Fields::Witness => *what = Tracepoint::Witness,
        }
        Some(())
    }

    /// The code of a name up to its NUL, `NONE` if there is none. `kind`: which of `likely` it resembles.
    #[inline(always)]
    fn name(&mut self, text: Option<&[u8]>, kind: usize) -> u32 {
        text.map_or(NONE, |text| self.strings.code_likely(text, &mut self.likely[kind]))
    }

    fn line(&mut self, irq: Option<i64>, name: u32) -> Interrupt {
        let key = irq.unwrap_or(-1);
        let (is_tick, thief) = (name == self.arch_timer, self.thieves.hardirq(key, name));
        Interrupt { is_vector: false, is_tick, network: Network::OfIrq, key, thief, name }
    }

    #[inline(always)]
    fn vector(&mut self, schemas: &EventSchemas, pair: u16, vector: Option<i64>) -> Interrupt {
        let vector = vector.filter(|&vector| vector >= 0);
        let known = &mut self.vectors[usize::from(pair)];
        if known.1 == NONE || known.0 != vector {
            let text = &schemas.vectors[usize::from(pair)];
            let name = self.strings.code(text.as_bytes());
            *known = (vector, self.thieves.vector(vector, name, text));
        }
        let network = self.thieves.all[place(known.1)].network;
        // Of all vectors, only the timer's is `OfRun`.
        let is_tick = network == Network::OfRun;
        Interrupt { is_vector: true, is_tick, network, key: pair.into(), thief: known.1, name: NONE }
    }

    /// The task that now has a pid, under the name in the event.
    #[inline(always)]
    fn named(&mut self, pid: i32, comm: Option<&[u8]>) -> u32 {
        let Reader { tasks, strings, thieves, comms, .. } = self;
        match comm.map(|comm| comms.code(comm, strings)) {
            None | Some(NONE) => tasks.current(pid, strings, thieves),
            Some(comm) => tasks.named(pid, comm, strings, thieves),
        }
    }

    fn wakeup(&mut self, pid: i32, target_cpu: Option<i32>) -> Wakeup {
        let network = match self.tasks.role(pid) {
            Some(Role::Napi) => Some(Network::Yes),
            Some(_) => None,
            // It has no name yet. The name will show whether it is a NAPI thread.
            None => {
                self.unnamed_wakeups += 1;
                Some(Network::OfThread)
            }
        };
        Wakeup { pid, target_cpu, network }
    }

    /// A record gives a task's name.
    pub fn renamed(&mut self, pid: i32, comm: &str, time_ns: Option<i64>) -> u32 {
        self.tasks.now_ns = time_ns.unwrap_or(self.tasks.now_ns);
        let code = self.strings.code(comm.as_bytes());
        match code {
            NONE => self.tasks.current(pid, &mut self.strings, &mut self.thieves),
            code => self.tasks.named(pid, code, &mut self.strings, &mut self.thieves),
        }
    }

    /// A record says that a task was created.
    pub fn forked(&mut self, pid: i32, parent: i32, time_ns: i64) {
        self.tasks.forked(pid, parent, time_ns, &mut self.strings, &mut self.thieves);
    }
}
