//! Names of tasks over time, from COMM and FORK records and from scheduler events.

use rustc_hash::FxHashMap;

use crate::bytes::{i32_at, slice, until_nul};
use crate::intern::Interner;
use crate::recording::Event;
use crate::visit::{Sample, Side, What};

/// Names by task and time. They arrive in any order and are looked up at the end.
#[derive(Debug, Default)]
pub struct Names {
    pub strings: Interner,
    by_tid: FxHashMap<i32, Vec<(i64, u32)>>,
    forks: Vec<(i64, i32, i32)>,
    known: FxHashMap<i32, u32>,
}

impl Names {
    /// `tid` was called `comm` from `time_ns` on.
    pub fn named(&mut self, tid: i32, time_ns: i64, comm: &[u8]) {
        let code = self.strings.code(comm);
        self.by_tid.entry(tid).or_default().push((time_ns, code));
    }

    /// `tid` was called `comm` at some time. This counts only if nothing else is known.
    pub fn known(&mut self, tid: i32, comm: &[u8]) {
        let code = self.strings.code(comm);
        self.known.insert(tid, code);
    }

    /// `tid` began as a copy of `parent`.
    pub fn forked(&mut self, tid: i32, parent: i32, time_ns: i64) {
        self.forks.push((time_ns, tid, parent));
    }

    /// Whether nothing is known about `tid` yet.
    pub fn is_new(&self, tid: i32) -> bool {
        !self.by_tid.contains_key(&tid)
    }

    /// Whether all these tasks have final names at their times. `may_be_late`: whether names for earlier times may
    /// still come.
    pub fn know(&self, tasks: &FxHashMap<i32, i64>, may_be_late: bool) -> bool {
        let first = |history: &Vec<(i64, u32)>| history.iter().map(|entry| entry.0).min();
        let since = |(&tid, history): (&i32, &Vec<(i64, u32)>)| Some((tid, first(history)?));
        let mut named: FxHashMap<i32, i64> = self.by_tid.iter().filter_map(since).collect();
        let mut forks = self.forks.clone();
        forks.sort_unstable();
        for (time_ns, tid, parent) in forks {
            if named.get(&parent).is_some_and(|&since| since <= time_ns) {
                let since = named.entry(tid).or_insert(time_ns);
                *since = time_ns.min(*since);
            }
        }
        let is_named = |tid: i32, at: i64| named.get(&tid).is_some_and(|&since| since <= at || !may_be_late);
        tasks.iter().all(|(&tid, &at)| tid == 0 || is_named(tid, at))
    }

    /// Sorts everything. Call it before `at`.
    pub fn seal(&mut self) {
        self.named(0, i64::MIN, b"swapper");
        let sort = |history: &mut Vec<(i64, u32)>| history.sort_by_key(|entry| entry.0);
        self.by_tid.values_mut().for_each(sort);
        self.forks.sort_unstable();
        let mut inherited: FxHashMap<i32, Vec<(i64, u32)>> = FxHashMap::default();
        for (time_ns, tid, parent) in std::mem::take(&mut self.forks) {
            // The parent's name may be inherited from its own fork, or a later one of its own.
            let own = inherited.get(&parent).and_then(|names| names.last().copied());
            let latest = own.into_iter().chain(self.latest(parent, time_ns)).max_by_key(|entry| entry.0);
            let known = latest.map(|entry| entry.1).or_else(|| self.at(parent, time_ns));
            inherited.entry(tid).or_default().extend(known.map(|code| (time_ns, code)));
        }
        for (tid, mut names) in inherited {
            let history = self.by_tid.entry(tid).or_default();
            names.append(history);
            *history = names;
            sort(history);
        }
        for (tid, code) in std::mem::take(&mut self.known) {
            self.by_tid.entry(tid).or_insert_with(|| vec![(i64::MIN, code)]);
        }
    }

    /// The last name of `tid` by then, and since when.
    fn latest(&self, tid: i32, time_ns: i64) -> Option<(i64, u32)> {
        let history = self.by_tid.get(&tid)?;
        let after = history.partition_point(|entry| entry.0 <= time_ns);
        history.get(after.checked_sub(1)?).copied()
    }

    /// The name of `tid` at a time. Before its first name, the first one counts.
    pub fn at(&self, tid: i32, time_ns: i64) -> Option<u32> {
        let known = || self.known.get(&tid).copied();
        self.history(tid).map_or_else(known, |history| Names::then(history, time_ns))
    }

    /// The names of `tid` with their start times, for many lookups of one task: see `then`. The idle task has one name.
    pub fn history(&self, tid: i32) -> Option<&[(i64, u32)]> {
        let history = self.by_tid.get(&tid)?;
        Some(if tid == 0 { &history[..history.len().min(1)] } else { history })
    }

