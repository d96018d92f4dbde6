//! The tables' rows, and what of a segment matters here.

use std::ops::Range;

use arrow_array::{Array, Int64Array, RecordBatch};

use crate::episodes::settings::Victim;
use crate::error::Result;
use crate::intern::{Interner, NONE};
use crate::lives::read::{at, numbers, required, Texts};
use crate::lives::slice::NOBODY;

/// What ran, as the columns of these names say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub context: u32,
    pub id: Option<i64>,
    pub name: u32,
    pub device: u32,
    pub class: u32,
    pub network: u32,
}

/// What a segment is to an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stolen from a known task, or perhaps.
    Taken,
    /// The task itself.
    Own,
    Unknown,
    Other,
}

/// A stretch of a CPU's time.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: Option<i64>,
    pub comm: u32,
    pub owner: Owner,
    pub kind: Kind,
}

impl Segment {
    pub fn is_taken(&self) -> bool {
        self.kind == Kind::Taken
    }

    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// Whether it is of the same task, without time in between.
    pub fn follows(&self, before: &Segment) -> bool {
        self.tid.is_some() && self.tid == before.tid && self.start_ns == before.end_ns
    }
}

/// Names that mean something here.
pub struct Codes {
    task: u32,
    unknown: u32,
    interrupts: [u32; 5],
    stolen: [u32; 2],
    nobody: u32,
    /// Of the victim, where it is known by its name.
    comm: u32,
}

impl Codes {
    /// Of these names.
    pub fn new(names: &mut Interner, victim: &Victim) -> Codes {
        let mut code = |name: &str| names.code(name.as_bytes());
        Codes {
            task: code("task"),
            unknown: code("unknown"),
            interrupts: ["hardirq", "vector", "softirq", "poll", "nmi"].map(&mut code),
            stolen: ["stolen", "stolen_or_synchronous"].map(&mut code),
            comm: if let Victim::Comm(comm) = victim { code(comm) } else { NONE },
            nobody: names.code(NOBODY),
        }
    }

    /// Whether a segment is the victim's.
    pub fn is_of(&self, victim: &Victim, row: &Segment) -> bool {
        match victim {
            Victim::All => true,
            Victim::Tids(tids) => row.tid.is_some_and(|tid| tids.contains(&tid)),
            Victim::Comm(_) if row.comm == NONE => self.comm == self.nobody,
            Victim::Comm(_) => row.comm == self.comm,
        }
    }
}

/// Of the table segments.
pub struct Segments {
    pub cpu: Int64Array,
    start: Int64Array,
    end: Int64Array,
    tid: Int64Array,
    id: Int64Array,
    comm: Texts,
    context: Texts,
    name: Texts,
    device: Texts,
    class: Texts,
    network: Texts,
    taken: Vec<bool>,
}

impl Segments {
    pub fn read(table: &RecordBatch, code: &Codes, names: &mut Interner) -> Result<Segments> {
        let column = |name: &str| numbers(table, name);
        let mut texts = |name: &str| required(Texts::of(table, name, names), name);
        let (context, class, tid) = (texts("context")?, texts("cost_class")?, column("tid")?);
        let is_taken = |row: usize| {
            class.code(row).is_some_and(|class| code.stolen.contains(&class))
                && context.code(row).is_some_and(|context| code.interrupts.contains(&context))
                && tid.is_valid(row)
                && tid.value(row) != 0
        };
        Ok(Segments {
            taken: (0..table.num_rows()).map(is_taken).collect(),
            cpu: column("cpu")?,
            start: column("start_ns")?,
            end: column("end_ns")?,
            id: column("id")?,
            comm: texts("comm")?,
            name: texts("name")?,
            device: texts("device")?,
            network: texts("is_network")?,
            context,
            class,
            tid,
        })
    }

    /// Whether an episode has a row of a CPU, or the row tells of one: those beside a taken one, and the first and the
    /// last, which may stand beside one of another table.
    pub fn is_near(&self, row: usize, of_cpu: &Range<usize>) -> bool {
        row == of_cpu.start || row + 1 == of_cpu.end || self.taken[row] || self.taken[row - 1] || self.taken[row + 1]
    }

    pub fn segment(&self, row: usize, code: &Codes) -> Segment {
        let text = |column: &Texts| column.code(row).unwrap_or(NONE);
        let context = text(&self.context);
        Segment {
            start_ns: self.start.value(row),
            end_ns: self.end.value(row),
            tid: at(&self.tid, row),
            comm: text(&self.comm),
            owner: Owner {
                context,
                id: at(&self.id, row),
                name: text(&self.name),
                device: text(&self.device),
                class: text(&self.class),
                network: text(&self.network),
            },
            kind: match context {
                _ if self.taken[row] => Kind::Taken,
                context if context == code.task => Kind::Own,
                context if context == code.unknown => Kind::Unknown,
                _ => Kind::Other,
            },
        }
    }
}
