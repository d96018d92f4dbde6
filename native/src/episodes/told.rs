//! What is reported of episodes: their number, and the longest.

use crate::episodes::open::Span;
use crate::episodes::rows::Owner;
use crate::first::First;

/// An episode that is over.
pub struct Episode {
    pub span: Span,
    /// Who took time in it, in order of first appearance, and how many ns.
    pub parts: Vec<(Owner, i64)>,
    /// Polls that ended in it.
    pub polls: i64,
    /// Packets of these polls, if all are known.
    pub packets: Option<i64>,
}

impl Episode {
    pub fn ns(&self) -> i64 {
        self.span.end_ns - self.span.start_ns
    }
}

/// Over all CPUs.
pub struct Told {
    pub count: i64,
    longest: First<Episode>,
}

impl Told {
    pub fn new(most: usize) -> Told {
        Told { count: 0, longest: First::new(most) }
    }

    /// Adds the next episode of a CPU. `episode` builds it if it may be one of the longest.
    pub fn add(&mut self, cpu: i64, span: &Span, episode: impl FnOnce() -> Episode) {
        self.count += 1;
        let key = span.start_ns - span.end_ns;
        if self.longest.takes(key) {
            self.longest.add(key, cpu, episode());
        }
    }

    /// Takes episodes with their CPUs, the longest first; equal ones by CPU and time.
    pub fn longest(&mut self) -> Vec<(i64, Episode)> {
        let mut rows: Vec<(i64, Episode)> = self.longest.rows().into_iter().map(|row| (row.1, row.2)).collect();
        rows.sort_by_key(|row| -row.1.ns());
        rows
    }
}
