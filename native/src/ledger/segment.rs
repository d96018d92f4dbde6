//! A CPU's finished segments, on their way into sums and the segments table.
//!
//! A poll or an RPS dispatch is only known when it ends, so the last segments stay changeable:
//!
//! ```text
//!   NET_RX entered      napi_poll            softirq exit
//!        |  softirq  irq  softirq |  softirq  |
//!        |    ->poll      ->poll  |           |        relabelled when napi_poll says so
//! ```

use std::num::NonZeroU64;

use rustc_hash::FxHashMap;

use crate::chunks::Chunks;
use crate::ledger::settings::Settings;
use crate::ledger::task::NOBODY;
use crate::ledger::thief::{place, Class, IDLE, TASK, THIEF_BITS, UNKNOWN};
use crate::narrow::{low_half, Narrow};

/// An exclusive stretch of one CPU's time.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub start: i64,
    pub end: i64,
    pub victim: u32,
    pub thief: u32,
    pub class: Class,
    pub depth: u8,
}

impl Segment {
    /// A segment without an owner.
    pub fn unknown(start: i64, end: i64) -> Segment {
        Segment { start, end, victim: NOBODY, thief: UNKNOWN, class: Class::None, depth: 0 }
    }
}

/// Time and number of segments of one owner in one bin.
#[derive(Debug, Clone, Copy)]
pub struct SumRow {
    pub cpu: u32,
    pub bin_ns: i64,
    pub victim: u32,
    pub thief: u32,
    pub class: Class,
    pub ns: i64,
    pub segments: i64,
}

/// Sums of one CPU, by victim, thief and class, and by bin of time if [`flush`](Sums::flush) ends bins.
#[derive(Debug)]
pub struct Sums {
    /// By victim and `packed` owner as the halves of one number, so that one comparison finds a cell.
    cells: FxHashMap<u64, (i64, i64)>,
    /// Recently used owners, at the place of their hash. A CPU's time alternates between a few.
    recent: Box<[(u64, i64, i64); RECENT]>,
    /// Rows of the finished bins.
    pub rows: Vec<SumRow>,
}

/// Victim, thief, class.
type Key = (u32, u32, Class);

const RECENT: usize = 1 << RECENT_BITS;
const RECENT_BITS: u32 = 6;

/// Thief in `THIEF_BITS`, class in 3, depth in 5.
#[inline(always)]
fn packed(thief: u32, class: Class, depth: u8) -> u32 {
    thief | (class as u32) << THIEF_BITS | u32::from(depth) << 27
}

#[inline(always)]
fn unpacked(owner: u32) -> (u32, Class) {
    (owner & ((1 << THIEF_BITS) - 1), Class::ALL[(owner >> THIEF_BITS & 7) as usize % Class::ALL.len()])
}

impl Default for Sums {
    fn default() -> Self {
        Sums { cells: FxHashMap::default(), recent: Box::new([(0, 0, 0); RECENT]), rows: Vec::new() }
    }
}

impl Sums {
    /// Adds part of a segment's time. `segments` is 0 if it continues another segment.
    #[inline(always)]
    pub fn add(&mut self, segment: &Segment, ns: i64, segments: i64) {
        let key = u64::from(segment.victim) << 32 | u64::from(packed(segment.thief, segment.class, 0));
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT_BITS)) as usize;
        if self.recent[place].0 != key {
            self.replace(place, key);
        }
        let cell = &mut self.recent[place];
        (cell.1, cell.2) = (cell.1 + ns, cell.2 + segments);
    }

    #[inline(never)]
    fn replace(&mut self, place: usize, key: u64) {
        let (key, ns, segments) = std::mem::replace(&mut self.recent[place], (key, 0, 0));
        add_to(&mut self.cells, key, ns, segments);
    }

    /// Ends the bin that began at `bin_ns`.
    pub fn flush(&mut self, cpu: u32, bin_ns: i64) {
        for (key, ns, segments) in self.recent.iter_mut() {
            add_to(&mut self.cells, *key, std::mem::take(ns), std::mem::take(segments));
        }
        let row = |(key, (ns, segments))| {
            let (victim, (thief, class)) = (low_half(key >> 32), unpacked(low_half(key)));
            SumRow { cpu, bin_ns, victim, thief, class, ns, segments }
        };
        let mut rows: Vec<SumRow> = self.cells.drain().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.victim, place(row.thief), row.thief, row.class as u8));
        self.rows.append(&mut rows);
    }

    /// Gives segments to other thieves, after the only bin has ended.
    fn give(&mut self, cpu: u32, given: &[(Segment, u32)]) {
        let mut cells: FxHashMap<Key, (i64, i64)> = FxHashMap::default();
        let mut add = |key: Key, ns: i64, segments: i64| {
            let cell = cells.entry(key).or_default();
            (cell.0, cell.1) = (cell.0 + ns, cell.1 + segments);
        };
        let rows = std::mem::take(&mut self.rows);
        rows.iter().for_each(|row| add((row.victim, row.thief, row.class), row.ns, row.segments));
        for (segment, thief) in given {
            for (thief, sign) in [(segment.thief, -1), (*thief, 1)] {
                add((segment.victim, thief, segment.class), sign * (segment.end - segment.start), sign);
            }
        }
        let row =
            |((victim, thief, class), (ns, segments))| SumRow { cpu, bin_ns: 0, victim, thief, class, ns, segments };
        self.rows = cells.into_iter().filter(|(_, cell)| *cell != (0, 0)).map(row).collect();
        self.rows.sort_unstable_by_key(|row| (row.victim, place(row.thief), row.thief, row.class as u8));
    }
}

