//! Whose each CPU's time was: by cost class, and where there is none by context: `cargo run --release --example cost_classes CAPTURE`.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::Array;
use arrow_cast::cast;
use arrow_schema::DataType;
use netcost::ledger::{self, Request};
use netcost::{open, Error};

fn main() -> Result<(), Error> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("Usage: cost_classes CAPTURE");
        std::process::exit(2);
    };
    let recording = open(&path, None, &mut || true)?;
    let sums = ledger::run(&recording, &Request::default(), &mut |_fraction| true)?.sums;
    let text = |name| cast(&sums[name], &DataType::Utf8).expect("a dictionary of names");
    let (classes, contexts) = (text("cost_class"), text("context"));
    let (cpus, ns) = (sums["cpu"].as_primitive::<Int32Type>(), sums["ns"].as_primitive::<Int64Type>());
    let mut found: BTreeMap<(i32, &str), i64> = BTreeMap::new();
    for row in 0..sums.num_rows() {
        let shown = if classes.is_null(row) { &contexts } else { &classes };
        *found.entry((cpus.value(row), shown.as_string::<i32>().value(row))).or_default() += ns.value(row);
    }
    for ((cpu, class), ns) in found {
        println!("CPU {cpu}  {class:24} {:10.3} ms", ns as f64 / 1e6);
    }
    Ok(())
}
