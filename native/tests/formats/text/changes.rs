//! What is done to a text on its way, by mails, chats, loggers, spreadsheets and other systems: it is read as before, with
//! a note of what was undone; and what cannot be read is refused by its name.

use netcost::ErrorKind::{self, NotACapture, Unsupported};

use crate::shown::{all_words, refused, rows, table, words, Shown};
use crate::text::kinds::{flat_of, lines, text, CHAINS, EVENTS, KINDS};

/// To a line, behind as many others.
type OfLine = fn(usize, &str) -> String;
type OfText = fn(&str) -> Vec<u8>;

fn tab_for_a_run(_: usize, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    (if line.starts_with(' ') { "\t" } else { "" }).to_owned() + &words.join("\t")
}

const QUOTED: OfLine = |_, line| format!("> {line}").trim_end().to_owned();
const INDENTED: OfLine = |_, line| if line.is_empty() { String::new() } else { format!("\t{line}") };
/// Each with the words of its note.
const OF_LINES: [(&str, OfLine); 32] = [
    ("", |_, line| line.replace(' ', "\t")),
    ("", tab_for_a_run),
    ("", |_, line| format!("\t{}", line.replace(' ', "\t"))),
    ("", |_, line| line.replace(": ", ":\t").replace("] ", "]\t")),
    ("", |_, line| line.replace(' ', "\u{a0}")),
    ("", |_, line| line.replace(' ', "\u{202f}")),
    ("", |_, line| line.replace("  ", " \u{a0}")),
    ("", INDENTED),
    ("", |_, line| format!("\t\t{line}")),
    ("", |_, line| format!(" \t{line}")),
    ("", |_, line| format!("\t  {line}")),
    ("before the lines", |_, line| format!("> {}", line.replace(' ', "\t"))),
    ("before the lines", |_, line| format!(">\t{}", line.replace(' ', "\t"))),
    ("before the lines", |_, line| format!(">\u{a0}{}", line.replace(' ', "\u{a0}"))),
    ("before the lines", |_, line| format!("> \t{line}")),
    ("before the lines", QUOTED),
    ("before the lines", |_, line| format!("> > {line}").trim_end().to_owned()),
    ("before the lines", |_, line| format!("  >> {line}")),
    ("before the lines", |at, line| format!("{}:{:02} <nick> {line}", 9 + at / 40, at % 40)),
    ("before the lines", |_, line| format!("<nick> {line}")),
    ("before the lines", |at, line| format!("Nov 22 {}:49:{:02} host-a app[77]: {line}", at % 24, at % 60)),
    ("before the lines", |at, line| format!("2026-11-22T00:49:29.{at:09}Z stdout F {line}")),
    ("before the lines", |_, line| format!("app-1  | {line}")),
    ("before the lines", |at, line| format!("[   31.{at:06}] {line}")),
    ("before the lines", |at, line| format!("{:6}\t{line}", at + 1)),
    ("before the lines", |at, line| format!("{:6}\t{line}", at + 999_980)),
    ("before the lines", |at, line| format!("{}:{line}", at + 1)),
    ("before the lines", |at, line| {
        ["b/t-1.txt", &(at + 1).to_string(), line].join(if at % 3 > 0 { "-" } else { ":" })
    }),
    ("before the lines", |_, line| format!("+{line}")),
    // A reply in which some lines are quoted and some are not.
    ("before the lines", |at, line| if at % 2 == 0 { format!("> {line}") } else { line.to_owned() }),
    ("before the lines", |at, line| if at % 3 == 0 { format!("> {line}") } else { line.to_owned() }),
    ("before the lines", |at, line| if at % 7 == 0 { format!("> {line}") } else { line.to_owned() }),
];
const OF_TEXTS: [(&str, OfText); 15] = [
    ("UTF-16", |text| utf16(&marked(text).replace('\n', "\r\n"), u16::to_le_bytes)),
    ("UTF-16", |text| utf16(text, u16::to_le_bytes)),
    ("UTF-16", |text| utf16(&marked(text), u16::to_be_bytes)),
    ("UTF-16", |text| utf16(text, u16::to_be_bytes)),
    ("UTF-16 CR alone", |text| utf16(&marked(text).replace('\n', "\r"), u16::to_le_bytes)),
    ("CR alone", |text| text.replace('\n', "\r").into_bytes()),
    ("CR alone", |text| marked(text).replace('\n', "\r").into_bytes()),
    ("quoted-printable", quoted_printable),
    ("entities", |text| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").into_bytes()),
    ("colours", coloured),
    ("", |text| marked(text).into_bytes()),
    ("", |text| marked(text).replace('\n', "\r\n").into_bytes()),
    ("", |text| text.replace('\n', "\r\n").into_bytes()),
    ("", |text| format!("\n\n\n{text}\n").into_bytes()),
    ("", |text| {
        format!("From: a customer\n\n\nHere it is:\n\n{text}\n-- \nbye\n{}\n", "x".repeat(200_000)).into_bytes()
    }),
];

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn marked(text: &str) -> String {
    format!("\u{feff}{text}")
}

/// No line is longer than 76, and none ends with a blank.
fn quoted_printable(text: &str) -> Vec<u8> {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut width = 0;
        for (at, byte) in line.bytes().enumerate() {
            let is_last = line[at..].trim_end_matches('\n').len() == 1;
            let is_plain =
                matches!(byte, b'!'..=b'<' | b'>'..=b'~' | b'\n') || (matches!(byte, b' ' | b'\t') && !is_last);
            let put = if is_plain { (byte as char).to_string() } else { format!("={byte:02X}") };
            if width + put.len() > 75 && byte != b'\n' {
                out += "=\n";
                width = 0;
            }
            width += put.len();
            out += &put;
        }
    }
    out.into_bytes()
}

