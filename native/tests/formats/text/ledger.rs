//! The ledger of a text: whose time it was, as far as the text tells.

use crate::shown::{all_words, assert_conserved, lane, table, Shown};

/// At this microsecond of the second second one task follows another on CPU 0.
fn switch(at: u32, prev: &str, next: &str) -> String {
    let of =
        |edge: &str, task: &str| format!("{edge}_comm={} {edge}_prio=120", task.replace('-', &format!(" {edge}_pid=")));
    format!("{prev} [000] d..2. 1.{at:06}: sched_switch: {} prev_state=S ==> {}\n", of("prev", prev), of("next", next))
}

fn lanes(shown: &Shown, columns: &str) -> Vec<String> {
    let output = shown.ledger().expect("a ledger");
    lane(&output, 0, columns).into_iter().map(|(start, end, what)| format!("{start} {end} {what}")).collect()
}

#[test]
fn a_drawn_timeline_is_what_was_drawn() {
    let text = switch(0, "a-7", "b-8")
        + "b-8 [000] ..s1. 1.000100: softirq_entry: vec=3 [action=NET_RX]\n"
        + "b-8 [000] ..s1. 1.000150: softirq_exit: vec=3 [action=NET_RX]\n"
        + &switch(300, "b-8", "a-7");
    let wanted = ["1000000 1000100 task b", "1000100 1000150 softirq b", "1000150 1000300 task b"];
    assert_eq!(lanes(&Shown::of(text), "context comm"), wanted);
}

// A loss is unknown time from the CPU's last event before it to its first after it.
#[test]
fn time_in_which_events_were_lost_is_unknown() {
    for (mark, known) in [("CPU:0 [LOST 12 EVENTS]\n", 12), ("CPU:0 [EVENTS DROPPED]\n", 0)] {
        let text = switch(0, "a-7", "b-8")
            + &switch(100, "b-8", "a-7")
            + mark
            + "b-8 [001] d..2. 1.000150: irq_handler_exit: irq=1 ret=handled\n"
            + &switch(300, "c-9", "a-7")
            + &switch(400, "a-7", "b-8");
        let shown = Shown::of(text);
        let wanted = ["1000000 1000100 task", "1000100 1000300 unknown", "1000300 1000400 task"];
        assert_eq!(lanes(&shown, "context"), wanted);
        assert_eq!((shown.scan.lost, shown.scan.lost_unknown), (known, u64::from(known == 0)));
        assert_eq!(shown.gaps(), [(0, 1_000_100_000, 1_000_300_000, known)]);
    }
}

// Tasks that are about to be gone have no number in perf's text: the switches tell who they were.
#[test]
fn who_is_gone_is_known_from_the_switches() {
    let shown = Shown::of(
        "sh 7 [000] 1.000000: sched:sched_switch: sh:7 [120] S ==> cat:8 [120]\n\
         :-1 -1 [000] 1.000100: irq:softirq_entry: vec=9 [action=RCU]\n\
         :-1 -1 [000] 1.000200: sched:sched_switch: cat:8 [120] X ==> sh:7 [120]\n",
    );
    assert_eq!(all_words(&shown.events("irq:softirq_entry"), "common_pid"), ["8"]);
    assert_eq!(all_words(&shown.events("sched:sched_switch"), "common_pid"), ["7", "8"]);
}

// Columns of the context are what tells an interrupt's raise from the task's own; so do irq_vectors and irq_handler_*,
// where both were recorded. A text without any device's handler does not tell whether it would be.
#[test]
fn a_raise_of_unknown_context_may_be_an_interrupts() {
    let vectors = [
        "010: local_timer_entry: vector=236",
        "010: local_timer_exit: vector=236",
        "020: call_function_single_entry: vector=236",
        "020: call_function_single_exit: vector=236",
    ];
    let irq = ["030: irq_handler_entry: irq=9 name=acpi", "031: irq_handler_exit: irq=9 ret=handled"];
    let ran = ["100: softirq_raise", "110: softirq_entry", "150: softirq_exit"];
    for (before, flags, wanted) in [
        (vec![&irq[..]], "", "stolen_or_synchronous unknown"),
        (vec![], "", "stolen_or_synchronous unknown"),
        (vec![&vectors], "", "stolen_or_synchronous unknown"),
        (vec![&vectors, &irq[..1]], "", "stolen_or_synchronous unknown"),
        (vec![&vectors, &irq], "", "synchronous task"),
        (vec![&vectors], "d..2. ", "synchronous task"),
        (vec![&irq], "d..2. ", "synchronous task"),
    ] {
        let run = ran.map(|step| format!("{step}: vec=3 [action=NET_RX]"));
        let steps = before.concat().into_iter().map(str::to_owned).chain(run);
        let output = Shown::of(steps.map(|step| format!("openssl-5 [000] {flags}1.000{step}\n")).collect::<String>());
        let output = output.ledger().expect("a ledger");
        assert_conserved(&output);
        assert_eq!(all_words(&table(&output, "softirqs"), "cost_class origin"), [wanted]);
        let is_said = output.notes.iter().any(|note| note.contains("both are ranges"));
        assert_eq!(is_said, wanted.ends_with("unknown"));
    }
}
