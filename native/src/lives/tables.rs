//! Lives as Arrow tables.

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;

use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::lives::holders::Waiter;
use crate::lives::life::{Away, Life, LifeOf};
use crate::lives::slice::Slice;
use crate::tables::{optional, plain, Plan};

/// A row per task's number and name.
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

/// A row per slice, in order of task and of when it ended: its task, and what that did before.
pub fn away(slices: &[Slice], rows: &[Away], names: &Interner) -> Result<RecordBatch> {
    let labels = Labels::new(names.values());
    let of_stay =
        |value: fn(&Slice) -> i64| move || plain::<Int64Type>(rows.iter().map(|row| value(&slices[row.slice])));
    let number = |value: fn(&Away) -> i64| move || plain::<Int64Type>(rows.iter().map(value));
    let mut plan = Plan::new();
    plan.add("tid", of_stay(|slice| slice.tid))
        .add("cpu", of_stay(|slice| slice.cpu))
        .add("in_ns", of_stay(|slice| slice.in_ns))
        .add("comm", || labels.column(rows.iter().map(|row| row.comm)))
        .add("stay_comm", || labels.column(rows.iter().map(|row| slices[row.slice].comm)))
        .add("start_ns", number(|row| row.start_ns))
        .add("end_ns", number(|row| row.end_ns))
        .add("waited_ns", number(|row| row.waited))
        .add("twice_ns", number(|row| row.twice));
    plan.batch()
}

/// A row per waiting task, its name, and who had the CPU.
pub fn holders(rows: &[(Waiter, i64)], names: &Interner) -> Result<RecordBatch> {
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