/// CPUs of three digits are red.
fn coloured(text: &str) -> Vec<u8> {
    let red = |text: String, cpu: &str| text.replace(cpu, &format!("\x1b[1;31m{cpu}\x1b[0m"));
    ["[000]", "[001]"].into_iter().fold(text.to_owned(), red).into_bytes()
}

/// All of it, in every way, with the words of each note.
fn changed(whole: &[String]) -> Vec<(&'static str, Vec<u8>)> {
    let of_lines = OF_LINES.into_iter().map(|(said, change)| (said, put(change, whole).into_bytes()));
    let of_texts = OF_TEXTS.into_iter().map(|(said, change)| (said, change(&whole.join("\n"))));
    of_lines.chain(of_texts).collect()
}

fn put<L: AsRef<str>>(change: OfLine, whole: &[L]) -> String {
    let lines = whole.iter().enumerate().map(|(at, line)| change(at, line.as_ref()));
    lines.collect::<Vec<String>>().join("\n")
}

// Clients may take away the blanks of a line's beginning too. Where the width of a column says what it is, one blank for
// each run says less; and in a comment of function_graph a message may begin with a word, a colon and a TAB.
#[test]
fn a_text_is_read_as_before_whatever_was_done_to_it() {
    let both = KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]);
    for (kind, is_stripped) in both.filter(|one| *one != ("latency", true)) {
        let strip = |line: String| if is_stripped { line.trim_start().to_owned() } else { line };
        let whole: Vec<String> = lines(kind).into_iter().map(strip).collect();
        let plain = Shown::of(whole.join("\n"));
        let (tables, ledger) = (plain.tables(), plain.ledger().expect("a ledger"));
        for (way, (said, bytes)) in changed(&whole).into_iter().enumerate() {
            if matches!((kind, way), ("graph" | "latency" | "verbose", 1) | ("graph", 3)) {
                continue;
            }
            let what = format!("{kind} in way {way}");
            let shown = Shown::of(&bytes);
            assert_eq!(shown.tables(), tables, "{what}");
            assert_eq!((shown.records("event"), shown.records("losses")), (EVENTS as u64, 1), "{what}");
            assert_eq!(shown.gaps(), plain.gaps(), "{what}");
            let found = shown.ledger().expect("a ledger");
            assert_eq!(rows(&found.sums), rows(&ledger.sums), "{what}");
            assert_eq!(table(&found, "segments"), table(&ledger, "segments"), "{what}");
            let notes = shown.recording.notes.join(" ");
            for word in ["before the lines", "UTF-16", "CR alone", "quoted-printable", "entities", "colours"] {
                let is_said = said.contains(word) && bytes != whole.join("\n").as_bytes();
                assert_eq!(notes.contains(word), is_said, "{what}: {word}");
            }
        }
    }
}

// perf's own TABs are those that indent a chain; a header is one at a line's begin.
#[test]
fn chains_stay_with_their_samples_whatever_was_done_to_a_text() {
    let text = CHAINS.repeat(6);
    let plain = Shown::of(&text);
    let pasted = |line: &str, blank| match line.trim_start().split(' ').collect::<Vec<&str>>()[..] {
        [address, symbol, file] if line.starts_with('\t') => {
            format!("{}{address}{blank}{symbol}{blank}{file}", &line[..line.len() - line.trim_start().len()])
        }
        _ => line.to_owned(),
    };
    let of_lines = |change: &dyn Fn(&str) -> String| text.lines().map(change).collect::<Vec<String>>().join("\n");
    for (changed, clock) in [
        (of_lines(&|line| QUOTED(0, line)), "monotonic"),
        (of_lines(&|line| INDENTED(0, line)), "unknown"),
        (of_lines(&|line| pasted(line, "\t")), "monotonic"),
        (of_lines(&|line| pasted(line, "\u{a0}")), "monotonic"),
    ] {
        let shown = Shown::of(changed);
        assert_eq!(shown.scan.tally.records, plain.scan.tally.records);
        assert_eq!(shown.recording.clock, clock);
        for name in ["cycles:u", "cpu-clock"] {
            assert_eq!(shown.samples(name), plain.samples(name));
        }
    }
}

