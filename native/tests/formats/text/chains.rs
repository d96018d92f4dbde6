//! Call chains of perf script's texts: below samples and tracepoints, and beside them.

use netcost::ErrorKind;

use crate::shown::{all_words, refused, words, Shown};

const CHAIN: &str = "\
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t          af08f5 std::at(int) const+0x65 (/usr/lib/a b.so (deleted))
  call.c:847
\t               0 [unknown] ([unknown])
\t          146f7c main (inlined)
";
const COLUMNS: &str = "callchain symbols dsos";

fn event(s: usize, period: u64, name: &str, text: &str) -> String {
    format!("sh 8/9 [003] {s}.000000:    {period} {name}: {text}\n")
}

#[test]
fn chains_are_of_the_line_above() {
    let shown = Shown::of(event(1, 1000, "cpu-clock", "") + CHAIN + "\n" + &event(2, 2000, "cpu-clock", "") + "\n");
    let found = shown.samples("cpu-clock");
    let who = all_words(&found, "time_ns period cpu tid comm");
    assert_eq!(who, ["1000000000 1000 3 9 sh", "2000000000 2000 3 9 sh"]);
    assert_eq!(found[0]["callchain"], "[18446744071597689688, 11471093, 0, 1339260]");
    assert_eq!(found[0]["symbols"], "[__schedule, std::at(int) const, null, main]");
    assert_eq!(found[0]["dsos"], "[[kernel.kallsyms], /usr/lib/a b.so (deleted), null, inlined]");
    assert_eq!(words(&found[1], COLUMNS), "[] [] []");
    let first = shown.recording.samples("cpu-clock", Some(1), &mut |_| true).expect("samples").slice(0, 1);
    assert_eq!(crate::shown::rows(&first), found[..1]);
}

// Frames of one event are no other's, and none is an event: "dead" is a text, and no address.
#[test]
fn each_of_several_events_has_its_frames() {
    let events = [("cpu-clock", ""), ("irq:softirq_exit", "vec=3"), ("cpu-clock", ""), ("irq:x", "dead")];
    let part = |(s, (name, text))| event(s, 1, name, text) + &format!("\t  {s} f{s} (x)\n\n");
    let shown = Shown::of(events.into_iter().enumerate().map(part).collect::<String>());
    for (name, wanted) in [("cpu-clock", &["[f0]", "[f2]"][..]), ("irq:softirq_exit", &["[f1]"]), ("irq:x", &["[f3]"])]
    {
        assert_eq!(all_words(&shown.samples(name), "symbols"), wanted);
    }
    assert_eq!(["event", "call chain", "blank"].map(|kind| shown.records(kind)), [4, 4, 4]);
    assert_eq!(shown.scan.tally.records.len(), 3);
    assert!(shown.notes().iter().any(|note| note.starts_with("4 lines")));
}

// No event gets a chain from lines that are in no table, or from frames behind a blank line.
#[test]
fn some_frames_are_nobodys() {
    let whole = event(1, 1, "cpu-clock", "");
    let damaged = whole.replace("[003] ", "").replace("1.0", "2.0");
    let text = format!("\t  1 a (x)\n{whole}\n\t  2 b (x)\n{damaged}\t  3 c (x)\n{whole}\t  4 d (x)\nnoise\n\t  5 e");
    assert_eq!(all_words(&Shown::of(text).samples("cpu-clock"), "symbols"), ["[]", "[d, e]"]);
}

#[test]
fn a_chain_may_stand_beside_its_event_or_be_absent() {
    for (name, text, wanted) in [
        ("cycles:u", "     7f6eb main+0x35 (/bin/sh)", "[521963] [main] [/bin/sh]"),
        ("irq:softirq_exit", "vec=3", "null null null"),
    ] {
        assert_eq!(all_words(&Shown::of(event(1, 1, name, text)).samples(name), COLUMNS), [wanted]);
    }
}

#[test]
fn what_other_texts_have_is_no_sample() {
    let ftrace = "sh-8 [000] d..2. 1.0: softirq_exit: vec=3\nsh-8 [000] d..2. 1.0: <stack trace>\n => a\n";
    for (text, event, said) in [
        (ftrace.to_owned(), "irq:softirq_exit", "has no samples"),
        (event(1, 1, "cpu-clock", ""), "irq:x", "no event 'irq:x'"),
    ] {
        let (kind, message) = refused(Shown::of(text).recording.samples(event, None, &mut |_| true));
        assert!(kind == ErrorKind::Missing && message.contains(said), "{message}");
    }
}
