//! Softirqs paired with interrupts and polls come to the same, whichever way the tables are cut.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use netcost::ledger::{self, Request, Want};
use netcost::open;
use netcost::pairing::{Pairing, Settings, Shown};

const TABLES: [&str; 3] = ["softirqs", "hardirqs", "polls"];
const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";

fn pairing(most: usize) -> Pairing {
    Pairing::new(Settings {
        window: (i64::MIN, i64::MAX),
        gaps: Vec::new(),
        has_polls: true,
        has_raises: true,
        limit_ns: (0, 4_000_000),
        shown: Shown { most, longest: 5, longer_ns: 50_000, fewer_packets: 64 },
    })
}

/// Each table's rows as texts, in order: sums come in any.
fn told(mut pairing: Pairing) -> BTreeMap<&'static str, Vec<String>> {
    let options = FormatOptions::default().with_null("null");
    let rows = |table: &RecordBatch| {
        let columns: Vec<ArrayFormatter<'_>> =
            table.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("shown")).collect();
        let row = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" ");
        let mut rows: Vec<String> = (0..table.num_rows()).map(row).collect();
        rows.sort_unstable();
        rows
    };
    pairing.tables().expect("tables").into_iter().map(|(name, table)| (name, rows(&table))).collect()
}

fn sum(table: &RecordBatch, name: &str) -> i64 {
    table[name].as_primitive::<Int64Type>().values().iter().sum()
}

#[test]
fn however_tables_are_cut_they_come_to_the_same() {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let want = Want { softirqs: true, hardirqs: true, polls: true, ..Want::default() };
    let request = Request { want, ..Request::default() };
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    let tables: BTreeMap<&str, RecordBatch> = output.tables.into_iter().collect();
    for most in [30, 200_000] {
        let mut whole = pairing(most);
        let [softirqs, hardirqs, polls] = TABLES.map(|name| std::slice::from_ref(&tables[name]));
        whole.add(softirqs, hardirqs, polls).expect("the tables");
        let whole = told(whole);
        assert_eq!(whole["longest"].len(), 5);
        assert!(most > 30 || whole["chains"].len() == 30);
        for rows in [50, 1_000, 7_000] {
            let mut parts = pairing(most);
            let mut sink = |batch: ledger::Tables| {
                let batch: BTreeMap<&str, RecordBatch> = batch.into_iter().collect();
                let [softirqs, hardirqs, polls] = TABLES.map(|name| std::slice::from_ref(&batch[name]));
                parts.add(softirqs, hardirqs, polls).is_ok()
            };
            ledger::run_in_batches(&recording, &request, &output.survey, rows, &mut sink, &mut |_fraction| true)
                .expect("batches");
            assert_eq!(told(parts), whole, "{rows} rows");
        }
    }
}

#[test]
fn no_row_is_lost() {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let want = Want { softirqs: true, hardirqs: true, polls: true, ..Want::default() };
    let request = Request { want, ..Request::default() };
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    let tables: BTreeMap<&str, RecordBatch> = output.tables.into_iter().collect();
    let mut pairing = pairing(200_000);
    let [softirqs, hardirqs, polls] = TABLES.map(|name| std::slice::from_ref(&tables[name]));
    pairing.add(softirqs, hardirqs, polls).expect("the tables");
    let found: BTreeMap<&str, RecordBatch> = pairing.tables().expect("tables").into_iter().collect();
    assert_eq!(sum(&found["sizes"], "polls"), polls[0].num_rows() as i64);
    assert_eq!(sum(&found["run_counts"], "run_count"), sum(&found["runs_of_cpu"], "runs"));
    assert_eq!(sum(&found["runs"], "net_rx"), sum(&found["by_device"], "softirqs"));
    assert_eq!(sum(&found["by_device"], "softirqs"), found["chains"].num_rows() as i64);
    assert!(sum(&found["runs"], "softirqs") <= softirqs[0].num_rows() as i64);
}
