//! Who had a CPU at given moments.
//!
//! ```text
//!   | openssl | timer | openssl | poll |      a moment belongs to the segment around it, its start included; one in a
//!                ^              ^             vector that is looked through belongs to what the vector interrupted
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::at::moments::Moments;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::segment::Packed;
use crate::ledger::shown::{Shown, Tables};
use crate::ledger::thief::{Class, Context};
use crate::narrow::Narrow;
use crate::tables::{optional, plain, Plan};

/// CPU, victim, thief, cost class.
pub type Owner = (u32, u32, u32, Class);

/// Whose a segment is; alike owners are one.
pub fn owner(names: &Names, cpu: u32, row: &Packed) -> Owner {
    (cpu, names.first_of(row.victim), names.first_alike(row.thief()), row.class())
}

/// Columns of these owners.
pub fn owners<'a>(names: &'a Names, known: &'a [Owner], rows: &'a [&[Owner]; 1]) -> Plan<'a> {
    let mut owners = Plan::new();
    owners.add("cpu", || plain::<Int32Type>(known.iter().map(|owner| owner.0 as i32)));
    names.owners(&mut owners, rows, |owner| owner.1, |owner| owner.2, |owner| owner.3);
    owners
}

pub struct Owners {
    moments: Arc<Moments>,
    /// The key of the name of the vectors to look through.
    through: Option<i32>,
    /// The time that each owner had.
    owners: IndexMap<Owner, i64, FxBuildHasher>,
    cpus: BTreeMap<u32, Lane>,
    found: Vec<Option<i32>>,
}

#[derive(Default)]
struct Lane {
    /// The first moment that no segment has reached yet.
    next: usize,
    /// The owner of the last segment that is not looked through.
    last: Option<i32>,
}

impl Owners {
    /// `through`: the key of a name.
    pub fn new(moments: &Arc<Moments>, through: Option<i32>) -> Owners {
        let (owners, cpus, found) = (IndexMap::default(), BTreeMap::new(), vec![None; moments.rows.len()]);
        Owners { moments: Arc::clone(moments), through, owners, cpus, found }
    }

    /// Takes a CPU's next segment.
    fn add(&mut self, owner: Owner, start_ns: i64, end_ns: i64, is_through: bool) {
        let entry = self.owners.entry(owner);
        let place = entry.index().narrow();
        *entry.or_insert(0) += end_ns - start_ns;
        let lane = self.cpus.entry(owner.0).or_default();
        if !is_through || lane.last.is_none() {
            lane.last = Some(place);
        }
        let own = self.moments.of(owner.0.into());
        let rest = own.start.max(lane.next)..own.end;
        let first = self.moments.first(&rest, |time_ns| time_ns < start_ns);
        lane.next = self.moments.first(&(first..own.end), |time_ns| time_ns < end_ns);
        self.found[first..lane.next].fill(lane.last);
    }
}

impl Aggregate for Owners {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            cpu.finished.each(|row, end_ns| {
                let thief = row.thief();
                let is_vector = names.thief(thief).context == Context::Vector;
                let is_through = is_vector && self.through == Some(names.strings.key(names.known(thief).name));
                self.add(owner(names, cpu.number, row), row.start, end_ns, is_through);
            });
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let known: Vec<Owner> = self.owners.keys().copied().collect();
        let rows = [known.as_slice()];
        let mut owners = owners(names, &known, &rows);
        owners.add("ns", || plain::<Int64Type>(self.owners.values().copied()));
        let mut found = Plan::new();
        found.add("owner", || optional::<Int32Type>(self.moments.asked(self.found.iter().copied()).into_iter()));
        Ok(vec![("owners", owners.batch()?), ("moments", found.batch()?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(asked: &[(i64, i64)]) -> Owners {
        Owners::new(&Arc::new(Moments::new(asked.iter().copied())), None)
    }

    fn found(of: &Owners) -> Vec<Option<i32>> {
        of.moments.asked(of.found.iter().copied())
    }

    #[test]
    fn a_moment_is_of_the_segment_from_its_start_to_before_its_end() {
        let mut of = owners(&[(0, 20), (0, 9), (0, 10), (0, 30), (1, 10), (7, 10), (0, 19)]);
        of.add((0, 1, 0, Class::None), 10, 20, false);
        of.add((1, 1, 0, Class::None), 5, 20, false);
        of.add((0, 2, 0, Class::None), 20, 30, false);
        assert_eq!(found(&of), [Some(2), None, Some(0), None, Some(1), None, Some(0)]);
        assert!(of.owners.values().eq(&[10, 15, 10]));
    }

    #[test]
    fn what_a_vector_interrupted_is_before_it() {
        let mut of = owners(&[(0, 5), (0, 15), (0, 25), (0, 35)]);
        let (timer, poll) = ((0, 1, 9, Class::Stolen), (0, 1, 8, Class::Stolen));
        for (owner, start_ns) in [(timer, 0), (poll, 10), (timer, 20), (timer, 30)] {
            of.add(owner, start_ns, start_ns + 10, owner == timer);
        }
        // Nothing precedes the first segment, so it stands for itself.
        assert_eq!(found(&of), [Some(0), Some(1), Some(1), Some(1)]);
    }
}
