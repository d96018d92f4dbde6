//! What is told of episodes: how many there are, and the longest of them.

use crate::episodes::open::Span;
use crate::episodes::rows::Owner;
use crate::first::First;

/// One that is over.
pub struct Episode {
    pub span: Span,
    /// Who took time in it, in the order of the first of each, and ns.
    pub parts: Vec<(Owner, i64)>,
    /// That ended in it.
    pub polls: i64,
    /// Of them, where all are known.
    pub packets: Option<i64>,
}

impl Episode {
    pub fn ns(&self) -> i64 {
        self.span.end_ns - self.span.start_ns
    }
}

/// Of all CPUs.
pub struct Told {
    pub count: i64,
    longest: First<Episode>,
}

impl Told {
    /// None yet.
    pub fn new(most: usize) -> Told {
        Told { count: 0, longest: First::new(most) }
    }

    /// The next one of a CPU; `episode` makes it, where it may be one of the longest.
    pub fn add(&mut self, cpu: i64, span: &Span, episode: impl FnOnce() -> Episode) {
        self.count += 1;
        let key = span.start_ns - span.end_ns;
        if self.longest.takes(key) {
            self.longest.add(key, cpu, episode());
        }
    }

    /// With their CPUs, the longest first; of equals by CPU and time.
    pub fn longest(&mut self) -> Vec<(i64, &Episode)> {
        let mut rows: Vec<(i64, &Episode)> = self.longest.rows().iter().map(|row| (row.1, &row.2)).collect();
        rows.sort_by_key(|row| -row.1.ns());
        rows
    }
}
