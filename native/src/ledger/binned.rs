//! Time and number of segments of each owner in bins of time.
//!
//! ```text
//!   segments  | openssl      | NET_RX | openssl  |
//!   bins      |         0          |         1          |      a segment's number counts where it begins
//! ```

use std::collections::BTreeMap;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::frames;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::segment::{Segment, Sums};
use crate::ledger::shown::{Shown, Tables};

pub struct Binned {
    width: i64,
    /// The bin that each CPU's segments have reached.
    cpus: BTreeMap<u32, (i64, Sums)>,
}

impl Binned {
    /// Bins begin at multiples of `width`, which is above 0.
    pub fn new(width: i64) -> Binned {
        Binned { width: width.max(1), cpus: BTreeMap::new() }
    }

    fn add(&mut self, cpu: u32, segment: &Segment) {
        let (bin, sums) = self.cpus.entry(cpu).or_default();
        let (mut from, mut segments) = (segment.start, 1);
        while from < segment.end {
            let of = from.div_euclid(self.width);
            if of != *bin {
                sums.flush(cpu, bin.saturating_mul(self.width));
                *bin = of;
            }
            let to = segment.end.min((of + 1).saturating_mul(self.width));
            sums.add(segment, to - from, segments);
            (from, segments) = (to, 0);
        }
    }
}

impl Aggregate for Binned {
    fn take(&mut self, _: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            cpu.finished.each(|row, end| self.add(cpu.number, &row.segment(end)));
        }
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Tables> {
        let width = self.width;
        self.cpus.iter_mut().for_each(|(&cpu, (bin, sums))| sums.flush(cpu, bin.saturating_mul(width)));
        let sums = self.cpus.values().map(|(_, sums)| sums);
        Ok(vec![("sums", frames::sums(names, sums, None)?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::thief::{Class, TASK};

    const NET_RX: u32 = 1000;

    fn of(thief: u32, start: i64, end: i64) -> Segment {
        Segment { start, end, victim: 7, thief, class: Class::None, depth: 0 }
    }

    #[test]
    fn sums_are_split_at_the_borders_of_bins() {
        let mut binned = Binned::new(10);
        binned.add(0, &of(TASK, 5, 25));
        binned.add(0, &of(NET_RX, 25, 27));
        let (bin, sums) = binned.cpus.get_mut(&0).unwrap();
        sums.flush(0, *bin * 10);
        let found: Vec<_> = sums.rows.iter().map(|row| (row.bin_ns, row.thief, row.ns, row.segments)).collect();
        assert_eq!(found, [(0, TASK, 5, 1), (10, TASK, 10, 0), (20, TASK, 5, 0), (20, NET_RX, 2, 1)]);
    }
}
