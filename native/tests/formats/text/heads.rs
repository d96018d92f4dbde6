//! What stands before an event's own text, in every shape that perf, trace-cmd and ftrace print it: who, where, in which
//! context, when, which event.

use crate::shown::{all_words, words, Shown};
use crate::text::kinds::only;

const EXIT: &str = "vec=3 [action=NET_RX]";
const COLUMNS: &str = "common_pid common_cpu time_ns time_order common_flags common_preempt_count vec";

#[test]
fn every_shape_tells_who_where_and_when() {
    for (line, told) in [
        // perf script: as it comes, with both ids, with --ns, without CPU, without any id.
        ("   perf 23008 [000] 15867.437834:  irq:softirq_exit: ", "23008 0 15867437834000 _ _ _"),
        ("perf   8/9     [001] 15867.437834: irq:softirq_exit: ", "9 1 15867437834000 _ _ _"),
        ("perf 7 [017] 15867.437834965: irq:softirq_exit: ", "7 17 15867437834965 _ _ _"),
        ("   perf 23008 15867.437834:   irq:softirq_exit: ", "23008 null 15867437834000 _ _ _"),
        ("   perf   8/9 15867.437834:   irq:softirq_exit: ", "9 null 15867437834000 _ _ _"),
        ("            perf [000] 15867.437834: irq:softirq_exit: ", "_ 0 15867437834000 _ _ _"),
        ("  swapper     0 [1023] 15867.437834: irq:softirq_exit: ", "0 1023 15867437834000 _ _ _"),
        ("  :4711  4711 [000] 15867.437834:  irq:softirq_exit: ", "4711 0 15867437834000 _ _ _"),
        ("   perf    -1 [000] 15867.437834:  irq:softirq_exit: ", "-1 0 15867437834000 _ _ _"),
        (" :-1    -1/-1  [000] 15867.437834:  irq:softirq_exit: ", "-1 0 15867437834000 _ _ _"),
        (" :-1 17875/-1  [000] 15867.437834:  irq:softirq_exit: ", "-1 0 15867437834000 _ _ _"),
        // Its latency format, and the letters for modes.
        ("    perf 23008   1 15867.437834:   irq:softirq_exit: ", "23008 1 15867437834000 _ _ _"),
        ("kworker/     8  12 15867.437834:   irq:softirq_exit: ", "8 12 15867437834000 _ _ _"),
        ("   perf 23008 [000] K  15867.437834: irq:softirq_exit: ", "23008 0 15867437834000 _ _ _"),
        // trace-cmd report: as it comes, with columns, -t, and its latency format.
        ("  perf-23008 [000] 15867.437834: softirq_exit:     ", "23008 0 15867437834000 _ _ _"),
        (" perf-8 [003] d..2. 15867.437834: softirq_exit:    ", "8 3 15867437834000 _ 1 2"),
        ("  perf-8 [003] 15867.437834965: softirq_exit:      ", "8 3 15867437834965 _ _ _"),
        ("perf_dat-8   0d.h.. 15867.437834: softirq_exit:    ", "8 0 15867437834000 _ 9 0"),
        ("  perf-8 [003] 15867.437834: (+12) softirq_exit:   ", "8 3 15867437834000 _ _ _"),
        ("  perf-8 [003]15867437834000: softirq_exit:        ", "8 3 _ 15867437834000 _ _"),
        ("  a.dat:            perf-8 [003] 15867.437834: softirq_exit: ", "8 3 15867437834000 _ _ _"),
        // Behind its columns trace-cmd leaves no room for a number without a unit; what a column counts is not the time's.
        ("  iperf3-15646   1d..3.26441878401970: softirq_exit: ", "15646 1 _ 26441878401970 1 3"),
        ("  iperf3-15646   1....126441878401970: softirq_exit: ", "15646 1 _ 26441878401970 0 16"),
        ("  iperf3-15646   1d..3126441878401970: softirq_exit: ", "15646 1 _ 26441878401970 1 19"),
        ("  iperf3-15646   1d.h1.26441878401970: softirq_exit: ", "15646 1 _ 26441878401970 9 1"),
        // ftrace: four and five columns, Android's process, the latency format of tracers and oopses.
        ("  perf-8     [000] d.h5 15867.437834: softirq_exit: ", "8 0 15867437834000 _ 9 5"),
        ("  perf-8     [000] ..s.. 15867.437834: softirq_exit: ", "8 0 15867437834000 _ 16 0"),
        ("  perf-8   (  8) [001] .... 15867.437834: softirq_exit: ", "8 1 15867437834000 _ 0 0"),
        ("  perf-8   (-----) [001] 15867.437834: softirq_exit: ", "8 1 15867437834000 _ _ _"),
        ("  <idle>-0   (-------) [001] D.Zf2 1.5: softirq_exit: ", "0 1 1500000000 _ 201 47"),
        ("  perf-8       1d..2. 15867437834us#: softirq_exit: ", "8 1 15867437834000 _ 1 2"),
        ("  perf-8      12d..2 4us : softirq_exit: ", "8 12 4000 _ 1 2"),
        ("[   12.1]   <idle>-0   1d.h1. 15867437834us : softirq_exit: ", "0 1 15867437834000 _ 9 1"),
        // PREEMPT_RT: more columns, by their number and by where the letters stand.
        ("  perf-8     [000] d.h22 15867.437834: softirq_exit: ", "8 0 15867437834000 _ 9 34"),
        ("  perf-8  [000] d.Lh1.2 15867.437834: softirq_exit: ", "8 0 15867437834000 _ 137 33"),
        ("  perf-8  [000] d...2.1 15867.437834: softirq_exit: ", "8 0 15867437834000 _ 1 18"),
    ] {
        let (name, row) = only(format!("{line}{EXIT}\n"));
        assert_eq!((name.as_str(), words(&row, COLUMNS)), ("irq:softirq_exit", format!("{told} 3")), "{line}");
    }
}

