//! Softirqs paired with interrupts and polls come to the same, however many rows come at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use netcost::ledger::{self, Aggregated, Output, Request, Want};
use netcost::pairing::{Gaps, Settings, Shown};
use netcost::{open, Recording};

const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";

type Named = BTreeMap<&'static str, RecordBatch>;

fn sample() -> (Recording, Request, Output) {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let want = Want { softirqs: true, hardirqs: true, polls: true, ..Want::default() };
    let request = Request { want, ..Request::default() };
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    (recording, request, output)
}

/// What pairing comes to that takes so many rows at once.
fn paired((recording, request, output): &(Recording, Request, Output), most: usize, rows: usize) -> Named {
    let wanted = Aggregated::Pairing(Arc::new(Settings {
        window: (i64::MIN, i64::MAX),
        gaps: Gaps::default(),
        has_polls: true,
        has_raises: true,
        limit_ns: (0, 4_000_000),
        shown: Shown { most, longest: 5, longer_ns: 50_000, fewer_packets: 64 },
    }));
    let mut goes_on = |_fraction| true;
    let found = ledger::run_aggregates(recording, request, &output.survey, &[wanted], rows, &mut goes_on);
    found.expect("a pass").into_iter().flatten().collect()
}

/// Each table's rows as texts, in order: sums come in any.
fn told(tables: &Named) -> BTreeMap<&'static str, Vec<String>> {
    let options = FormatOptions::default().with_null("null");
    let rows = |table: &RecordBatch| {
        let columns: Vec<ArrayFormatter<'_>> =
            table.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("shown")).collect();
        let row = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" ");
        let mut rows: Vec<String> = (0..table.num_rows()).map(row).collect();
        rows.sort_unstable();
        rows
    };
    tables.iter().map(|(name, table)| (*name, rows(table))).collect()
}

fn sum(table: &RecordBatch, name: &str) -> i64 {
    table[name].as_primitive::<Int64Type>().values().iter().sum()
}

#[test]
fn however_many_rows_come_at_once_they_come_to_the_same() {
    let sample = sample();
    for most in [30, 200_000] {
        let whole = told(&paired(&sample, most, usize::MAX));
        assert_eq!(whole["longest"].len(), 5);
        assert!(most > 30 || whole["chains"].len() == 30);
        for rows in [50, 1_000, 7_000] {
            assert_eq!(told(&paired(&sample, most, rows)), whole, "{rows} rows");
        }
    }
}

#[test]
fn no_row_is_lost() {
    let sample = sample();
    let tables: Named = sample.2.tables.iter().cloned().collect();
    let found = paired(&sample, 200_000, usize::MAX);
    assert_eq!(sum(&found["sizes"], "polls"), tables["polls"].num_rows() as i64);
    assert_eq!(sum(&found["run_counts"], "run_count"), sum(&found["runs_of_cpu"], "runs"));
    assert_eq!(sum(&found["runs"], "net_rx"), sum(&found["by_device"], "softirqs"));
    assert_eq!(sum(&found["by_device"], "softirqs"), found["chains"].num_rows() as i64);
    assert!(sum(&found["runs"], "softirqs") <= tables["softirqs"].num_rows() as i64);
}
