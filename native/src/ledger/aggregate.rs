//! Aggregates: what a pass makes of settled rows without keeping them. Several share one pass.

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};

/// Takes rows that can no longer change, and keeps what it makes of them.
pub trait Aggregate: Send {
    /// Takes the next rows of some CPUs. No row of a table ended before the rows that the CPU has already given.
    /// Migrations may come later than the slices around them.
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], shown: &Shown<'_>);

    /// Returns the tables.
    fn finish(self: Box<Self>, names: &Names) -> Result<Tables>;
}
