//! Which recorded events the ledger reads, and what it can tell from them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::format::Format;
use crate::ledger::fields::{EventSchema, Fields, Pair};
use crate::ledger::place::Place;
use crate::ledger::softirq;
use crate::narrow::Narrow;
use crate::recording::Recording;

/// A recording's events, and what they allow together.
#[derive(Debug)]
pub struct EventSchemas {
    /// By event number.
    pub events: Vec<EventSchema>,
    /// Names of the interrupt vectors that have entry and exit.
    pub vectors: Vec<String>,
    /// Index of each in `vectors`.
    vector_places: FxHashMap<String, u16>,
    /// sched_switch is recorded, so tasks between interrupts have names.
    pub has_switch: bool,
    /// softirq_raise is recorded and gives softirqs' origins.
    pub has_raise: bool,
    /// Every event gives its context.
    pub has_flags: bool,
    /// Interrupts are known, from those contexts or from the entries and exits of vectors and device handlers.
    pub has_contexts: bool,
    /// Softirqs are known from their entries and exits.
    pub has_softirqs: bool,
    /// napi_poll is recorded, so a NET_RX without a poll may be RPS dispatch.
    pub has_poll: bool,
    /// sched_waking is recorded, so wake-ups are known where the waker runs.
    pub has_waking: bool,
    /// sched_wakeup is recorded. Otherwise sched_waking stands in for it.
    pub has_wakeup: bool,
    /// Numbers and names of the softirq vectors.
    pub softirqs: Vec<(i64, String)>,
    /// The bit of prev_state that means "preempted, still runnable".
    pub preempted_bit: i64,
    /// What this set of events hides.
    pub notes: Vec<String>,
}

impl EventSchemas {
    /// Reads the recording's formats.
    pub fn of(recording: &Recording) -> EventSchemas {
        let mut schemas = EventSchemas {
            events: Vec::new(),
            vectors: Vec::new(),
            vector_places: FxHashMap::default(),
            has_switch: false,
            has_raise: false,
            has_flags: true,
            has_contexts: true,
            has_softirqs: false,
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
            // Events of a guest's CPUs say nothing about the host's time.
            let schema = match event.format.as_ref().filter(|_| event.guest.is_none()) {
                Some(format) if first => schemas.schema(format),
                Some(_) => {
                    schemas
                        .notes
                        .push(format!("{} is recorded more than once: the ledger reads the first", event.name));
                    EventSchema::IGNORED
                }
                None => EventSchema::IGNORED,
            };
            if let (true, Some(filter)) = (schema.tracepoint.is_some(), &event.filter) {
                schemas.notes.push(format!(
                    "{} was filtered by '{filter}': events that the filter dropped were not recorded",
                    event.name
                ));
            }
            schemas.events.push(schema);
        }
        let halves = schemas.drop_unpaired();
        // If a filter hid some events, the absence of one means nothing.
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
        schemas.has_softirqs = schemas.has(|fields| fields.entry_of() == Some(Pair::Softirq));
        schemas.has_switch = schemas.has(|fields| matches!(fields, Fields::Switch { .. }));
        schemas.has_wakeup = schemas.has(|fields| matches!(fields, Fields::Wakeup { .. }));
        schemas.has_flags =
            schemas.events.iter().all(|schema| schema.tracepoint.is_none() || !schema.flags.is_absent());
        // A text shows only events that happened. If vectors were recorded, the timer's interrupt is always among them.
        // If there is no device handler, nothing shows whether handlers were recorded.
        let has_vectors = schemas.vectors.iter().any(|name| name == "local_timer" || name == "ipi");
        schemas.has_contexts = schemas.has_flags || (has_vectors && has_irqs);
        schemas.say_what_is_missing(&halves, recording.host.arch.as_deref());
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
                    prev_comm: Place::of_comm(format, "prev_comm"),
                    prev_state: at("prev_state"),
                    next_pid: at("next_pid"),
                    next_comm: Place::of_comm(format, "next_comm"),
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
        EventSchema::new(format, tracepoint)
    }

    /// Index of this vector in `vectors`.
    fn pair(&mut self, vector: &str) -> u16 {
        if let Some(&place) = self.vector_places.get(vector) {
            return place;
        }
        let place = self.vectors.len().narrow();
        self.vectors.push(vector.to_owned());
        self.vector_places.insert(vector.to_owned(), place);
        place
    }

