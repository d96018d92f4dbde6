//! What is said about a text in words.

use super::head::Style;
use super::survey::{excerpt, Survey};

/// Why a text is no capture: what was found, and what is accepted.
pub fn no_event(survey: &Survey) -> String {
    if let [wanted, others @ ..] = survey.shares.as_slice() {
        let names: Vec<&str> =
            others.iter().map(|share| if share.name.is_empty() { "the top one" } else { &share.name }).collect();
        if !names.is_empty() {
            return format!(
                "no buffer '{}' in this text; it holds {}",
                excerpt(wanted.name.as_bytes()),
                names.join(", ")
            );
        }
    }
    let found = match (&survey.first_other, survey.lines_in_all) {
        (_, 0) => "no line of text".to_owned(),
        (None, lines) => format!("{lines} lines of text, all of them empty or comments"),
        (Some((number, line)), lines) => format!("{lines} lines of text (line {number}: '{line}')"),
    };
    let cut =
        survey.first_other.as_ref().and_then(|(number, line)| Some(format!(" (line {number} has no {})", cut(line)?)));
    format!(
        "not a capture: {found}, and none is an event as perf script, trace-cmd report or ftrace's trace file prints it\
         {}; expected one of these texts, a perf.data, a trace.dat or a bundle (with manifest.json)",
        cut.unwrap_or_default()
    )
}

/// Which column of an event a line lacks that has the two others: somebody cut it, or the rest of the line.
fn cut(line: &str) -> Option<&'static str> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_cpu = |word: &str| word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).is_some_and(is_number);
    let is_time = |word: &str| {
        word.strip_suffix(':')
            .and_then(|word| word.split_once('.'))
            .is_some_and(|(s, ns)| is_number(s) && is_number(ns))
    };
    let is_name = |word: &str| {
        let name = word.strip_suffix(':').unwrap_or_default();
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_of_name)
    };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let has = |is_it: &dyn Fn(&str) -> bool| words.iter().any(|word| is_it(word));
    match (has(&is_cpu), has(&is_time), has(&is_name)) {
        (false, true, true) if is_time(words[0]) => Some("task and no CPU"),
        (false, true, true) => Some("CPU"),
        (true, false, true) => Some("time"),
        // What is cut within its time has no name either.
        (true, true, false) => Some("whole name of an event"),
        (true, false, false) if words.last().is_some_and(|last| last.split('.').all(is_number)) => Some("whole time"),
        _ => None,
    }
}

/// What a reader of its tables should know.
pub fn of(survey: &Survey) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((number, line)) = survey.first_other.as_ref().filter(|_| survey.others > 0) {
        notes.push(format!(
            "{} of {} lines are not events and were skipped; the first is line {number}: '{line}'",
            survey.others, survey.lines_in_all
        ));
    }
    if survey.overlong > 0 {
        notes.push(format!("{} lines are longer than any event and were skipped", survey.overlong));
    }
    if survey.between > 0 {
        notes.push(format!(
            "{} of the skipped lines stand between events and may have been events: what happened on each CPU around them is unknown",
            survey.between
        ));
    }
    for event in survey.events.values() {
        let (lost, lines, name) = (event.lost_lines(), event.lines, &event.name);
        match &event.unreadable {
            None if lost > 0 => {
                notes.push(format!("{lost} of {lines} lines of {name} lack fields that the others have, and were left out"));
            }
            None => {}
            Some((number, text)) if lost > 0 => notes.push(format!(
                "{lost} of {lines} lines of {name} do not match its print format and were left out; the first is line {number}: '{text}'"
            )),
            Some((number, text)) => notes.push(format!(
                "{name} has an unknown print format (line {number}: '{text}'): its text is kept as it is"
            )),
        }
    }
    let lacking = [
        (survey.with_tid, "a thread's number"),
        (survey.with_cpu, "a CPU"),
        (survey.with_flags, "columns for the context"),
        (survey.with_unit, "a time in seconds"),
    ];
    for (count, what) in lacking {
        if survey.most(count) && count < survey.lines {
            notes
                .push(format!("{} events lack {what}, which the others have, and were left out", survey.lines - count));
        } else if count > 0 && count < survey.lines {
            notes.push(format!("{count} events have {what}, and the others do not"));
        }
    }
    if let Some((there, ever)) = survey.preamble.entries.filter(|(there, ever)| ever > there) {
        notes.push(format!(
            "the kernel's buffer was full: it holds the last {there} of {ever} events, so the recording begins later on some CPUs than on others"
        ));
    }
    if survey.style() == Style::Perf && !survey.tells_losses {
        notes.push(
            "the text names no lost events: perf script prints them only with --show-lost-events, so there may have been some"
                .into(),
        );
    }
    if survey.frames > 0 {
        let where_to = match survey.style() {
            Style::Perf => "are in samples() only",
            _ => "were skipped",
        };
        notes.push(format!("{} lines of call chains {where_to}", survey.frames));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_column_is_named() {
        let cases = [
            ("openssl 1234 [001] irq:softirq_raise: vec=3", Some("time")),
            ("1.000100: irq:softirq_raise: vec=3", Some("task and no CPU")),
            ("<idle>-0 d.h1. 5214.100100: softirq_raise: vec=3", Some("CPU")),
            ("openssl 1234 [001] 100.000100: vec=3 [action=NET_RX]", Some("whole name of an event")),
            ("openssl 1234 [001] 100.000100: irq:so", Some("whole name of an event")),
            ("<idle>-0 [001] d.h1. 5214.10", Some("whole time")),
            ("Nov 22 00:49:29 host kernel: usb 1-1: new device", None),
            ("see [1] for more", None),
            ("if [1] is in a text of some length it says nothing", None),
        ];
        assert_eq!(cases.map(|case| cut(case.0)), cases.map(|case| case.1));
    }
}
