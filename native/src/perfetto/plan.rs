//! Which of Perfetto's messages an event becomes: one of its own, or a generic one whose fields are described beside it.

use crate::format::{Element, Field, Format, Kind};
use crate::narrow::Narrow;

/// Number and name of a field in a message of Perfetto's own, and whether it is text: its readers take the types for
/// granted.
type Known = &'static [(u32, &'static str, bool)];

const WAKEUP: Known =
    &[(1, "comm", true), (2, "pid", false), (3, "prio", false), (4, "success", false), (5, "target_cpu", false)];
const OF_TASK: Known = &[(1, "comm", true), (2, "pid", false), (3, "prio", false)];
const VEC: Known = &[(1, "vec", false)];
const OF_CPU: Known = &[(1, "state", false), (2, "cpu_id", false)];

/// Events that have a message of their own, with its number in `FtraceEvent`: those from which Perfetto makes tracks.
const OWN: [(&str, u32, Known); 20] = [
    (
        "sched:sched_switch",
        4,
        &[
            (1, "prev_comm", true),
            (2, "prev_pid", false),
            (3, "prev_prio", false),
            (4, "prev_state", false),
            (5, "next_comm", true),
            (6, "next_pid", false),
            (7, "next_prio", false),
        ],
    ),
    ("sched:sched_wakeup", 17, WAKEUP),
    ("sched:sched_waking", 20, WAKEUP),
    ("sched:sched_wakeup_new", 114, WAKEUP),
    ("sched:sched_process_exec", 237, &[(1, "filename", true), (2, "pid", false), (3, "old_pid", false)]),
    ("sched:sched_process_exit", 238, &[(1, "comm", true), (2, "pid", false), (4, "prio", false)]),
    (
        "sched:sched_process_fork",
        239,
        &[(1, "parent_comm", true), (2, "parent_pid", false), (3, "child_comm", true), (4, "child_pid", false)],
    ),
    ("sched:sched_process_free", 240, OF_TASK),
    ("sched:sched_process_wait", 242, OF_TASK),
    (
        "sched:sched_migrate_task",
        491,
        &[(1, "comm", true), (2, "pid", false), (3, "prio", false), (4, "orig_cpu", false), (5, "dest_cpu", false)],
    ),
    (
        "task:task_newtask",
        235,
        &[(1, "pid", false), (2, "comm", true), (3, "clone_flags", false), (4, "oom_score_adj", false)],
    ),
    (
        "task:task_rename",
        236,
        &[(1, "pid", false), (2, "oldcomm", true), (3, "newcomm", true), (4, "oom_score_adj", false)],
    ),
    ("irq:irq_handler_entry", 36, &[(1, "irq", false), (2, "name", true)]),
    ("irq:irq_handler_exit", 37, &[(1, "irq", false), (2, "ret", false)]),
    ("irq:softirq_entry", 24, VEC),
    ("irq:softirq_exit", 25, VEC),
    ("irq:softirq_raise", 26, VEC),
    ("power:cpu_frequency", 11, OF_CPU),
    ("power:cpu_idle", 13, OF_CPU),
    ("sched:sched_process_hang", 241, &[(1, "comm", true), (2, "pid", false)]),
];

/// Generic events have numbers from here.
const GENERIC: u32 = 1 << 16;
/// Fields of a generic event: its reader takes none from 32.
const MAX_FIELDS: usize = 31;

/// What a field is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number with a sign.
    Signed,
    /// One without.
    Unsigned,
    /// Zero or not.
    Bool,
    /// Text up to its NUL.
    Text,
    /// Numbers with commas between them: bytes of each, and whether they have a sign.
    List(usize, bool),
    /// Bytes in hexadecimal digits.
    Hex,
}

impl Shape {
    fn of(kind: Kind) -> Shape {
        match kind {
            Kind::Int { signed: true } => Shape::Signed,
            Kind::Int { signed: false } => Shape::Unsigned,
            Kind::Bool => Shape::Bool,
            Kind::Array(element) | Kind::Tail(element) | Kind::DataLoc(element) | Kind::RelLoc(element) => {
                match element {
                    Element::Char => Shape::Text,
                    Element::Int { size, signed } => Shape::List(size, signed),
                    Element::Bytes => Shape::Hex,
                }
            }
        }
    }

    /// Whether it is written as text.
    pub fn is_text(self) -> bool {
        matches!(self, Shape::Text | Shape::List(..) | Shape::Hex)
    }
}

/// How the events of a tracepoint are written.
#[derive(Debug)]
pub struct Plan {
    /// In `FtraceEvent`.
    pub number: u32,
    /// Number, shape and place of each field.
    pub fields: Vec<(u32, Shape, Field)>,
    /// Where the task's number stands.
    pub pid_at: Option<usize>,
    /// What a payload has at least.
    pub fixed_size: usize,
    /// Name of a generic event, which has to be described.
    pub generic: Option<String>,
    /// Its subsystem.
    pub system: String,
    /// Fields that Perfetto has no place for.
    pub left_out: usize,
}

impl Plan {
    /// Of the recording's event of this place in its list.
    pub fn of(place: usize, name: &str, format: &Format) -> Plan {
        let whole = |field: &Field, number: u32| (number, Shape::of(field.kind), field.clone());
        let own = OWN.iter().find(|own| own.0 == name);
        let (number, fields, left_out) = match own {
            Some(&(_, number, known)) => {
                let found = known.iter().filter_map(|&(number, name, is_text)| {
                    let found = whole(format.field(name)?, number);
                    (is_text == (found.1 == Shape::Text) && (is_text || !found.1.is_text())).then_some(found)
                });
                (number, found.collect(), 0)
            }
            None => {
                let own = || format.fields.iter().filter(|field| !field.name.starts_with("common_"));
                let fields = own().zip(1..).take(MAX_FIELDS).map(|(field, number)| whole(field, number));
                (GENERIC + place.narrow::<u32>(), fields.collect(), own().count().saturating_sub(MAX_FIELDS))
            }
        };
        let pid_at = format.field("common_pid").filter(|field| field.size == 4).map(|field| field.offset);
        let generic = own.is_none().then(|| format.name.clone());
        Plan {
            number,
            fields,
            pid_at,
            fixed_size: format.fixed_size(),
            generic,
            system: format.system.clone(),
            left_out,
        }
    }
}
