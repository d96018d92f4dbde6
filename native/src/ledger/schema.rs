//! Which recorded events the ledger reads, and where their fields lie.

use rustc_hash::FxHashSet;

use crate::bytes::{i32_at, slice, u16_at, u32_at, u64_at};
use crate::format::{Format, Kind as FieldKind};
use crate::ledger::softirq;
use crate::recording::Recording;

/// Offset and size of an integer field; size 0 where the format lacks it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    offset: u16,
    size: u8,
    unsigned: bool,
}

impl Place {
    fn of(format: &Format, name: &str) -> Place {
        let field = format.field(name).filter(|field| matches!(field.size, 1 | 2 | 4 | 8));
        field.map_or(Place::default(), |field| Place {
            offset: field.offset as u16,
            size: field.size as u8,
            unsigned: field.kind == FieldKind::Int { signed: false },
        })
    }

    /// Whether the format lacks the field.
    pub fn is_absent(self) -> bool {
        self.size == 0
    }

    /// The same for what the kernel keeps in 32 bits.
    #[inline(always)]
    pub fn narrow(self, payload: &[u8]) -> Option<i32> {
        self.read(payload).map(|value| value as i32)
    }

    /// The value; `None` where absent. Fields of one and two bytes are flags and types.
    #[inline(always)]
    pub fn read(self, payload: &[u8]) -> Option<i64> {
        let at = self.offset as usize;
        match self.size {
            4 if self.unsigned => u32_at(payload, at).map(i64::from),
            4 => i32_at(payload, at).map(i64::from),
            8 => u64_at(payload, at).map(|value| value as i64),
            2 => u16_at(payload, at).map(i64::from),
            1 => payload.get(at).map(|&value| i64::from(value)),
            _ => None,
        }
    }
}

/// What every event says.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    /// common_flags, where recorded.
    pub flags: Option<u8>,
    /// common_preempt_count, where recorded.
    pub preempt: Option<u8>,
    /// common_pid.
    pub pid: i32,
}

/// Where an event's fields lie.
#[derive(Debug, Clone, Copy)]
pub struct EventSchema {
    /// Whether the common fields lie where they do since Linux 2.6.31: in one word.
    is_usual: bool,
    /// common_flags.
    pub flags: Place,
    /// common_preempt_count.
    pub preempt: Place,
    /// common_pid.
    pub pid: Place,
    /// The tracepoint; `None` where the ledger does not read it.
    pub tracepoint: Option<Fields>,
}

impl EventSchema {
    /// What every event says; `None` where the payload is too short.
    #[inline(always)]
    pub fn common(&self, payload: &[u8]) -> Option<Common> {
        if self.is_usual {
            let word = u64_at(payload, 0)?;
            let (flags, preempt) = (Some((word >> 16) as u8), Some((word >> 24) as u8));
            return Some(Common { flags, preempt, pid: (word >> 32) as i32 });
        }
        let byte = |place: Place| place.read(payload).map(|value| value as u8);
        Some(Common { flags: byte(self.flags), preempt: byte(self.preempt), pid: self.pid.read(payload)? as i32 })
    }
}

/// A tracepoint, and where its fields lie, by the kernel's names: texts of tasks in place, others by `__data_loc`.
#[derive(Debug, Clone, Copy)]
pub enum Fields {
    /// irq:softirq_raise.
    SoftirqRaise { vec: Place },
    /// irq:softirq_entry.
    SoftirqEntry { vec: Place },
    /// irq:softirq_exit.
    SoftirqExit { vec: Place },
    /// irq:irq_handler_entry.
    IrqEntry { irq: Place, name: Place },
    /// irq:irq_handler_exit.
    IrqExit { irq: Place },
    /// Entry of an interrupt vector; `pair`: its place in `EventSchemas::vectors`.
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
    /// Others: they witness context and task, no more.
    Witness,
}

/// What an entry and its exit bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pair {
    Softirq,
    /// A device's hardirq.
    Irq,
    /// An interrupt vector, by its place in `EventSchemas::vectors`.
    Vector(u16),
}

