//! Recordings that cannot give true numbers, and caveats about the numbers of others.

use crate::error::{bad, Result};
use crate::ledger::schema::EventSchemas;
use crate::recording::{Recording, Unit};
use crate::visit::Tally;

/// Interrupts take microseconds, but ftrace's uptime clock counts ticks.
const COARSEST_NS: u64 = 1_000_000;
/// Without both of a pair, nothing has a length.
const PAIRS: [(&str, &str); 2] =
    [("irq:softirq_entry", "irq:softirq_exit"), ("irq:irq_handler_entry", "irq:irq_handler_exit")];

/// Refuses a recording that cannot give true numbers.
pub fn refuse(recording: &Recording, schemas: &EventSchemas) -> Result<()> {
    let clock = &recording.clock;
    match recording.unit {
        Unit::Nanoseconds => {}
        Unit::Cycles => {
            return Err(bad!(
            Refused, "no ledger: clock {clock} counts cycles, and the capture does not say how many make a second: give that with --tsc-hz, or record with -C mono"
        ))
        }
        Unit::Order => {
            let what = if clock == "unknown" {
                "the text's clock has no unit: it".to_owned()
            } else {
                format!("clock {clock}")
            };
            return Err(bad!(Refused, "no ledger: {what} puts events in order and measures no durations: record with -C mono"));
        }
    }
    if recording.resolution_ns > COARSEST_NS {
        return Err(bad!(
            Refused,
            "no ledger: clock {clock} has steps of {} ms, longer than what is to be measured: record with -C mono",
            recording.resolution_ns / 1_000_000
        ));
    }
    if !schemas.can_account() {
        let has = |name: &str| recording.events.iter().any(|event| event.name == name);
        for (entry, exit) in PAIRS {
            if has(entry) != has(exit) {
                let (there, lacking) = if has(entry) { (entry, exit) } else { (exit, entry) };
                return Err(bad!(
                    Refused,
                    "no ledger: {there} was recorded without {lacking}, and without sched_switch: record both events of a pair"
                ));
            }
        }
        let formats = recording.events.iter().any(|event| event.format.is_some());
        let why = if formats {
            ""
        } else if recording.cut || !recording.finished {
            ": it is cut short, and perf writes event formats at the end of a file (through a pipe, -o -, they come first)"
        } else {
            ": record them with capture/netcost-record"
        };
        return Err(bad!(
            Refused,
            "no ledger: the capture has no irq, softirq, napi or sched_switch events with recorded formats{why}"
        ));
    }
    for (event, schema) in recording.events.iter().zip(&schemas.events) {
        let name = &event.name;
        if schema.tracepoint.is_none() {
            continue;
        }
        let why = if recording.follows_tasks {
            "was recorded for chosen tasks only (perf's -p, -t or -u), so other tasks' time is missing: record with -a"
        } else if event.is_sampled() {
            "was sampled, not recorded in full (perf's -F or -c applies to tracepoints too): record with -c 1"
        } else if !event.has_time {
            "has no timestamps: record with --timestamp or -a"
        } else if !event.has_cpu && recording.format == "text" {
            "does not say on which CPU it happened: give a text with the column of CPUs, or the recording itself"
        } else if !event.has_cpu {
            "does not say on which CPU it happened: record with -a"
        } else if event.follows_command {
            "followed one command only, so other tasks' time is missing: record with -a"
        } else if schema.pid.is_absent() {
            "does not say which task was running (its text has no pid): give a text with pids, or the recording itself"
        } else if !event.has_payload {
            "has no payload: record with -R or as a tracepoint"
        } else {
            continue;
        };
        return Err(bad!(Refused, "no ledger: {name} {why}"));
    }
    Ok(())
}

/// Refuses a text whose times mostly fall from line to line: if times are held, nothing takes any time.
pub fn refuse_reversed(tally: &Tally) -> Result<()> {
    if tally.reversed {
        return Err(bad!(
            Refused, "no ledger: most lines have an earlier time than the line before them, as in a text with its newest lines first: reverse it (tac FILE > NEW)"
        ));
    }
    Ok(())
}

/// What the clock's resolution means for the figures.
pub fn caveat(recording: &Recording) -> Option<String> {
    let step = recording.resolution_ns;
    (step > 1).then(|| format!("times have steps of {step} ns: each end of an interval may be off by that much, and a shorter interval has length 0"))
}
