//! How far a pass has come in time, by the rounds in which rings are read. A round may hold events from before the
//! newest event of the previous round, but none from before that of the round before it.

#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    newest: i64,
    /// The newest time at the end of the last round, and of the one before it.
    ends: (i64, i64),
    /// Whether no event came after rounds that had passed it.
    pub in_order: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds { newest: i64::MIN, ends: (i64::MIN, i64::MIN), in_order: true }
    }
}

impl Rounds {
    /// Takes the time of an event.
    #[inline(always)]
    pub fn see(&mut self, time_ns: i64) {
        self.newest = self.newest.max(time_ns);
        self.check(time_ns);
    }

    /// Takes a time that does not show how far a ring was read.
    #[inline(always)]
    pub fn check(&mut self, time_ns: i64) {
        self.in_order &= time_ns >= self.ends.1;
    }

    /// Ends a round.
    pub fn end(&mut self) {
        self.ends = (self.newest, self.ends.0);
    }

    /// No later round holds anything before this.
    pub fn known_ns(&self) -> i64 {
        self.ends.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rounds_later_nothing_is_older() {
        let mut rounds = Rounds::default();
        for round in [[10, 30], [20, 50], [30, 60]] {
            round.into_iter().for_each(|at| rounds.see(at));
            rounds.end();
        }
        assert_eq!((rounds.known_ns(), rounds.in_order), (50, true));
        rounds.see(49);
        assert!(!rounds.in_order);
    }
}
