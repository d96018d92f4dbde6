//! What passes make of a timeline's rows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use netcost::episodes::{self, Victim};
use netcost::handovers::Wanted as HandedOver;
use netcost::ledger::{self, Aggregated, Costs, Grouping, Kept, Moments, Request, Tables, Want, Whose};
use netcost::lives::read::numbers;
use netcost::pairing::{Gaps, Settings, Shown};
use netcost::traffic::{self, Kind};
use netcost::{Progress, Result};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::lives::Facts;
use crate::{pass, table, Capture};

/// An aggregate, by the names of its fields: `Grouping`, `Wakeups`, `Raised`, `Binned`, `StaysOf`, `HandedOver`, `Plain`, `Pairing`, `Longest`,
/// `Moments`, `Charged`, `Packets` and `Facts` in Python. The first that has all fields is taken: none may have those of one before it.
#[derive(FromPyObject)]
pub enum Wanted {
    Group {
        rows: String,
        by: Vec<String>,
        block: Option<(String, i64)>,
        edges: Vec<(String, Vec<i64>)>,
        sums: Vec<String>,
        known: Vec<String>,
        ends: Vec<String>,
        lengths: Option<String>,
        within: Vec<(String, i64, i64)>,
        texts: Vec<(String, String)>,
    },
    Wakeups {
        gap_ns: i64,
    },
    Raised {
        behind_ns: i64,
    },
    Binned {
        width_ns: i64,
    },
    StaysOf {
        names_begin: Option<Vec<String>>,
        tids: Option<Vec<i32>>,
    },
    Handovers {
        stays: PyTable,
        renamed: Option<PyTable>,
        threads: Vec<String>,
        near_ns: i64,
        end_ns: Option<i64>,
    },
    /// One that nothing more is asked of, by its name.
    Plain {
        aggregate: String,
    },
    Episodes {
        victim: Option<Named>,
        most: usize,
        bridge_ns: i64,
    },
    Pairing {
        window: (i64, i64),
        gaps: Vec<(i64, i64, i64)>,
        has_polls: bool,
        has_raises: bool,
        limit_ns: (i64, i64),
        picked: (i64, i64, usize),
        most: usize,
    },
    At {
        asked: String,
        moments: PyTable,
        through: Option<String>,
    },
    Charged {
        times: PyTable,
        end_ns: i64,
        hidden_ns: i64,
        costs: Vec<f64>,
    },
    Traffic {
        events: Vec<(String, String, String)>,
        follows: bool,
        longest: Vec<(i64, String)>,
        sockets: Vec<(i64, i64, String)>,
        shown: Option<Vec<u32>>,
    },
    #[pyo3(transparent)]
    Stays(Facts),
}

/// Tasks by a name or their numbers.
#[derive(FromPyObject)]
pub enum Named {
    Comm(String),
    Tids(Vec<i64>),
}

