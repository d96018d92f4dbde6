//! The ledger's segments, as far as they concern episodes.

use crate::episodes::settings::Victim;
use crate::intern::NONE;
use crate::ledger::resolve::Names;
use crate::ledger::segment::{Finished, Packed};
use crate::ledger::thief::{Class, Context};
use crate::lives::slice::NOBODY;

/// What ran, as in `Known`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub context: u32,
    pub id: Option<i64>,
    pub name: u32,
    pub device: u32,
    pub class: Class,
    pub network: u32,
}

/// A segment's role in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stolen from a known task, or possibly stolen.
    Taken,
    /// The task itself.
    Own,
    Unknown,
    Other,
}

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
    fn of(row: &Packed, end_ns: i64, is_taken: bool, names: &Names) -> Segment {
        let (victim, of) = (names.victim(row.victim), names.known(row.thief()));
        Segment {
            start_ns: row.start,
            end_ns,
            tid: victim.map(|of| of.0.into()),
            comm: victim.map_or(NONE, |of| of.1),
            owner: Owner {
                context: of.context,
                id: of.id,
                name: of.name,
                device: of.device,
                class: row.class(),
                network: of.network,
            },
            kind: match names.thief(row.thief()).context {
                _ if is_taken => Kind::Taken,
                Context::Task => Kind::Own,
                Context::Unknown => Kind::Unknown,
                _ => Kind::Other,
            },
        }
    }

    pub fn is_taken(&self) -> bool {
        self.kind == Kind::Taken
    }

    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// Whether it directly follows `before` and has the same task.
    pub fn follows(&self, before: &Segment) -> bool {
        self.tid.is_some() && self.tid == before.tid && self.start_ns == before.end_ns
    }
}

/// Shows those rows of a CPU that are in an episode or next to one: rows beside a taken one, and the first and last,
/// whose neighbours may be in other batches.
pub fn each_near(rows: &Finished, names: &Names, mut show: impl FnMut(Segment)) {
    // Whether it is taken, and whether an earlier row makes it near.
    let mut last: Option<(Packed, i64, bool, bool)> = None;
    rows.each(|row, end_ns| {
        let is_taken = is_taken(row, names);
        let is_near = last.is_none_or(|last| last.2);
        if let Some((row, end_ns, was_taken, was_near)) = last.replace((*row, end_ns, is_taken, is_near)) {
            if is_taken || was_taken || was_near {
                show(Segment::of(&row, end_ns, was_taken, names));
            }
        }
    });
    if let Some((row, end_ns, is_taken, _)) = last {
        show(Segment::of(&row, end_ns, is_taken, names));
    }
}

fn is_taken(row: &Packed, names: &Names) -> bool {
    let is_interrupt =
        |context| matches!(context, Context::Hardirq | Context::Vector | Context::Softirq | Context::Poll);
    matches!(row.class(), Class::Stolen | Class::Either)
        && is_interrupt(names.thief(row.thief()).context)
        && names.victim(row.victim).is_some_and(|of| of.0 != 0)
}

/// Whose episodes to report: `Victim`, resolved to numbers.
pub enum Whose {
    All,
    Tids(Vec<i64>),
    Comms(Vec<u32>),
}

impl Whose {
    /// A name covers everyone who is shown under it.
    pub fn of(victim: &Victim, names: &Names) -> Whose {
        match victim {
            Victim::All => Whose::All,
            Victim::Tids(tids) => Whose::Tids(tids.clone()),
            Victim::Comm(comm) => {
                let nobody = (comm.as_bytes() == NOBODY).then_some(NONE);
                let known = (0..).zip(names.reader.strings.values()).filter(|known| known.1 == comm);
                Whose::Comms(known.map(|known| known.0).chain(nobody).collect())
            }
        }
    }

    /// Whether a segment is theirs.
    pub fn has(&self, row: &Segment) -> bool {
        match self {
            Whose::All => true,
            Whose::Tids(tids) => row.tid.is_some_and(|tid| tids.contains(&tid)),
            Whose::Comms(comms) => comms.contains(&row.comm),
        }
    }
}
