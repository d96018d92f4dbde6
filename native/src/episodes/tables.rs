//! The longest episodes as Arrow tables.

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::RecordBatch;

use crate::episodes::open::Span;
use crate::episodes::rows::Owner;
use crate::episodes::told::{Episode, Told};
use crate::error::Result;
use crate::intern::{Interner, Labels};
use crate::tables::{booleans, optional, plain, Plan};

/// All of them, by name: a row per episode, a row per episode and who took time in it, and how many episodes there are.
pub fn tables(told: &mut Told, names: &Interner) -> Result<Vec<(&'static str, RecordBatch)>> {
    let labels = &Labels::new(names.values());
    let count = told.count;
    let longest = told.longest();
    let mut total = Plan::new();
    total.add("episodes", || plain::<Int64Type>(std::iter::once(count)));
    Ok(vec![("episodes", episodes(&longest, labels)?), ("parts", parts(&longest, labels)?), ("total", total.batch()?)])
}

fn episodes(rows: &[(i64, &Episode)], labels: &Labels) -> Result<RecordBatch> {
    let number = |value: fn(&Span) -> i64| move || plain::<Int64Type>(rows.iter().map(|row| value(&row.1.span)));
    let mut plan = Plan::new();
    plan.add("cpu", || plain::<Int32Type>(rows.iter().map(|row| row.0 as i32)))
        .add("tid", || optional::<Int32Type>(rows.iter().map(|row| row.1.span.tid.map(|tid| tid as i32))))
        .add("comm", || labels.column(rows.iter().map(|row| row.1.span.comm)))
        .add("start_ns", number(|span| span.start_ns))
        .add("end_ns", number(|span| span.end_ns))
        .add("wall_ns", || plain::<Int64Type>(rows.iter().map(|row| row.1.ns())))
        .add("polls", || plain::<Int64Type>(rows.iter().map(|row| row.1.polls)))
        .add("packets", || optional::<Int64Type>(rows.iter().map(|row| row.1.packets)))
        .add("ran_before_ns", number(|span| span.before_ns))
        .add("cut", || booleans(rows.iter().map(|row| row.1.span.is_cut)));
    plan.batch()
}

fn parts(rows: &[(i64, &Episode)], labels: &Labels) -> Result<RecordBatch> {
    let each = || {
        let numbered = rows.iter().enumerate();
        numbered.flat_map(|(number, row)| row.1.parts.iter().map(move |part| (number as i64, part)))
    };
    let name = |code: fn(&Owner) -> u32| move || labels.column(each().map(|row| code(&row.1 .0)));
    let mut plan = Plan::new();
    plan.add("episode", || plain::<Int64Type>(each().map(|row| row.0)))
        .add("context", name(|owner| owner.context))
        .add("id", || optional::<Int32Type>(each().map(|row| row.1 .0.id.map(|id| id as i32))))
        .add("name", name(|owner| owner.name))
        .add("device", name(|owner| owner.device))
        .add("cost_class", name(|owner| owner.class))
        .add("is_network", name(|owner| owner.network))
        .add("ns", || plain::<Int64Type>(each().map(|row| row.1 .1)));
    plan.batch()
}
