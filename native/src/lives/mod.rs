//! When each task existed, and what it did while it had no CPU. A life is a task under one name: a task that executes a
//! program continues as another life.
//!
//! ```text
//!   born         |  slice  |   away: asleep, then waiting   |  slice  |  its tail: until it ended, or the window
//!   ..its first away......|................................|........|..............................
//! ```

pub mod facts;
pub mod holders;
pub mod life;
pub mod read;
mod settle;
pub mod slice;
mod spans;
pub mod tables;
pub mod task_events;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::intern::Interner;
use facts::{Facts, Known};
pub use life::{Away, Life, LifeOf, Named};
pub use settle::{settled, Sum};
pub use slice::Slice;

type Lives = FxHashMap<Named, Life>;

/// A task that was moved to an unrecorded CPU may have run there: how its last slice ended no longer counts.
pub fn forget_left(slices: &mut [Slice], known: &Known) {
    let mut away: FxHashMap<i64, i64> = FxHashMap::default();
    for &(tid, at, _, cpu) in known.moved.iter().flat_map(|events| &events.rows) {
        if at <= known.window.1 && cpu.is_none_or(|cpu| !known.cpus.contains(&cpu)) {
            let last = away.entry(tid).or_insert(at);
            *last = at.max(*last);
        }
    }
    for place in 0..slices.len() {
        let is_last = slices.get(place + 1).is_none_or(|next| next.tid != slices[place].tid);
        let slice = &mut slices[place];
        if is_last && away.get(&slice.tid).is_some_and(|&at| at >= slice.out_ns) {
            (slice.runnable, slice.asleep) = (false, false);
        }
    }
}

/// The lives before they are settled. `slices`: sorted, without the idle tasks. `mixed`: tasks with more than one name
/// in a slice. `show`: takes each slice, and what its task did before it.
fn lived(
    slices: &[Slice],
    facts: &Facts,
    mixed: &FxHashSet<i64>,
    show: &mut dyn FnMut(&Slice, &Away, &Facts<'_>),
) -> Lives {
    let mut teller = Teller { facts, mixed, lives: Lives::default() };
    let mut task = 0;
    let mut before: Option<(Slice, Option<usize>)> = None;
    let mut begun = (0, 0);
    for slice in slices {
        // If a switch was not recorded, a slice can begin before its own task did.
        let birth = facts.born.last_begun(slice.tid, slice.out_ns);
        let same = before.filter(|(last, of)| last.tid == slice.tid && *of == birth).map(|(last, _)| last);
        if same.is_none() {
            if let Some((last, of)) = before {
                teller.tail(&last, of, task);
                task += 1;
            }
            begun = teller.begun(slice, birth);
        }
        let away = teller.slice(slice, same.as_ref(), birth, task, begun);
        show(slice, &away, facts);
        before = Some((*slice, birth));
    }
    if let Some((last, of)) = before {
        teller.tail(&last, of, task);
    }
    teller.lives
}

struct Teller<'f> {
    facts: &'f Facts<'f>,
    mixed: &'f FxHashSet<i64>,
    lives: Lives,
}