    /// The name at a time, from a history.
    #[inline(always)]
    pub fn then(history: &[(i64, u32)], time_ns: i64) -> Option<u32> {
        let after = history.partition_point(|entry| entry.0 <= time_ns);
        history.get(after.saturating_sub(1)).map(|entry| entry.1)
    }
}

/// Collects names during a pass over a recording.
#[derive(Debug)]
pub struct TaskNames {
    names: Names,
    /// By event number.
    switches: Vec<Option<Switch>>,
}

/// Offsets of pid and comm of both tasks in a sched_switch.
#[derive(Debug, Clone, Copy)]
struct Switch {
    prev: (usize, usize),
    next: (usize, usize),
}

impl Switch {
    fn of(event: &Event) -> Option<Switch> {
        let format = event.format.as_ref().filter(|format| format.name == "sched_switch" && event.guest.is_none())?;
        let at = |name: &str| format.field(name).map(|field| field.offset);
        Some(Switch { prev: (at("prev_pid")?, at("prev_comm")?), next: (at("next_pid")?, at("next_comm")?) })
    }
}

impl TaskNames {
    pub fn of(events: &[Event]) -> TaskNames {
        TaskNames { names: Names::default(), switches: events.iter().map(Switch::of).collect() }
    }

    /// Takes a sample. A switch may name tasks that nothing else names.
    #[inline(always)]
    pub fn sample(&mut self, block: &[u8], sample: &Sample) {
        let Some(switch) = self.switches[sample.event as usize] else { return };
        let payload = sample.payload(block);
        for (pid_at, comm_at) in [switch.prev, switch.next] {
            if let (Some(pid), Some(comm)) = (i32_at(payload, pid_at), slice(payload, comm_at, 16)) {
                if self.names.is_new(pid) {
                    self.names.named(pid, sample.time_ns, until_nul(comm));
                }
            }
        }
    }

    /// Takes a record that is not a sample.
    pub fn side(&mut self, side: &Side<'_>) {
        if side.guest {
            return;
        }
        let time = side.time_ns.unwrap_or(0);
        match &side.what {
            What::Comm { tid, comm } => self.names.named(*tid, time, comm.as_bytes()),
            What::Known { tid, comm } => self.names.known(*tid, comm.as_bytes()),
            What::Fork { tid, parent } => self.names.forked(*tid, *parent, time),
            _ => {}
        }
    }

    pub fn know(&self, tasks: &FxHashMap<i32, i64>, may_be_late: bool) -> bool {
        self.names.know(tasks, may_be_late)
    }

    /// The names, ready for lookups.
    pub fn sealed(self) -> Names {
        let mut names = self.names;
        names.seal();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of `tid` at a time.
    fn called(names: &Names, tid: i32, time_ns: i64) -> Option<&str> {
        names.at(tid, time_ns).map(|code| names.strings.get(code))
    }

    // In a shell's $(dirname "$(readlink x)"), the child of the shell forks before it becomes dirname.
    #[test]
    fn a_child_has_the_name_that_its_parent_had_when_it_forked() {
        let mut names = Names::default();
        names.named(1, 0, b"sh");
        names.named(2, 40, b"dirname");
        names.named(3, 50, b"readlink");
        names.forked(3, 2, 20);
        names.forked(2, 1, 10);
        names.seal();
        assert_eq!(called(&names, 2, 15), Some("sh"));
        assert_eq!(called(&names, 3, 30), Some("sh"));
        assert_eq!(called(&names, 3, 60), Some("readlink"));
    }

    #[test]
    fn a_parent_of_which_nothing_is_known_by_then_gives_its_first_name() {
        let mut names = Names::default();
        names.named(2, 40, b"dirname");
        names.forked(3, 2, 20);
        names.seal();
        assert_eq!(called(&names, 3, 30), Some("dirname"));
    }

    #[test]
    fn a_name_is_known_by_its_time_or_where_none_comes_late() {
        let mut names = Names::default();
        names.named(1, 5, b"sh");
        names.forked(2, 1, 10);
        names.forked(3, 2, 20);
        names.named(4, 50, b"awk");
        let know = |tid, at, may_be_late| names.know(&[(tid, at)].into_iter().collect(), may_be_late);
        assert!([0, 1, 3].into_iter().all(|tid| know(tid, 20, true)));
        assert_eq!(
            (know(3, 19, true), know(4, 20, true), know(4, 20, false), know(5, 20, false)),
            (false, false, true, false)
        );
    }

    // Tid 2 is first one task, then another.
    #[test]
    fn a_number_that_is_used_again_begins_with_its_new_parents_name() {
        let mut names = Names::default();
        names.named(1, 0, b"sh");
        names.named(2, 5, b"awk");
        names.forked(2, 1, 10);
        names.forked(3, 2, 20);
        names.seal();
        assert_eq!(called(&names, 2, 7), Some("awk"));
        assert_eq!(called(&names, 3, 30), Some("sh"));
    }
}
