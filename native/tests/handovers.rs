//! What was handed over to kernel threads comes to the same, however many rows come at once, and is what the ledger says.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use netcost::handovers::Wanted;
use netcost::ledger::{self, Aggregated, Output, Request, Want, Whose};
use netcost::{open, Recording};

const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";
const NEAR_NS: i64 = 50_000;
const THREADS: [&str; 1] = ["ksoftirqd/"];

type Named = BTreeMap<&'static str, RecordBatch>;

fn numbers(table: &RecordBatch, name: &str) -> Int64Array {
    cast(&table[name], &DataType::Int64).expect("a number").as_primitive::<Int64Type>().clone()
}

fn texts(table: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = cast(&table[name], &DataType::Utf8).expect("a text");
    column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

/// A sample, and its ledger.
struct Sample {
    recording: Recording,
    request: Request,
    output: Output,
}

impl Sample {
    fn new() -> Sample {
        let recording = open(SAMPLE, None, &mut || true).expect("a sample");
        let want =
            Want { slices: true, segments: true, polls: true, migrations: true, displaced: true, ..Want::default() };
        let request = Request { want, ..Request::default() };
        let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
        Sample { recording, request, output }
    }

    fn aggregate(&self, wanted: Aggregated, rows: usize) -> Named {
        let mut goes_on = |_fraction| true;
        let Sample { recording, request, output } = self;
        let found = ledger::run_aggregates(recording, request, &output.survey, &[wanted], rows, &mut goes_on);
        found.expect("a pass").into_iter().flatten().collect()
    }

    /// Those of ksoftirqd.
    fn stays(&self, rows: usize) -> RecordBatch {
        let whose = Whose::Named(THREADS.map(str::to_owned).to_vec());
        self.aggregate(Aggregated::StaysOf(whose), rows).remove("stays").expect("stays")
    }

    /// What was handed over to stays.
    fn handed_over(&self, stays: &RecordBatch, rows: usize) -> Named {
        let (stays, threads) = (std::slice::from_ref(stays), THREADS.map(str::to_owned).to_vec());
        let wanted = Wanted::of(stays, &[], threads, NEAR_NS, Some(self.output.window.1)).expect("stays");
        self.aggregate(Aggregated::Handovers(Arc::new(wanted)), rows)
    }
}

/// How much of a span lies in others, which are apart.
fn within(span: (i64, i64), others: &[(i64, i64)]) -> i64 {
    others.iter().map(|other| (span.1.min(other.1) - span.0.max(other.0)).max(0)).sum()
}

fn spans(table: &RecordBatch, from: &str, to: &str) -> Vec<(i64, (i64, i64))> {
    let (cpu, start, end) = (numbers(table, "cpu"), numbers(table, from), numbers(table, to));
    (0..table.num_rows()).map(|row| (cpu.value(row), (start.value(row), end.value(row)))).collect()
}

fn assert_same(one: &RecordBatch, other: &RecordBatch, what: &str) {
    for field in one.schema().fields() {
        let name = field.name();
        if field.data_type().is_integer() {
            assert_eq!(numbers(one, name), numbers(other, name), "{what}.{name}");
        } else {
            assert_eq!(texts(one, name), texts(other, name), "{what}.{name}");
        }
    }
}

#[test]
fn however_many_rows_come_at_once_they_come_to_the_same() {
    let sample = Sample::new();
    let stays = sample.stays(usize::MAX);
    let whole = sample.handed_over(&stays, usize::MAX);
    assert!(numbers(&whole["stays"], "rounds").iter().flatten().count() > 20);
    for rows in [50, 1_000, 7_000] {
        assert_eq!(sample.stays(rows).num_rows(), stays.num_rows());
        let parts = sample.handed_over(&stays, rows);
        whole.iter().for_each(|(name, table)| assert_same(&parts[name], table, &format!("{rows} rows: {name}")));
    }
}

#[test]
fn it_is_what_the_ledger_says() {
    let sample = Sample::new();
    let stays = sample.stays(usize::MAX);
    let found = sample.handed_over(&stays, usize::MAX);
    let output = &sample.output;
    let tables: Named = output.tables.iter().cloned().collect();

    let sum = |table: &RecordBatch, name: &str| numbers(table, name).iter().flatten().sum::<i64>();
    let threads: Vec<i64> = numbers(&stays, "tid").iter().flatten().collect();
    let (tid, work) = (numbers(&tables["polls"], "tid"), numbers(&tables["polls"], "work"));
    let polls: Vec<i64> =
        (0..tid.len()).filter(|&row| threads.contains(&tid.value(row))).map(|row| work.value(row)).collect();
    assert_eq!(sum(&found["stays"], "polls"), polls.len() as i64);
    assert_eq!(sum(&found["stays"], "packets"), polls.iter().sum::<i64>());

    let held = spans(&found["held"], "start_ns", "end_ns");
    let of = |cpu: i64| held.iter().filter(|row| row.0 == cpu).map(|row| row.1).collect::<Vec<_>>();
    let in_stays: i64 = spans(&stays, "in_ns", "out_ns").iter().map(|&(cpu, stay)| within(stay, &of(cpu))).sum();
    assert_eq!(in_stays, held.iter().map(|row| row.1 .1 - row.1 .0).sum::<i64>());

    let mut waited = BTreeMap::<i64, i64>::new();
    let tids = numbers(&found["waits"], "tid");
    for (row, (cpu, wait)) in spans(&found["waits"], "start_ns", "end_ns").into_iter().enumerate() {
        *waited.entry(tids.value(row)).or_default() += within(wait, &of(cpu));
    }
    let displaced = &output.displaced;
    let mut expected = BTreeMap::<i64, i64>::new();
    for (tid, ns) in numbers(displaced, "tid").iter().flatten().zip(numbers(displaced, "ns").iter().flatten()) {
        *expected.entry(tid).or_default() += ns;
    }
    waited.retain(|_, ns| *ns > 0);
    expected.retain(|_, ns| *ns > 0);
    assert!(!expected.is_empty());
    assert_eq!(waited, expected);
}

#[test]
fn without_stays_nothing_is_read() {
    let sample = Sample::new();
    let found = sample.handed_over(&sample.stays(usize::MAX).slice(0, 0), usize::MAX);
    assert!(found.values().all(|table| table.num_rows() == 0));
}
