//! Lines of events that are not known, and what a text says of how its events were recorded.

use netcost::{ErrorKind, Rate};

use crate::shown::{all_words, refused, words, Shown};
use crate::text::kinds::only;

#[test]
fn other_events_keep_their_text() {
    for (line, name, text) in [
        ("sh-8 [000] .... 1.0: initcall_level: level=console", "initcall_level", "level=console"),
        ("sh-8 [000] 1.0: cpu_frequency:        state=6 cpu_id=0", "cpu_frequency", "state=6 cpu_id=0"),
        ("sh-8 [000] .... 1.0: tracing_mark_write: B|12|a: b", "ftrace:tracing_mark_write", "B|12|a: b"),
        ("sh-8 [000] 1.0: print:                tracing_mark_write: hi", "ftrace:print", "tracing_mark_write: hi"),
        ("sh-8 [000] .... 1.0: sys_close <-do_syscall_64", "ftrace:function", "sys_close <-do_syscall_64"),
        ("sh-8 [000] d... 1.0: <stack trace>", "ftrace:kernel_stack", "<stack trace>"),
        ("sh 8 [000] 1.000000: net:netif_rx: dev=lo len=9", "net:netif_rx", "dev=lo len=9"),
        ("sh 8 [000] 1.000000:    1001001 cpu-clock: ", "cpu-clock", ""),
        ("sh 8 [000] 1.000000:    250000 cycles:ppp:  ffff81 foo ([kernel])", "cycles:ppp", "ffff81 foo ([kernel])"),
        ("sh 8 [000] 1.000000: cpu-clock:", "cpu-clock", ""),
        ("sh 8 [000] 1.000000: cpu/cycles/u: ", "cpu/cycles/u", ""),
        ("sh-8 [000] 1.0: ipi_entry: (Rescheduling interrupts)", "ipi:ipi_entry", "(Rescheduling interrupts)"),
    ] {
        let (found, row) = only(format!("{line}\n"));
        assert_eq!((found.as_str(), row["text"].as_str(), row["common_pid"].as_str()), (name, text, "8"));
    }
}

#[test]
fn a_name_tells_what_is_a_tracepoint() {
    for (name, is_tracepoint) in [
        ("irq:softirq_exit", true),
        ("net:netif_rx", true),
        ("probe:foo_1", true),
        ("cpu-clock", false),
        ("cycles:ppp", false),
        ("cycles:u", false),
        ("cpu/cycles/", false),
    ] {
        let shown = Shown::of(format!("sh 8 [000] 1.000000: {name}: vec=3\n"));
        let found: Vec<_> = shown.recording.events.iter().map(|one| (one.name.as_str(), one.is_tracepoint())).collect();
        assert_eq!(found, [(name, is_tracepoint)]);
    }
}

#[test]
fn call_chains_are_passed_over() {
    let line = |at| format!("sh 8/9 [003] {at}.000000:    1000 cpu-clock: \n\t  ffff81 foo ([kernel.kallsyms])\n\n");
    let shown = Shown::of([1, 2].map(line).concat());
    assert_eq!(shown.recording.events[0].rate, Rate::Period(1000));
    assert_eq!(all_words(&shown.events("cpu-clock"), "time_ns"), ["1000000000", "2000000000"]);
    assert_eq!(["event", "call chain", "blank"].map(|kind| shown.records(kind)), [2, 2, 2]);
    assert_eq!(shown.scan.tally.records.len(), 3);
    assert!(shown.notes().iter().any(|note| note.starts_with("2 lines")));
}

// Tracepoints that perf was told to sample are no full recording.
#[test]
fn periods_tell_that_tracepoints_were_sampled() {
    let line =
        |(at, period)| format!("sh 8 [003] {at}.000000:    {period} sched:sched_switch: sh:8 [120] R ==> sh:9 [120]\n");
    let shown = Shown::of([(1, 1), (2, 17)].map(line).concat());
    assert!(shown.recording.events[0].is_sampled());
    let (kind, message) = refused(shown.ledger());
    assert!(kind == ErrorKind::Refused && message.contains("was sampled"), "{message}");
}

// What `perf script --header` says of filters and sampling holds for its text as for the recording.
#[test]
fn headers_tell_how_events_were_recorded() {
    let shown = Shown::of(
        "# cmdline : /usr/bin/perf record -a -e irq:softirq_exit --filter vec == 3 -e cycles\n\
         # event : name = irq:softirq_exit, , id = { 1 }, type = 2, { sample_period, sample_freq } = 1, sample_type = RAW, sample_id_all = 1\n\
         # event : name = sched:sched_switch, , id = { 2 }, type = 2, { sample_period, sample_freq } = 4000, sample_type = RAW, freq = 1, sample_id_all = 1\n\
         sh 8 [000] 1.000000: irq:softirq_exit: vec=3 [action=NET_RX]\n\
         sh 8 [000] 2.000000: sched:sched_switch: sh:8 [120] S ==> x:9 [120]\n\
         sh 8 [000] 3.000000: cycles:  ffff81 foo\n",
    );
    let found: Vec<_> =
        shown.recording.events.iter().map(|one| (one.filter.as_deref(), one.is_sampled(), one.rate)).collect();
    assert_eq!(found[0], (Some("vec == 3"), false, Rate::Period(1)));
    assert_eq!(found[1], (None, true, Rate::Frequency(4000)));
    assert!(found[2].1 && matches!(found[2].2, Rate::Frequency(_)));
}

// What a spreadsheet or a mail may hold, a message may hold too.
#[test]
fn what_can_be_read_is_not_changed() {
    for (said, column, text) in [
        ("tracing_mark_write: x\ty\u{a0}z", "text", "x\ty\u{a0}z"),
        ("sched_process_exec: filename=/a\tb pid=8 old_pid=8", "filename", "/a\tb"),
    ] {
        let (name, row) = only(format!("a\u{a0}b\tc-8 [001] d.s2. 76.211513: {said}"));
        assert!(said.starts_with(name.split(':').next_back().expect("a name")), "{name}");
        assert_eq!(row[column], text);
    }
}

#[test]
fn what_trace_printk_left_is_no_chain() {
    for place in [
        "0x00000001",
        "0xffffffffa0340042",
        "0",
        "ffffffffa0340042",
        "",
        "ip_rcv+0x1c/0x40",
        "handler+0x1c/0x40 [nic]",
        "f [nic]",
        "f+0x1",
        "f+0x1/0x2 [a] <ffff81>",
        "f <ffffffffa0340042>",
        "[<ffffffffa0340042>] f",
    ] {
        for context in ["d.s2. ", ""] {
            let said = format!("{place}: packet 7: dropped");
            let (name, row) = only(format!("            sh-8     [001] {context}76.211513: {said}"));
            assert_eq!((name.as_str(), &row["text"]), ("ftrace:print", &said));
            assert_eq!(words(&row, "common_pid common_cpu time_ns"), "8 1 76211513000");
        }
    }
}
