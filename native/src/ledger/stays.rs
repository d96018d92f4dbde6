//! When tasks were present and for whom they waited: lives, from all stays on CPUs.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::intern::{Interner, Labels, NONE};
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::group::Lengths;
use crate::ledger::migrated::Migrated;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{Shown, Tables};
use crate::lives::facts::Known;
use crate::lives::holders::{holders, Held, Wait};
use crate::lives::slice::NOBODY;
use crate::lives::{of_slices, tables, Slice, Sum};
use crate::narrow::Narrow;
use crate::tables::{optional, plain, Plan};

/// Facts besides the stays.
#[derive(Debug)]
pub struct Wanted {
    /// Facts about the recording.
    pub known: Known,
    /// Time on CPU, by task and name.
    pub sums: Vec<Sum>,
    /// The names in `sums`.
    pub strings: Interner,
    /// Only waits that end in this range are counted.
    pub counted: (i64, i64),
    /// CPUs whose holders are wanted.
    pub cpus: BTreeSet<i64>,
    /// Whether migrations were recorded. If not, a task that ran elsewhere before is not known to have waited here.
    pub has_moves: bool,
}

/// No CPU has this number.
const NOWHERE: i64 = -1;
/// The holder's name if it is the idle task.
const IDLE: &[u8] = b"(idle)";
/// What began a wait: unknown if its length is.
const AFTER: [&str; 3] = ["wake-up", "runnable", "unknown"];

pub struct Stays {
    wanted: Arc<Wanted>,
    strings: Interner,
    /// The ledger's code of a name to the code used here.
    codes: FxHashMap<u32, u32>,
    nobody: u32,
    slices: Vec<Slice>,
    /// Stays that belong to no known task.
    nobodys: Vec<Held>,
    moves: Vec<(i64, i64, i64)>,
}

impl Stays {
    pub fn new(wanted: &Arc<Wanted>) -> Stays {
        let mut strings = wanted.strings.clone();
        let nobody = strings.code(NOBODY);
        let (codes, slices, nobodys, moves) = (FxHashMap::default(), Vec::new(), Vec::new(), Vec::new());
        Stays { wanted: Arc::clone(wanted), strings, codes, nobody, slices, nobodys, moves }
    }
}

impl Aggregate for Stays {
    fn take(&mut self, names: &Names, cpus: &[Found], migrated: &[Migrated], _: &Shown<'_>) {
        let Stays { strings, codes, slices, nobodys, nobody, .. } = self;
        for found in cpus {
            let cpu = i64::from(found.number);
            for row in found.rows.slices.rows() {
                let Some((tid, comm)) = names.victim(row.victim) else {
                    nobodys.push((cpu, row.in_ns, row.out_ns, *nobody));
                    continue;
                };
                let named =
                    || if comm == NONE { *nobody } else { strings.code(names.reader.strings.get(comm).as_bytes()) };
                let comm = *codes.entry(comm).or_insert_with(named);
                let (in_ns, out_ns, wait_ns) = (row.in_ns, row.out_ns, row.wait_ns);
                let slice = Slice { cpu, tid: tid.into(), comm, in_ns, out_ns, wait_ns, ..Slice::default() };
                slices.push(Slice { woken: row.wake_ns.is_some(), ..slice }.left(row.prev_state));
            }
        }
        self.moves
            .extend(migrated.iter().map(|one| (i64::from(one.row.tid), one.row.time_ns, one.row.orig_cpu.into())));
    }

    fn finish(self: Box<Self>, _: &Names) -> Result<Tables> {
        let Stays { wanted, mut strings, slices, nobodys, moves, .. } = *self;
        let Wanted { known, sums, counted, cpus, has_moves, .. } = &*wanted;
        let idle = strings.code(IDLE);
        let named = |slice: &Slice| if slice.tid == 0 { idle } else { slice.comm };
        let is_held = |cpu: &i64| cpus.contains(cpu);
        let of_tasks = slices.iter().map(|slice| (slice.cpu, slice.in_ns, slice.out_ns, named(slice)));
        let held: Vec<Held> = of_tasks.chain(nobodys).filter(|held| is_held(&held.0)).collect();
        let (mut waits, mut waiting, mut twice) = (Waits::default(), Vec::new(), FxHashMap::default());
        let (mut renamed, mut before) = (Vec::new(), None);
        let lives = of_slices(slices, sums, known, &strings, &mut |slice, away, facts| {
            let here = Some((slice.tid, slice.cpu));
            // A task's stays come in order of time.
            let is_known = *has_moves || before == here;
            before = here;
            if away.waited > 0 && is_held(&slice.cpu) {
                let cpu = if is_known { slice.cpu } else { NOWHERE };
                let (start_ns, end_ns) = (away.start_ns, away.end_ns);
                waiting.push(Wait { cpu, tid: slice.tid, comm: away.comm, start_ns, end_ns });
            }
            if away.comm != slice.comm {
                renamed.push((slice.cpu, slice.tid, slice.in_ns, away.comm));
            }
            if away.twice > 0 {
                *twice.entry((slice.tid, slice.comm, slice.cpu)).or_insert(0) += away.twice;
            }
            if counted.0 <= slice.in_ns && slice.in_ns <= counted.1 {
                let cut_ns = slice.wait_ns.map(|ns| facts.inside(slice.in_ns) - facts.inside(slice.in_ns - ns));
                waits.add(slice, away.comm, cut_ns);
            }
        });
        let moves = if *has_moves { moves } else { Vec::new() };
        let mut found = vec![
            ("lives", tables::lives(&lives, &strings)?),
            ("twice", twice_of(twice, &strings)?),
            ("renamed", renamed_of(&renamed, &strings)?),
            ("holders", tables::holders(holders(waiting, &moves, &held), &strings)?),
        ];
        found.extend(waits.finish(&strings)?);
        Ok(found)
    }
}

