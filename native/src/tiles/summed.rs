//! Shares of owners in buckets of time, at levels. Each level's buckets are twice as wide as those of the one below.
//!
//! ```text
//!   level 14   | a 9000 b 7384 | a 16384         |      entries: bucket, owner, ns
//!   level 15   | a 25384 b 7384                  |      sums of two
//! ```
//! Sums begin at a fine level and move to the next one whenever they exceed the limit. Their memory does not depend on
//! the recording's length or on how much happened in it.

use arrow_array::RecordBatch;

use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::tiles::grid::max_level;
use crate::tiles::owners::Owners;
use crate::tiles::rows::{Part, Segment};

/// An owner's time in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub bucket: u32,
    pub owner: u32,
    pub ns: u64,
}

/// A CPU's entries, packets and segments at one level.
#[derive(Debug, Default)]
pub struct Level {
    /// By bucket, then owner.
    pub entries: Vec<Entry>,
    /// By bucket.
    packets: Vec<u64>,
    /// Segments that begin in each bucket.
    begun: Vec<u32>,
}

/// A CPU's levels, the finest first.
#[derive(Debug, Default)]
struct Lane {
    levels: Vec<Level>,
    /// First entry of the bucket that is still open.
    open: usize,
    /// Length at which the open bucket's entries are merged.
    limit: usize,
    end: u64,
}

/// All CPUs' levels.
#[derive(Debug)]
pub struct Summed {
    part: Part,
    lanes: Vec<Lane>,
    /// The finest level.
    base: u32,
    /// Most entries at the finest level. All levels together may have twice as many.
    most: usize,
}

/// Entries of a bucket before they are merged.
const GATHERED: usize = 4096;

impl Summed {
    /// Starts empty. `most`: entries of the finest level, of 16 bytes each.
    pub fn new(cpus: &[u32], origin_ns: i64, duration: u64, most: usize) -> Summed {
        let top = max_level(duration);
        let buckets = |level: u32| duration.div_ceil(1 << level) * cpus.len() as u64;
        // Every bucket has an entry, and should have room for another.
        let base = (0..top).find(|&level| buckets(level) <= most as u64 / 2).unwrap_or(top);
        let count = duration.div_ceil(1 << base).narrow();
        let lane = |_| Lane {
            levels: vec![Level { entries: Vec::new(), packets: vec![0; count], begun: vec![0; count] }],
            limit: GATHERED,
            ..Lane::default()
        };
        let lanes = cpus.iter().map(lane).collect();
        Summed { part: Part { cpus: cpus.to_vec(), origin_ns, from: 0, to: duration }, lanes, base, most }
    }

    /// Takes a batch of segments.
    pub fn add_segments(&mut self, batch: &RecordBatch, owners: &Owners) -> Result<()> {
        let Summed { part, lanes, base, most } = self;
        let top = max_level(part.to);
        part.segments(batch, owners, |cpu, rows| {
            lanes[cpu].add(rows, *base)?;
            while *base < top && is_beyond(lanes, *most) {
                *base += 1;
                lanes.iter_mut().for_each(Lane::coarsen);
            }
            Ok(())
        })
    }

    /// Takes a batch of polls.
    pub fn add_polls(&mut self, batch: &RecordBatch) -> Result<()> {
        let Summed { part, lanes, base, .. } = self;
        part.polls(batch, |cpu, poll| {
            lanes[cpu].levels[0].packets[(poll.at >> *base).narrow::<usize>()] += u64::from(poll.work);
        })
    }

    /// Builds the levels above the finest. Drops the finest as long as all levels together have too many entries.
    pub fn finish(&mut self) {
        let top = max_level(self.part.to);
        for lane in &mut self.lanes {
            lane.gather();
            for _ in self.base..top {
                let next = lane.levels.last().map(Level::above);
                lane.levels.extend(next);
            }
            lane.levels.iter_mut().for_each(|level| level.entries.shrink_to_fit());
        }
        while self.base < top && self.entries() > 2 * self.most {
            self.base += 1;
            self.lanes.iter_mut().for_each(|lane| drop(lane.levels.remove(0)));
        }
    }

    /// Entries of all levels.
    pub fn entries(&self) -> usize {
        self.lanes.iter().flat_map(|lane| &lane.levels).map(|level| level.entries.len()).sum()
    }

    /// The finest level.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// CPU numbers.
    pub fn cpus(&self) -> &[u32] {
        &self.part.cpus
    }

    /// The timeline's length.
    pub fn duration(&self) -> u64 {
        self.part.to
    }

    /// A level of the CPU at a place, if it exists.
    pub fn level(&self, cpu: usize, level: u32) -> Option<&Level> {
        self.lanes[cpu].levels.get(level.checked_sub(self.base)? as usize)
    }

    /// Number of segments on all CPUs that begin in a stretch, extended to whole buckets of the finest level.
    pub fn begun(&self, begin: u64, end: u64) -> u64 {
        let (first, last) = ((begin >> self.base).narrow::<usize>(), end.div_ceil(1 << self.base).narrow::<usize>());
        let of = |lane: &Lane| {
            let begun = &lane.levels[0].begun;
            begun[first.min(begun.len())..last.min(begun.len())].iter().map(|&count| u64::from(count)).sum::<u64>()
        };
        self.lanes.iter().map(of).sum()
    }