/// The same, as the ledger has it.
pub fn aggregated(capture: &Capture, wanted: Wanted) -> Result<Aggregated> {
    Ok(match wanted {
        Wanted::Group { rows, by, block, edges, sums, known, ends, lengths, within, texts } => {
            Aggregated::Group(Box::new(Grouping { rows, by, block, edges, sums, known, ends, lengths, within, texts }))
        }
        Wanted::Wakeups { gap_ns } => Aggregated::Wakeups(gap_ns),
        Wanted::Raised { behind_ns } => Aggregated::Raised(behind_ns),
        Wanted::Binned { width_ns } => Aggregated::Binned(width_ns),
        Wanted::StaysOf { names_begin, tids } => Aggregated::StaysOf(match (names_begin, tids) {
            (Some(begin), _) => Whose::Named(begin),
            (None, Some(tids)) => Whose::Tids(tids.into_iter().collect()),
            (None, None) => Whose::All,
        }),
        Wanted::Handovers { stays, renamed, threads, near_ns, end_ns } => {
            let renamed = renamed.as_ref().map_or(&[][..], |renamed| renamed.batches());
            let wanted = HandedOver::of(stays.batches(), renamed, threads, near_ns, end_ns)?;
            Aggregated::Handovers(Arc::new(wanted))
        }
        Wanted::Plain { aggregate } => Aggregated::named(&aggregate)?,
        Wanted::Episodes { victim, most, bridge_ns: gap_ns } => {
            let victim = match victim {
                None => Victim::All,
                Some(Named::Comm(comm)) => Victim::Comm(comm),
                Some(Named::Tids(tids)) => Victim::Tids(tids),
            };
            Aggregated::Episodes(Arc::new(episodes::Settings { victim, most, gap_ns }))
        }
        Wanted::Pairing { window, gaps, has_polls, has_raises, limit_ns, picked, most } => {
            let (longer_ns, fewer_packets, longest) = picked;
            let shown = Shown { most, longest, longer_ns, fewer_packets };
            let gaps = Gaps::new(&gaps);
            Aggregated::Pairing(Arc::new(Settings { window, gaps, has_polls, has_raises, limit_ns, shown }))
        }
        Wanted::At { asked, moments, through } => {
            let mut rows = Vec::new();
            for batch in moments.batches() {
                let (of, time_ns) = (numbers(batch, "of")?, numbers(batch, "time_ns")?);
                rows.extend(of.values().iter().copied().zip(time_ns.values().iter().copied()));
            }
            let moments = Arc::new(Moments::new(rows));
            match asked.as_str() {
                "owners" => Aggregated::Owners(moments, through),
                "passed" => Aggregated::Passed(moments),
                "next" => Aggregated::Next(moments),
                other => Aggregated::named(other)?,
            }
        }
        Wanted::Charged { times: table, end_ns, hidden_ns, costs: each } => {
            let mut times = BTreeMap::<i64, Vec<i64>>::new();
            for batch in table.batches() {
                let (cpus, at) = (numbers(batch, "cpu")?, numbers(batch, "time_ns")?);
                for (cpu, time_ns) in cpus.values().iter().zip(at.values()) {
                    times.entry(*cpu).or_default().push(*time_ns);
                }
            }
            Aggregated::Charged(Arc::new(Costs { times, end_ns, hidden_ns, each }))
        }
        Wanted::Traffic { events, follows, longest, sockets, shown: cpus } => {
            let (recording, surveyed) = (Arc::clone(&capture.recording), Arc::clone(&capture.named));
            let told = |(kind, name, field): (String, String, String)| Ok((Kind::named(&kind)?, name, field));
            let events = events.into_iter().map(told).collect::<Result<_>>()?;
            Aggregated::Traffic(Arc::new(traffic::Wanted {
                recording,
                surveyed,
                events,
                follows,
                cpus,
                longest,
                sockets,
            }))
        }
        Wanted::Stays(facts) => Aggregated::Stays(Arc::new(facts.told()?)),
    })
}

/// Tables by name, of one aggregate.
pub type Found = BTreeMap<&'static str, Py<PyTable>>;

/// The rows of so many windows are kept: of a victim's run, and of all of the capture.
const WINDOWS: usize = 2;

/// Rows that are kept, of windows that were asked about last.
#[derive(Clone, Default)]
pub struct Windows(Arc<Mutex<VecDeque<Arc<Kept>>>>);

impl Windows {
    /// Those of a window, if they are kept.
    pub fn held(&self, request: &Request) -> Option<Arc<Kept>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|kept| kept.is_for(request)).cloned()
    }

    fn of(&self, capture: &Capture, request: &Request, progress: Progress<'_>) -> Result<Arc<Kept>> {
        if let Some(kept) = self.held(request) {
            return Ok(kept);
        }
        let all = Request { want: Want::default(), keeps_rows: true, ..request.clone() };
        let whole = capture.surveyed.whole(&all);
        let output = ledger::run_beside(&capture.recording, &all, whole.as_ref(), &mut [], progress)?.0;
        capture.surveyed.keep(&output.survey);
        Ok(self.keep(request, output.rows.expect("rows were to be kept")))
    }

    /// Keeps those of a window, in place of what was kept of it.
    pub fn keep(&self, request: &Request, rows: Kept) -> Arc<Kept> {
        let kept = Arc::new(rows);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|kept| !kept.is_for(request));
        all.truncate(WINDOWS - 1);
        all.push_front(Arc::clone(&kept));
        kept
    }
}

/// Computes all of them in one pass, behind a first one where none was made. The pass takes `rows` rows at once. `None`:
/// all of them: they are few, and stay in memory for the next request.
pub fn aggregates(
    capture: &Capture,
    py: Python<'_>,
    request: &Request,
    wanted: &[Aggregated],
    rows: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Found>> {
    let run = |progress: Progress<'_>| {
        let Some(rows) = rows else {
            let kept = capture.windows.of(capture, request, progress)?;
            return ledger::aggregates_of(&kept, request, wanted);
        };
        let (survey, from) = capture.surveyed.survey(&capture.recording, request, progress)?;
        let mut rest = |fraction: f64| progress(from + fraction * (1.0 - from));
        ledger::run_aggregates(&capture.recording, request, &survey, wanted, rows, &mut rest)
    };
    let shown = |found: Tables| found.into_iter().map(|(name, rows)| Ok((name, table(py, rows)?))).collect();
    pass(py, progress, run)?.into_iter().map(shown).collect()
}
