//! Which recorded events the ledger reads, and where their fields lie.

use rustc_hash::FxHashSet;

use crate::bytes::{i32_at, slice, u16_at, u32_at, u64_at};
use crate::format::{Format, Kind as FieldKind};
use crate::recording::Recording;

/// What an event does to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Not read.
    Ignored,
    /// irq:softirq_raise.
    SoftirqRaise,
    /// irq:softirq_entry.
    SoftirqEntry,
    /// irq:softirq_exit.
    SoftirqExit,
    /// irq:irq_handler_entry.
    IrqEntry,
    /// irq:irq_handler_exit.
    IrqExit,
    /// Entry of interrupt vector number n of `EventSchemas::vectors`.
    VectorEntry(u16),
    /// Its exit.
    VectorExit(u16),
    /// napi:napi_poll.
    NapiPoll,
    /// sched:sched_switch.
    Switch,
    /// sched:sched_wakeup or sched_wakeup_new.
    Wakeup,
    /// sched:sched_waking.
    Waking,
    /// sched:sched_migrate_task.
    Migrate,
    /// sched:sched_process_exec.
    Exec,
    /// Other scheduler events: they witness context and task, no more.
    Witness,
}

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

/// One event's fields, by their use.
#[derive(Debug, Clone, Copy)]
pub struct EventSchema {
    /// What the event does.
    pub kind: Kind,
    /// common_flags.
    pub flags: Place,
    /// common_preempt_count.
    pub preempt: Place,
    /// common_pid.
    pub pid: Place,
    /// vec, irq, vector, napi, next_pid or the woken pid.
    pub a: Place,
    /// work, prev_pid, target_cpu or orig_cpu.
    pub b: Place,
    /// budget, prev_state or dest_cpu.
    pub c: Place,
    /// name, dev_name (`__data_loc`) or next_comm (in place).
    pub text: Place,
    /// prev_comm, in place.
    pub text2: Place,
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

const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

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
            softirqs: SOFTIRQS.iter().enumerate().map(|(vec, name)| (vec as i64, (*name).to_owned())).collect(),
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
            if let (true, Some(filter)) = (schema.kind != Kind::Ignored, &event.filter) {
                schemas.notes.push(format!("{} was filtered by '{filter}': what that hides is unrecorded", event.name));
            }
            schemas.events.push(schema);
        }
        let halves = schemas.drop_unpaired();
        let has = |schemas: &EventSchemas, kind: Kind| schemas.events.iter().any(|schema| schema.kind == kind);
        schemas.has_switch = has(&schemas, Kind::Switch);
        // Where some were hidden, none can be missed.
        let whole = |kind| {
            let pairs = schemas.events.iter().zip(recording.events.iter());
            let mut of_kind = pairs.filter(|(schema, _)| schema.kind == kind).peekable();
            of_kind.peek().is_some() && of_kind.all(|(_, event)| event.filter.is_none())
        };
        (schemas.has_raise, schemas.has_poll) = (whole(Kind::SoftirqRaise), whole(Kind::NapiPoll));
        schemas.has_waking = whole(Kind::Waking);
        schemas.has_flags =
            schemas.events.iter().all(|schema| schema.kind == Kind::Ignored || !schema.flags.is_absent());
        // A text names only what has happened. The timer's interrupt does wherever vectors are recorded;
        // where no device's handler did, nobody knows whether it would have been recorded.
        let has_vectors = schemas.vectors.iter().any(|name| name == "local_timer" || name == "ipi");
        schemas.has_contexts = schemas.has_flags || (has_vectors && whole(Kind::IrqEntry));
        schemas.has_wakeup = has(&schemas, Kind::Wakeup);
        schemas.say_what_is_missing(&halves);
        schemas
    }

    fn schema(&mut self, format: &Format) -> EventSchema {
        let at = |name: &str| Place::of(format, name);
        let mut schema = EventSchema {
            flags: at("common_flags"),
            preempt: at("common_preempt_count"),
            pid: at("common_pid"),
            ..IGNORED
        };
        match (format.system.as_str(), format.name.as_str()) {
            ("irq", name @ ("softirq_raise" | "softirq_entry" | "softirq_exit")) => {
                schema.kind = match name {
                    "softirq_raise" => Kind::SoftirqRaise,
                    "softirq_entry" => Kind::SoftirqEntry,
                    _ => Kind::SoftirqExit,
                };
                schema.a = at("vec");
                let symbols = format.symbols("vec");
                if !symbols.is_empty() {
                    self.softirqs = symbols;
                }
            }
            ("irq", "irq_handler_entry") => {
                (schema.kind, schema.a, schema.text) = (Kind::IrqEntry, at("irq"), at("name"));
            }
            ("irq", "irq_handler_exit") => (schema.kind, schema.a) = (Kind::IrqExit, at("irq")),
            ("napi", "napi_poll") => {
                (schema.kind, schema.a, schema.b) = (Kind::NapiPoll, at("napi"), at("work"));
                (schema.c, schema.text) = (at("budget"), at("dev_name"));
            }
            ("sched", "sched_switch") => {
                (schema.kind, schema.a, schema.b, schema.c) =
                    (Kind::Switch, at("next_pid"), at("prev_pid"), at("prev_state"));
                self.preempted_bit = preempted_bit(&format.print_fmt);
                schema.text = in_place(format, "next_comm");
                schema.text2 = in_place(format, "prev_comm");
            }
            ("sched", "sched_wakeup" | "sched_wakeup_new") => {
                (schema.kind, schema.a, schema.b) = (Kind::Wakeup, at("pid"), at("target_cpu"));
            }
            ("sched", "sched_waking") => {
                (schema.kind, schema.a, schema.b) = (Kind::Waking, at("pid"), at("target_cpu"))
            }
            ("sched", "sched_migrate_task") => {
                (schema.kind, schema.a, schema.b, schema.c) =
                    (Kind::Migrate, at("pid"), at("orig_cpu"), at("dest_cpu"));
            }
            ("sched", "sched_process_exec") => (schema.kind, schema.a) = (Kind::Exec, at("pid")),
            ("sched", "sched_process_fork" | "sched_process_exit") => schema.kind = Kind::Witness,
            ("irq_vectors" | "csd" | "ipi", name) => {
                let entry = name.strip_suffix("_entry").filter(|_| !name.starts_with("vector_"));
                let exit = name.strip_suffix("_exit").filter(|_| !name.starts_with("vector_"));
                if let Some(vector) = entry.or(exit) {
                    let number = self.vectors.iter().position(|known| known == vector).unwrap_or_else(|| {
                        self.vectors.push(vector.to_owned());
                        self.vectors.len() - 1
                    }) as u16;
                    schema.kind = if entry.is_some() { Kind::VectorEntry(number) } else { Kind::VectorExit(number) };
                    schema.a = at("vector");
                }
            }
            _ => {}
        }
        schema
    }

    /// An entry without its exit event (or the reverse) cannot bound anything. Gives the names of what
    /// the halves lack.
    fn drop_unpaired(&mut self) -> Vec<(Kind, String)> {
        let mut halves = Vec::new();
        let mut pairs = vec![
            (Kind::SoftirqEntry, Kind::SoftirqExit, "irq:softirq".to_owned()),
            (Kind::IrqEntry, Kind::IrqExit, "irq:irq_handler".to_owned()),
        ];
        let vectors = self.vectors.iter().enumerate();
        pairs.extend(vectors.map(|(n, name)| (Kind::VectorEntry(n as u16), Kind::VectorExit(n as u16), name.clone())));
        for (entry, exit, name) in pairs {
            let has = |kind| self.events.iter().any(|schema| schema.kind == kind);
            if has(entry) != has(exit) {
                let missing = if has(entry) { "exit" } else { "entry" };
                halves.push((entry, format!("{name}_{missing}")));
                for schema in self.events.iter_mut().filter(|schema| schema.kind == entry || schema.kind == exit) {
                    schema.kind = Kind::Witness;
                }
            }
        }
        halves
    }

    fn say_what_is_missing(&mut self, halves: &[(Kind, String)]) {
        let missing = |entry: Kind, name: &str| {
            halves.iter().find(|half| half.0 == entry).map_or_else(|| name.to_owned(), |half| half.1.clone())
        };
        for (_, name) in halves.iter().filter(|half| matches!(half.0, Kind::VectorEntry(_))) {
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
        let has = |kind: Kind| self.events.iter().any(|schema| schema.kind == kind);
        let (has_irqs, has_softirqs) = (has(Kind::IrqEntry), has(Kind::SoftirqEntry));
        if !has_irqs {
            self.notes.push(format!(
                "{} was not recorded: device interrupts' time is in that of what they interrupted",
                missing(Kind::IrqEntry, "irq:irq_handler_entry")
            ));
        }
        if !has_softirqs {
            self.notes.push(format!(
                "{} was not recorded: softirqs' time is in that of the tasks they ran on",
                missing(Kind::SoftirqEntry, "irq:softirq_entry")
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
        let bounds = |kind| {
            matches!(kind, Kind::SoftirqEntry | Kind::IrqEntry | Kind::VectorEntry(_) | Kind::Switch | Kind::NapiPoll)
        };
        self.events.iter().any(|schema| bounds(schema.kind))
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
const IGNORED: EventSchema = EventSchema {
    kind: Kind::Ignored,
    flags: NOWHERE,
    preempt: NOWHERE,
    pid: NOWHERE,
    a: NOWHERE,
    b: NOWHERE,
    c: NOWHERE,
    text: NOWHERE,
    text2: NOWHERE,
};

fn in_place(format: &Format, name: &str) -> Place {
    let field = format.field(name).filter(|field| field.size == 16);
    field.map_or(NOWHERE, |field| Place { offset: field.offset as u16, size: 16, unsigned: false })
}

impl EventSchema {
    /// A 16-byte task name stored in place.
    #[inline(always)]
    pub fn comm(place: Place, payload: &[u8]) -> Option<&[u8]> {
        (place.size == 16).then(|| slice(payload, place.offset as usize, 16)).flatten()
    }

    /// The text a `__data_loc` points to.
    #[inline(always)]
    pub fn string(place: Place, payload: &[u8]) -> Option<&[u8]> {
        if place.size != 4 {
            return None;
        }
        let word = u32_at(payload, place.offset as usize)?;
        let bytes = slice(payload, (word & 0xffff) as usize, (word >> 16) as usize)?;
        Some(crate::bytes::until_nul(bytes))
    }
}
