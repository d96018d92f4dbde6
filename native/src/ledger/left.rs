//! Rows that have left a CPU: nothing can change them, but what other CPUs tell.

use crate::ledger::numbered::Numbered;
use crate::ledger::rows::{CoverageRow, HardirqRow, MigrationRow, PollRow, SliceRow, SoftirqRow};
use crate::ledger::segment::Packed;

/// Rows of one CPU, of each table those that come next.
#[derive(Debug, Default)]
pub struct Left {
    /// Each ends where the next begins.
    pub segments: Vec<Packed>,
    /// Where the last of them ends.
    pub segments_end: i64,
    /// By entry, or exit where that is not known.
    pub softirqs: Vec<SoftirqRow>,
    /// The same.
    pub hardirqs: Vec<HardirqRow>,
    /// By end.
    pub polls: Vec<PollRow>,
    /// By begin, whether in the window or not; waits are not answered yet.
    pub slices: Numbered<SliceRow>,
    /// By time.
    pub migrations: Vec<MigrationRow>,
    /// By begin.
    pub coverage: Vec<CoverageRow>,
    /// Time and tid of execs.
    pub execs: Vec<(i64, i32)>,
}
