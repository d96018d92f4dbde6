//! Polls that ended in each stay.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::handovers::stays::Stays;
use crate::lives::read::{at, numbers};
use crate::pairing::tables::Table;

/// By stay how many, their packets, and of how many these are unknown.
#[derive(Debug)]
pub struct Polled {
    sums: Vec<[i64; 3]>,
}

impl Polled {
    /// None yet.
    pub fn new(stays: &Stays) -> Polled {
        Polled { sums: vec![[0; 3]; stays.rows.len()] }
    }

    /// The next ones.
    pub fn add(&mut self, table: &RecordBatch, stays: &Stays) -> Result<()> {
        let (tid, end, work) = (numbers(table, "tid")?, numbers(table, "end_ns")?, numbers(table, "work")?);
        for row in 0..table.num_rows() {
            let (Some(tid), Some(end_ns)) = (at(&tid, row), at(&end, row)) else { continue };
            let Some(place) = stays.around(tid, end_ns) else { continue };
            let work = at(&work, row);
            let [polls, packets, unknown] = &mut self.sums[place];
            *polls += 1;
            *packets = packets.wrapping_add(work.unwrap_or_default());
            *unknown += i64::from(work.is_none());
        }
        Ok(())
    }

    /// A row per stay.
    pub fn columns<'n>(&self, table: Table<'n>) -> Table<'n> {
        table.sums(["polls", "packets", "unknown"], self.sums.iter())
    }
}
