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
    format!(
        "not a capture: {found}, and none is an event as perf script, trace-cmd report or ftrace's trace file print them: \
         expected those, a perf.data, a trace.dat or a bundle (with manifest.json)"
    )
}

/// What a reader of its tables should know.
pub fn of(survey: &Survey) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((number, line)) = survey.first_other.as_ref().filter(|_| survey.others > 0) {
        notes.push(format!(
            "{} of {} lines are no events and were passed over, the first of them line {number}: '{line}'",
            survey.others, survey.lines_in_all
        ));
    }
    if survey.overlong > 0 {
        notes.push(format!("{} lines are longer than any event's and were passed over", survey.overlong));
    }
    if survey.between > 0 {
        notes.push(format!(
            "{} of the lines passed over stand between events and may have been such: what happened on each CPU around them is unknown",
            survey.between
        ));
    }
    for event in survey.events.values() {
        let (lost, lines, name) = (event.lost_lines(), event.lines, &event.name);
        match &event.unreadable {
            None if lost > 0 => {
                notes.push(format!("{lost} of {lines} lines of {name} lack fields that its others have and were left out"));
            }
            None => {}
            Some((number, text)) if lost > 0 => notes.push(format!(
                "{lost} of {lines} lines of {name} are not what it prints and were left out, the first of them line {number}: '{text}'"
            )),
            Some((number, text)) => notes.push(format!(
                "{name} is not printed as known here (line {number}: '{text}'): its text is kept as it stands"
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
            notes.push(format!(
                "{} events lack {what} where the others have it, and were left out",
                survey.lines - count
            ));
        } else if count > 0 && count < survey.lines {
            notes.push(format!("{count} events have {what} where the others have none"));
        }
    }
    if let Some((there, ever)) = survey.preamble.entries.filter(|(there, ever)| ever > there) {
        notes.push(format!(
            "the kernel's buffer was full: of {ever} events it holds the last {there}, so that the recording begins later on some CPUs than on others"
        ));
    }
    if survey.style() == Style::Perf && !survey.tells_losses {
        notes.push(
            "perf script tells of losses only if asked to (--show-lost-events): here it was not, or there were none"
                .into(),
        );
    }
    if survey.frames > 0 {
        let where_to = match survey.style() {
            Style::Perf => "are in samples() alone",
            _ => "were passed over",
        };
        notes.push(format!("{} lines of call chains {where_to}", survey.frames));
    }
    notes
}
