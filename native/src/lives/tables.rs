//! Lives as Arrow tables.

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::lives::holders::Waiter;
use crate::lives::life::{Life, LifeOf};
use crate::tables::{optional, plain, Plan};

/// A row per tid and name.
pub fn lives(rows: &[LifeOf], names: &Interner) -> Result<RecordBatch> {
    let labels = Labels::new(names.values());
    let number = |value: fn(&Life) -> i64| move || plain::<Int64Type>(rows.iter().map(|(_, life)| value(life)));
    let mut plan = Plan::new();
    plan.add("tid", || plain::<Int64Type>(rows.iter().map(|((tid, _), _)| *tid)))
        .add("comm", || labels.column(rows.iter().map(|((_, comm), _)| *comm)))
        .add("lifetime_ns", number(|life| life.lifetime))
        .add("lifetime_max_ns", number(|life| life.lifetime_max))
        .add("on_cpu_ns", number(|life| life.on_cpu))
        .add("waited_ns", number(|life| life.waited))
        .add("asleep_ns", number(|life| life.asleep))
        .add("unseen_ns", number(|life| life.unseen))
        .add("twice_ns", number(|life| life.twice))
        .add("tasks", number(|life| life.tasks))
        .add("begun_ns", || optional::<Int64Type>(rows.iter().map(|(_, life)| life.ends.map(|ends| ends.0))))
        .add("done_ns", || optional::<Int64Type>(rows.iter().map(|(_, life)| life.ends.map(|ends| ends.1))));
    plan.batch()
}

/// A row per waiting task, its name, and who had the CPU.
pub fn holders(found: FxHashMap<Waiter, i64>, names: &Interner) -> Result<RecordBatch> {
    let mut rows: Vec<(Waiter, i64)> = found.into_iter().collect();
    let order = |name: Option<u32>| name.map(|name| names.get(name));
    rows.sort_by_key(|&((tid, comm, holder), _)| (tid, names.get(comm), order(holder)));
    let labels = Labels::new(names.values());
    let mut plan = Plan::new();
    plan.add("tid", || plain::<Int64Type>(rows.iter().map(|((tid, ..), _)| *tid)))
        .add("comm", || labels.column(rows.iter().map(|((_, comm, _), _)| *comm)))
        .add("holder_comm", || {
            labels.column(rows.iter().map(|((_, _, holder), _)| holder.unwrap_or(crate::intern::NONE)))
        })
        .add("ns", || plain::<Int64Type>(rows.iter().map(|(_, ns)| *ns)));
    plan.batch()
}