/// Task, its name, CPU.
type Of = (i64, u32, i64);

/// Time for which a task appears on two CPUs at once, by its name when the stay ended and by CPU.
fn twice_of(found: FxHashMap<Of, i64>, names: &Interner) -> Result<RecordBatch> {
    let mut rows: Vec<(Of, i64)> = found.into_iter().collect();
    rows.sort_unstable();
    let labels = Labels::new(names.values());
    let mut plan = Plan::new();
    plan.add("tid", || plain::<Int64Type>(rows.iter().map(|row| row.0 .0)))
        .add("comm", || labels.column(rows.iter().map(|row| row.0 .1)))
        .add("cpu", || plain::<Int64Type>(rows.iter().map(|row| row.0 .2)))
        .add("twice_ns", || plain::<Int64Type>(rows.iter().map(|row| row.1)));
    plan.batch()
}

/// Stays before which a task had another name: CPU, task, start of the stay, and that name.
fn renamed_of(rows: &[Held], names: &Interner) -> Result<RecordBatch> {
    let labels = Labels::new(names.values());
    let mut plan = Plan::new();
    plan.add("cpu", || plain::<Int64Type>(rows.iter().map(|row| row.0)))
        .add("tid", || plain::<Int64Type>(rows.iter().map(|row| row.1)))
        .add("in_ns", || plain::<Int64Type>(rows.iter().map(|row| row.2)))
        .add("comm", || labels.column(rows.iter().map(|row| row.3)));
    plan.batch()
}

/// Waits by task, the name under which it waited, the CPU that it then got, and what began the wait.
#[derive(Default)]
struct Waits {
    places: FxHashMap<(Of, usize), usize>,
    /// Number of waits, and the total length of the known ones, in all and within the window.
    sums: Vec<[i64; 3]>,
    lengths: Lengths,
}

impl Waits {
    fn add(&mut self, slice: &Slice, comm: u32, cut_ns: Option<i64>) {
        let after = if slice.wait_ns.is_none() { 2 } else { usize::from(!slice.woken) };
        let next = self.places.len();
        let place = *self.places.entry(((slice.tid, comm, slice.cpu), after)).or_insert(next);
        if place == next {
            self.sums.push([0; 3]);
        }
        let (ns, cut_ns) = (slice.wait_ns.unwrap_or(0), cut_ns.unwrap_or(0));
        self.sums[place].iter_mut().zip([1, ns, cut_ns]).for_each(|(sum, more)| *sum += more);
        if slice.wait_ns.is_some() {
            self.lengths.add(place, ns.max(0));
        }
    }

    fn finish(self, names: &Interner) -> Result<Tables> {
        let mut rows: Vec<((Of, usize), usize)> = self.places.into_iter().collect();
        rows.sort_unstable();
        let mut order = vec![0; rows.len()];
        rows.iter().enumerate().for_each(|(number, row)| order[row.1] = number);
        let (labels, after) = (Labels::new(names.values()), Labels::new(&AFTER));
        let (rows, sums) = (&rows, &self.sums);
        let sum = move |number: usize| plain::<Int64Type>(rows.iter().map(move |row| sums[row.1][number]));
        let ends = || rows.iter().map(|row| self.lengths.ends(row.1));
        let mut plan = Plan::new();
        plan.add("tid", || plain::<Int64Type>(rows.iter().map(|row| row.0 .0 .0)))
            .add("comm", || labels.column(rows.iter().map(|row| row.0 .0 .1)))
            .add("cpu", || plain::<Int64Type>(rows.iter().map(|row| row.0 .0 .2)))
            .add("waited_after", || after.column(rows.iter().map(|row| row.0 .1.narrow())))
            .add("waits", move || sum(0))
            .add("ns", move || sum(1))
            .add("waited_ns", move || sum(2))
            .add("least", || optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.0))))
            .add("most", || optional::<Int64Type>(ends().map(|ends| ends.map(|ends| ends.1))));
        Ok(vec![("waits", plan.batch()?), ("wait_lengths", self.lengths.finish(&order)?)])
    }
}
