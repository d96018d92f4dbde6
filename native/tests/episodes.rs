//! The longest episodes are the same, whichever way the tables are cut, and add up to the ledger's sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use netcost::episodes::{Episodes, Settings, Victim};
use netcost::ledger::{self, Output, Request, Want};
use netcost::open;
use netcost::parts::batch;

const TABLES: [&str; 3] = ["segments", "softirqs", "polls"];
const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";
const GAP_NS: i64 = 10_000;

fn episodes(victim: Victim, most: usize) -> Episodes {
    Episodes::new(Settings { victim, most, gap_ns: GAP_NS })
}

fn told(mut episodes: Episodes) -> BTreeMap<&'static str, RecordBatch> {
    episodes.tables().expect("tables").into_iter().collect()
}

fn values(table: &RecordBatch, name: &str) -> Vec<i64> {
    table[name].as_primitive::<Int64Type>().values().to_vec()
}

fn total(told: &BTreeMap<&str, RecordBatch>) -> i64 {
    values(&told["total"], "episodes")[0]
}

fn sample() -> (netcost::Recording, Request, Output) {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let want = Want { segments: true, softirqs: true, polls: true, ..Want::default() };
    let request = Request { want, ..Request::default() };
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    (recording, request, output)
}

fn add(to: &mut Episodes, tables: impl IntoIterator<Item = (&'static str, RecordBatch)>) -> netcost::Result<()> {
    let tables: BTreeMap<&str, RecordBatch> = tables.into_iter().collect();
    let [segments, softirqs, polls] = TABLES.map(|name| std::slice::from_ref(&tables[name]));
    to.add(segments, softirqs, polls)
}

#[test]
fn however_tables_are_cut_the_longest_are_the_same() {
    let (recording, request, output) = sample();
    let victims = [Victim::All, Victim::Comm("openssl".to_owned()), Victim::Tids(vec![-1])];
    for (victim, most) in victims.iter().flat_map(|victim| [0, 1, 20, 100_000].map(|most| (victim, most))) {
        let mut whole = episodes(victim.clone(), most);
        add(&mut whole, output.tables.clone()).expect("the tables");
        let whole = told(whole);
        let is_nobody = matches!(victim, Victim::Tids(_));
        assert_eq!(total(&whole) == 0, is_nobody);
        assert_eq!(whole["episodes"].num_rows(), most.min(total(&whole) as usize));
        for rows in [50, 1_000, 7_000] {
            let mut parts = episodes(victim.clone(), most);
            let mut sink = |batch: ledger::Tables| add(&mut parts, batch).is_ok();
            ledger::run_in_batches(&recording, &request, &output.survey, rows, &mut sink, &mut |_fraction| true)
                .expect("batches");
            assert_eq!(shown(&told(parts)), shown(&whole), "{victim:?}, {most} in batches of {rows} rows");
        }
    }
}

/// Rows as texts: names have other codes in other batches.
fn shown(told: &BTreeMap<&'static str, RecordBatch>) -> String {
    let line = |table: &RecordBatch, row: usize| {
        let value = |column: &ArrayRef| arrow_cast::display::array_value_to_string(column, row).expect("shown");
        table.columns().iter().map(value).collect::<Vec<_>>().join(" ")
    };
    let rows = |table: &RecordBatch| (0..table.num_rows()).map(|row| line(table, row)).collect::<Vec<_>>().join("\n");
    told.iter().map(|(name, table)| format!("{name}\n{}\n", rows(table))).collect()
}

#[test]
fn episodes_are_all_time_that_was_stolen_from_tasks() {
    let (.., output) = sample();
    let mut found = episodes(Victim::All, usize::MAX);
    add(&mut found, output.tables.clone()).expect("the tables");
    let found = told(found);
    assert_eq!(total(&found), found["episodes"].num_rows() as i64);

    let sums = &output.sums;
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

// Described rows: begin, end, tid, what ran.
type Row = (i64, i64, i64, &'static str);

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn segments(rows: &[Row]) -> RecordBatch {
    let texts = |of: fn(&str) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row.3)).collect::<StringArray>())
    };
    let class: fn(&str) -> Option<&str> = |ran| ["hardirq", "softirq"].contains(&ran).then_some("stolen");
    let columns: [(&str, ArrayRef); 11] = [
        ("cpu", numbers(rows.iter().map(|_| 0))),
        ("start_ns", numbers(rows.iter().map(|row| row.0))),
        ("end_ns", numbers(rows.iter().map(|row| row.1))),
        ("tid", numbers(rows.iter().map(|row| row.2))),
        ("id", numbers(rows.iter().map(|_| 3))),
        ("context", texts(|ran| Some(ran))),
        ("cost_class", texts(class)),
        ("comm", texts(|_| None)),
        ("name", texts(|_| None)),
        ("device", texts(|_| None)),
        ("is_network", texts(|_| None)),
    ];
    batch(columns.map(|(name, column)| (name.to_owned(), column)).to_vec()).expect("segments")
}