impl Teller<'_> {
    fn add(&mut self, tid: i64, comm: u32, task: usize, part: Life) {
        let life = self.lives.entry((tid, comm)).or_default();
        life.lifetime += part.lifetime;
        life.lifetime_max += part.lifetime_max;
        life.on_cpu += part.on_cpu;
        life.waited += part.waited;
        life.asleep += part.asleep;
        life.unseen += part.unseen;
        life.twice += part.twice;
        life.whole += part.whole;
        life.lost += part.lost;
        life.ends = match (life.ends, part.ends) {
            (Some(known), Some(ends)) => Some((known.0.min(ends.0), known.1.max(ends.1))),
            (known, ends) => known.or(ends),
        };
        if life.last_task != Some(task) {
            (life.tasks, life.last_task) = (life.tasks + 1, Some(task));
        }
    }

    /// The earliest and the latest time at which a task may have begun. `slice`: its first.
    fn begun(&self, slice: &Slice, birth: Option<usize>) -> (i64, i64) {
        let (facts, known) = (self.facts, self.facts.known);
        // The first time at which it is known to exist.
        let seen = facts.inside(slice.in_ns - slice.wait_ns.unwrap_or(0));
        let victim = known.of_bundle.filter(|run| run.0 == slice.tid && birth.is_none() && run.1 <= seen);
        let at = birth.map_or(known.window.0, |birth| facts.born.start(birth));
        let earliest = facts.inside(victim.map_or(at, |run| run.1)).min(seen);
        let sure = birth.is_some() || victim.is_some() || (known.born.is_some() && facts.is_all_owned(earliest, seen));
        (earliest, if sure { earliest } else { seen })
    }

    /// Adds a slice, and what its task did before it. `before`: the previous slice, `None` for the first. `begun`: when
    /// the task may have begun.
    fn slice(
        &mut self,
        slice: &Slice,
        before: Option<&Slice>,
        birth: Option<usize>,
        task: usize,
        begun: (i64, i64),
    ) -> Away {
        let facts = self.facts;
        let waited_from = facts.inside(slice.in_ns - slice.wait_ns.unwrap_or(0));
        let (begins, ends) = (facts.inside(slice.in_ns), facts.inside(slice.out_ns));
        let left_ns = before.map(|before| facts.inside(before.out_ns));
        // If the task appears on two CPUs at once, this slice counts from the end of the previous one.
        let entered = left_ns.map_or(begins, |left| left.max(begins));
        // The end of the previous slice; for the first slice, when the task began.
        let (since, surely_since) = left_ns.map_or(begun, |left| (left, left));
        let asleep_until = waited_from.max(since);
        let came_from = before.map_or(slice.cpu, |before| before.cpu);
        let unseen = facts.unseen(came_from, slice.cpu, since, asleep_until);
        let (lost_from, lost_until) = facts.lost_within(since, asleep_until);
        let lost = lost_from < asleep_until;
        let mut known = slice.wait_ns.is_some();
        let slept_first = known && lost && before.is_some_and(|before| before.asleep);
        let slept_before = if slept_first { (lost_from - since).max(0) } else { 0 };
        // It slept only while it certainly existed.
        let slept_from = surely_since.max(if lost { lost_until } else { since + unseen });
        let mut slept_last = if known { (asleep_until - slept_from).max(0) } else { 0 };
        let name = before.map_or_else(|| facts.born_name(birth), |before| Some(before.comm));
        let renamed = lost && name != Some(slice.comm);
        let other = name.filter(|_| renamed);
        let mut sure_since = if renamed { surely_since.max(lost_until) } else { surely_since };
        // If slices have several names, `comm` is the last one, not the one under which the task came back.
        if renamed && self.mixed.contains(&slice.tid) {
            (known, slept_last, sure_since) = (false, 0, entered);
        }
        let comm = if renamed { slice.comm } else { name.unwrap_or(slice.comm) };
        let waited = if known { entered - asleep_until } else { 0 };
        let away = Life {
            lifetime: (entered - sure_since).max(0),
            lifetime_max: (entered - if other.is_some() { lost_from } else { since }).max(0),
            waited: waited.max(0),
            asleep: slept_last + if other.is_some() { 0 } else { slept_before },
            unseen,
            whole: (entered - since).max(0),
            lost: (asleep_until - lost_from).max(0),
            ends: Some((sure_since.min(entered), entered)),
            ..Life::default()
        };
        self.add(slice.tid, comm, task, away);
        if let Some(other) = other {
            // Part of this time was under another name if it executed a program unseen.
            let part = Life {
                lifetime: (lost_from - surely_since).max(0),
                lifetime_max: (lost_until - since).max(0),
                asleep: slept_before,
                ends: Some((surely_since.min(lost_from), lost_from)),
                ..Life::default()
            };
            self.add(slice.tid, other, task, part);
        }
        let on_cpu = ends - begins;
        let twice = entered - begins;
        let on = Life {
            lifetime: on_cpu,
            lifetime_max: on_cpu,
            on_cpu,
            twice,
            whole: on_cpu - twice,
            ends: Some((entered, ends)),
            ..Life::default()
        };
        self.add(slice.tid, slice.comm, task, on);
        Away { comm, start_ns: asleep_until, end_ns: entered, waited: away.waited, twice }
    }

    /// The latest and the earliest time at which a task may have ended. `last`: its last slice.
    fn done(&self, last: &Slice, birth: Option<usize>) -> (i64, i64) {
        let (facts, known) = (self.facts, self.facts.known);
        let end = known.window.1;
        let out = facts.inside(last.out_ns);
        // A tid is reused only after its task has ended.
        let again = facts.born.last_begun(last.tid, end) != birth;
        let following = if again {
            let births = facts.born.places(last.tid);
            let next = birth.map_or(births.start, |birth| birth + 1);
            if births.contains(&next) {
                facts.born.start(next)
            } else {
                end
            }
        } else {
            end
        };
        let exited = facts.died.last_begun(last.tid, following).map(|place| facts.died.start(place));
        // The exit event precedes the last switch-out, so a slice that began before the event is the last.
        let exited = exited.filter(|&exited| exited >= last.in_ns);
        let dead = last.dead && last.out_ns <= end;
        let latest = if dead { out } else { exited.map_or(end, |exited| exited.max(out)) };
        let mut latest = latest.min(following.max(out));
        let mut gone = exited.is_some();
        if let Some(victim) = known.of_bundle.filter(|run| run.0 == last.tid && !gone && !dead && run.2 >= out) {
            (latest, gone) = (victim.2.clamp(out, end), true);
        }
        // A task must run to exit. One that left its CPU alive and has not run since still exists.
        let alive = last.asleep || last.runnable;
        let sure = dead
            || gone
            || last.out_ns >= end
            || (!again && (known.died.is_some() || (alive && known.all_cpus)) && facts.is_all_owned(out, latest));
        // Before an end that was not seen, it may have executed a program and changed its name.
        (latest, if sure { facts.lost_within(out, latest).0 } else { out })
    }

    /// Adds what a task did after its last slice, until its end or the window's.
    fn tail(&mut self, last: &Slice, birth: Option<usize>, task: usize) {
        let facts = self.facts;
        let out = facts.inside(last.out_ns);
        let (done, surely_done) = self.done(last, birth);
        let unseen = facts.unseen(last.cpu, last.cpu, out, done);
        let sure = unseen == 0 && done == surely_done;
        let woken = facts.woken(last.tid).filter(|&at| at > out && at < done).unwrap_or(done);
        let slept = if sure && last.asleep && facts.known.woken.is_some() { woken - out } else { 0 };
        let waited = match (sure && last.runnable, slept > 0) {
            (true, _) => done - out,
            (false, true) => done - woken,
            (false, false) => 0,
        };
        let tail = Life {
            lifetime: (surely_done - out).max(0),
            lifetime_max: (done - out).max(0),
            waited,
            asleep: slept,
            unseen,
            whole: (done - out).max(0),
            lost: (done - facts.lost_within(out, done).0).max(0),
            ends: Some((out, surely_done.max(out))),
            ..Life::default()
        };
        self.add(last.tid, last.comm, task, tail);
    }
}

