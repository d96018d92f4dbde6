//! Everything that a capture can be asked for, as the package asks.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};

use netcost::episodes::{self, Victim};
use netcost::events;
use netcost::ledger::{self, Aggregated, Grouping, Output, Request, Want, Whose};
use netcost::pairing::{self, Gaps, Shown};
use netcost::parts::PERF_SCRIPT;
use netcost::{maps, open_file, perfetto, Error, Recording};

const MAX_EVENTS: usize = 16;

/// Reads a capture in full, if it can be opened. Damage is refused in one line; what is given instead is well-formed.
pub fn read(file: File) -> bool {
    let recording = given(open_file(Arc::new(file)));
    recording.iter().for_each(read_tables);
    recording.is_some()
}

fn read_tables(recording: &Recording) {
    let progress = &mut |fraction: f64| {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of the capture are read");
        true
    };
    let scan = given(events::scan(recording, progress));
    let notes = scan.iter().flat_map(|scan| &scan.tally.notes);
    notes.chain(&recording.notes).for_each(|note| check_line(note));
    if let Some(tables) = given(events::tables(recording, None, None, &events::Within::default(), progress)) {
        tables.iter().for_each(|(_, batch)| check(batch));
    }
    let mut names: Vec<&str> = recording.events.iter().map(|event| event.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    // Many events, each with a pass of its own, would only be slow.
    let has_samples = recording.format == "perf.data" || recording.mode == PERF_SCRIPT;
    if names.len() <= MAX_EVENTS && has_samples {
        let tables = names.iter().filter_map(|name| given(recording.samples(name, None, progress)));
        let rows = tables.inspect(check).map(|batch| batch.num_rows() as u64).sum::<u64>();
        if let Some(scan) = scan {
            let counted = scan.counts.iter().sum::<u64>();
            assert!(
                rows <= counted && counted <= rows + scan.short,
                "{rows} of {counted} samples, {} of them short",
                scan.short
            );
        }
    }
    given(maps::mappings(recording, progress)).iter().for_each(check);
    given(maps::kernel_symbols(recording, progress)).iter().for_each(check);
    let request = Request { want: Want::ALL, ..Request::default() };
    if let Some(found) = given(ledger::run(recording, &request, progress)) {
        found.tables.iter().for_each(|(_, batch)| check(batch));
        [&found.sums, &found.displaced, &found.irqs].into_iter().for_each(check);
        check_conserved(&found);
        check_aggregates(recording, &request, &found);
        given(perfetto::write(recording, &request, &found.survey, &[], &mut std::io::sink(), progress));
    }
}

/// What aggregates come to does not hang on how many rows come at once, and segments add up to the window.
fn check_aggregates(recording: &Recording, request: &Request, found: &Output) {
    let wanted = aggregates(found.window);
    let at_once = |rows: usize| {
        let progress = &mut |_fraction| true;
        given(ledger::run_aggregates(recording, request, &found.survey, &wanted, rows, progress))
    };
    let Some(whole) = at_once(usize::MAX) else { return };
    whole.iter().flatten().for_each(|(_, batch)| check(batch));
    for rows in [1, 7] {
        let parts = at_once(rows).expect("what can be read at once can be read in parts");
        for ((of, whole), parts) in wanted.iter().zip(&whole).zip(&parts) {
            for ((name, whole), (_, parts)) in whole.iter().zip(parts) {
                assert_eq!(told(parts), told(whole), "{rows} rows at once: {name} of {of:?}");
            }
        }
    }
    let (_, segments) = &whole[0][0];
    let (start, end) = found.window;
    assert_eq!(sum(segments, "ns"), i128::from(end - start) * found.cpus.len() as i128);
}

/// One of each kind that needs no other's answer; the first is of segments by CPU.
fn aggregates(window: (i64, i64)) -> Vec<Aggregated> {
    let by_cpu = |rows: &str, sums: &[&str]| {
        let sums = sums.iter().map(|name| (*name).to_owned()).collect();
        Aggregated::Group(Box::new(Grouping { rows: rows.into(), by: vec!["cpu".into()], sums, ..Grouping::default() }))
    };
    let shown = Shown { most: 10, longest: 3, longer_ns: 1_000, fewer_packets: 64 };
    let (has_polls, has_raises, limit_ns) = (true, true, (2_000_000, 4_000_000));
    let paired = pairing::Settings { window, gaps: Gaps::default(), has_polls, has_raises, limit_ns, shown };
    let longest = episodes::Settings { victim: Victim::All, most: 5, gap_ns: 10_000 };
    vec![
        by_cpu("segments", &["ns"]),
        by_cpu("polls", &["work", "self_ns"]),
        Aggregated::Raised(10_000),
        Aggregated::Ticks,
        Aggregated::Wakeups(20_000),
        Aggregated::StaysOf(Whose::All),
        Aggregated::Pairing(Arc::new(paired)),
        Aggregated::Episodes(Arc::new(longest)),
    ]
}

/// A table's rows in any order.
fn told(table: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("null");
    let columns: Vec<ArrayFormatter<'_>> =
        table.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("shown")).collect();
    let row = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" ");
    let mut rows: Vec<String> = (0..table.num_rows()).map(row).collect();
    rows.sort_unstable();
    rows
}

fn sum(table: &RecordBatch, name: &str) -> i128 {
    let column = table.column_by_name(name).expect("a column of numbers");
    column.as_primitive::<Int64Type>().values().iter().copied().map(i128::from).sum()
}

/// Every nanosecond of every CPU has one owner.
fn check_conserved(found: &Output) {
    let (start, end) = found.window;
    assert_eq!(sum(&found.sums, "ns"), i128::from(end - start) * found.cpus.len() as i128);
}

fn given<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Capture { message: said, .. }) => {
            check_line(&said);
            None
        }
        Err(Error::Io(error)) => panic!("a file in memory does not fail: {error}"),
    }
}

/// Whether lengths, offsets, dictionary keys and text are what Arrow promises to whoever takes the
/// table over without looking.
fn check(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().expect("a well-formed column");
        assert_eq!(column.len(), batch.num_rows());
    }
}

fn check_line(said: &str) {
    assert!(!said.is_empty() && !said.contains(char::is_control), "{said:?}");
}
