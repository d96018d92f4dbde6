//! NAPI threads that were preempted in the middle of a poll and came back to the same CPU: whether that poll went on
//! only here, or ended on another CPU meanwhile.
//!
//! ```text
//!   CPU 0   | napi/eth0: a poll |   other tasks   | napi/eth0: ... poll
//!   CPU 1             | napi/eth0: poll |               it ended here: the one on CPU 0 is new
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ledger::point::{Part, Resumed};

/// What the CPUs told of NAPI threads.
#[derive(Debug, Default)]
pub struct Moved {
    /// When a thread began to run, and where.
    stays: FxHashMap<i32, Vec<(i64, u32)>>,
    /// Not known yet, with their CPU.
    open: Vec<(u32, Resumed)>,
    /// Since when the oldest poll waits that may be resumed, by CPU.
    waiting: FxHashMap<u32, i64>,
    /// CPU and number of those that ended elsewhere.
    pub found: FxHashSet<(u32, usize)>,
}

impl Moved {
    /// Takes what a CPU tells.
    pub fn take(&mut self, part: &mut Part) {
        for (time_ns, tid) in part.napi_stays.drain(..) {
            self.stays.entry(tid).or_default().push((time_ns, part.cpu));
        }
        self.open.extend(part.resumed.drain(..).map(|resumed| (part.cpu, resumed)));
        self.waiting.insert(part.cpu, part.preempted_since);
    }

    /// Settles everything before `known`: what happened until then is known of all CPUs.
    pub fn settle(&mut self, known: i64) {
        let Moved { stays, open, found, .. } = self;
        open.retain(|&(cpu, resumed)| {
            if resumed.until_ns > known {
                return true;
            }
            let during = |stay: &(i64, u32)| stay.1 != cpu && (resumed.since_ns..=resumed.until_ns).contains(&stay.0);
            if stays.get(&resumed.tid).is_some_and(|stays| stays.iter().any(during)) {
                found.insert((cpu, resumed.number));
            }
            false
        });
        let oldest = open.iter().map(|(_, resumed)| resumed.since_ns).chain(self.waiting.values().copied()).min();
        let oldest = oldest.unwrap_or(known).min(known);
        stays.values_mut().for_each(|stays| stays.retain(|stay| stay.0 >= oldest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cpu: u32, napi_stays: &[(i64, i32)], resumed: &[Resumed], preempted_since: i64) -> Part {
        Part { cpu, napi_stays: napi_stays.to_vec(), resumed: resumed.to_vec(), preempted_since, ..Part::default() }
    }

    const RESUMED: Resumed = Resumed { tid: 7, since_ns: 200, until_ns: 900, number: 0 };

    /// Whether a poll that waited on CPU 0 from 200 to 900 ended on CPU 1, where its thread began to run at a time.
    fn ended_elsewhere(began_ns: i64) -> bool {
        let mut moved = Moved::default();
        moved.take(&mut part(0, &[(100, 7)], &[], 200));
        moved.take(&mut part(1, &[(began_ns, 7), (began_ns, 8)], &[], i64::MAX));
        moved.settle(500);
        moved.take(&mut part(0, &[(900, 7)], &[RESUMED], i64::MAX));
        moved.take(&mut part(1, &[], &[], i64::MAX));
        moved.settle(i64::MAX);
        moved.found.contains(&(0, 0))
    }

    #[test]
    fn a_poll_ends_where_its_thread_runs_next() {
        assert!(ended_elsewhere(300) && ended_elsewhere(900));
        assert!(!ended_elsewhere(150) && !ended_elsewhere(901));
    }

    #[test]
    fn what_no_poll_waits_for_is_forgotten() {
        let mut moved = Moved::default();
        moved.take(&mut part(0, &[(100, 7), (600, 7)], &[], i64::MAX));
        moved.settle(500);
        assert_eq!(moved.stays[&7], [(600, 0)]);
    }
}
