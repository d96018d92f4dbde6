//! The stays of some tasks, a row each, for questions that follow these tasks over time.

use std::collections::BTreeSet;

use arrow_array::types::Int64Type;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::rows::SliceRow;
use crate::ledger::shown::{Shown, Tables};
use crate::tables::{optional, plain, Plan};

/// Whose stays to return. Idle tasks are left out.
#[derive(Debug, Clone)]
pub enum Whose {
    /// Everybody's.
    All,
    /// These tasks'.
    Tids(BTreeSet<i32>),
    /// Those of tasks while their names begin like this.
    Named(Vec<String>),
}

impl Whose {
    fn is_of(&self, tid: i32, comm: &str) -> bool {
        tid != 0
            && match self {
                Whose::All => true,
                Whose::Tids(tids) => tids.contains(&tid),
                Whose::Named(begin) => begin.iter().any(|begin| comm.starts_with(begin.as_str())),
            }
    }
}

pub struct StaysOf {
    whose: Whose,
    /// Whether each victim is one of them.
    known: FxHashMap<u32, bool>,
    /// CPU, and the stay without its time by softirq.
    rows: Vec<(u32, SliceRow)>,
}

impl StaysOf {
    pub fn new(whose: &Whose) -> StaysOf {
        StaysOf { whose: whose.clone(), known: FxHashMap::default(), rows: Vec::new() }
    }
}

impl Aggregate for StaysOf {
    fn take(&mut self, names: &Names, cpus: &[Found], _: &[Migrated], _: &Shown<'_>) {
        let StaysOf { whose, known, rows } = self;
        let is_of = |victim: u32| {
            names.victim(victim).is_some_and(|(tid, comm)| whose.is_of(tid, names.reader.strings.get(comm)))
        };
        for cpu in cpus {
            let own = cpu.rows.slices.rows().iter();
            let own = own.filter(|row| *known.entry(row.victim).or_insert_with(|| is_of(row.victim)));
            rows.extend(own.map(|row| (cpu.number, SliceRow { by_softirq: Vec::new(), ..row.clone() })));
        }
    }

    fn finish(self: Box<Self>, names: &Names) -> Result<Tables> {
        let rows = &self.rows;
        let victims = || rows.iter().map(|row| row.1.victim);
        let number = |value: fn(&SliceRow) -> i64| move || plain::<Int64Type>(rows.iter().map(|row| value(&row.1)));
        let maybe =
            |value: fn(&SliceRow) -> Option<i64>| move || optional::<Int64Type>(rows.iter().map(|row| value(&row.1)));
        let mut plan = Plan::new();
        plan.add("cpu", || plain::<Int64Type>(rows.iter().map(|row| row.0.into())))
            .add("tid", || names.tids(victims()))
            .add("comm", || names.comms(victims()))
            .add("in_ns", number(|row| row.in_ns))
            .add("out_ns", number(|row| row.out_ns))
            .add("wake_ns", maybe(|row| row.wake_ns))
            .add("wait_ns", maybe(|row| row.wait_ns))
            .add("prev_state", maybe(|row| row.prev_state))
            .add("softirq_ns", number(|row| row.softirq_ns));
        Ok(vec![("stays", plan.batch()?)])
    }
}