fn add_to(cells: &mut FxHashMap<u64, (i64, i64)>, key: u64, ns: i64, segments: i64) {
    if ns != 0 || segments != 0 {
        let cell = cells.entry(key).or_default();
        (cell.0, cell.1) = (cell.0 + ns, cell.1 + segments);
    }
}

/// The last segments of a CPU, which can still change.
#[derive(Debug, Default)]
pub struct Tail {
    base: u64,
    segments: Vec<Segment>,
    /// Segments that get another thief when they leave.
    returned: FxHashMap<u64, u32>,
}

/// Segments to keep changeable, at least.
const KEEP: usize = 64;
/// Beyond this length even a pending softirq loses its relabelling. This bounds memory.
const MAX: usize = 1 << 16;

impl Tail {
    /// The index of the segment that is appended next, valid until it is drained.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.base + self.segments.len() as u64
    }

    /// Appends a segment and returns its index.
    #[inline(always)]
    pub fn push(&mut self, segment: Segment) -> u64 {
        self.segments.push(segment);
        self.next() - 1
    }

    /// The segment of an index, if it is still here.
    pub fn get(&self, index: u64) -> Option<&Segment> {
        self.segments.get(index.checked_sub(self.base)?.narrow::<usize>())
    }

    /// Gives segments of thief `from` to `to`. Segments that have become unknown stay so.
    #[inline(always)]
    pub fn give(&mut self, indices: &[u64], from: u32, to: u32) {
        for &index in indices.iter().filter(|_| from != to) {
            let place = index.checked_sub(self.base).map(|place| place.narrow::<usize>());
            if let Some(segment) = place.and_then(|place| self.segments.get_mut(place)) {
                if segment.thief == from {
                    segment.thief = to;
                }
            }
        }
    }

    /// Start of the oldest segment here.
    pub fn first_start(&self) -> Option<i64> {
        self.segments.first().map(|segment| segment.start)
    }

    /// Gives a segment to a thief when it leaves. Until then it stays what it is.
    pub fn give_at_last(&mut self, index: u64, thief: u32) {
        self.returned.insert(index, thief);
    }

    pub fn newest_first(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.segments.iter_mut().rev()
    }

    /// Start of the oldest segment of a class here.
    pub fn first_of(&self, class: Class) -> Option<i64> {
        self.segments.iter().find(|segment| segment.class == class).map(|segment| segment.start)
    }

    /// Whether there are enough segments to be worth draining.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.segments.len() >= 1024
    }

    /// Removes the segments before `pending` and shows them in order: all but the newest few, and also those that ended
    /// by `settled_ns`.
    pub fn drain(&mut self, pending: Option<u64>, settled_ns: i64, all: bool, mut show: impl FnMut(&Segment)) {
        let length = self.segments.len();
        let settled = self.segments.partition_point(|segment| segment.end <= settled_ns);
        let mut count = if all { length } else { length.saturating_sub(KEEP).max(settled) };
        if let Some(pending) = pending.filter(|_| !all && length < MAX) {
            count = count.min(pending.saturating_sub(self.base).narrow());
        }
        if !self.returned.is_empty() {
            for (index, segment) in (self.base..).zip(&mut self.segments[..count]) {
                segment.thief = self.returned.remove(&index).unwrap_or(segment.thief);
            }
        }
        for segment in &self.segments[..count] {
            show(segment);
        }
        self.segments.drain(..count);
        self.base += count as u64;
    }
}

