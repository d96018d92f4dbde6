//! The segments themselves, in 16 bytes each: one ends where the next begins.

use arrow_array::RecordBatch;

use crate::error::{bad, Result};
use crate::tiles::owners::Owners;
use crate::tiles::rows::{Part, Poll, Segment};

/// The segments of a timeline, or of part of it.
#[derive(Debug)]
pub struct Kept {
    part: Part,
    lanes: Vec<Lane>,
}

/// The segments of a CPU.
#[derive(Debug, Default)]
pub struct Lane {
    starts: Vec<u64>,
    owners: Vec<u32>,
    tasks: Vec<u32>,
    /// End of the last one.
    end: u64,
    polls: Vec<Poll>,
}

/// A segment from a lookup: CPU, start, end, owner, task.
pub type Found = (u32, u64, u64, u32, u32);

impl Kept {
    /// Starts empty. `from`, `to`: the part, in ns from `origin_ns`. `cpus`: in order, each with its expected number of
    /// segments.
    pub fn new(cpus: &[(u32, usize)], origin_ns: i64, from: u64, to: u64) -> Kept {
        let lane = |&(_, rows): &(u32, usize)| Lane {
            starts: Vec::with_capacity(rows),
            owners: Vec::with_capacity(rows),
            tasks: Vec::with_capacity(rows),
            end: from,
            polls: Vec::new(),
        };
        let lanes = cpus.iter().map(lane).collect();
        Kept { part: Part { cpus: cpus.iter().map(|cpu| cpu.0).collect(), origin_ns, from, to }, lanes }
    }

    /// Takes a batch of segments.
    pub fn add_segments(&mut self, batch: &RecordBatch, owners: &Owners) -> Result<()> {
        let Kept { part, lanes } = self;
        part.segments(batch, owners, |cpu, rows| lanes[cpu].add(rows))
    }

    /// Takes a batch of polls.
    pub fn add_polls(&mut self, batch: &RecordBatch) -> Result<()> {
        let Kept { part, lanes } = self;
        part.polls(batch, |cpu, poll| lanes[cpu].polls.push(poll))
    }

    /// Ends adding.
    pub fn finish(&mut self) {
        for lane in &mut self.lanes {
            if !lane.polls.is_sorted_by_key(|poll| poll.at) {
                lane.polls.sort_by_key(|poll| poll.at);
            }
        }
    }

    /// CPU numbers.
    pub fn cpus(&self) -> &[u32] {
        &self.part.cpus
    }

    /// Start and end.
    pub fn span(&self) -> (u64, u64) {
        (self.part.from, self.part.to)
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.starts.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The CPU at a place.
    pub fn lane(&self, cpu: usize) -> &Lane {
        &self.lanes[cpu]
    }

    /// The segment at a time on a CPU.
    pub fn at(&self, cpu: u32, time: u64) -> Option<Found> {
        let lane = &self.lanes[self.part.cpus.binary_search(&cpu).ok()?];
        lane.within(time, time + 1).next().map(|row| lane.found(cpu, row))
    }

    /// The first segment after a time with an owner in `wanted`, optionally of one task or CPU. Of segments that begin
    /// at the same time, that of the lowest CPU.
    pub fn next(&self, wanted: &[bool], task: Option<u32>, after: i64, cpu: Option<u32>) -> Option<Found> {
        let mut found: Option<Found> = None;
        let lanes = self.part.cpus.iter().zip(&self.lanes).filter(|one| cpu.is_none_or(|cpu| cpu == *one.0));
        for (&number, lane) in lanes {
            let first = lane.starts.partition_point(|&start| start as i64 <= after);
            let until = found.map_or(u64::MAX, |found| found.1);
            let is_wanted = |row: &usize| {
                wanted.get(lane.owners[*row] as usize) == Some(&true)
                    && task.is_none_or(|task| task == lane.tasks[*row])
            };
            let rows = first..lane.starts.len();
            let row = rows.take_while(|&row| lane.starts[row] < until).find(is_wanted);
            found = row.map(|row| lane.found(number, row)).or(found);
        }
        found
    }
}

impl Lane {
    fn add(&mut self, rows: &[Segment]) -> Result<()> {
        for row in rows {
            if row.start != self.end || row.end <= row.start {
                return Err(bad!(Refused, "segments do not follow each other: {} ns after {} ns", row.start, self.end));
            }
            self.starts.push(row.start);
            self.owners.push(row.owner);
            self.tasks.push(row.task);
            self.end = row.end;
        }
        Ok(())
    }

    /// Places of the segments that overlap a stretch.
    pub fn within(&self, begin: u64, end: u64) -> std::ops::Range<usize> {
        if begin >= end.min(self.end) {
            return 0..0;
        }
        let last = self.starts.partition_point(|&start| start < end);
        let first = self.starts[..last].partition_point(|&start| start <= begin).saturating_sub(1);
        first..last
    }

    /// The segment at a place.
    #[inline(always)]
    pub fn segment(&self, row: usize) -> Segment {
        let end = self.starts.get(row + 1).copied().unwrap_or(self.end);
        Segment { start: self.starts[row], end, owner: self.owners[row], task: self.tasks[row] }
    }

    fn found(&self, cpu: u32, row: usize) -> Found {
        let Segment { start, end, owner, task } = self.segment(row);
        (cpu, start, end, owner, task)
    }

    /// The polls that ended in a stretch.
    pub fn polls(&self, begin: u64, end: u64) -> &[Poll] {
        let of = |time: u64| self.polls.partition_point(|poll| poll.at < time);
        &self.polls[of(begin)..of(end)]
    }
}