    /// Drops entries without their exit event, and the reverse: they bound nothing. Returns the names of the missing
    /// halves.
    fn drop_unpaired(&mut self) -> Vec<(Pair, String)> {
        let mut halves = Vec::new();
        let mut pairs = vec![(Pair::Softirq, "irq:softirq".to_owned()), (Pair::Irq, "irq:irq_handler".to_owned())];
        pairs.extend(self.vectors.iter().enumerate().map(|(n, name)| (Pair::Vector(n.narrow()), name.clone())));
        let events = || self.events.iter().filter_map(|schema| schema.tracepoint.as_ref());
        let entries: FxHashSet<Pair> = events().filter_map(Fields::entry_of).collect();
        let exits: FxHashSet<Pair> = events().filter_map(Fields::exit_of).collect();
        for (pair, name) in pairs {
            if entries.contains(&pair) != exits.contains(&pair) {
                let missing = if entries.contains(&pair) { "exit" } else { "entry" };
                halves.push((pair, format!("{name}_{missing}")));
            }
        }
        for fields in self.events.iter_mut().filter_map(|schema| schema.tracepoint.as_mut()) {
            let pair = fields.entry_of().or(fields.exit_of());
            if pair.is_some_and(|pair| entries.contains(&pair) != exits.contains(&pair)) {
                // A softirq without an exit still has a start, and a delay since its raise.
                *fields = match *fields {
                    Fields::SoftirqEntry { vec } => Fields::SoftirqStart { vec },
                    _ => Fields::Witness,
                };
            }
        }
        halves
    }

    fn say_what_is_missing(&mut self, halves: &[(Pair, String)], arch: Option<&str>) {
        let missing = |pair: Pair, name: &str| {
            halves.iter().find(|half| half.0 == pair).map_or_else(|| name.to_owned(), |half| half.1.clone())
        };
        for (_, name) in halves.iter().filter(|half| matches!(half.0, Pair::Vector(_))) {
            self.notes.push(format!("{name} was not recorded: that context is left out"));
        }
        if !self.has_switch {
            self.notes.push(
                "sched:sched_switch was not recorded: time between interrupts belongs to no known task, and there are no shares"
                    .into(),
            );
        }
        if !self.has_flags {
            self.notes.push(
                "events do not say in which context they happened: only entries and exits tell it, so a loss between them is noticed late".into(),
            );
        }
        if !self.has_contexts {
            self.notes.push(
                "softirqs that a device, a timer or another CPU raised cannot be told from a task's own traffic, so both are ranges: events have no context, and neither irq_vectors nor irq:irq_handler_entry with its exit was recorded. `trace-cmd report -l`, ftrace's own text and the recording itself have the context".into(),
            );
        }
        let has_irqs = self.has(|fields| fields.entry_of() == Some(Pair::Irq));
        if !has_irqs {
            self.notes.push(format!(
                "{} was not recorded: the time of device interrupts counts as time of what they interrupted",
                missing(Pair::Irq, "irq:irq_handler_entry")
            ));
        }
        if !self.has_softirqs {
            self.notes.push(format!(
                "{} was not recorded: the time of softirqs counts as time of the tasks they ran on",
                missing(Pair::Softirq, "irq:softirq_entry")
            ));
        }
        if !self.has_raise && self.has_softirqs {
            self.notes.push(
                "irq:softirq_raise was not recorded: origins come from common_preempt_count, where that and sched_switch decide them".into(),
            );
        }
        // On other architectures these are lines with handlers, like any other.
        let may_have_vectors = arch.is_none_or(|arch| matches!(arch, "x86_64" | "i386" | "i686"));
        if has_irqs && may_have_vectors && !self.vectors.iter().any(|name| name == "local_timer") {
            self.notes.push("irq_vectors were not recorded: on x86, timer and inter-processor interrupts are in no row, so interrupt time is a lower bound".into());
        }
    }

    /// Whether any event bounds interrupt context or a task's stay.
    pub fn can_account(&self) -> bool {
        self.has(|fields| {
            fields.entry_of().is_some() || matches!(fields, Fields::Switch { .. } | Fields::NapiPoll { .. })
        })
    }
}

/// The mask before `? "+" : ""` in sched_switch's print format: 0x200, 0x400, 0x800 or 0x1000 in older kernels, 0x100
/// in today's, where it is written as `(((0x0 | ... | 0x40) + 1) << 1)`.
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
