//! The end of a pass: what it reports besides its tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::ledger::causality::Causality;
use crate::ledger::counters::{Counters, Silence};
use crate::ledger::cpu::Found;
use crate::ledger::devices::ambiguous;
use crate::ledger::frames;
use crate::ledger::irqs::Irqs;
use crate::ledger::kept::Kept;
use crate::ledger::migrated::migrated;
use crate::ledger::read::Reader;
use crate::ledger::request::{Request, Want};
use crate::ledger::resolve::Names;
use crate::ledger::rows::known;
use crate::ledger::schema::EventSchemas;
use crate::ledger::shown::{self, Shown, Tables};
use crate::ledger::survey::{Known, Numbers, Survey, Whole};
use crate::ledger::wait::Waits;

/// Everything a pass returns.
#[derive(Debug)]
pub struct Output {
    /// The requested tables, by name.
    pub tables: Tables,
    /// Time by victim, thief, class, CPU and bin.
    pub sums: RecordBatch,
    /// Displaced time per CPU and victim.
    pub displaced: RecordBatch,
    /// Interrupt lines and their devices.
    pub irqs: RecordBatch,
    /// The longest interrupts and softirqs of the window. Those outside it have no time.
    pub longest: RecordBatch,
    /// Start and end of the accounted window.
    pub window: (i64, i64),
    /// CPUs with rows.
    pub cpus: Vec<u32>,
    /// What the reader must know.
    pub notes: Vec<String>,
    /// Lost records, and those of them without a place in time.
    pub lost: (u64, u64),
    /// Counts of what went wrong.
    pub counters: Counters,
    /// Facts that only the events show, each with the reason why it is unknown, or "" if it is known: `on_cpu`, and
    /// `clocks` if waits or displaced time, which compare times of two CPUs, were asked for.
    pub missing: BTreeMap<&'static str, &'static str>,
    /// What a second pass must know to give the tables in batches.
    pub survey: Arc<Survey>,
    /// The rows, if they are kept.
    pub rows: Option<Kept>,
}

const NO_SWITCHES: &str = "sched:sched_switch was not recorded in a form that can be read";
const CLOCKS_DISAGREE: &str = "times of two CPUs cannot be compared: their clocks disagree";

/// A finished pass.
pub struct Pass {
    pub schemas: EventSchemas,
    pub reader: Reader,
    /// The CPUs that recorded anything.
    pub cpus: Vec<Found>,
    pub waits: Waits,
    /// Sum over all CPUs.
    pub counters: Counters,
    /// First and last time.
    pub capture: (i64, i64),
    /// Lost records, and those of them without a place in time.
    pub lost: (u64, u64),
    /// Whether no round held anything from a time that earlier rounds had passed.
    pub in_order: bool,
}

/// Builds the output, with these `tables` of the rows. `whole`: facts about the whole recording, if the pass may have
/// ended before it. `clocks_are_one`: the clocks agree whatever the events show.
pub fn build(
    pass: Pass,
    request: &Request,
    tables: Want,
    whole: Option<&Arc<Whole>>,
    clocks_are_one: bool,
    notes: Vec<String>,
) -> Result<Output> {
    let Pass { schemas, reader, mut cpus, mut waits, counters, capture, lost, in_order } = pass;
    let has_waits = request.want.slices || request.want.displaced;
    let causality = waits.causality.as_ref();
    let is_known = has_waits || clocks_are_one;
    let own = is_known.then(|| (causality.is_none_or(Causality::holds), causality.map(Causality::note)));
    let clocks = whole.and_then(|whole| whole.clocks.clone()).or(own);
    let clocks_agree = clocks.as_ref().map(|clocks| clocks.0);
    if clocks_agree == Some(true) {
        take_answers(&mut cpus, &waits);
    } else {
        waits.displaced.clear();
    }
    let mut irqs = Irqs::default();
    cpus.iter_mut().for_each(|cpu| irqs.add(std::mem::take(&mut cpu.irqs)));
    irqs.sort();
    let shown = |cpu: u32| request.shows(cpu);
    cpus.sort_by_key(|cpu| cpu.number);
    let want = request.want;
    sort_rows(&mut cpus, request.window.unwrap_or((i64::MIN, i64::MAX)));
    let whole = match whole {
        Some(whole) => {
            cpus.iter_mut().for_each(|cpu| whole.add_unseen(cpu));
            Arc::clone(whole)
        }
        None => {
            let numbers = Numbers::of(&reader);
            let names = Names::new(&schemas, reader, irqs, &counters, &request.host.lines);
            let known = Known { names, numbers, capture, notes, lost, counters, clocks: clocks.clone(), in_order };
            Arc::new(Whole::new(known, &mut cpus, request))
        }
    };
    let Known { names, counters, lost: (lost, lost_samples), .. } = &**whole;
    let mut notes = whole.notes.clone();
    notes.extend(clocks.and_then(|clocks| clocks.1).filter(|_| has_waits));
    notes.extend(schemas.notes.iter().cloned());
    notes.extend(ambiguous(&request.host.names, &names.reader.thieves.all, &names.reader.strings));
    notes.extend(counted(counters));
    notes.extend(silences(counters, capture.0));
    let unplaced = lost_samples.saturating_sub(*lost);
    if unplaced > 0 {
        notes.push(format!("{unplaced} records were lost at unknown times: every figure is a lower bound"));
    }
    let window = request.window_in(whole.capture);
    let mut missing = BTreeMap::from([("on_cpu", if schemas.has_switch { "" } else { NO_SWITCHES })]);
    missing
        .extend(clocks_agree.filter(|_| has_waits).map(|agree| ("clocks", if agree { "" } else { CLOCKS_DISAGREE })));
    let migrated = if want.migrations { migrated(&cpus, shown) } else { Vec::new() };
    let survey = Survey::new(Arc::clone(&whole), &cpus, clocks_agree, request);
    cpus.retain(|cpu| shown(cpu.number));
    let kinds = shown::kinds(&cpus);
    let want = Want { coverage: true, ..tables };
    let shown_part = Shown { want, window, kinds: &kinds, reasons: &survey.reasons };
    let tables = shown::tables(names, &cpus, &migrated, &shown_part)?;
    let survey = Arc::new(survey);
    let mut output = Output {
        tables,
        sums: frames::sums(names, cpus.iter().map(|cpu| &cpu.finished.sums), Some(window.0))?,
        displaced: frames::displaced(names, &waits, &shown)?,
        irqs: frames::irq_lines(names)?,
        longest: frames::longest(names, &cpus)?,
        window,
        cpus: cpus.iter().map(|cpu| cpu.number).collect(),
        notes,
        lost: (*lost.max(lost_samples), unplaced),
        counters: *counters,
        missing,
        survey: Arc::clone(&survey),
        rows: None,
    };
    if request.keeps_rows {
        output.rows = Some(Kept { survey, cpus, migrated });
    } else {
        // Freeing hundreds of megabytes takes time, so another thread does it.
        rayon::spawn(move || drop(cpus));
    }
    Ok(output)
}

