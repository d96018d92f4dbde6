//! function_graph's lines, with every column that its options give and take.

use netcost::{ErrorKind, Unit};

use crate::shown::{all_words, refused, words, Shown};

const ENTRY: &str = "ftrace:funcgraph_entry";
const EXIT: &str = "ftrace:funcgraph_exit";
const TOLD: &str = "common_cpu time_ns common_pid common_flags common_preempt_count";
/// Time, CPU, task, context, duration; and what follows from them.
const COLUMNS: [(&str, &str); 7] = [
    (" 1)", "1 _ _ _ _"),
    (" 1)    sh-4802    |", "1 _ 4802 _ _"),
    ("  360.774522 |   1)", "1 360774522000 _ _ _"),
    ("  360.774522 |   1)    sh-4802    |", "1 360774522000 4802 _ _"),
    ("  360.774522 |     0.000100 |   1)   <idle>-0    |", "1 360774522000 0 _ _"),
    ("  360.774522 |   1)    sh-4802    |  d.h1. |", "1 360774522000 4802 9 1"),
    ("  360.774522 |   1)   kworker-12   |", "1 360774522000 12 _ _"),
];
const DURATIONS: [&str; 5] = ["               |", "   0.541 us    |", " + 12.541 us   |", " $ 1254133 us |", ""];

// Each two of columns, duration and call stand in one line. As trace-cmd shows such events: duration, bar, call.
#[test]
fn calls_and_returns_are_events() {
    let calls = [
        ("  sys_open() {", ENTRY),
        ("    __might_sleep();", ENTRY),
        ("    do_sys_open(dfd=-100, name=0x7f, how=0xff) { /* caller+0x1 */", ENTRY),
        ("    foo [ext4]();", ENTRY),
        ("    foo(); /* ret=0x0 */", ENTRY),
        ("  }", EXIT),
        ("  } /* sys_open */", EXIT),
        ("  } /* sys_open ret=-2 */", EXIT),
    ];
    for (place, (columns, told)) in COLUMNS.into_iter().enumerate() {
        for (number, (call, name)) in calls.into_iter().enumerate() {
            let duration = DURATIONS[(place + number) % DURATIONS.len()];
            let tables = Shown::of(format!("# tracer: function_graph\n#\n{columns}{duration}{call}\n")).tables();
            let row = &tables[name][0];
            assert_eq!((tables.len(), words(row, TOLD).as_str()), (1, told), "{columns}{duration}{call}");
            assert_eq!(row["text"], format!("{duration}{call}").trim());
            assert_eq!(row.contains_key("time_order"), !row.contains_key("time_ns"));
        }
    }
}

// What other tracers and programs record meanwhile stands in comments. An event's text may hold anything, such as
// another line.
#[test]
fn comments_are_the_events_that_they_name() {
    let events = [
        ("sched_switch: prev_comm=sh prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=x|y next_pid=9 next_prio=1", "sched:sched_switch", "next_comm next_pid prev_state", "x|y 9 256"),
        ("softirq_entry: vec=3 [action=NET_RX]", "irq:softirq_entry", "vec", "3"),
        ("cpu_idle: state=1 cpu_id=0", "cpu_idle", "text", "state=1 cpu_id=0"),
        ("what trace_printk: left", "ftrace:print", "text", "what trace_printk: left"),
    ];
    for (place, (columns, told)) in COLUMNS.into_iter().enumerate() {
        let start = format!("{columns}{}", DURATIONS[if place % 2 == 1 { 4 } else { 0 }]);
        let tables = Shown::of(events.map(|(said, ..)| format!("{start}    /* {said} */\n")).concat()).tables();
        assert!(tables.keys().eq(events.iter().map(|one| one.1)));
        for (said, name, columns, values) in events {
            let row = &tables[name][0];
            assert_eq!((words(row, columns).as_str(), words(row, TOLD).as_str()), (values, told), "{start} {said}");
        }
    }
    let told = "sh 8 [001] 1.500000: irq:softirq_exit: vec=3";
    let tables = Shown::of(format!(" 0)  |  /* print: {told} */\n")).tables();
    assert_eq!((tables.len(), tables["ftrace:print"][0]["text"].as_str()), (1, told));
}

// Their order is all that lines without times tell.
#[test]
fn without_times_there_is_the_order() {
    let shown = Shown::of(
        "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n 0)               |  sys_open() {\n 0)   0.382 us    |    __might_sleep();\n ------------------------------------------\n 1)    sh-4802    =>   <idle>-0\n ------------------------------------------\n\n 1)   ==========> |\n 1)               |  do_IRQ() {\n 1)   <========== |\n 0) + 12.100 us   |  }\n",
    );
    assert_eq!((shown.recording.mode, shown.recording.unit), ("ftrace", Unit::Order));
    assert_eq!(["event", "comment", "blank"].map(|kind| shown.records(kind)), [4, 9, 1]);
    assert_eq!((shown.scan.tally.records.len(), shown.notes().len()), (3, 0));
    assert_eq!(all_words(&shown.events(ENTRY), "time_order common_cpu"), ["0 0", "1 0", "2 1"]);
    assert_eq!(all_words(&shown.events(EXIT), "time_order"), ["3"]);
    let (kind, message) = refused(shown.ledger());
    assert!(kind == ErrorKind::Refused && message.starts_with("no ledger"), "{message}");
}

// Of seven letters, more may have been cut away.
#[test]
fn names_that_may_be_cut_are_no_names() {
    let shown = Shown::of(" 0)  kworker-12    |   0.541 us    |  foo();\n 0)  a b-13    |   0.541 us    |  foo();\n");
    assert_eq!(all_words(&shown.events(ENTRY), "common_comm"), ["null", "a b"]);
}

#[test]
fn lists_of_other_texts_are_no_calls() {
    for line in [
        "1) Install it (as root);",
        " 2) foo",
        "1.5 | x",
        "0) | done",
        "3) a() or b();",
        "1) see (below) {",
        "0) foo() {} bar",
    ] {
        let (kind, message) = refused(Shown::opened(format!("What to do:\n{line}\n"), None));
        assert!(kind == ErrorKind::NotACapture && message.contains("is an event"), "{message}");
    }
}
