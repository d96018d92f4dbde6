//! What a pass makes of settled rows, without keeping them: several aggregates share one pass.

use std::sync::Arc;

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::group::{Group, Wanted as Grouping};
use crate::ledger::migrated::Migrated;
use crate::ledger::output::{Shown, Tables};
use crate::ledger::resolve::Names;
use crate::ledger::stays::{Stays, Wanted as Stayed};
use crate::ledger::wakeups::Wakeups;

/// Takes rows that nothing can change any more, and keeps what it makes of them.
pub trait Aggregate: Send {
    /// The next rows, of some CPUs: no row of a table ended before the CPU's rows that came.
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], shown: &Shown<'_>);

    /// What it comes to.
    fn finish(self: Box<Self>, names: &Names) -> Result<Tables>;
}

/// One of the aggregates that there are.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Tables `groups` (a row a group: its keys, how many rows, by the name of these, the sums (of `work` it is `packets`,
    /// of `self_ns` it is `ns`), `NAME_known`, `NAME_least`, `NAME_most`, and where lengths are asked for `least` and
    /// `most`) and `lengths` (a row a group and length that occurred, or bin of lengths where there are many: `group`, its
    /// place, `low`, `high`, `count`, `total`).
    Group(Grouping),
    /// Tables `lives`, `twice`, `renamed`, `holders`, `waits` and `wait_lengths`.
    Stays(Arc<Stayed>),
    /// What woke idle CPUs, with how long at most the idle task runs from an interrupt to what that led to: tables
    /// `wakeups` and `idle`.
    Wakeups(i64),
}

impl Wanted {
    /// Of nothing yet.
    pub fn begin(&self, names: &Names) -> Result<Box<dyn Aggregate>> {
        Ok(match self {
            Wanted::Group(wanted) => Box::new(Group::new(wanted, names)?),
            Wanted::Stays(wanted) => Box::new(Stays::new(wanted)),
            Wanted::Wakeups(gap_ns) => Box::new(Wakeups::new(*gap_ns)),
        })
    }

    /// Tables that it takes rows of.
    pub fn tables(&self) -> Vec<&str> {
        match self {
            Wanted::Group(wanted) => wanted.tables(),
            Wanted::Stays(_) => vec!["slices", "migrations"],
            Wanted::Wakeups(_) => vec!["segments"],
        }
    }
}