fn counted(counters: &Counters) -> Vec<String> {
    let say = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let (missing, all) = (counters.switches_missing, counters.switches_missing + counters.switches);
    let switches = format!(
        "of {all} context switches {} missing ({:.1} %): some tasks have events and were never switched in. The CPU time before each has no known owner (table coverage)",
        if missing == 1 { "is" } else { "are" },
        missing as f64 / all.max(1) as f64 * 100.0
    );
    [
        say(
            counters.repeats,
            "record that perf had written twice was dropped from the ledger",
            "records that perf had written twice were dropped from the ledger",
        ),
        say(missing, &switches, &switches),
        say(
            counters.disagreements - missing,
            "entry or exit of an interrupt or softirq is missing, as later events show: the CPU time before it has no known owner (table coverage)",
            "entries or exits of interrupts or softirqs are missing, as later events show: the CPU time before each has no known owner (table coverage)",
        ),
        say(
            counters.unreadable,
            "sample was cut short or names an impossible CPU or softirq; the ledger leaves it out",
            "samples were cut short or name an impossible CPU or softirq; the ledger leaves them out",
        ),
        say(
            counters.orphan_exits,
            "exit has no entry; the time in doubt counts as unknown",
            "exits have no entry; the time in doubt counts as unknown",
        ),
        say(
            counters.backwards,
            "timestamp ran backwards within a ring and was raised to the one before it",
            "timestamps ran backwards within a ring and were raised to the ones before them",
        ),
        say(
            counters.polls_without_begin,
            "poll outside softirqs and NAPI threads (busy poll, netpoll, or after a loss) has no known start and owns no time",
            "polls outside softirqs and NAPI threads (busy poll, netpoll, or after a loss) have no known start and own no time",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where ticking CPUs were silent. A guest whose clock does not show its host's pauses has no other sign of them.
fn silences(counters: &Counters, start_ns: i64) -> Option<String> {
    let longest = counters.longest.iter().filter(|silence| silence.ns > 0);
    let shown = longest.map(|&Silence { ns, start_ns: from, cpu }| {
        format!("{} ms on CPU {cpu} from {:.3} s", ns / 1_000_000, (from - start_ns) as f64 / 1e9)
    });
    let count = counters.silences;
    (count > 0).then(|| {
        format!(
            "{count} {} of more than 20 ms ({} ms in all) in which a CPU that had ticked recorded nothing while a task ran; \
             the longest: {}. Interrupts were off, or a hypervisor paused this guest. The task has that time",
            if count == 1 { "stretch" } else { "stretches" },
            counters.silent_ns / 1_000_000,
            shown.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Writes the known waits into the slices.
fn take_answers(cpus: &mut [Found], waits: &Waits) {
    let mut of: FxHashMap<u32, &mut Found> = cpus.iter_mut().map(|cpu| (cpu.number, cpu)).collect();
    for answer in &waits.answers {
        if let Some(row) = of.get_mut(&answer.cpu).and_then(|cpu| cpu.rows.slices.get_mut(answer.row)) {
            row.answer(answer);
        }
    }
}

/// Sorts by time. Polls are already in order; so are softirqs and interrupts, unless some were parked or nested.
fn sort_rows(cpus: &mut [Found], window: (i64, i64)) {
    cpus.par_iter_mut().for_each(|cpu| {
        let rows = &mut cpu.rows;
        rows.softirqs.sort_by_key(|row| known(row.entry_ns).unwrap_or(row.exit_ns));
        rows.hardirqs.sort_by_key(|row| row.entry_ns.or(row.exit_ns));
        let slices = rows.slices.rows_mut();
        slices.retain(|row| row.is_in(window));
        slices.sort_by_key(|row| row.in_ns);
        rows.coverage.sort_by_key(|row| row.start_ns);
    });
}