/// A finished segment in half the space: it ends where the next one starts.
#[derive(Debug, Clone, Copy)]
pub struct Packed {
    pub start: i64,
    pub victim: u32,
    /// See `packed`.
    owner: u32,
}

const DEEPEST: u8 = 31;

impl Packed {
    fn new(segment: &Segment) -> Packed {
        let owner = packed(segment.thief, segment.class, segment.depth.min(DEEPEST));
        Packed { start: segment.start, victim: segment.victim, owner }
    }

    /// Unpacks the segment, given its end.
    pub fn segment(&self, end: i64) -> Segment {
        let (thief, class) = unpacked(self.owner);
        Segment { start: self.start, end, victim: self.victim, thief, class, depth: self.depth() }
    }

    pub fn thief(&self) -> u32 {
        unpacked(self.owner).0
    }

    pub fn class(&self) -> Class {
        unpacked(self.owner).1
    }

    pub fn depth(&self) -> u8 {
        (self.owner >> 27) as u8
    }
}

/// Finished segments of one CPU, clipped to the window, without gaps.
#[derive(Debug, Default)]
pub struct Finished {
    pub table: Chunks<Packed>,
    /// End of the last one.
    pub end: i64,
    /// Victim and thief of the first and the last segment, if these are plain task time.
    first: PlainOwner,
    last: PlainOwner,
    any: bool,
    pub sums: Sums,
}

impl Finished {
    /// Rows of the table, and the end of the last one.
    pub fn of(table: Chunks<Packed>, end: i64) -> Finished {
        Finished { table, end, ..Finished::default() }
    }

    /// Shows each row of the table with its end.
    pub fn each(&self, mut show: impl FnMut(&Packed, i64)) {
        let mut rows = self.table.slices().flatten().peekable();
        while let Some(row) = rows.next() {
            show(row, rows.peek().map_or(self.end, |next| next.start));
        }
    }

    /// Takes a segment. Adjacent segments of one plain owner, cut only in case of doubt, are joined.
    #[inline(always)]
    pub fn take(&mut self, segment: &Segment, keep: bool) {
        let owner = plain_owner(segment);
        let continues = owner.is_some() && owner == self.last;
        if !std::mem::replace(&mut self.any, true) {
            self.first = owner;
        }
        (self.last, self.end) = (owner, segment.end);
        self.sums.add(segment, segment.end - segment.start, i64::from(!continues));
        if keep && !continues {
            self.table.push(Packed::new(segment));
        }
    }

    /// Takes the rows whose ends are known, and the end of the last one. Takes all rows when the recording is over.
    pub fn leave(&mut self, is_over: bool) -> (Vec<Packed>, i64) {
        let last = self.table.last_mut().map(|last| last.start).filter(|_| !is_over);
        // Segments have a length, so no other begins where the last one does.
        let left = self.table.take_while(|row| Some(row.start) != last);
        (left, last.unwrap_or(self.end))
    }

    /// Gives finished segments to other thieves.
    pub fn give(&mut self, cpu: u32, given: &[(Segment, u32)], settings: &Settings) {
        let inside = |(segment, thief): &(Segment, u32)| {
            let (start, end) = (segment.start.max(settings.window.0), segment.end.min(settings.window.1));
            (start < end).then_some((Segment { start, end, ..*segment }, *thief))
        };
        let given: Vec<(Segment, u32)> = given.iter().filter_map(inside).collect();
        for (segment, thief) in &given {
            if let Some(row) = self.table.find_mut(&segment.start, |row| row.start) {
                *row = Packed::new(&Segment { thief: *thief, ..*segment });
            }
        }
        self.sums.give(cpu, &given);
    }

    /// Puts the head before the first segment, or joins them if both have the same owner.
    pub fn take_head(&mut self, head: &Segment, keep: bool) {
        let continues = self.any && plain_owner(head).is_some() && plain_owner(head) == self.first;
        self.sums.add(head, head.end - head.start, i64::from(!continues));
        if !self.any {
            self.end = head.end;
        }
        if keep {
            match self.table.first_mut() {
                Some(first) if continues => first.start = head.start,
                _ => self.table.push_front(Packed::new(head)),
            }
        }
    }
}

/// Victim and thief in one number, which is never 0.
type PlainOwner = Option<NonZeroU64>;

#[inline(always)]
fn plain_owner(segment: &Segment) -> PlainOwner {
    let plain = segment.depth == 0 && matches!(segment.thief, TASK | IDLE | UNKNOWN);
    let owner = u64::from(segment.victim) << 32 | u64::from(segment.thief + 1);
    NonZeroU64::new(if plain { owner } else { 0 })
}

#[cfg(test)]
mod tests;
