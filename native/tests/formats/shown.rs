//! What a capture shows, as plain values: each row of a table as words by their column.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use indexmap::IndexMap;
use netcost::events::{self, Scan, Within};
use netcost::ledger::{self, Output, Request, Want};
use netcost::{open, Error, ErrorKind, Recording, Result};
use tempfile::NamedTempFile;

/// A row by its columns; what is null is "null".
pub type Row = IndexMap<String, String>;
/// Rows by their event.
pub type Tables = IndexMap<String, Vec<Row>>;

/// Columns of a row, those that it has not as "_".
pub fn words(row: &Row, columns: &str) -> String {
    let word = |name| row.get(name).map_or("_", String::as_str);
    columns.split(' ').map(word).collect::<Vec<&str>>().join(" ")
}

/// Columns of all rows.
pub fn all_words(rows: &[Row], columns: &str) -> Vec<String> {
    rows.iter().map(|row| words(row, columns)).collect()
}

pub fn rows(batch: &RecordBatch) -> Vec<Row> {
    let options = FormatOptions::default().with_null("null");
    let format = |column| ArrayFormatter::try_new(column, &options).expect("can be shown");
    let columns: Vec<_> = batch.columns().iter().map(|column| format(column.as_ref())).collect();
    let names = batch.schema();
    let cells = |row| names.fields().iter().zip(&columns).map(move |(name, of)| (name.name(), of.value(row)));
    (0..batch.num_rows()).map(|row| cells(row).map(|(name, cell)| (name.clone(), cell.to_string())).collect()).collect()
}

/// An opened capture, with what one pass found in it.
pub struct Shown {
    pub recording: Recording,
    pub scan: Scan,
    _file: NamedTempFile,
}

impl Shown {
    pub fn of(bytes: impl AsRef<[u8]>) -> Shown {
        Self::opened(bytes, None).expect("a capture")
    }

    pub fn opened(bytes: impl AsRef<[u8]>, buffer: Option<&str>) -> Result<Shown> {
        let mut file = NamedTempFile::new()?;
        file.write_all(bytes.as_ref())?;
        let recording = open(file.path().to_str().expect("a name"), buffer, &mut || true)?;
        let scan = events::scan(&recording, &mut |_| true)?;
        Ok(Shown { recording, scan, _file: file })
    }

    pub fn tables(&self) -> Tables {
        let found = events::tables(&self.recording, None, None, &Within::default(), &mut |_| true).expect("tables");
        found.into_iter().map(|(name, batch)| (name, rows(&batch))).collect()
    }

    pub fn events(&self, name: &str) -> Vec<Row> {
        self.tables().swap_remove(name).unwrap_or_default()
    }

    pub fn samples(&self, name: &str) -> Vec<Row> {
        rows(&self.recording.samples(name, None, &mut |_| true).expect("samples"))
    }

    /// Samples of each event that has some.
    pub fn counts(&self) -> Vec<(&str, u64)> {
        self.recording.events.iter().map(|event| event.name.as_str()).zip(self.scan.counts.iter().copied()).collect()
    }

    pub fn records(&self, kind: &str) -> u64 {
        self.scan.tally.records.get(kind).copied().unwrap_or_default()
    }

    /// What was said at the opening and in a pass.
    pub fn notes(&self) -> Vec<&str> {
        self.recording.notes.iter().chain(&self.scan.tally.notes).map(String::as_str).collect()
    }

    /// The one note that has these words.
    pub fn note(&self, words: &str) -> &str {
        match self.notes().into_iter().filter(|note| note.contains(words)).collect::<Vec<&str>>()[..] {
            [note] => note,
            ref other => panic!("{words}: {other:?} of {:?}", self.notes()),
        }
    }

    /// By CPU from when to when something was lost, and how much.
    pub fn gaps(&self) -> Vec<(u32, i64, i64, u64)> {
        self.scan.gaps.iter().map(|gap| (gap.cpu, gap.start_ns, gap.end_ns, gap.lost)).collect()
    }

    pub fn ledger(&self) -> Result<Output> {
        let request = Request { want: Want::ALL, ..Request::default() };
        ledger::run(&self.recording, &request, &mut |_| true)
    }
}

/// A table of the ledger.
pub fn table(output: &Output, name: &str) -> Vec<Row> {
    output.tables.iter().find(|one| one.0 == name).map(|one| rows(&one.1)).unwrap_or_default()
}

/// Start and end of what one CPU did, in microseconds, with these columns; equal ones in a row are one.
pub fn lane(output: &Output, cpu: u32, columns: &str) -> Vec<(i64, i64, String)> {
    let mut lane: Vec<(i64, i64, String)> = Vec::new();
    for row in table(output, "segments").iter().filter(|row| row["cpu"] == cpu.to_string()) {
        let us = |name: &str| row[name].parse::<i64>().expect("a time") / 1000;
        match lane.last_mut().filter(|last| last.2 == words(row, columns)) {
            Some(last) => last.1 = us("end_ns"),
            None => lane.push((us("start_ns"), us("end_ns"), words(row, columns))),
        }
    }
    lane
}

/// Segments are each CPU's whole window, without gap and overlap, and sums add up to it.
pub fn assert_conserved(output: &Output) {
    let number = |row: &Row, name: &str| row[name].parse::<i64>().expect("a number");
    let (start, end) = output.window;
    let segments = table(output, "segments");
    for &cpu in &output.cpus {
        let mut now = start;
        for row in segments.iter().filter(|row| row["cpu"] == cpu.to_string()) {
            assert!(number(row, "start_ns") == now && number(row, "end_ns") > now, "CPU {cpu} at {now}: {row:?}");
            now = number(row, "end_ns");
        }
        assert!(now == end || start == end, "CPU {cpu} ends at {now}, not at {end}");
    }
    let sum: i64 = rows(&output.sums).iter().map(|row| number(row, "ns")).sum();
    assert_eq!(sum, output.cpus.len() as i64 * (end - start));
    for stay in table(output, "slices") {
        let parts = ["task_ns", "hardirq_ns", "softirq_ns", "poll_ns", "unknown_ns"].map(|part| number(&stay, part));
        let length = (number(&stay, "out_ns").min(end) - number(&stay, "in_ns").max(start)).max(0);
        assert!(parts.iter().all(|&part| part >= 0) && parts.iter().sum::<i64>() == length, "{stay:?}");
    }
}

/// Kind and message of a refusal.
pub fn refused<T>(result: Result<T>) -> (ErrorKind, String) {
    match result.err().expect("a refusal") {
        Error::Capture { kind, message, .. } => (kind, message),
        other => panic!("{other}"),
    }
}
