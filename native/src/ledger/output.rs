//! The end of a pass: what it says besides its tables.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::ledger::causality::Causality;
use crate::ledger::counters::Counters;
use crate::ledger::cpu::Found;
use crate::ledger::frames;
use crate::ledger::irqs::Irqs;
use crate::ledger::read::Reader;
use crate::ledger::request::Request;
use crate::ledger::resolve::Names;
use crate::ledger::rows::known;
use crate::ledger::schema::EventSchemas;
use crate::ledger::wait::Waits;

/// Everything a pass gives.
#[derive(Debug)]
pub struct Output {
    /// The tables that were asked for, by name.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// Victim x thief x class x CPU x bin.
    pub sums: RecordBatch,
    /// Displaced time per CPU and victim.
    pub displaced: RecordBatch,
    /// Interrupt lines and their devices.
    pub irqs: RecordBatch,
    /// The longest interrupts and softirqs of the whole recording.
    pub longest: RecordBatch,
    /// Start and end of the accounted window.
    pub window: (i64, i64),
    /// CPUs with rows.
    pub cpus: Vec<u32>,
    /// What the reader must know.
    pub notes: Vec<String>,
    /// Lost records; those without a place.
    pub lost: (u64, u64),
    /// What went wrong, counted.
    pub counters: Counters,
    /// Facts that only the events show, with why they are not known, "" where they are: `on_cpu`, and
    /// `clocks` where waits or displaced time were asked for, which compare times of two CPUs.
    pub missing: BTreeMap<&'static str, &'static str>,
}

const NO_SWITCHES: &str = "sched:sched_switch was not recorded in a form that can be read";
const CLOCKS_DISAGREE: &str = "times of two CPUs cannot be compared: their clocks disagree";

/// A pass that is over.
pub struct Pass {
    /// Which events were read.
    pub schemas: EventSchemas,
    /// What they named.
    pub reader: Reader,
    /// The CPUs that recorded anything.
    pub cpus: Vec<Found>,
    /// Who waited.
    pub waits: Waits,
    /// Of all CPUs.
    pub counters: Counters,
    /// First and last time.
    pub capture: (i64, i64),
    /// Lost records, and those without a place.
    pub lost: (u64, u64),
}

/// Builds everything.
pub fn build(pass: Pass, request: &Request, mut notes: Vec<String>) -> Result<Output> {
    let Pass { schemas, reader, mut cpus, mut waits, counters, capture, lost: (lost, lost_samples) } = pass;
    let clocks_agree = waits.causality.as_ref().is_none_or(Causality::holds);
    notes.extend(waits.causality.as_ref().map(Causality::note));
    if clocks_agree {
        take_answers(&mut cpus, &waits);
    } else {
        waits.displaced.clear();
    }
    let mut irqs = Irqs::default();
    cpus.iter_mut().for_each(|cpu| irqs.add(std::mem::take(&mut cpu.irqs)));
    irqs.sort();
    let shown = |cpu: u32| request.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
    cpus.sort_by_key(|cpu| cpu.number);
    notes.extend(schemas.notes.iter().cloned());
    notes.extend(counted(&counters));
    let unplaced = lost_samples.saturating_sub(lost);
    if unplaced > 0 {
        notes.push(format!("{unplaced} lost records have no place in time: every figure is a lower bound"));
    }
    let window = request.window.map_or(capture, |window| (window.0.max(capture.0), window.1.min(capture.1)));
    let want = request.want;
    let mut missing = BTreeMap::from([("on_cpu", if schemas.has_switch { "" } else { NO_SWITCHES })]);
    if want.slices || want.displaced {
        missing.insert("clocks", if clocks_agree { "" } else { CLOCKS_DISAGREE });
    }
    sort_rows(&mut cpus, request.window.unwrap_or((i64::MIN, i64::MAX)));
    let names = Names::new(&schemas, reader, irqs, &counters, &request.lines);
    let migrations = if want.migrations { Some(frames::migrations(&names, &cpus, &shown)?) } else { None };
    cpus.retain(|cpu| shown(cpu.number));
    let mut tables: Vec<(&'static str, RecordBatch)> = Vec::new();
    if want.segments {
        tables.push(("segments", frames::segments(&names, &cpus)?));
    }
    if want.softirqs {
        tables.push(("softirqs", frames::softirqs(&names, &cpus)?));
    }
    if want.hardirqs {
        tables.push(("hardirqs", frames::hardirqs(&names, &cpus)?));
    }
    if want.polls {
        tables.push(("polls", frames::polls(&names, &cpus)?));
    }
    tables.extend(migrations.map(|table| ("migrations", table)));
    if want.slices {
        tables.push(("slices", frames::slices(&names, &cpus)?));
    }
    tables.push(("coverage", frames::coverage(&cpus, window)?));
    let output = Output {
        tables,
        sums: frames::sums(&names, &cpus, request.bin_ns.is_none().then_some(window.0))?,
        displaced: frames::displaced(&names, &waits, &shown)?,
        irqs: frames::irq_lines(&names)?,
        longest: frames::longest(&names, &cpus)?,
        window,
        cpus: cpus.iter().map(|cpu| cpu.number).collect(),
        notes,
        lost: (lost.max(lost_samples), unplaced),
        counters,
        missing,
    };
    // To free hundreds of megabytes takes time: another thread does it.
    rayon::spawn(move || drop((names, cpus)));
    Ok(output)
}

fn counted(counters: &Counters) -> Vec<String> {
    let say = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    [
        say(counters.repeats, "records that perf had written twice were dropped from the ledger"),
        say(
            counters.disagreements,
            "times the recorded flags or task contradicted what came before; the time since then is unknown (table coverage)",
        ),
        say(counters.unreadable, "samples were cut short or name no possible CPU or softirq; the ledger leaves them out"),
        say(counters.orphan_exits, "exits came without their entry; the time in doubt is unknown"),
        say(counters.backwards, "timestamps ran backwards within a ring and were held"),
        say(
            counters.polls_without_begin,
            "polls outside softirqs and NAPI threads (busy poll, netpoll, or after a loss) have no begin and own no time",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Writes what is known of waits into the slices.
fn take_answers(cpus: &mut [Found], waits: &Waits) {
    let mut of: FxHashMap<u32, &mut Found> = cpus.iter_mut().map(|cpu| (cpu.number, cpu)).collect();
    for answer in &waits.answers {
        if let Some(row) = of.get_mut(&answer.cpu).and_then(|cpu| cpu.rows.slices.get_mut(answer.row)) {
            (row.wake_ns, row.wait_ns) = (answer.wake_ns, Some(answer.wait_ns));
        }
    }
}

/// By time. A CPU's polls come in order; its softirqs and interrupts where none was parked or nested.
fn sort_rows(cpus: &mut [Found], window: (i64, i64)) {
    cpus.par_iter_mut().for_each(|cpu| {
        let rows = &mut cpu.rows;
        rows.softirqs.sort_by_key(|row| known(row.entry_ns).unwrap_or(row.exit_ns));
        rows.hardirqs.sort_by_key(|row| row.entry_ns.or(row.exit_ns));
        rows.slices.retain(|row| row.in_ns <= window.1 && row.out_ns >= window.0);
        rows.slices.sort_by_key(|row| row.in_ns);
        rows.coverage.sort_by_key(|row| row.start_ns);
    });
}
