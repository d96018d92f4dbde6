//! Counts of what went wrong.

/// Counts for one CPU, or for all.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Events whose flags or task contradict what came before.
    pub disagreements: u64,
    /// Those of them from a task that no switch had brought.
    pub switches_missing: u64,
    /// Switches that were recorded.
    pub switches: u64,
    /// Exits whose entry was not seen.
    pub orphan_exits: u64,
    /// Records that perf wrote twice.
    pub repeats: u64,
    /// Timestamps earlier than the previous one of their ring.
    pub backwards: u64,
    /// Polls outside softirqs and NAPI threads.
    pub polls_without_begin: u64,
    /// Samples of the ledger's events that are cut short, or name no possible CPU or vector.
    pub unreadable: u64,
    /// Places where records were lost and the kernel did not say how many.
    pub lost_unknown: u64,
    /// Stretches in which a ticking CPU recorded nothing while a task ran.
    pub silences: u64,
    /// Their total time.
    pub silent_ns: i64,
    /// The longest of them, in falling order.
    pub longest: [Silence; 3],
}

/// A stretch in which a ticking CPU recorded nothing while a task ran.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Silence {
    pub ns: i64,
    pub start_ns: i64,
    pub cpu: u32,
}

impl Counters {
    /// Adds another CPU's counts.
    pub fn add(&mut self, other: &Counters) {
        self.disagreements += other.disagreements;
        self.switches_missing += other.switches_missing;
        self.switches += other.switches;
        self.orphan_exits += other.orphan_exits;
        self.repeats += other.repeats;
        self.backwards += other.backwards;
        self.polls_without_begin += other.polls_without_begin;
        self.unreadable += other.unreadable;
        self.lost_unknown += other.lost_unknown;
        self.silences += other.silences;
        self.silent_ns += other.silent_ns;
        other.longest.iter().for_each(|&silence| self.keep(silence));
    }

    /// Counts one more silence.
    pub fn silence(&mut self, silence: Silence) {
        self.silences += 1;
        self.silent_ns += silence.ns;
        self.keep(silence);
    }

    fn keep(&mut self, silence: Silence) {
        let place = self.longest.partition_point(|longer| *longer >= silence);
        let shorter = &mut self.longest[place..];
        if !shorter.is_empty() {
            shorter.rotate_right(1);
            shorter[0] = silence;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_silences_are_kept() {
        let silence = |ns| Silence { ns, start_ns: 7, cpu: 1 };
        let (mut counters, mut others) = (Counters::default(), Counters::default());
        [30, 50, 20].into_iter().for_each(|ns| counters.silence(silence(ns)));
        [40, 60].into_iter().for_each(|ns| others.silence(silence(ns)));
        counters.add(&others);
        assert_eq!((counters.silences, counters.silent_ns), (5, 200));
        assert_eq!(counters.longest.map(|silence| silence.ns), [60, 50, 40]);
    }
}