#[test]
fn a_name_may_hold_anything() {
    for comm in [
        "sh",
        "swapper/0",
        "kworker/u256:1-",
        "Web Content",
        "a-7",
        "(sd-pam)",
        "[k]",
        "a [001] b",
        "x: y",
        "GPU [0]",
        "-",
        "1",
        "tab 7/8",
        "ünïcode",
        "<ab>",
    ] {
        for line in [
            format!("{comm:>16} {:7} [000] 1.000000: irq:softirq_exit: {EXIT}", 4711),
            format!("{comm:>16} {:7}/{:<7} [000] 1.000000: irq:softirq_exit: {EXIT}", 4711, 4711),
            format!("{comm:>16}-{:<5} [000] 1.000000: softirq_exit:         {EXIT}", 4711),
            format!("{comm:>16}-{:<7} [000] d..2. 1.000000: softirq_exit: {EXIT}", 4711),
            format!("{comm:>16}-{:<7} ({:7}) [000] d..2. 1.000000: softirq_exit: {EXIT}", 4711, 4711),
        ] {
            let (_, row) = only(format!("{line}\n"));
            assert_eq!((row["common_pid"].as_str(), row["common_comm"].as_str()), ("4711", comm), "{line}");
        }
    }
}

// What is forgotten is no name; and idle has one.
#[test]
fn words_of_recorders_are_no_names() {
    for (line, comm) in [
        ("  <...>-4711 [000]  1.000000: softirq_exit: ", "null"),
        ("  :4711 4711 [000]  1.000000: irq:softirq_exit: ", "null"),
        ("  <idle>-0 [000] 1.0: softirq_exit: ", "swapper"),
        ("  swapper 0 [000] 1.0: irq:softirq_exit: ", "swapper"),
    ] {
        assert_eq!(only(format!("{line}{EXIT}\n")).1["common_comm"], comm);
    }
}

/// Names of tasks by event and line.
fn names(text: &str, event: &str) -> Vec<String> {
    all_words(&Shown::of(text).events(event), "common_comm")
}

const SWITCH: &str = "prev_comm=PREV prev_prio=120 prev_state=S ==> next_comm=NEXT next_prio=120";

fn switch(prev: &str, next: &str) -> String {
    SWITCH.replace("PREV", prev).replace("NEXT", next)
}

// The latency format cuts names after eight letters; ftrace prints what a task is called last.
#[test]
fn switches_know_names_better() {
    let cut = format!(
        "kworker/-7 0d..2. 1us : sched_switch: {}\n      sh-8 0d..2. 2us : softirq_exit: {EXIT}\n",
        switch("kworker/0:1 prev_pid=7", "sh next_pid=8")
    );
    assert_eq!(names(&cut, "sched:sched_switch"), ["kworker/0:1"]);
    assert_eq!(names(&cut, "irq:softirq_exit"), ["sh"]);
    let late = format!(
        "a-1 [000] 1.0: sched_switch: {}\nsleep-7 [000] 2.0: softirq_exit: {EXIT}\n",
        switch("a prev_pid=1", "bash next_pid=7")
    );
    assert_eq!(names(&late, "irq:softirq_exit"), ["bash"]);
}

#[test]
fn perf_says_what_a_task_was_called_at_the_time() {
    let line = |(comm, at)| format!("{comm} 7 [000] {at}.000000: irq:softirq_exit: {EXIT}\n");
    let text = [("bash", 1), ("sleep", 2), ("sleep", 3)].map(line).concat();
    assert_eq!(names(&text, "irq:softirq_exit"), ["bash", "sleep", "sleep"]);
}

#[test]
fn headers_name_the_columns() {
    let (plain, locked) = ("irqs-off need-resched hardirq/softirq preempt-depth", "lock-depth");
    for (header, depth) in [
        (format!("{plain} {locked}"), "2"),
        (format!("{} migrate-disable", plain.replace("irqs-off", "irqs-off/BH-disabled")), "18"),
    ] {
        let header: String = header.split(' ').map(|column| format!("#   || / _--=> {column}   \n")).collect();
        let (_, row) = only(format!("{header}sh-8 [000] d.h21 1.0: softirq_exit: {EXIT}\n"));
        assert_eq!(row["common_preempt_count"], depth);
    }
}

// The kernel's N is both ways of asking for a reschedule, trace-cmd's one.
#[test]
fn letters_are_of_who_wrote_them() {
    for (first, flags) in [("# tracer: nop", 0x34), ("cpus=2", 0x14)] {
        let (_, row) = only(format!("{first}\n  sh-8 [000] .Ns.. 1.000000: softirq_exit: {EXIT}\n"));
        assert_eq!(row["common_flags"], flags.to_string());
    }
}
