//! Spans of time by group: how much of a stretch lies in them.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Spans of several groups, sorted within each group. Spans of a group do not overlap.
#[derive(Debug, Default)]
pub struct Spans {
    ranges: FxHashMap<i64, Range<usize>>,
    /// Start, end, and total length of the group's earlier spans.
    spans: Vec<(i64, i64, i64)>,
    /// Original position of each span.
    order: Vec<usize>,
}

impl Spans {
    /// From (group, start, end) in any order.
    pub fn new(given: &[(i64, i64, i64)]) -> Spans {
        let mut order: Vec<usize> = (0..given.len()).collect();
        order.sort_by_key(|&place| (given[place].0, given[place].1));
        let mut found = Spans { ranges: FxHashMap::default(), spans: Vec::with_capacity(given.len()), order };
        for (place, &from) in found.order.iter().enumerate() {
            let (group, start, end) = given[from];
            let range = found.ranges.entry(group).or_insert(place..place);
            let last = found.spans.last().filter(|_| range.end > range.start);
            let before = last.map_or(0, |&(start, end, before)| before + end - start);
            range.end = place + 1;
            found.spans.push((start, end, before));
        }
        found
    }

    /// The places of a group's spans.
    pub fn places(&self, group: i64) -> Range<usize> {
        self.ranges.get(&group).cloned().unwrap_or(0..0)
    }

    /// A group's spans: start, end, and total length of the earlier ones.
    pub fn of(&self, group: i64) -> &[(i64, i64, i64)] {
        &self.spans[self.places(group)]
    }

    /// Start of the span at a place.
    pub fn start(&self, place: usize) -> i64 {
        self.spans[place].0
    }

    /// Original position of the span at a place.
    pub fn given(&self, place: usize) -> usize {
        self.order[place]
    }

    /// The place of a group's last span that had begun by a time.
    pub fn last_begun(&self, group: i64, time: i64) -> Option<usize> {
        let places = self.places(group);
        let begun = self.spans[places.clone()].partition_point(|span| span.0 <= time);
        (begun > 0).then(|| places.start + begun - 1)
    }

    fn until(&self, group: i64, time: i64) -> i64 {
        let Some(place) = self.last_begun(group, time) else { return 0 };
        let (start, end, before) = self.spans[place];
        before + (time - start).min(end - start)
    }

    /// How much of a stretch lies in a group's spans.
    pub fn within(&self, group: i64, start: i64, end: i64) -> i64 {
        self.until(group, end) - self.until(group, start)
    }
}