    /// The next of the finest buckets, from that of a time on, in which an owner in `wanted` has time, optionally on
    /// one CPU. Returns its start and end.
    pub fn next(&self, wanted: &[bool], from: u64, cpu: Option<u32>) -> Option<(u64, u64)> {
        let first = u32::try_from(from >> self.base).ok()?;
        let lanes = self.part.cpus.iter().zip(&self.lanes).filter(|one| cpu.is_none_or(|cpu| cpu == *one.0));
        let of = |lane: &Lane| {
            let entries = &lane.levels[0].entries;
            let begin = entries.partition_point(|entry| entry.bucket < first);
            let found = entries[begin..].iter().find(|entry| wanted.get(entry.owner as usize) == Some(&true));
            found.map(|entry| u64::from(entry.bucket) << self.base)
        };
        let begin = lanes.filter_map(|(_, lane)| of(lane)).min()?;
        Some((begin, (begin + (1 << self.base)).min(self.part.to)))
    }
}

/// Whether there are too many entries after merging. Merging first makes this independent of how rows came in.
fn is_beyond(lanes: &mut [Lane], most: usize) -> bool {
    let count = |lanes: &[Lane]| lanes.iter().map(|lane| lane.levels[0].entries.len()).sum::<usize>();
    if count(lanes) <= most {
        return false;
    }
    lanes.iter_mut().for_each(Lane::gather);
    count(lanes) > most
}

impl Lane {
    fn add(&mut self, rows: &[Segment], base: u32) -> Result<()> {
        for row in rows {
            if row.start != self.end || row.end <= row.start {
                return Err(bad!(Refused, "segments do not follow each other: {} ns after {} ns", row.start, self.end));
            }
            self.end = row.end;
            self.split(row, base);
        }
        Ok(())
    }

    #[inline(always)]
    fn split(&mut self, row: &Segment, base: u32) {
        let mut from = row.start;
        self.levels[0].begun[(from >> base).narrow::<usize>()] += 1;
        while from < row.end {
            let bucket = from >> base;
            let to = row.end.min((bucket + 1) << base);
            let entries = &self.levels[0].entries;
            let is_next = entries.last().is_some_and(|last| u64::from(last.bucket) != bucket);
            if is_next || entries.len() > self.open + self.limit {
                self.gather();
            }
            if is_next {
                (self.open, self.limit) = (self.levels[0].entries.len(), GATHERED);
            }
            self.levels[0].entries.push(Entry { bucket: bucket.narrow(), owner: row.owner, ns: to - from });
            from = to;
        }
    }

    /// Merges the open bucket's entries by owner.
    fn gather(&mut self) {
        let entries = &mut self.levels[0].entries;
        entries[self.open..].sort_unstable_by_key(|entry| entry.owner);
        let mut kept = self.open;
        for place in self.open..entries.len() {
            let entry = entries[place];
            if kept > self.open && entries[kept - 1].owner == entry.owner {
                entries[kept - 1].ns += entry.ns;
            } else {
                entries[kept] = entry;
                kept += 1;
            }
        }
        entries.truncate(kept);
        self.limit = GATHERED.max(2 * (kept - self.open));
    }

    /// Makes the next level the finest one.
    fn coarsen(&mut self) {
        self.gather();
        self.levels[0] = self.levels[0].above();
        let entries = &self.levels[0].entries;
        self.open = entries.last().map_or(0, |last| entries.partition_point(|entry| entry.bucket < last.bucket));
        self.limit = GATHERED.max(2 * (entries.len() - self.open));
    }
}

impl Level {
    /// Builds the level above.
    fn above(&self) -> Level {
        let mut entries: Vec<Entry> = Vec::with_capacity(self.entries.len());
        for pair in self.entries.chunk_by(|one, next| one.bucket / 2 == next.bucket / 2) {
            let second = pair.partition_point(|entry| entry.bucket == pair[0].bucket);
            let (mut left, mut right) = pair.split_at(second);
            let bucket = pair[0].bucket / 2;
            // Both are sorted by owner.
            while let (Some(one), Some(other)) = (left.first(), right.first()) {
                let owner = one.owner.min(other.owner);
                let mut ns = 0;
                for side in [&mut left, &mut right] {
                    if side[0].owner == owner {
                        ns += side[0].ns;
                        *side = &side[1..];
                    }
                }
                entries.push(Entry { bucket, owner, ns });
            }
            entries.extend(left.iter().chain(right).map(|entry| Entry { bucket, ..*entry }));
        }
        let packets = self.packets.chunks(2).map(|pair| pair.iter().sum()).collect();
        let begun = self.begun.chunks(2).map(|pair| pair.iter().fold(0, |sum: u32, &one| sum.saturating_add(one)));
        Level { entries, packets, begun: begun.collect() }
    }

    /// The entries of these buckets.
    pub fn within(&self, begin: u64, end: u64) -> &[Entry] {
        let of = |bucket: u64| self.entries.partition_point(|entry| u64::from(entry.bucket) < bucket);
        &self.entries[of(begin)..of(end)]
    }

    /// The packets of these buckets, as far as they exist.
    pub fn packets(&self, begin: u64, end: u64) -> &[u64] {
        let of = |bucket: u64| self.packets.len().min(bucket.narrow());
        &self.packets[of(begin)..of(end)]
    }
}
