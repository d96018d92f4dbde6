//! How softirqs' origins without softirq_raise agree with those that the raises tell, of captures that have them:
//! `cargo run --release --example origins CAPTURE...`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use netcost::ledger::{self, Request, Want};
use netcost::{open, Error, Recording};

fn softirqs(recording: &Recording) -> Result<RecordBatch, Error> {
    let request = Request { want: Want { softirqs: true, ..Want::default() }, ..Request::default() };
    Ok(ledger::run(recording, &request, &mut |_fraction| true)?.tables.remove(0).1)
}

fn text(table: &RecordBatch, name: &str) -> ArrayRef {
    cast(&table[name], &DataType::Utf8).expect("a dictionary of names")
}

fn main() -> Result<(), Error> {
    let mut found: BTreeMap<[String; 4], usize> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let mut recording = open(&path, None, &mut || true)?;
        let with = softirqs(&recording)?;
        for event in Arc::make_mut(&mut recording.events) {
            if event.name == "irq:softirq_raise" {
                event.format = None;
            }
        }
        let without = softirqs(&recording)?;
        let [classes, raised, told] =
            [(&with, "cost_class"), (&with, "origin"), (&without, "origin")].map(|(table, name)| text(table, name));
        let [classes, raised, told] = [&classes, &raised, &told].map(|column| column.as_string::<i32>());
        for row in 0..with.num_rows().min(without.num_rows()) {
            let on = match classes.is_valid(row).then(|| classes.value(row)) {
                None => "no class",
                Some("from_idle") => "idle",
                Some("scheduled") => "kernel thread",
                Some(_) => "task",
            };
            let recorder = format!("{} {}", recording.format, recording.host.os_release.as_deref().unwrap_or("-"));
            let key = [&recorder, on, raised.value(row), told.value(row)].map(str::to_owned);
            *found.entry(key).or_default() += 1;
        }
    }
    println!("{:44} {:14} {:8} {:8} softirqs", "recorder", "on", "raised", "told");
    for ([recorder, on, raised, told], count) in found {
        println!("{recorder:44} {on:14} {raised:8} {told:8} {count:8}");
    }
    Ok(())
}
