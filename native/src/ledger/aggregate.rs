//! What a pass makes of settled rows, without keeping them: several aggregates share one pass.

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};

/// Takes rows that nothing can change any more, and keeps what it makes of them.
pub trait Aggregate: Send {
    /// The next rows, of some CPUs: no row of a table ended before the CPU's rows that came. Migrations may come later than
    /// the slices around them.
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], shown: &Shown<'_>);

    /// What it comes to.
    fn finish(self: Box<Self>, names: &Names) -> Result<Tables>;
}
