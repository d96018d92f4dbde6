//! Polls that ended in each stay.

use crate::handovers::stays::Stays;
use crate::ledger::cpu::Found;
use crate::ledger::resolve::Names;
use crate::pairing::tables::Table;

/// Per stay: number of polls, their packets, and the number of polls with unknown packets.
#[derive(Debug)]
pub struct Polled {
    sums: Vec<[i64; 3]>,
}

impl Polled {
    pub fn new(stays: &Stays) -> Polled {
        Polled { sums: vec![[0; 3]; stays.rows.len()] }
    }

    /// Adds the next polls of a CPU.
    pub fn add(&mut self, names: &Names, found: &Found, stays: &Stays) {
        for row in found.rows.polls.slices().flatten() {
            let Some((tid, _)) = names.victim(row.victim) else { continue };
            let Some(place) = stays.around(tid.into(), row.end_ns) else { continue };
            let [polls, packets, unknown] = &mut self.sums[place];
            *polls += 1;
            *packets = packets.wrapping_add(row.work.unwrap_or_default().into());
            *unknown += i64::from(row.work.is_none());
        }
    }

    /// A row per stay.
    pub fn columns<'n>(&self, table: Table<'n>) -> Table<'n> {
        table.sums(["polls", "packets", "unknown"], self.sums.iter())
    }
}
