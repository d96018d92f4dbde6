//! The longest episodes as Arrow tables.

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::RecordBatch;

use crate::episodes::open::Span;
use crate::episodes::told::{Episode, Told};
use crate::error::Result;
use crate::ledger::resolve::Names;
use crate::ledger::shown::Tables;
use crate::narrow::{low_half, Narrow};
use crate::tables::{booleans, optional, plain, Plan};

/// All tables, by name: a row per episode, a row per episode and thief in it, and the number of episodes.
pub fn tables(told: &mut Told, names: &Names) -> Result<Tables> {
    let count = told.count;
    let longest = told.longest();
    let mut total = Plan::new();
    total.add("episodes", || plain::<Int64Type>(std::iter::once(count)));
    Ok(vec![("episodes", episodes(&longest, names)?), ("parts", parts(&longest, names)?), ("total", total.batch()?)])
}

fn episodes(rows: &[(i64, Episode)], names: &Names) -> Result<RecordBatch> {
    let number = |value: fn(&Span) -> i64| move || plain::<Int64Type>(rows.iter().map(|row| value(&row.1.span)));
    let mut plan = Plan::new();
    plan.add("cpu", || plain::<Int32Type>(rows.iter().map(|row| low_half(row.0 as u64) as i32)))
        .add("tid", || optional::<Int32Type>(rows.iter().map(|row| row.1.span.tid.map(|tid| tid.narrow()))))
        .add("comm", || names.texts(rows.iter().map(|row| row.1.span.comm)))
        .add("start_ns", number(|span| span.start_ns))
        .add("end_ns", number(|span| span.end_ns))
        .add("wall_ns", || plain::<Int64Type>(rows.iter().map(|row| row.1.ns())))
        .add("polls", || plain::<Int64Type>(rows.iter().map(|row| row.1.polls)))
        .add("packets", || optional::<Int64Type>(rows.iter().map(|row| row.1.packets)))
        .add("ran_before_ns", number(|span| span.before_ns))
        .add("cut", || booleans(rows.iter().map(|row| row.1.span.is_cut)));
    plan.batch()
}

fn parts(rows: &[(i64, Episode)], names: &Names) -> Result<RecordBatch> {
    let each = || {
        let numbered = rows.iter().enumerate();
        numbered.flat_map(|(number, row)| row.1.parts.iter().map(move |part| (number as i64, part)))
    };
    let owners = || each().map(|row| &row.1 .0);
    let mut plan = Plan::new();
    plan.add("episode", || plain::<Int64Type>(each().map(|row| row.0)))
        .add("context", || names.contexts.column(owners().map(|owner| owner.context)))
        .add("id", || optional::<Int32Type>(owners().map(|owner| owner.id.map(|id| low_half(id as u64) as i32))))
        .add("name", || names.texts(owners().map(|owner| owner.name)))
        .add("device", || names.texts(owners().map(|owner| owner.device)))
        .add("cost_class", || names.classes(owners().map(|owner| owner.class)))
        .add("is_network", || names.networks.column(owners().map(|owner| owner.network)))
        .add("ns", || plain::<Int64Type>(each().map(|row| row.1 .1)));
    plan.batch()
}
