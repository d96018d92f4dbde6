//! Gathers what leaves the CPUs and cuts it into batches.
//!
//! ```text
//!   CPU 0   | rows of round 7 |  rows of round 8  \
//!   CPU 1   | rows of round 7 |  rows of round 8   > settled up to a time: so many rows a batch, by when they are due
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::ledger::cpu::Found;
use crate::ledger::join::{Round, Settled};
use crate::ledger::migrated::Migrated;
use crate::ledger::request::Request;
use crate::ledger::shown::{Shown, Sink};
use crate::ledger::stream::lane::{Lane, TABLES};
use crate::ledger::stream::moves::Moves;
use crate::ledger::stream::queue::Queue;
use crate::ledger::survey::Survey;

/// Migrations come last among what is due at one time.
const MIGRATIONS: u8 = 6;
const _: () = assert!(MIGRATIONS as usize == TABLES);

#[derive(Debug)]
pub struct Collector {
    survey: Arc<Survey>,
    request: Request,
    has_slices: bool,
    /// Rows in a batch.
    most: usize,
    lanes: BTreeMap<u32, Lane>,
    moves: Moves,
    migrations: Queue<Migrated>,
    settled: Settled,
    is_any: bool,
}

impl Collector {
    /// `has_slices`: whether there are any.
    pub fn new(survey: Arc<Survey>, request: Request, has_slices: bool, most: usize) -> Collector {
        Collector {
            survey,
            request,
            has_slices,
            most: most.max(1),
            lanes: BTreeMap::new(),
            moves: Moves::default(),
            migrations: Queue::default(),
            settled: Settled { known_ns: i64::MIN, waits_ns: i64::MIN },
            is_any: false,
        }
    }

    /// Takes what the CPUs reported at the end of a round.
    pub fn take(&mut self, round: Round) {
        let window = self.request.window.unwrap_or((i64::MIN, i64::MAX));
        let Collector { survey, request, lanes, moves, has_slices, .. } = self;
        for (cpu, mut left) in round.left {
            if request.want.migrations {
                moves.take_slices(cpu, left.slices.rows(), window);
                let mut rows = std::mem::take(&mut left.migrations);
                rows.retain(|row| [row.orig_cpu, row.dest_cpu].iter().any(|&cpu| request.shows(cpu as u32)));
                let is_told = |cpu: u32| *has_slices && survey.whole.outcome.cpus.contains_key(&cpu);
                moves.take(rows, &mut left.execs, is_told);
            }
            if request.shows(cpu) {
                let shown = survey.window(request);
                left.coverage.retain(|row| request.want.coverage && row.is_in(shown));
                lanes.entry(cpu).or_default().take(left, window, request.want.slices);
            }
        }
        for answer in round.answers.into_iter().filter(|_| survey.clocks_agree == Some(true)) {
            if let Some(lane) = lanes.get_mut(&answer.cpu) {
                lane.answer(answer);
            }
        }
        for migrated in moves.settle(round.settled.known_ns) {
            self.migrations.push(migrated.row.time_ns, migrated);
        }
        self.settled = round.settled;
    }

    /// Hands over full batches, and at the end what is left. False if no more are wanted.
    pub fn give(&mut self, is_over: bool, sink: Sink<'_>) -> Result<bool> {
        let mut due: Vec<(i64, u8, u32)> = Vec::new();
        let counts: Vec<[usize; TABLES]> = self.lanes.values().map(|lane| lane.due(self.settled)).collect();
        let moved = self.migrations.due(self.settled.known_ns, |_| true);
        let count = counts.iter().flatten().sum::<usize>() + moved;
        if count < self.most && !is_over {
            return Ok(true);
        }
        due.reserve_exact(count);
        for ((&cpu, lane), counts) in self.lanes.iter().zip(counts) {
            due.extend(lane.times(counts).map(|(at, table)| (at, table, cpu)));
        }
        due.extend(self.migrations.times().take(moved).map(|at| (at, MIGRATIONS, 0)));
        // Rows of one table and CPU are already in order. A stable sort finds such runs and merges them.
        due.sort();
        let most = self.most;
        for rows in due.chunks(most).filter(|rows| is_over || rows.len() == most) {
            if !self.batch(rows, sink)? {
                return Ok(false);
            }
        }
        // The reader of a recording without rows still gets the columns.
        Ok(!is_over || self.is_any || self.batch(&[], sink)?)
    }

    fn batch(&mut self, rows: &[(i64, u8, u32)], sink: Sink<'_>) -> Result<bool> {
        self.is_any = true;
        let mut counts: BTreeMap<u32, [usize; TABLES]> = BTreeMap::new();
        let mut moved = 0;
        for &(_, table, cpu) in rows {
            match table {
                MIGRATIONS => moved += 1,
                table => counts.entry(cpu).or_default()[usize::from(table)] += 1,
            }
        }
        let of = |(cpu, counts): (u32, [usize; TABLES])| Some(self.lanes.get_mut(&cpu)?.leave(cpu, counts));
        let cpus: Vec<Found> = counts.into_iter().filter_map(of).collect();
        let migrated = self.migrations.take(moved);
        let Survey { whole, kinds, reasons, .. } = &*self.survey;
        let shown = Shown { want: self.request.want, window: self.survey.window(&self.request), kinds, reasons };
        sink(&whole.names, &cpus, &migrated, &shown)
    }
}
