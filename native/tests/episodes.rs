//! The longest episodes are the same, however many rows come at once, and add up to the ledger's sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch};
use netcost::episodes::{Settings, Victim};
use netcost::ledger::{self, Aggregated, Output, Request, Want};
use netcost::{open, Recording};

const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";
const GAP_NS: i64 = 10_000;

type Told = BTreeMap<&'static str, RecordBatch>;

fn values(table: &RecordBatch, name: &str) -> Vec<i64> {
    table[name].as_primitive::<Int64Type>().values().to_vec()
}

fn total(told: &Told) -> i64 {
    values(&told["total"], "episodes")[0]
}

fn sample() -> (Recording, Request, Output) {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let want = Want { segments: true, softirqs: true, polls: true, ..Want::default() };
    let request = Request { want, ..Request::default() };
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    (recording, request, output)
}

/// Of each of what is asked its tables, of a pass that takes so many rows at once.
fn told(
    (recording, request, output): &(Recording, Request, Output),
    asked: &[(Victim, usize)],
    rows: usize,
) -> Vec<Told> {
    let settings = |(victim, most): &(Victim, usize)| Settings { victim: victim.clone(), most: *most, gap_ns: GAP_NS };
    let wanted: Vec<_> = asked.iter().map(|asked| Aggregated::Episodes(Arc::new(settings(asked)))).collect();
    let mut goes_on = |_fraction| true;
    let found = ledger::run_aggregates(recording, request, &output.survey, &wanted, rows, &mut goes_on);
    found.expect("a pass").into_iter().map(|tables| tables.into_iter().collect()).collect()
}

#[test]
fn however_many_rows_come_at_once_the_longest_are_the_same() {
    let sample = sample();
    let victims = [Victim::All, Victim::Comm("openssl".to_owned()), Victim::Tids(vec![-1])];
    let each = |victim: &Victim| [0, 1, 20, 100_000].map(|most| (victim.clone(), most));
    let asked: Vec<(Victim, usize)> = victims.iter().flat_map(each).collect();
    let whole = told(&sample, &asked, usize::MAX);
    for (whole, (victim, most)) in whole.iter().zip(&asked) {
        assert_eq!(total(whole) == 0, matches!(victim, Victim::Tids(_)));
        assert_eq!(whole["episodes"].num_rows(), *(most.min(&(total(whole) as usize))));
    }
    for rows in [50, 1_000, 7_000] {
        for (place, parts) in told(&sample, &asked, rows).iter().enumerate() {
            assert_eq!(shown(parts), shown(&whole[place]), "{:?} in batches of {rows} rows", asked[place]);
        }
    }
}

/// Rows as texts.
fn shown(told: &Told) -> String {
    let line = |table: &RecordBatch, row: usize| {
        let value = |column: &ArrayRef| arrow_cast::display::array_value_to_string(column, row).expect("shown");
        table.columns().iter().map(value).collect::<Vec<_>>().join(" ")
    };
    let rows = |table: &RecordBatch| (0..table.num_rows()).map(|row| line(table, row)).collect::<Vec<_>>().join("\n");
    told.iter().map(|(name, table)| format!("{name}\n{}\n", rows(table))).collect()
}

#[test]
fn episodes_are_all_time_that_was_stolen_from_tasks() {
    let sample = sample();
    let found = &told(&sample, &[(Victim::All, usize::MAX)], usize::MAX)[0];
    assert_eq!(total(found), found["episodes"].num_rows() as i64);

    let sums = &sample.2.sums;
    let text = |name: &str| arrow_cast::cast(&sums[name], &arrow_schema::DataType::Utf8).expect("texts");
    let (class, context) = (text("cost_class"), text("context"));
    let (class, context) = (class.as_string::<i32>(), context.as_string::<i32>());
    let (tid, ns) = (sums["tid"].as_primitive::<Int32Type>(), sums["ns"].as_primitive::<Int64Type>());
    let stolen = (0..sums.num_rows()).filter(|&row| {
        let is_task = tid.iter().nth(row).flatten().is_some_and(|tid| tid != 0);
        is_task && class.value(row).starts_with("stolen") && !["task", "unknown"].contains(&context.value(row))
    });
    assert_eq!(values(&found["parts"], "ns").iter().sum::<i64>(), stolen.map(|row| ns.value(row)).sum::<i64>());
    let walls = values(&found["episodes"], "wall_ns");
    assert!(walls.is_sorted_by(|one, next| one >= next));
    assert!(walls.iter().sum::<i64>() >= values(&found["parts"], "ns").iter().sum());
}
