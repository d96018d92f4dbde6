//! Reads batches of the tables segments and polls, CPU by CPU.

use arrow_array::{Array, RecordBatch};

use crate::error::{bad, Result};
use crate::lives::read::{numbers, pieces, runs};
use crate::tiles::owners::Owners;

/// A stretch of a CPU's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub start: u64,
    pub end: u64,
    pub owner: u32,
    pub task: u32,
}

/// End of a poll, and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    pub at: u64,
    pub work: u32,
}

/// The part of a recording that rows belong to: its CPUs, the time that others count from, start and end.
#[derive(Debug, Clone)]
pub struct Part {
    pub cpus: Vec<u32>,
    pub origin_ns: i64,
    pub from: u64,
    pub to: u64,
}

impl Part {
    fn place(&self, cpu: i64) -> Result<usize> {
        let place = u32::try_from(cpu).ok().and_then(|cpu| self.cpus.binary_search(&cpu).ok());
        place.ok_or_else(|| bad!(Refused, "a row is of CPU {cpu}, which is none of the timeline's"))
    }

    fn offset(&self, at: i64) -> Result<u64> {
        let offset = at.checked_sub(self.origin_ns).and_then(|offset| u64::try_from(offset).ok());
        offset.ok_or_else(|| bad!(Refused, "a time of {at} ns lies before the timeline's first"))
    }

    /// Shows the segments of a batch by CPU, with the CPU's place.
    pub fn segments(
        &self,
        batch: &RecordBatch,
        owners: &Owners,
        mut show: impl FnMut(usize, &[Segment]) -> Result<()>,
    ) -> Result<()> {
        let mut rows = Vec::new();
        for batch in pieces(batch) {
            let (cpus, starts, ends) =
                (numbers(&batch, "cpu")?, numbers(&batch, "start_ns")?, numbers(&batch, "end_ns")?);
            let owners = owners.of(&batch)?;
            for same in runs(cpus.values()) {
                rows.clear();
                for row in same.clone() {
                    let (start, end) = (self.offset(starts.value(row))?, self.offset(ends.value(row))?);
                    if end > self.to {
                        return Err(bad!(Refused, "a segment ends {end} ns in, after the {} ns of its part", self.to));
                    }
                    let (owner, task) = owners[row];
                    rows.push(Segment { start, end, owner, task });
                }
                show(self.place(cpus.value(same.start))?, &rows)?;
            }
        }
        Ok(())
    }

    /// Shows polls with packets that ended in this part. A poll that ended with the part counts in its last ns.
    pub fn polls(&self, batch: &RecordBatch, mut show: impl FnMut(usize, Poll)) -> Result<()> {
        for batch in pieces(batch) {
            let (cpus, ends, works) = (numbers(&batch, "cpu")?, numbers(&batch, "end_ns")?, numbers(&batch, "work")?);
            for row in (0..batch.num_rows()).filter(|&row| works.is_valid(row)) {
                let at = ends.value(row).saturating_sub(self.origin_ns);
                let (Ok(at), Ok(work)) = (u64::try_from(at), u32::try_from(works.value(row))) else { continue };
                if work > 0 && self.from <= at && at <= self.to && self.from < self.to {
                    show(self.place(cpus.value(row))?, Poll { at: at.min(self.to - 1), work });
                }
            }
        }
        Ok(())
    }
}
