//! Names of tasks over time, from COMM and FORK records and from the scheduler's own events.

use rustc_hash::FxHashMap;

use crate::intern::Interner;

/// Who was called what, when. Names arrive in any order and are asked for at the end.
#[derive(Debug, Default)]
pub struct Names {
    /// The names themselves.
    pub strings: Interner,
    by_tid: FxHashMap<i32, Vec<(i64, u32)>>,
    forks: Vec<(i64, i32, i32)>,
}

impl Names {
    /// `tid` was called `comm` from `time_ns` on.
    pub fn named(&mut self, tid: i32, time_ns: i64, comm: &[u8]) {
        let code = self.strings.code(comm);
        self.by_tid.entry(tid).or_default().push((time_ns, code));
    }

    /// `tid` began as a copy of `parent`.
    pub fn forked(&mut self, tid: i32, parent: i32, time_ns: i64) {
        self.forks.push((time_ns, tid, parent));
    }

    /// Whether nothing is known of `tid` yet.
    pub fn is_new(&self, tid: i32) -> bool {
        !self.by_tid.contains_key(&tid)
    }

    /// Puts everything in order; call before `at`.
    pub fn seal(&mut self) {
        self.named(0, i64::MIN, b"swapper");
        for history in self.by_tid.values_mut() {
            history.sort_by_key(|entry| entry.0);
        }
        self.forks.sort_unstable();
        for (time_ns, tid, parent) in std::mem::take(&mut self.forks) {
            if let Some(code) = self.at(parent, time_ns) {
                let history = self.by_tid.entry(tid).or_default();
                let position = history.partition_point(|entry| entry.0 < time_ns);
                history.insert(position, (time_ns, code));
            }
        }
    }

    /// The name of `tid` at a time; its first one for times before any.
    pub fn at(&self, tid: i32, time_ns: i64) -> Option<u32> {
        if tid == 0 {
            return self.by_tid.get(&0).and_then(|history| history.first()).map(|entry| entry.1);
        }
        let history = self.by_tid.get(&tid)?;
        let after = history.partition_point(|entry| entry.0 <= time_ns);
        history.get(after.saturating_sub(1)).map(|entry| entry.1)
    }
}
