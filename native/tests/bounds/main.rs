//! Captures that are well-formed and made to cost time or memory, or that claim what cannot be: reading them takes no more
//! than their size explains. What the ledger looks up: tests/formats/damaged/test_bounds.py.

use std::sync::{Mutex, MutexGuard, PoisonError};

use netcost::{events, Error, Recording};

#[path = "../../fuzz/src/bounded.rs"]
mod bounded;
#[allow(dead_code)]
#[path = "../formats/described.rs"]
mod described;
#[path = "../formats/text/kinds.rs"]
#[allow(dead_code)]
mod kinds;
#[allow(dead_code)]
#[path = "../formats/trace_dat/machine.rs"]
mod machine;
mod mutants;
mod perf_data;
#[path = "../../fuzz/src/reading.rs"]
mod reading;
#[allow(dead_code)]
#[path = "../formats/shown.rs"]
mod shown;
mod text;
mod trace_dat;
#[allow(dead_code)]
#[path = "../formats/trace_dat/written.rs"]
mod written;

#[global_allocator]
static ALLOCATOR: bounded::Counting = bounded::Counting;

/// Than what was compiled for speed.
const SLOWER: f64 = if cfg!(debug_assertions) { 20.0 } else { 1.0 };

/// What another test allocates meanwhile would be counted.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of all threads.
fn spent_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process");
    let words = stat.rsplit(')').next().expect("words").split_whitespace();
    words.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks") / 100.0).sum()
}

/// Opens and asks, within so many seconds and MiB; `--nocapture` tells which of them ended the process.
fn bound(
    what: &str,
    bytes: &[u8],
    (seconds, mebibytes): (f64, usize),
    ask: impl Fn(&Recording) -> netcost::Result<()>,
) {
    eprintln!("{what}: {} bytes", bytes.len());
    let begun = spent_s();
    match bounded::at_most(mebibytes << 20, || described::opened(bytes).and_then(|recording| ask(&recording))) {
        Ok(()) => {}
        Err(Error::Capture { message, .. }) => {
            assert!(!message.is_empty() && !message.contains('\n'), "{what}: {message}")
        }
        Err(other) => panic!("{what}: {other}"),
    }
    let spent = spent_s() - begun;
    assert!(spent < seconds * SLOWER, "{what}: {spent} s");
}

fn scan(recording: &Recording) -> netcost::Result<()> {
    events::scan(recording, &mut |_| true).map(drop)
}

fn tables(recording: &Recording) -> netcost::Result<()> {
    scan(recording)?;
    events::tables(recording, None, None, &events::Within::default(), &mut |_| true).map(drop)
}