/// Tasks with more than one name in a slice, judged by the sums: their slices under a name do not add up to its time on
/// CPU.
pub fn of_several_names(slices: &[Slice], sums: &[Sum], facts: &Facts) -> FxHashSet<i64> {
    let mut rest: FxHashMap<Named, i64> = FxHashMap::default();
    for sum in sums {
        *rest.entry((sum.tid, sum.comm)).or_default() += sum.ns;
    }
    for slice in slices {
        *rest.entry((slice.tid, slice.comm)).or_default() -= facts.inside(slice.out_ns) - facts.inside(slice.in_ns);
    }
    rest.into_iter().filter(|&(_, ns)| ns != 0).map(|((tid, _), _)| tid).collect()
}

/// The lives of tasks that had a CPU, by tid and name. `show`: takes each slice, in order of task and end, and what its
/// task did before it.
pub fn of_slices(
    mut slices: Vec<Slice>,
    sums: &[Sum],
    known: &Known,
    names: &Interner,
    show: &mut dyn FnMut(&Slice, &Away, &Facts<'_>),
) -> Vec<LifeOf> {
    slices.sort_by_key(|slice| (slice.tid, slice.out_ns, slice.in_ns));
    forget_left(&mut slices, known);
    let facts = Facts::of(known, &slices);
    slices.retain(|slice| slice.tid != 0);
    let mixed = if known.lost { of_several_names(&slices, sums, &facts) } else { FxHashSet::default() };
    settled(lived(&slices, &facts, &mixed, show), sums, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lives::read::Events;

    /// If a switch was not recorded, a slice can begin before its own task did. It is one task all the same, which
    /// existed from then on.
    #[test]
    fn a_slice_that_begins_before_its_task() {
        let born = Some(Events { rows: vec![(7, 100, None, None)] });
        let known =
            Known { window: (0, 1_000), cpus: [0].into(), born, died: Some(Events::default()), ..Known::default() };
        let names = Interner::default();
        let slice = Slice { tid: 7, in_ns: 50, out_ns: 300, ..Slice::default() }.left(Some(1));
        let again = Slice { tid: 7, in_ns: 400, out_ns: 500, ..Slice::default() }.left(Some(1));
        let mut shown = Vec::new();
        let lives = of_slices(vec![again, slice], &[], &known, &names, &mut |slice, _, _| shown.push(slice.in_ns));
        assert_eq!(shown, [50, 400]);
        let [(_, life)] = lives[..] else { panic!("one life") };
        assert_eq!((life.tasks, life.ends), (1, Some((50, 500))));
    }
}
