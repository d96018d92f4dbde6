//! Settled rows on their way out, and the tables that are made of them.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::request::Want;
use crate::ledger::resolve::Names;
use crate::ledger::thief::Class;

/// Tables by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;

/// Takes rows that nothing can change any more; answers whether to go on.
pub type Sink<'s> = &'s mut dyn FnMut(&Names, &[Found], &[Migrated], &Shown<'_>) -> Result<bool>;

/// What of the rows is shown, and how.
pub struct Shown<'s> {
    /// Which tables.
    pub want: Want,
    /// The accounted window.
    pub window: (i64, i64),
    /// Columns of softirq time in slices.
    pub kinds: &'s [(u8, Class)],
    /// Reasons for gaps, in order.
    pub reasons: &'s [&'static str],
}
