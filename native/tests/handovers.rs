//! What was handed over to kernel threads comes to the same, whichever way the tables are cut, and is what the ledger says.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use netcost::handovers::{Handovers, Tables};
use netcost::ledger::{self, Request, Want};
use netcost::open;
use netcost::parts::{batch, plain};

const SAMPLE: &str = "../sample-data/nic-stolen-time/trace.perf.data";
const NEAR_NS: i64 = 50_000;

type Named = BTreeMap<&'static str, RecordBatch>;

fn numbers(table: &RecordBatch, name: &str) -> Int64Array {
    cast(&table[name], &DataType::Int64).expect("a number").as_primitive::<Int64Type>().clone()
}

fn texts(table: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = cast(&table[name], &DataType::Utf8).expect("a text");
    column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn request() -> Request {
    let want = Want {
        slices: true,
        segments: true,
        softirqs: true,
        hardirqs: true,
        polls: true,
        migrations: true,
        displaced: true,
        ..Want::default()
    };
    Request { want, ..Request::default() }
}

/// Those of ksoftirqd.
fn stays(slices: &RecordBatch) -> RecordBatch {
    let comm = texts(slices, "comm");
    let of: Vec<usize> =
        (0..comm.len()).filter(|&row| comm[row].as_ref().is_some_and(|comm| comm.starts_with("ksoftirqd/"))).collect();
    let column = |name: &str| {
        let column = numbers(slices, name);
        let values: Int64Array = of.iter().map(|&row| column.is_valid(row).then(|| column.value(row))).collect();
        (name.to_owned(), Arc::new(values) as ArrayRef)
    };
    batch(["cpu", "tid", "in_ns", "out_ns", "wake_ns"].map(column).into()).expect("stays")
}

fn handovers(stays: &RecordBatch) -> Handovers {
    let threads = vec!["ksoftirqd/".to_owned()];
    Handovers::new(std::slice::from_ref(stays), &[], threads, NEAR_NS).expect("stays")
}

fn add(handovers: &mut Handovers, named: &Named) -> netcost::Result<()> {
    let table = |name: &str| std::slice::from_ref(&named[name]);
    handovers.add(&Tables {
        slices: table("slices"),
        segments: table("segments"),
        softirqs: table("softirqs"),
        hardirqs: table("hardirqs"),
        polls: table("polls"),
        migrations: table("migrations"),
    })
}

/// How much of a span lies in others, which are apart.
fn within(span: (i64, i64), others: &[(i64, i64)]) -> i64 {
    others.iter().map(|other| (span.1.min(other.1) - span.0.max(other.0)).max(0)).sum()
}

fn spans(table: &RecordBatch, from: &str, to: &str) -> Vec<(i64, (i64, i64))> {
    let (cpu, start, end) = (numbers(table, "cpu"), numbers(table, from), numbers(table, to));
    (0..table.num_rows()).map(|row| (cpu.value(row), (start.value(row), end.value(row)))).collect()
}

#[test]
fn however_tables_are_cut_they_come_to_the_same() {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let request = request();
    let output = ledger::run(&recording, &request, &mut |_fraction| true).expect("a ledger");
    let tables: Named = output.tables.into_iter().collect();
    let stays = stays(&tables["slices"]);
    let mut whole = handovers(&stays);
    add(&mut whole, &tables).expect("the tables");
    let whole: Named = whole.tables(Some(output.window.1)).expect("tables").into_iter().collect();
    assert!(numbers(&whole["stays"], "rounds").iter().flatten().count() > 20);
    let request = Request { want: Want { displaced: false, ..request.want }, ..Request::default() };
    for rows in [50, 1_000, 7_000] {
        let mut parts = handovers(&stays);
        let mut sink = |named: ledger::Tables| add(&mut parts, &named.into_iter().collect()).is_ok();
        ledger::run_in_batches(&recording, &request, &output.survey, rows, &mut sink, &mut |_fraction| true)
            .expect("batches");
        let parts: Named = parts.tables(Some(output.window.1)).expect("tables").into_iter().collect();
        for (name, table) in &whole {
            for field in table.schema().fields() {
                let name_of = field.name();
                if *field.data_type() == DataType::Int64 {
                    assert_eq!(
                        numbers(&parts[name], name_of),
                        numbers(table, name_of),
                        "{rows} rows: {name}.{name_of}"
                    );
                } else {
                    assert_eq!(texts(&parts[name], name_of), texts(table, name_of), "{rows} rows: {name}.{name_of}");
                }
            }
        }
    }
}

#[test]
fn it_is_what_the_ledger_says() {
    let recording = open(SAMPLE, None, &mut || true).expect("a sample");
    let output = ledger::run(&recording, &request(), &mut |_fraction| true).expect("a ledger");
    let tables: Named = output.tables.into_iter().collect();
    let stays = stays(&tables["slices"]);
    let mut found = handovers(&stays);
    add(&mut found, &tables).expect("the tables");
    let found: Named = found.tables(Some(output.window.1)).expect("tables").into_iter().collect();

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
    let none =
        ["cpu", "tid", "in_ns", "out_ns", "wake_ns"].map(|name| (name.to_owned(), plain::<Int64Type>([].into_iter())));
    let none = batch(none.into()).expect("no stays");
    let mut found = handovers(&none);
    let named: Named =
        ["slices", "segments", "softirqs", "hardirqs", "polls", "migrations"].map(|name| (name, none.clone())).into();
    add(&mut found, &named).expect("tables without their columns");
    assert!(found.tables(None).expect("tables").iter().all(|(_, table)| table.num_rows() == 0));
}
