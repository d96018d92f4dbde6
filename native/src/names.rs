//! Names of tasks over time, from COMM and FORK records and from the scheduler's own events.

use rustc_hash::FxHashMap;

use crate::bytes::{i32_at, slice, until_nul};
use crate::intern::Interner;
use crate::recording::Event;
use crate::visit::{Sample, Side, What};

/// Who was called what, when. Names arrive in any order and are asked for at the end.
#[derive(Debug, Default)]
pub struct Names {
    /// The names themselves.
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

    /// `tid` was called `comm` at some time: it counts only where nothing else is known.
    pub fn known(&mut self, tid: i32, comm: &[u8]) {
        let code = self.strings.code(comm);
        self.known.insert(tid, code);
    }

    /// `tid` began as a copy of `parent`.
    pub fn forked(&mut self, tid: i32, parent: i32, time_ns: i64) {
        self.forks.push((time_ns, tid, parent));
    }

    /// Whether nothing is known of `tid` yet.
    pub fn is_new(&self, tid: i32) -> bool {
        !self.by_tid.contains_key(&tid)
    }

    /// Whether all of these tasks have names at their times that nothing later changes. `may_be_late`: whether a name of
    /// an earlier time may yet come.
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

    /// Puts everything in order; call before `at`.
    pub fn seal(&mut self) {
        self.named(0, i64::MIN, b"swapper");
        let sort = |history: &mut Vec<(i64, u32)>| history.sort_by_key(|entry| entry.0);
        self.by_tid.values_mut().for_each(sort);
        self.forks.sort_unstable();
        let mut inherited: FxHashMap<i32, Vec<(i64, u32)>> = FxHashMap::default();
        for (time_ns, tid, parent) in std::mem::take(&mut self.forks) {
            // The parent's name may be one that it inherited at its own fork, or a later one of its own.
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

    /// What `tid` was called last by then, and since when.
    fn latest(&self, tid: i32, time_ns: i64) -> Option<(i64, u32)> {
        let history = self.by_tid.get(&tid)?;
        let after = history.partition_point(|entry| entry.0 <= time_ns);
        history.get(after.checked_sub(1)?).copied()
    }

    /// The name of `tid` at a time; its first one for times before any.
    pub fn at(&self, tid: i32, time_ns: i64) -> Option<u32> {
        let known = || self.known.get(&tid).copied();
        self.history(tid).map_or_else(known, |history| Names::then(history, time_ns))
    }

    /// What `tid` was called since when, for many times of one task: see `then`. Of the idle task one name is shown.
    pub fn history(&self, tid: i32) -> Option<&[(i64, u32)]> {
        let history = self.by_tid.get(&tid)?;
        Some(if tid == 0 { &history[..history.len().min(1)] } else { history })
    }

    /// The name that a history has at a time.
    #[inline(always)]
    pub fn then(history: &[(i64, u32)], time_ns: i64) -> Option<u32> {
        let after = history.partition_point(|entry| entry.0 <= time_ns);
        history.get(after.saturating_sub(1)).map(|entry| entry.1)
    }
}

/// Names as a pass over a recording finds them.
#[derive(Debug)]
pub struct TaskNames {
    names: Names,
    /// By number of the event.
    switches: Vec<Option<Switch>>,
}

/// Where a sched_switch keeps its two tasks: (pid, comm) offsets.
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
    /// Nothing known yet.
    pub fn of(events: &[Event]) -> TaskNames {
        TaskNames { names: Names::default(), switches: events.iter().map(Switch::of).collect() }
    }

    /// A sample: the scheduler's may name tasks of which nothing else does.
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

    /// A record that is no sample.
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

    /// See `Names::know`.
    pub fn know(&self, tasks: &FxHashMap<i32, i64>, may_be_late: bool) -> bool {
        self.names.know(tasks, may_be_late)
    }

    /// The names, to be asked for.
    pub fn sealed(self) -> Names {
        let mut names = self.names;
        names.seal();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tid` is called at a time.
    fn called(names: &Names, tid: i32, time_ns: i64) -> Option<&str> {
        names.at(tid, time_ns).map(|code| names.strings.get(code))
    }

    // A shell's $(dirname "$(readlink x)"): the child of the shell forks before it is dirname.
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

    // The number 2 was one task's, then another's.
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