// Words around a quoted text, and one line in it that was not quoted.
#[test]
fn what_is_not_quoted_is_read_as_it_is() {
    let whole = lines("ftrace");
    let (last, others) = whole.split_last().expect("lines");
    let text = format!("Hello,\n\nyou wrote:\n{}\n{last}\nthanks\n", put(QUOTED, others));
    assert_eq!(flat_of(text), flat_of(whole.join("\n")));
}

// What Windows' programs begin a text in UTF-8 with is no part of the first task's name.
#[test]
fn a_mark_before_the_first_event_is_no_name() {
    for kind in KINDS {
        let whole = lines(kind).into_iter().filter(|line| !line.starts_with('#') && !line.starts_with("cpus="));
        let text = whole.collect::<Vec<String>>().join("\n");
        let tables = Shown::of(&text).tables();
        for newline in ["\n", "\r\n", "\r"] {
            let shown = Shown::of(marked(&text).replace('\n', newline));
            assert_eq!(shown.tables(), tables, "{kind}");
            let first = &shown.events("irq:irq_handler_entry")[0];
            assert_eq!(words(first, "common_comm common_pid"), "sh 7", "{kind}");
        }
    }
}

// What programs call their threads, and trace-cmd its buffers.
#[test]
fn names_keep_what_they_begin_with() {
    for tasks in [["Web A 7", "Web B 8"], ["a: b 7", "a: b 7"], ["<idle> 7", "<idle> 7"], ["[k] x 7", "[k] x 7"]] {
        let line = |(at, task)| format!("{task} [000] 1.00000{at}: irq:softirq_entry: vec=3 [action=NET_RX]\n");
        let shown = Shown::of(tasks.into_iter().enumerate().map(line).collect::<String>());
        assert_eq!(all_words(&shown.events("irq:softirq_entry"), "common_comm common_pid"), tasks);
        assert!(!shown.notes().iter().any(|note| note.contains("before the lines")));
    }
}

// More than is read at once, letters of every width on every border, and a byte too many at the end. Without an = nothing
// tells that a text is quoted-printable.
#[test]
fn a_long_text_may_have_all_letters() {
    let comm = |at: usize| "ä€😀".chars().take(at % 4).collect::<String>();
    let line = |at: usize| format!("{:>16}-7 [000] d..1. 1.{at:06}: print: {}\n", comm(at), "x".repeat(at % 7));
    let text: String = (0..8_000).map(line).collect();
    let tables = Shown::of(&text).tables();
    for (way, (said, change)) in OF_TEXTS.into_iter().enumerate().filter(|one| one.1 .0 != "quoted-printable") {
        let mut bytes = change(&text);
        bytes.extend(if way == 1 { &b"x"[..] } else { b"" });
        let shown = Shown::of(bytes);
        assert_eq!(shown.counts(), [("ftrace:print", 8_000)], "{said}");
        assert_eq!(shown.tables(), tables, "{said}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_its_name() {
    let utf32 = |bytes: fn(u32) -> [u8; 4]| marked(&text("perf")).chars().flat_map(|one| bytes(one.into())).collect();
    let other = |text: &str, times| text.repeat(times).into_bytes();
    let refusals: [(Vec<u8>, ErrorKind, &str); 11] = [
        (utf32(u32::to_le_bytes), Unsupported, " UTF-32;"),
        (utf32(u32::to_be_bytes), Unsupported, " UTF-32;"),
        (b"\xff\xfe".repeat(40), NotACapture, "not a capture: "),
        (b"\xff\xfea\0".repeat(20), NotACapture, "not a capture: "),
        (b"\xfe\xff\0a\0\r".repeat(9), NotACapture, "not a capture"),
        (other("hello, world of text\n", 3), NotACapture, "not a capture: "),
        (other("\n", 50), NotACapture, "not a capture: "),
        (
            other("# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n", 1),
            NotACapture,
            "not a capture: ",
        ),
        (other("12:30:01 host kernel: [   12.345678] usb 1-1: new device\n", 20), NotACapture, "not a capture: "),
        (other("import os\nfor x in range(10): print(x)\n", 1), NotACapture, "not a capture: "),
        (other("{\"traceEvents\": [{\"name\": \"a\", \"ts\": 1.5}]}\n", 1), NotACapture, "not a capture: "),
    ];
    for (bytes, wanted, said) in refusals {
        let (kind, message) = refused(Shown::opened(bytes, None));
        assert!(kind == wanted && message.starts_with("not ") && message.contains(said), "{message}");
        assert!(!message.contains('\n'));
    }
}
