//! Rows that have left a CPU. Only reports of other CPUs can still change them.

use crate::ledger::numbered::Numbered;
use crate::ledger::rows::{CoverageRow, HardirqRow, MigrationRow, PollRow, SliceRow, SoftirqRow};
use crate::ledger::segment::Packed;

/// The next rows of each table, of one CPU.
#[derive(Debug, Default)]
pub struct Left {
    /// Each ends where the next begins.
    pub segments: Vec<Packed>,
    /// End of the last one.
    pub segments_end: i64,
    /// By entry, or by exit if the entry is unknown.
    pub softirqs: Vec<SoftirqRow>,
    /// In the same order.
    pub hardirqs: Vec<HardirqRow>,
    /// By end.
    pub polls: Vec<PollRow>,
    /// By start, whether or not they are in the window. Their waits are not yet known.
    pub slices: Numbered<SliceRow>,
    /// By time.
    pub migrations: Vec<MigrationRow>,
    /// By start.
    pub coverage: Vec<CoverageRow>,
    /// Time and tid of each exec.
    pub execs: Vec<(i64, i32)>,
}
