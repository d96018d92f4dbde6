//! NAPI threads that were preempted in mid-poll and came back to the same CPU. Their poll either went on here alone, or
//! ended on another CPU in the meantime.
//!
//! ```text
//!   CPU 0   | napi/eth0: a poll |   other tasks   | napi/eth0: ... poll
//!   CPU 1             | napi/eth0: poll |               it ended here: the one on CPU 0 is new
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ledger::point::{Absence, Part};

/// What the CPUs reported about NAPI threads.
#[derive(Debug, Default)]
pub struct Moved {
    /// When and where each thread began to run, as far as this is not settled yet.
    slices: FxHashMap<i32, Vec<(i64, u32)>>,
    /// By CPU: threads that are away from it, or came back at a time that is not settled yet.
    away: FxHashMap<u32, FxHashMap<Absence, Option<i64>>>,
    /// CPUs and numbers of absences in which the thread ran elsewhere.
    pub found: FxHashSet<(u32, usize)>,
}

impl Moved {
    /// Takes a CPU's report.
    pub fn take(&mut self, part: &mut Part) {
        for (time_ns, tid) in part.napi_slices.drain(..) {
            self.slices.entry(tid).or_default().push((time_ns, part.cpu));
        }
        if part.away.is_empty() && part.back.is_empty() && !self.away.contains_key(&part.cpu) {
            return;
        }
        let away = self.away.entry(part.cpu).or_default();
        // Threads that are still away are reported again each time. The poll of any other is over.
        away.retain(|_, in_ns| in_ns.is_some());
        away.extend(part.away.drain(..).map(|absence| (absence, None)));
        away.extend(part.back.drain(..).map(|(absence, in_ns)| (absence, Some(in_ns))));
    }

    /// Whether it is settled for every thread that came back whether it ran elsewhere.
    pub fn is_settled(&self) -> bool {
        !self.away.values().flat_map(FxHashMap::values).any(Option::is_some)
    }

    /// Settles everything before `known`, up to which all CPUs have reported.
    pub fn settle(&mut self, known: i64) {
        let Moved { slices, away, found } = self;
        slices.values_mut().for_each(|slices| slices.sort_unstable());
        away.retain(|&cpu, away| {
            away.retain(|absence, in_ns| {
                let until = in_ns.unwrap_or(known).min(known);
                let slices = slices.get(&absence.tid).map_or(&[][..], Vec::as_slice);
                let begin = slices.partition_point(|slice| slice.0 < absence.out_ns);
                let mut meanwhile = slices[begin..].iter().take_while(|slice| slice.0 <= until);
                if meanwhile.any(|slice| slice.1 != cpu) {
                    found.insert((cpu, absence.number));
                    return false;
                }
                in_ns.is_none_or(|in_ns| in_ns > known)
            });
            !away.is_empty()
        });
        slices.retain(|_, slices| {
            slices.retain(|slice| slice.0 > known);
            !slices.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENCE: Absence = Absence { tid: 7, out_ns: 200, number: 0 };

    /// Whether a poll that waited on CPU 0 from 200 to 900 ended on CPU 1, where its thread began to run at `began_ns`.
    fn ended_elsewhere(began_ns: i64) -> bool {
        let mut moved = Moved::default();
        moved.take(&mut Part { napi_slices: vec![(100, 7)], away: vec![ABSENCE], ..Part::default() });
        moved.take(&mut Part { cpu: 1, napi_slices: vec![(began_ns, 7), (began_ns, 8)], ..Part::default() });
        moved.settle(500);
        moved.take(&mut Part { napi_slices: vec![(900, 7)], back: vec![(ABSENCE, 900)], ..Part::default() });
        moved.settle(i64::MAX);
        moved.found.contains(&(0, 0))
    }

    #[test]
    fn a_poll_ends_where_its_thread_runs_next() {
        assert!(ended_elsewhere(300) && ended_elsewhere(700) && ended_elsewhere(900));
        assert!(!ended_elsewhere(150) && !ended_elsewhere(901));
    }

    // The thread never comes back, so only its absence is kept.
    #[test]
    fn what_is_settled_is_forgotten() {
        let mut moved = Moved::default();
        for at in 1..100 {
            moved.take(&mut Part { napi_slices: vec![(at, 7), (at, 8)], away: vec![ABSENCE], ..Part::default() });
            moved.settle(at);
            assert!(moved.slices.is_empty() && moved.away[&0].len() == 1);
        }
        moved.take(&mut Part::default());
        moved.settle(100);
        assert!(moved.away.is_empty());
    }
}
