//! What bounds lives: the window, recorded births and deaths, and times at which a CPU's owner is unknown.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lives::read::Events;
use crate::lives::slice::Slice;
use crate::lives::spans::Spans;

/// Key in `Facts::holes` for any CPU.
const ANY_CPU: i64 = -1;

/// Facts besides the slices.
#[derive(Debug, Default, Clone)]
pub struct Known {
    /// Start and end.
    pub window: (i64, i64),
    /// The recorded CPUs.
    pub cpus: BTreeSet<i64>,
    /// Births and deaths by events; `None` if they were not recorded.
    pub born: Option<Events>,
    /// See `born`.
    pub died: Option<Events>,
    /// Wake-ups.
    pub woken: Option<Events>,
    /// Wake-ups and migrations with their destination; empty if all CPUs were recorded.
    pub moved: Vec<Events>,
    /// The victim's tid, and when the bundle says that it started and ended.
    pub of_bundle: Option<(i64, i64, i64)>,
    /// All CPUs of the host were recorded.
    pub all_cpus: bool,
    /// All migrations were recorded.
    pub moves_known: bool,
    /// Events were lost.
    pub lost: bool,
}

/// The same facts, ready for lookups.
#[derive(Debug)]
pub struct Facts<'k> {
    /// What it is made of.
    pub known: &'k Known,
    /// Times at which a CPU's owner is unknown.
    holes: Spans,
    /// Births and deaths.
    pub born: Spans,
    /// See `born`.
    pub died: Spans,
    wakes: FxHashMap<i64, i64>,
}

fn moments(events: Option<&Events>) -> Spans {
    let rows = events.map_or(&[][..], |events| &events.rows);
    Spans::new(&rows.iter().map(|&(tid, at, ..)| (tid, at, at)).collect::<Vec<_>>())
}

impl<'k> Facts<'k> {
    /// From slices in any order, including the idle tasks'.
    pub fn of(known: &'k Known, slices: &[Slice]) -> Facts<'k> {
        let mut wakes = FxHashMap::default();
        for &(tid, at, ..) in known.woken.iter().flat_map(|woken| &woken.rows) {
            if at <= known.window.1 {
                let last = wakes.entry(tid).or_insert(at);
                *last = at.max(*last);
            }
        }
        let (born, died) = (moments(known.born.as_ref()), moments(known.died.as_ref()));
        Facts { known, holes: ownerless(known, slices), born, died, wakes }
    }

    /// Clamps a time to the window.
    pub fn inside(&self, time: i64) -> i64 {
        time.clamp(self.known.window.0, self.known.window.1)
    }

    /// A task's last wake-up.
    pub fn woken(&self, tid: i64) -> Option<i64> {
        self.wakes.get(&tid).copied()
    }

    /// The name that a task was born with, if that was in the window.
    pub fn born_name(&self, birth: Option<usize>) -> Option<u32> {
        let place = birth.filter(|&place| self.born.start(place) >= self.known.window.0)?;
        self.known.born.as_ref()?.rows[self.born.given(place)].2
    }

    /// Whether every CPU has a known owner throughout.
    pub fn is_all_owned(&self, start: i64, end: i64) -> bool {
        self.holes.within(ANY_CPU, start, end) == 0
    }

    /// The part of a stretch in which an event about a task may have been lost. It extends from the first time without
    /// a known owner of some CPU to the last, because a wake-up may be among the first lost events and the slice after
    /// it among the last. Both ends are the stretch's end if no events were lost in it.
    pub fn lost_within(&self, start: i64, end: i64) -> (i64, i64) {
        let end = end.max(start);
        let holes = self.holes.of(ANY_CPU);
        if !self.known.lost || holes.is_empty() {
            return (end, end);
        }
        let first = holes.partition_point(|hole| hole.1 <= start);
        let after = holes.partition_point(|hole| hole.0 < end);
        if first >= after {
            return (end, end);
        }
        (holes[first].0.max(start), holes[after - 1].1.min(end))
    }

    /// How long, in a stretch between slices on two CPUs, these CPUs have no known owner. Without migrations the CPUs
    /// in between are unknown, so any CPU counts.
    pub fn unseen(&self, first: i64, second: i64, start: i64, end: i64) -> i64 {
        let end = end.max(start);
        if !self.known.moves_known {
            return self.holes.within(ANY_CPU, start, end);
        }
        let other = if first == second { 0 } else { self.holes.within(second, start, end) };
        (self.holes.within(first, start, end) + other).min(end - start)
    }
}

/// Times without a known owner: by CPU, and joined over all CPUs as `ANY_CPU`.
fn ownerless(known: &Known, slices: &[Slice]) -> Spans {
    let (start, end) = known.window;
    let inside = |at: i64| at.clamp(start, end);
    let mut of_cpu: FxHashMap<i64, Vec<(i64, i64)>> = known.cpus.iter().map(|&cpu| (cpu, Vec::new())).collect();
    for slice in slices {
        if let Some(on) = of_cpu.get_mut(&slice.cpu) {
            on.push((slice.in_ns, slice.out_ns));
        }
    }
    let mut found: Vec<(i64, i64, i64)> = Vec::new();
    for &cpu in &known.cpus {
        let mut on = of_cpu.remove(&cpu).unwrap_or_default();
        on.sort_by_key(|slice| slice.0);
        let mut until = start;
        for (begin, left) in on.into_iter().chain([(end, end)]) {
            if inside(begin) > inside(until) {
                found.push((cpu, inside(until), inside(begin)));
            }
            until = until.max(left);
        }
    }
    let mut every: Vec<(i64, i64)> = found.iter().map(|&(_, start, end)| (start, end)).collect();
    every.sort_unstable();
    let mut joined: Vec<(i64, i64, i64)> = Vec::new();
    for (start, end) in every {
        match joined.last_mut() {
            Some(last) if start <= last.2 => last.2 = last.2.max(end),
            _ => joined.push((ANY_CPU, start, end)),
        }
    }
    found.extend(joined);
    Spans::new(&found)
}
