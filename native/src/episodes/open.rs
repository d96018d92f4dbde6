//! An episode, from its first segment on.

use crate::episodes::rows::{Kind, Owner, Segment};
use crate::intern::NONE;

/// The victim's part of an episode.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: Option<i64>,
    /// The first known name.
    pub comm: u32,
    /// The task's own time just before it.
    pub before_ns: i64,
    /// It may have been longer.
    pub is_cut: bool,
}

/// An episode that may go on: its last segment, and its sums.
#[derive(Default)]
pub struct Open {
    last: Option<Segment>,
    span: Option<Span>,
    /// Who took time in it, in order of first appearance, and how many ns.
    pub parts: Vec<(Owner, i64)>,
}

impl Open {
    /// Its last segment; `None` if there is no episode.
    pub fn last(&self) -> Option<&Segment> {
        self.last.as_ref()
    }

    /// Start of the victim's part.
    pub fn since_ns(&self) -> Option<i64> {
        self.span.map(|span| span.start_ns)
    }

    /// Adds a segment. `before`: the one before the first. `is_own`: it is the victim's.
    pub fn add(&mut self, row: &Segment, before: Option<&Segment>, is_own: bool) {
        let last = self.last.replace(*row);
        if !is_own {
            return;
        }
        let before = last.as_ref().or(before);
        let span = self.span.get_or_insert_with(|| Span {
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            tid: row.tid,
            comm: row.comm,
            before_ns: before.filter(|before| before.kind == Kind::Own && row.follows(before)).map_or(0, Segment::ns),
            is_cut: false,
        });
        span.end_ns = row.end_ns;
        span.is_cut |= is_edge(before, Some(row));
        if span.comm == NONE {
            span.comm = row.comm;
        }
        if row.is_taken() {
            match self.parts.iter_mut().find(|part| part.0 == row.owner) {
                Some(part) => part.1 += row.ns(),
                None => self.parts.push((row.owner, row.ns())),
            }
        }
    }

    /// Ends the episode before the segment `after`. `is_own`: its last segment is the victim's.
    pub fn close(&mut self, after: Option<&Segment>, is_own: bool) -> Option<Span> {
        let last = self.last.take();
        let mut span = self.span.take()?;
        span.is_cut |= is_own && is_edge(last.as_ref(), after);
        Some(span)
    }
}

/// Whether this is a border with unknown time, or with the beginning or end of a CPU's segments.
fn is_edge(before: Option<&Segment>, after: Option<&Segment>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    before.end_ns != after.start_ns || before.kind == Kind::Unknown || after.kind == Kind::Unknown
}