impl Fields {
    fn entry_of(&self) -> Option<Pair> {
        match self {
            Fields::SoftirqEntry { .. } => Some(Pair::Softirq),
            Fields::IrqEntry { .. } => Some(Pair::Irq),
            Fields::VectorEntry { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }

    fn exit_of(&self) -> Option<Pair> {
        match self {
            Fields::SoftirqExit { .. } => Some(Pair::Softirq),
            Fields::IrqExit { .. } => Some(Pair::Irq),
            Fields::VectorExit { pair, .. } => Some(Pair::Vector(*pair)),
            _ => None,
        }
    }
}

/// Every event of a recording, and what its set of events allows.
#[derive(Debug)]
pub struct EventSchemas {
    /// By number of the event.
    pub events: Vec<EventSchema>,
    /// Names of the interrupt vectors with entry and exit.
    pub vectors: Vec<String>,
    /// sched_switch is recorded: tasks between interrupts have names.
    pub has_switch: bool,
    /// softirq_raise is recorded: origins come from it.
    pub has_raise: bool,
    /// Every event says in which context it happened.
    pub has_flags: bool,
    /// Interrupts are known, from that or from the entries and exits of vectors and devices' handlers.
    pub has_contexts: bool,
    /// napi_poll is recorded: a NET_RX without a poll is RPS dispatch.
    pub has_poll: bool,
    /// sched_waking is recorded: who wakes whom is known where it happens.
    pub has_waking: bool,
    /// sched_wakeup is recorded; otherwise sched_waking stands in for it.
    pub has_wakeup: bool,
    /// Names of the softirq vectors.
    pub softirqs: Vec<(i64, String)>,
    /// The bit of prev_state that says "preempted, still runnable".
    pub preempted_bit: i64,
    /// What the set of events hides.
    pub notes: Vec<String>,
}

impl EventSchemas {
    /// Reads the recording's formats.
    pub fn of(recording: &Recording) -> EventSchemas {
        let mut schemas = EventSchemas {
            events: Vec::new(),
            vectors: Vec::new(),
            has_switch: false,
            has_raise: false,
            has_flags: true,
            has_contexts: true,
            has_poll: false,
            has_waking: false,
            has_wakeup: false,
            softirqs: softirq::names().collect(),
            preempted_bit: 0,
            notes: Vec::new(),
        };
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for event in recording.events.iter() {
            let first = seen.insert(&event.name);
            // What a guest's CPUs did is no part of the host's time.
            let schema = match event.format.as_ref().filter(|_| event.guest.is_none()) {
                Some(format) if first => schemas.schema(format),
                Some(_) => {
                    schemas
                        .notes
                        .push(format!("{} is recorded more than once: the ledger reads the first", event.name));
                    IGNORED
                }
                None => IGNORED,
            };
            if let (true, Some(filter)) = (schema.tracepoint.is_some(), &event.filter) {
                schemas.notes.push(format!("{} was filtered by '{filter}': what that hides is unrecorded", event.name));
            }
            schemas.events.push(schema);
        }
        let halves = schemas.drop_unpaired();
        // Where some were hidden, none can be missed.
        let whole = |is_it: fn(&Fields) -> bool| {
            let pairs = schemas.events.iter().zip(recording.events.iter());
            let mut found = pairs.filter(|(schema, _)| schema.tracepoint.as_ref().is_some_and(is_it)).peekable();
            found.peek().is_some() && found.all(|(_, event)| event.filter.is_none())
        };
        let has_raise = whole(|fields| matches!(fields, Fields::SoftirqRaise { .. }));
        let has_poll = whole(|fields| matches!(fields, Fields::NapiPoll { .. }));
        let has_waking = whole(|fields| matches!(fields, Fields::Waking { .. }));
        let has_irqs = whole(|fields| matches!(fields, Fields::IrqEntry { .. }));
        (schemas.has_raise, schemas.has_poll, schemas.has_waking) = (has_raise, has_poll, has_waking);
        schemas.has_switch = schemas.has(|fields| matches!(fields, Fields::Switch { .. }));
        schemas.has_wakeup = schemas.has(|fields| matches!(fields, Fields::Wakeup { .. }));
        schemas.has_flags =
            schemas.events.iter().all(|schema| schema.tracepoint.is_none() || !schema.flags.is_absent());
        // A text names only what has happened. The timer's interrupt does wherever vectors are recorded;
        // where no device's handler did, nobody knows whether it would have been recorded.
        let has_vectors = schemas.vectors.iter().any(|name| name == "local_timer" || name == "ipi");
        schemas.has_contexts = schemas.has_flags || (has_vectors && has_irqs);
        schemas.say_what_is_missing(&halves);
        schemas
    }

    fn has(&self, is_it: impl Fn(&Fields) -> bool) -> bool {
        self.events.iter().any(|schema| schema.tracepoint.as_ref().is_some_and(&is_it))
    }

    fn schema(&mut self, format: &Format) -> EventSchema {
        let at = |name: &str| Place::of(format, name);
        let tracepoint = match (format.system.as_str(), format.name.as_str()) {
            ("irq", name @ ("softirq_raise" | "softirq_entry" | "softirq_exit")) => {
                let symbols = format.symbols("vec");
                if !symbols.is_empty() {
                    self.softirqs = symbols;
                }
                let vec = at("vec");
                Some(match name {
                    "softirq_raise" => Fields::SoftirqRaise { vec },
                    "softirq_entry" => Fields::SoftirqEntry { vec },
                    _ => Fields::SoftirqExit { vec },
                })
            }
            ("irq", "irq_handler_entry") => Some(Fields::IrqEntry { irq: at("irq"), name: at("name") }),
            ("irq", "irq_handler_exit") => Some(Fields::IrqExit { irq: at("irq") }),
            ("napi", "napi_poll") => {
                let (work, budget) = (at("work"), at("budget"));
                Some(Fields::NapiPoll { napi: at("napi"), work, budget, dev_name: at("dev_name") })
            }
            ("sched", "sched_switch") => {
                self.preempted_bit = preempted_bit(&format.print_fmt);
                Some(Fields::Switch {
                    prev_comm: in_place(format, "prev_comm"),
                    prev_state: at("prev_state"),
                    next_pid: at("next_pid"),
                    next_comm: in_place(format, "next_comm"),
                })
            }
            ("sched", "sched_wakeup" | "sched_wakeup_new") => {
                Some(Fields::Wakeup { pid: at("pid"), target_cpu: at("target_cpu") })
            }
            ("sched", "sched_waking") => Some(Fields::Waking { pid: at("pid"), target_cpu: at("target_cpu") }),
            ("sched", "sched_migrate_task") => {
                let (orig_cpu, dest_cpu) = (at("orig_cpu"), at("dest_cpu"));
                Some(Fields::Migrate { pid: at("pid"), orig_cpu, dest_cpu })
            }
            ("sched", "sched_process_exec") => Some(Fields::Exec),
            ("sched", "sched_process_fork" | "sched_process_exit") => Some(Fields::Witness),
            ("irq_vectors" | "csd" | "ipi", name) if !name.starts_with("vector_") => {
                let vector = at("vector");
                match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
                    (Some(name), _) => Some(Fields::VectorEntry { pair: self.pair(name), vector }),
                    (_, Some(name)) => Some(Fields::VectorExit { pair: self.pair(name), vector }),
                    _ => None,
                }
            }
            _ => None,
        };
        let (flags, preempt, pid) = (at("common_flags"), at("common_preempt_count"), at("common_pid"));
        let is_usual = [(flags, 2, 1), (preempt, 3, 1), (pid, 4, 4)]
            .iter()
            .all(|(place, offset, size)| (place.offset, place.size) == (*offset, *size));
        EventSchema { is_usual, flags, preempt, pid, tracepoint }
    }

    /// The place in `vectors` of the vector of this name.
    fn pair(&mut self, vector: &str) -> u16 {
        let known = self.vectors.iter().position(|known| known == vector);
        let place = known.unwrap_or_else(|| {
            self.vectors.push(vector.to_owned());
            self.vectors.len() - 1
        });
        place as u16
    }

    /// An entry without its exit event (or the reverse) cannot bound anything. Gives the names of what
    /// the halves lack.
    fn drop_unpaired(&mut self) -> Vec<(Pair, String)> {
        let mut halves = Vec::new();
        let mut pairs = vec![(Pair::Softirq, "irq:softirq".to_owned()), (Pair::Irq, "irq:irq_handler".to_owned())];
        pairs.extend(self.vectors.iter().enumerate().map(|(n, name)| (Pair::Vector(n as u16), name.clone())));
        for (pair, name) in pairs {
            let has_entry = self.has(|fields| fields.entry_of() == Some(pair));
            if has_entry != self.has(|fields| fields.exit_of() == Some(pair)) {
                let missing = if has_entry { "exit" } else { "entry" };
                halves.push((pair, format!("{name}_{missing}")));
                for fields in self.events.iter_mut().filter_map(|schema| schema.tracepoint.as_mut()) {
                    if fields.entry_of().or(fields.exit_of()) == Some(pair) {
                        *fields = Fields::Witness;
                    }
                }
            }
        }
        halves
    }

    fn say_what_is_missing(&mut self, halves: &[(Pair, String)]) {
        let missing = |pair: Pair, name: &str| {
            halves.iter().find(|half| half.0 == pair).map_or_else(|| name.to_owned(), |half| half.1.clone())
        };
        for (_, name) in halves.iter().filter(|half| matches!(half.0, Pair::Vector(_))) {
            self.notes.push(format!("{name} was not recorded: that context is left out"));
        }
        if !self.has_switch {
            self.notes.push(
                "sched:sched_switch was not recorded: time between interrupts has no name, and there are no shares"
                    .into(),
            );
        }
        if !self.has_flags {
            self.notes.push(
                "events do not say in which context they happened: that rests on entries and exits alone, and what was lost or cut between them shows later than it could".into(),
            );
        }
        if !self.has_contexts {
            self.notes.push(
                "without the context of events, and without irq_vectors or irq:irq_handler_entry with its exit, softirqs that a device, a timer or another CPU raised cannot be told from a task's own traffic: both are a range; `trace-cmd report -l`, ftrace's own text and the recording itself have the context".into(),
            );
        }
        let has = |pair: Pair| self.has(|fields| fields.entry_of() == Some(pair));
        let (has_irqs, has_softirqs) = (has(Pair::Irq), has(Pair::Softirq));
        if !has_irqs {
            self.notes.push(format!(
                "{} was not recorded: device interrupts' time is in that of what they interrupted",
                missing(Pair::Irq, "irq:irq_handler_entry")
            ));
        }
        if !has_softirqs {
            self.notes.push(format!(
                "{} was not recorded: softirqs' time is in that of the tasks they ran on",
                missing(Pair::Softirq, "irq:softirq_entry")
            ));
        }
        if !self.has_raise && has_softirqs {
            self.notes.push(
                "irq:softirq_raise was not recorded: origins come from common_preempt_count where it tells".into(),
            );
        }
        if has_irqs && !self.vectors.iter().any(|name| name == "local_timer") {
            self.notes.push("irq_vectors were not recorded: timer and inter-processor interrupts are in no row, so interrupt time is a lower bound".into());
        }
    }

    /// Whether any event bounds interrupt context or a task's stay.
    pub fn can_account(&self) -> bool {
        self.has(|fields| {
            fields.entry_of().is_some() || matches!(fields, Fields::Switch { .. } | Fields::NapiPoll { .. })
        })
    }
}

/// The mask behind `? "+" : ""` in sched_switch's print format: 0x200 in 3.4, 0x400, 0x800 and
/// 0x1000 later, 0x100 since 4.14, where it is spelled `(((0x0 | ... | 0x40) + 1) << 1)`.
fn preempted_bit(print_fmt: &str) -> i64 {
    const NEWEST: i64 = 0x100;
    let Some(end) = print_fmt.find("? \"+\"") else { return NEWEST };
    let Some(start) = print_fmt[..end].rfind("prev_state &") else { return NEWEST };
    let mask = &print_fmt[start + "prev_state &".len()..end];
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let word = |text: &'_ str| number(text.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    match mask.split_once('+') {
        None => word(mask.trim()).unwrap_or(NEWEST),
        Some((bits, _)) => (bits.split('|').filter_map(word).fold(0, |all, bit| all | bit) + 1) << 1,
    }
}

const NOWHERE: Place = Place { offset: 0, size: 0, unsigned: false };
const IGNORED: EventSchema =
    EventSchema { is_usual: false, flags: NOWHERE, preempt: NOWHERE, pid: NOWHERE, tracepoint: None };

fn in_place(format: &Format, name: &str) -> Place {
    let field = format.field(name).filter(|field| field.size == 16);
    field.map_or(NOWHERE, |field| Place { offset: field.offset as u16, size: 16, unsigned: false })
}

impl Place {
    /// A 16-byte task name stored in self.
    #[inline(always)]
    pub fn comm(self, payload: &[u8]) -> Option<&[u8]> {
        (self.size == 16).then(|| slice(payload, self.offset as usize, 16)).flatten()
    }

    /// The text a `__data_loc` points to.
    #[inline(always)]
    pub fn string(self, payload: &[u8]) -> Option<&[u8]> {
        if self.size != 4 {
            return None;
        }
        let word = u32_at(payload, self.offset as usize)?;
        let bytes = slice(payload, (word & 0xffff) as usize, (word >> 16) as usize)?;
        Some(crate::bytes::until_nul(bytes))
    }
}
