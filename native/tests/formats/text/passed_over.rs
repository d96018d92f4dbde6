//! A line is judged by its shape, not by its indentation; what cannot be read and stands between events may have been one,
//! so that nothing is said of the CPU's time around it.

use netcost::WHYS;

use crate::shown::{all_words, assert_conserved, lane, table, Shown};
use crate::text::kinds::{between, steps, BEFORE, BEHIND, ENTRY, EXIT};

// A function's address is a number, and its name may hold what separates events' parts.
#[test]
fn chains_are_still_chains() {
    let chain =
        "\tffffffff82 std::map<int, a>::at(int) const+0x65 (/b (deleted))\n\t 12 a: b (/c)\n\tmain+0x1 (/d)\n\n";
    let shown = Shown::of(["1", "2"].map(|at| format!("sh 7/8 [000] {at}.000001: 250000 cycles:u:\n{chain}")).concat());
    assert_eq!(["event", "call chain", "blank"].map(|kind| shown.records(kind)), [2, 6, 2]);
    assert_eq!(shown.scan.tally.records.len(), 3);
}

// CPU 0  100 [softirq] 200 ......... ?? ......... 700 [softirq] 900 ... 1100
// CPU 1                   300 [ ......... ?? ......... ] 800 ......... 1100
#[test]
fn what_stands_between_events_may_have_been_one() {
    for between_them in
        ["[ 4 lines snipped ]\n", &("x".repeat(70_000) + "\n"), &("y".repeat(3_000_000) + "\n"), "sh-8 [0\nz\n"]
    {
        let shown = between(between_them);
        assert_eq!(shown.gaps(), [(0, 200_000, 700_000, 0), (1, 300_000, 800_000, 0)]);
        assert!(shown.scan.gaps.iter().all(|gap| WHYS[gap.why as usize] == WHYS[2]));
        let output = shown.ledger().expect("a ledger");
        assert_conserved(&output);
        let told = all_words(&table(&output, "coverage"), "cpu start_ns end_ns lost");
        assert!(
            ["0 200000 700000 0", "1 300000 800000 0"].iter().all(|one| told.iter().any(|row| row == one)),
            "{told:?}"
        );
        assert!(lane(&output, 0, "context").contains(&(200, 700, "unknown".to_owned())));
        assert!(lane(&output, 1, "context").contains(&(300, 800, "unknown".to_owned())));
        assert!(output.notes.iter().any(|note| note.contains("between events")));
    }
}

// A pasted line that was cut short is no call chain.
#[test]
fn a_pasted_line_that_is_cut_may_have_been_an_event() {
    for cut in ["\tsh-8\t[000]\td..2.\t0.0005\n", "\tsh-8\t[000]\td..2.\t0.0005:\tx\n"] {
        let shown = between(cut);
        assert_eq!(shown.records("no event"), 1);
        assert_eq!(shown.gaps(), [(0, 200_000, 700_000, 0), (1, 300_000, 800_000, 0)]);
    }
}

// Mails begin and end with words, recorders say what they do, and a message may have several lines.
#[test]
fn what_was_no_event_is_no_loss() {
    let message = steps(&[(1, 400, "print: tracing_mark_write: first")]) + "second line\n";
    for text in [
        format!("From: me\n\nHere it is\n{}{}-- \nbye\n", steps(&BEFORE), steps(&BEHIND)),
        format!("{}\n# a comment\nCPU 7 is empty\n{}", steps(&BEFORE), steps(&BEHIND)),
        steps(&BEFORE) + &message + &steps(&BEHIND),
    ] {
        let shown = Shown::of(text);
        assert_eq!(shown.gaps(), []);
        let output = shown.ledger().expect("a ledger");
        assert!(!output.notes.iter().any(|note| note.contains("between events")));
        // At most what was before a CPU's first entry.
        let starts = all_words(&table(&output, "coverage"), "start_ns");
        assert!(starts.iter().all(|start| *start == output.window.0.to_string()), "{starts:?}");
    }
}

// The event of a damaged line is missing on its CPU alone, and there until the next one.
#[test]
fn a_damaged_line_is_a_gap_of_its_cpu() {
    let shown = between(&steps(&[(0, 500, &ENTRY.replace("vec=3", "v"))]));
    let damaged = shown.scan.tally.records.iter().filter(|one| one.0.contains("damaged"));
    assert_eq!(damaged.map(|one| *one.1).collect::<Vec<u64>>(), [1]);
    assert_eq!(shown.gaps(), [(0, 200_000, 700_000, 0)]);
}

// The last event of a CPU, behind it a line that nobody can read, and events of others: what the CPU did until the end is
// not known.
#[test]
fn a_line_behind_a_cpus_last_event_reaches_to_the_end() {
    let text = steps(&[(0, 100, ENTRY), (0, 200, EXIT), (1, 300, ENTRY)]) + "??\n" + &steps(&[(1, 800, EXIT)]);
    let mut gaps = Shown::of(text).gaps();
    gaps.sort_unstable();
    assert_eq!(gaps, [(0, 200_000, 800_000, 0), (1, 300_000, 800_000, 0)]);
}

// A softirq that exits unentered, without flags, may have been open since the loss, in an earlier stay of the same task.
// What is unknown then is each stay's own: the later one had less than nothing.
#[test]
fn an_exit_without_an_entry_reaches_into_an_earlier_stay() {
    let switch = |prev: &str, state, next: &str| {
        format!(
            "sched_switch:      prev_comm={} prev_prio=120 prev_state={state} ==> next_comm={} next_prio=98",
            prev.replace('-', " prev_pid="),
            next.replace('-', " next_pid=")
        )
    };
    let line = |(task, us, event): (&str, u32, String)| format!("      {task}       1-0x11    76.{us:06}: {event}\n");
    let mut told = [
        ("sh-7", 1, "softirq_entry:      vec=3 [action=NET_RX]".to_owned()),
        ("sh-7", 10, "sched_waking:      comm=ab pid=8 prio=120 target_cpu=001".to_owned()),
        ("sh-7", 30, switch("sh-7", "S", "ab-8")),
        ("ab-8", 40, switch("ab-8", "R+", "sh-7")),
        ("sh-7", 45, "softirq_exit:      vec=3 [action=NET_RX]".to_owned()),
        ("sh-7", 50, "softirq_raise:      vec=3 [action=NET_RX]".to_owned()),
    ]
    .map(line);
    told[0] += "CPU:1 [EVENTS DROPPED]\n";
    let output = Shown::of(format!("cpus=2\n{}", told.concat())).ledger().expect("a ledger");
    assert_conserved(&output);
    let stays = all_words(&table(&output, "slices"), "comm task_ns unknown_ns");
    assert_eq!(stays, ["sh 0 0", "sh 0 20000", "ab 10000 0", "sh 5000 5000"]);
}
