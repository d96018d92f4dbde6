//! A tile's bytes. See docs/view.md for the layout.

use crate::error::{bad, Result};
use crate::narrow::Narrow;
use crate::tiles::grid::{max_level, BUCKETS, PLACES};
use crate::tiles::kept::{self, Kept};
use crate::tiles::owners::Owners;
use crate::tiles::rows::Segment;
use crate::tiles::summed::{Entry, Level, Summed};

/// If a CPU has more segments than this in a tile, the tile has shares instead.
pub const MOST_SEGMENTS: usize = 4096;

/// "NLT1".
const MAGIC: u32 = 0x3154_4c4e;

/// How a tile describes a CPU.
enum Form {
    Shares(Vec<Entry>),
    Segments(Vec<Segment>),
}

/// A tile's start, end and buckets.
#[derive(Clone, Copy)]
struct Place {
    level: u32,
    begin: u64,
    end: u64,
}

impl Place {
    /// The bucket of a time.
    #[inline(always)]
    fn bucket(&self, time: u64) -> u64 {
        (time - self.begin) >> self.level
    }

    /// Splits a segment by bucket.
    fn split(&self, row: &Segment, mut show: impl FnMut(u64, u64)) {
        let (mut from, end) = (row.start.max(self.begin), row.end.min(self.end));
        while from < end {
            let bucket = self.bucket(from);
            let to = end.min(self.begin + ((bucket + 1) << self.level));
            show(bucket, to - from);
            from = to;
        }
    }
}

/// Builds a tile: from `summed` if its level has sums, from `kept` if a CPU has few segments in it or the level is
/// finer. Fails if neither covers it. `summed` spans the whole timeline.
pub fn tile(owners: &Owners, summed: &Summed, kept: Option<&Kept>, level: u32, index: u64) -> Result<Vec<u8>> {
    let duration = summed.duration();
    if level > max_level(duration) {
        return Err(bad!(Refused, "there is no level {level}: the last is {}", max_level(duration)));
    }
    let begin = index.checked_mul(BUCKETS << level).unwrap_or(duration).min(duration);
    let place = Place { level, begin, end: (begin + (BUCKETS << level)).min(duration) };
    let covers = |kept: &&Kept| kept.span().0 <= place.begin && place.end <= kept.span().1;
    let kept = kept.filter(covers);
    let mut forms = Vec::new();
    let mut arrays = Vec::new();
    for cpu in 0..summed.cpus().len() {
        let sums = summed.level(cpu, level);
        let lane = kept.map(|kept| kept.lane(cpu));
        let form = form(lane, sums, place).ok_or_else(|| {
            bad!(Refused, "level {level} is finer than what was summed, and its segments are not here")
        })?;
        let mut stolen = [0u64; PLACES];
        match &form {
            Form::Shares(entries) => {
                for entry in entries.iter().filter(|entry| owners.is_stolen(entry.owner)) {
                    stolen[entry.bucket as usize] += entry.ns;
                }
                forms.push((0, entries.len()));
                put(&mut arrays, entries.iter().map(|entry| (entry.ns as f64).to_le_bytes()));
                put(&mut arrays, entries.iter().map(|entry| entry.owner.to_le_bytes()));
                put(&mut arrays, entries.iter().map(|entry| entry.bucket.narrow::<u16>().to_le_bytes()));
            }
            Form::Segments(rows) => {
                for row in rows.iter().filter(|row| owners.is_stolen(row.owner)) {
                    place.split(row, |bucket, ns| stolen[bucket.narrow::<usize>()] += ns);
                }
                forms.push((1, rows.len()));
                put(&mut arrays, rows.iter().map(|row| (row.start.max(place.begin) as f64).to_le_bytes()));
                put(&mut arrays, rows.iter().map(|row| (row.end.min(place.end) as f64).to_le_bytes()));
                put(&mut arrays, rows.iter().map(|row| row.owner.to_le_bytes()));
                put(&mut arrays, rows.iter().map(|row| row.task.to_le_bytes()));
            }
        }
        put(&mut arrays, packets(lane, sums, place).iter().map(|count| count.to_le_bytes()));
        put(&mut arrays, stolen.iter().map(|&ns| (ns as f64).to_le_bytes()));
    }
    let mut bytes = Vec::with_capacity(8 * (forms.len() + 2) + arrays.len());
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&forms.len().narrow::<u32>().to_le_bytes());
    put(&mut bytes, forms.iter().flat_map(|&(form, count)| [form, count.narrow::<u32>()]).map(u32::to_le_bytes));
    bytes.extend_from_slice(&arrays);
    Ok(bytes)
}

fn form(lane: Option<&kept::Lane>, sums: Option<&Level>, place: Place) -> Option<Form> {
    if place.begin >= place.end {
        return Some(Form::Segments(Vec::new()));
    }
    let rows = lane.map(|lane| (lane, lane.within(place.begin, place.end)));
    if let Some((lane, rows)) = rows.as_ref().filter(|(_, rows)| rows.len() <= MOST_SEGMENTS) {
        return Some(Form::Segments(rows.clone().map(|row| lane.segment(row)).collect()));
    }
    if let Some(sums) = sums {
        let first = place.begin >> place.level;
        let found = sums.within(first, first + BUCKETS).iter();
        let shown = found.map(|entry| Entry { bucket: entry.bucket - first.narrow::<u32>(), ..*entry });
        return Some(Form::Shares(shown.collect()));
    }
    let (lane, rows) = rows?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut open = 0;
    for row in rows {
        let row = lane.segment(row);
        place.split(&row, |bucket, ns| {
            let bucket = bucket.narrow();
            if entries.last().is_some_and(|last| last.bucket != bucket) {
                open = entries.len();
            }
            match entries[open..].iter_mut().find(|entry| entry.owner == row.owner) {
                Some(entry) => entry.ns += ns,
                None => entries.push(Entry { bucket, owner: row.owner, ns }),
            }
        });
    }
    entries.sort_unstable_by_key(|entry| (entry.bucket, entry.owner));
    Some(Form::Shares(entries))
}

fn packets(lane: Option<&kept::Lane>, sums: Option<&Level>, place: Place) -> [u32; PLACES] {
    let mut packets = [0u32; PLACES];
    let mut add = |bucket: usize, count: u64| {
        packets[bucket] = u64::from(packets[bucket]).saturating_add(count).min(u32::MAX.into()).narrow();
    };
    match (sums, lane) {
        (Some(sums), _) => {
            let first = place.begin >> place.level;
            sums.packets(first, first + BUCKETS).iter().enumerate().for_each(|(bucket, &count)| add(bucket, count));
        }
        (None, Some(lane)) => {
            for poll in lane.polls(place.begin, place.end) {
                add(place.bucket(poll.at).narrow(), poll.work.into());
            }
        }
        (None, None) => {}
    }
    packets
}

/// Appends an array, padded to 8 bytes.
fn put<const N: usize>(to: &mut Vec<u8>, values: impl Iterator<Item = [u8; N]>) {
    values.for_each(|value| to.extend_from_slice(&value));
    to.resize(to.len().next_multiple_of(8), 0);
}
