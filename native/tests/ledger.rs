//! The ledger of timelines written as ftrace's text: who has each nanosecond, and in which class.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::Array;
use arrow_cast::cast;
use arrow_schema::DataType;
use netcost::ledger::{self, Output, Request};
use netcost::open_file;
use rayon::prelude::*;

/// Runs the ledger over lines of ftrace's `trace`.
fn ledger_of(lines: &[&str]) -> Output {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(b"# tracer: nop\n").and_then(|()| file.write_all(lines.join("\n").as_bytes())).expect("written");
    let recording = open_file(Arc::new(file)).expect("a text");
    ledger::run(&recording, &Request::default(), &mut |_fraction| true).expect("a ledger")
}

/// Nanoseconds by the context of the sums, and by cost class where there is one.
fn by_class(output: &Output) -> BTreeMap<String, i64> {
    let text = |name: &str| cast(&output.sums[name], &DataType::Utf8).expect("names");
    let (contexts, classes) = (text("context"), text("cost_class"));
    let mut found = BTreeMap::new();
    for (row, ns) in output.sums["ns"].as_primitive::<Int64Type>().values().iter().enumerate() {
        let context = contexts.as_string::<i32>().value(row);
        let class = Some(classes.as_string::<i32>()).filter(|classes| classes.is_valid(row));
        let name = class.map_or(context.to_owned(), |classes| format!("{context} {}", classes.value(row)));
        *found.entry(name).or_default() += ns;
    }
    found
}

fn expected<const N: usize>(rows: [(&str, i64); N]) -> BTreeMap<String, i64> {
    rows.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect()
}

// task 7:  1.000 s ......[hardirq 10 us][softirq 40 us]...... 1.000100 s
#[test]
fn a_softirq_that_a_hardirq_raised_is_stolen() {
    let output = ledger_of(&[
        " openssl-7 [000] d.... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=openssl next_pid=7 next_prio=120",
        " openssl-7 [000] d.h.. 1.000020: irq_handler_entry: irq=9 name=eth0",
        " openssl-7 [000] d.h.. 1.000025: softirq_raise: vec=3 [action=NET_RX]",
        " openssl-7 [000] d.h.. 1.000030: irq_handler_exit: irq=9 ret=handled",
        " openssl-7 [000] ..s.. 1.000030: softirq_entry: vec=3 [action=NET_RX]",
        " openssl-7 [000] ..s.. 1.000070: softirq_exit: vec=3 [action=NET_RX]",
        " openssl-7 [000] d.... 1.000100: sched_switch: prev_comm=openssl prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ]);
    assert_eq!(output.window, (1_000_000_000, 1_000_100_000));
    let rows = [("hardirq stolen", 10_000), ("softirq stolen", 40_000), ("task", 50_000)];
    assert_eq!(by_class(&output), expected(rows));
}

// The same softirq, raised by the task itself with bottom halves off: its own send. That
// interrupts are recorded tells that none of them raised it.
#[test]
fn a_softirq_that_its_task_raised_is_synchronous() {
    let output = ledger_of(&[
        " openssl-7 [000] d.... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=openssl next_pid=7 next_prio=120",
        " openssl-7 [000] d.h.. 1.000010: irq_handler_entry: irq=9 name=eth0",
        " openssl-7 [000] d.h.. 1.000020: irq_handler_exit: irq=9 ret=handled",
        " openssl-7 [000] D..1. 1.000025: softirq_raise: vec=3 [action=NET_RX]",
        " openssl-7 [000] ..s.. 1.000030: softirq_entry: vec=3 [action=NET_RX]",
        " openssl-7 [000] ..s.. 1.000070: softirq_exit: vec=3 [action=NET_RX]",
        " openssl-7 [000] d.... 1.000100: sched_switch: prev_comm=openssl prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ]);
    let rows = [("hardirq stolen", 10_000), ("softirq synchronous", 40_000), ("task", 50_000)];
    assert_eq!(by_class(&output), expected(rows));
}

// On top of the idle task nobody's time is taken.
#[test]
fn interrupts_of_an_idle_cpu_are_from_idle() {
    let output = ledger_of(&[
        " <idle>-0 [000] d.h.. 1.000020: irq_handler_entry: irq=9 name=eth0",
        " <idle>-0 [000] d.h.. 1.000025: softirq_raise: vec=3 [action=NET_RX]",
        " <idle>-0 [000] d.h.. 1.000030: irq_handler_exit: irq=9 ret=handled",
        " <idle>-0 [000] ..s.. 1.000030: softirq_entry: vec=3 [action=NET_RX]",
        " <idle>-0 [000] ..s.. 1.000070: softirq_exit: vec=3 [action=NET_RX]",
        " <idle>-0 [000] d.... 1.000100: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=openssl next_pid=7 next_prio=120",
    ]);
    let rows = [("hardirq from_idle", 10_000), ("idle", 30_000), ("softirq from_idle", 40_000)];
    assert_eq!(by_class(&output), expected(rows));
}

// A line that says that events were lost: from the CPU's last event to its next nothing is known.
#[test]
fn a_loss_is_unknown_from_the_event_before_it() {
    let output = ledger_of(&[
        " openssl-7 [000] d.... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=openssl next_pid=7 next_prio=120",
        " openssl-7 [000] ..s.. 1.000030: softirq_entry: vec=3 [action=NET_RX]",
        "CPU:0 [LOST 12 EVENTS]",
        " openssl-7 [000] ..... 1.000080: sched_wakeup: comm=cat pid=9 prio=120 target_cpu=000",
        " openssl-7 [000] d.... 1.000100: sched_switch: prev_comm=openssl prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ]);
    assert_eq!(output.lost.0, 12);
    assert_eq!(by_class(&output)["unknown"], 50_000);
    let (start_ns, end_ns) = output.window;
    assert_eq!(by_class(&output).values().sum::<i64>(), end_ns - start_ns);
}

// Each of them wants room for its events, and has no thread but its own.
#[test]
fn ledgers_in_every_thread_of_a_pool_do_not_wait_for_each_other() {
    let ledger = |_: usize| {
        let mut lines = Vec::new();
        for at in 0..150_000 {
            let time = format!(" openssl-7 [000] d.h.. 1.{:06}:", 5 * at);
            lines.push(format!("{time} irq_handler_entry: irq=9 name=eth0"));
            lines.push(format!("{time} irq_handler_exit: irq=9 ret=handled"));
        }
        ledger_of(&lines.iter().map(String::as_str).collect::<Vec<&str>>()).window
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    let windows: Vec<(i64, i64)> = pool.install(|| (0..4).into_par_iter().map(ledger).collect());
    assert_eq!(windows, [(1_000_000_000, 1_749_995_000); 4]);
}
