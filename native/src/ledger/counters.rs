//! What went wrong, counted.

/// Of one CPU, or of all.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Events whose flags or task contradict what came before.
    pub disagreements: u64,
    /// Of these, events of a task that no switch had brought; and the switches that were recorded.
    pub switches_missing: u64,
    /// See `switches_missing`.
    pub switches: u64,
    /// Exits whose entry was not seen.
    pub orphan_exits: u64,
    /// Records that perf had written twice.
    pub repeats: u64,
    /// Timestamps earlier than the ring's previous one.
    pub backwards: u64,
    /// Polls outside softirqs and NAPI threads.
    pub polls_without_begin: u64,
    /// Samples of the ledger's events that are cut short or name no possible CPU or vector.
    pub unreadable: u64,
    /// Places where records were lost and the kernel did not say how many.
    pub lost_unknown: u64,
}

impl Counters {
    /// Adds what another CPU counted.
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
    }
}
