//! How much of a CPU is known at present, and of the time before its first event.

use crate::ledger::task::NOBODY;
use crate::ledger::thief::{Class, UNKNOWN};

/// Whether the present owner is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Nothing recorded yet.
    Never,
    /// Records were lost up to this time; the next event tells who runs.
    Lost(i64),
    /// Known.
    Clear,
    /// A needed event is throttled since this time.
    Throttled(i64),
}

/// The stretch from the window's start to a CPU's first event.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub end_ns: i64,
    pub victim: u32,
    pub thief: u32,
    pub class: Class,
    /// Row of its slice, where they are kept.
    pub slice: Option<usize>,
    /// Why it is unknown, if it is, and how many records were lost in it.
    pub unknown: Option<&'static str>,
    pub lost: u64,
}

impl Head {
    /// Nobody's.
    pub fn unknown(end_ns: i64, why: Option<&'static str>, lost: u64) -> Head {
        Head { end_ns, victim: NOBODY, thief: UNKNOWN, class: Class::None, slice: None, unknown: why, lost }
    }

    /// It lies before the first event whose context is certain.
    pub fn doubt(&mut self) {
        self.unknown.get_or_insert("before the first event whose context is certain");
    }
}