fn timed(names: [&str; 2], rows: &[(i64, Option<i64>)]) -> RecordBatch {
    let value: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
    let columns = [
        ("cpu", numbers(rows.iter().map(|_| 0))),
        (names[0], numbers(rows.iter().map(|row| row.0))),
        (names[1], value),
    ];
    batch(columns.map(|(name, column)| (name.to_owned(), column)).to_vec()).expect("rows")
}

fn show(to: &mut Episodes, rows: &[Row], softirqs: &[(i64, Option<i64>)], polls: &[(i64, Option<i64>)]) {
    let (softirqs, polls) = (timed(["entry_ns", "raise_ns"], softirqs), timed(["end_ns", "work"], polls));
    to.add(&[segments(rows)], &[softirqs], &[polls]).expect("a batch");
}

fn spans(found: &BTreeMap<&str, RecordBatch>) -> Vec<(i64, i64)> {
    let column = |name: &str| values(&found["episodes"], name);
    let mut spans: Vec<(i64, i64)> = column("start_ns").into_iter().zip(column("end_ns")).collect();
    spans.sort_unstable();
    spans
}

// task | hardirq | task | softirq | task
// 0   100       150    160       200   300
const ONE: [Row; 5] = [
    (0, 100, 7, "task"),
    (100, 150, 7, "hardirq"),
    (150, 160, 7, "task"),
    (160, 200, 7, "softirq"),
    (200, 300, 7, "task"),
];

#[test]
fn a_softirq_may_come_batches_later() {
    for (raise_ns, wanted) in [
        (Some(140), vec![(100, 200)]),
        // The task itself raised it.
        (Some(155), vec![(100, 150), (160, 200)]),
        // When is not known.
        (None, vec![(100, 200)]),
    ] {
        let mut found = episodes(Victim::All, 20);
        for row in ONE {
            show(&mut found, &[row], &[], &[]);
        }
        show(&mut found, &[(300, 400, 7, "task")], &[(160, raise_ns)], &[]);
        assert_eq!(spans(&told(found)), wanted);
    }
    // Another one came: this one never entered.
    let mut found = episodes(Victim::All, 20);
    show(&mut found, &ONE, &[(170, Some(140))], &[]);
    assert_eq!(spans(&told(found)), [(100, 150), (160, 200)]);
}

#[test]
fn none_is_waited_for_without_end() {
    let mut found = episodes(Victim::All, 20_000);
    let mut at = 0;
    let mut rows = Vec::new();
    for _ in 0..9_000 {
        rows.extend(ONE.map(|row| (row.0 + at, row.1 + at, row.2, row.3)));
        at += 300;
    }
    show(&mut found, &rows, &[], &[]);
    // Those at the end are still waited for.
    show(&mut found, &[(at, at + 10, 7, "task")], &[(at - 140, Some(at - 160))], &[]);
    let found = told(found);
    assert_eq!(total(&found), 17_999);
    assert_eq!(*spans(&found).last().expect("episodes"), (at - 200, at - 100));
}

#[test]
fn what_an_episode_has() {
    let mut found = episodes(Victim::Tids(vec![7]), 20);
    // A poll that ends where it begins is none of it, one that ends where it ends is.
    show(&mut found, &ONE[..3], &[(160, Some(120))], &[(100, Some(1))]);
    show(&mut found, &ONE[3..], &[], &[(180, Some(2)), (200, Some(4))]);
    // Of another task; then one beside what is not known.
    show(
        &mut found,
        &[(300, 320, 8, "hardirq"), (320, 350, 7, "hardirq"), (350, 360, 7, "unknown")],
        &[],
        &[(340, None)],
    );
    let found = told(found);
    assert_eq!(spans(&found), [(100, 200), (320, 350)]);
    let of = |name: &str| values(&found["episodes"], name);
    assert_eq!((of("ran_before_ns"), of("polls")), (vec![100, 0], vec![2, 1]));
    let packets = found["episodes"]["packets"].as_primitive::<Int64Type>();
    assert_eq!(packets.iter().collect::<Vec<_>>(), [Some(6), None]);
    let cut = found["episodes"]["cut"].as_boolean();
    assert_eq!(cut.iter().collect::<Vec<_>>(), [Some(false), Some(true)]);
    let parts = &found["parts"];
    assert_eq!((values(parts, "episode"), values(parts, "ns")), (vec![0, 0, 1], vec![50, 40, 30]));
}
