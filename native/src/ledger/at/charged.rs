//! Events and their cost, by the owner of the time that they took.
//!
//! ```text
//!   | openssl        | poll     |      an event belongs to the segment around it, its start included, and costs no more
//!      ^       ^      ^ ^              than the time to its CPU's next event
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::at::owners::{owner, owners, Owner};
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};
use crate::tables::plain;

/// The events, and what each may cost.
#[derive(Debug)]
pub struct Costs {
    /// Ascending, by CPU.
    pub times: BTreeMap<i64, Vec<i64>>,
    /// End of the window. Events at its very end belong to the last segment.
    pub end_ns: i64,
    /// How much time the clock's resolution may hide between two events.
    pub hidden_ns: i64,
    /// In ns.
    pub each: Vec<f64>,
}

/// Owners so far.
pub struct Charged {
    costs: Arc<Costs>,
    owners: IndexMap<Owner, Sums, FxBuildHasher>,
    /// The first event of each CPU that no segment has reached.
    next: BTreeMap<u32, usize>,
}

struct Sums {
    ns: i64,
    events: i64,
    costs: Vec<f64>,
}

impl Charged {
    /// Of nothing yet.
    pub fn new(costs: &Arc<Costs>) -> Charged {
        Charged { costs: Arc::clone(costs), owners: IndexMap::default(), next: BTreeMap::new() }
    }

    /// A CPU's next segment.
    fn add(&mut self, owner: Owner, start_ns: i64, end_ns: i64) {
        let costs = &self.costs;
        let none = || Sums { ns: 0, events: 0, costs: vec![0.0; costs.each.len()] };
        let sums = self.owners.entry(owner).or_insert_with(none);
        sums.ns += end_ns - start_ns;
        let Some(times) = costs.times.get(&owner.0.into()) else { return };
        let next = self.next.entry(owner.0).or_default();
        while let Some(&time_ns) = times.get(*next).filter(|&&time_ns| time_ns.min(costs.end_ns - 1) < end_ns) {
            *next += 1;
            if time_ns.min(costs.end_ns - 1) < start_ns {
                continue;
            }
            let until_next = times.get(*next).map_or((costs.end_ns - time_ns).max(0), |then_ns| then_ns - time_ns);
            let most = (until_next + costs.hidden_ns) as f64;
            sums.events += 1;
            sums.costs.iter_mut().zip(&costs.each).for_each(|(sum, each)| *sum += most.min(*each));
        }
    }
}

impl Aggregate for Charged {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        for cpu in cpus {
            cpu.finished.each(|row, end_ns| self.add(owner(names, cpu.number, row), row.start, end_ns));
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let known: Vec<Owner> = self.owners.keys().copied().collect();
        let rows = [known.as_slice()];
        let mut table = owners(names, &known, &rows);
        table
            .add("ns", || plain::<Int64Type>(self.owners.values().map(|sums| sums.ns)))
            .add("events", || plain::<Int64Type>(self.owners.values().map(|sums| sums.events)));
        let sums = &self.owners;
        for place in 0..self.costs.each.len() {
            table.add(format!("cost_{place}"), move || {
                plain::<Float64Type>(sums.values().map(|sums| sums.costs[place]))
            });
        }
        Ok(vec![("owners", table.batch()?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::thief::Class;

    #[test]
    fn an_event_costs_no_more_than_the_time_to_the_next() {
        let times = [(0, vec![5, 12, 14, 25, 40])].into_iter().collect();
        let costs = Costs { times, end_ns: 40, hidden_ns: 0, each: vec![3.0, 100.0] };
        let mut charged = Charged::new(&Arc::new(costs));
        charged.add((0, 1, 0, Class::None), 10, 20);
        charged.add((0, 2, 0, Class::None), 20, 40);
        charged.add((1, 2, 0, Class::None), 0, 40);
        let found: Vec<_> = charged.owners.values().map(|sums| (sums.ns, sums.events, sums.costs.clone())).collect();
        // The first is before all segments, the last at the very end.
        assert_eq!(found, [(10, 2, vec![5.0, 13.0]), (20, 2, vec![3.0, 15.0]), (40, 0, vec![0.0, 0.0])]);
    }
}
