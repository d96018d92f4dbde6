//! Address spaces of processes over time: which file lies at an address of a process.

use std::collections::BTreeMap;

use crate::narrow::Narrow;
use rustc_hash::FxHashMap;

/// A file, or what else has a name, mapped to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file of the first byte.
    pub page_offset: u64,
    /// Codes of its name and build id.
    pub filename: u32,
    /// `NONE` where it was not recorded.
    pub build_id: u32,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    /// A mapping, its number.
    Map(u32),
    /// A copy of another process.
    Fork(i32),
    /// Another program: nothing of before is left.
    Exec,
}

/// Who asks: a process at a time, as `Spaces::at` has it, and the address.
pub type Query = (i32, u32, u64);

/// Who forks without an exec in between more often than this is not followed: no program does, but a capture may say so.
const MAX_FORKS: usize = 64;

/// What changed in which process, when.
#[derive(Debug, Default)]
pub struct Spaces {
    /// All mappings that were added.
    pub mappings: Vec<Mapping>,
    by_pid: FxHashMap<i32, Vec<(i64, Change)>>,
}

impl Spaces {
    /// Process `pid` has this from then on.
    pub fn map(&mut self, pid: i32, time_ns: i64, mapping: Mapping) {
        self.change(pid, time_ns, Change::Map(self.mappings.len().narrow()));
        self.mappings.push(mapping);
    }

    /// It began as a copy of `parent`.
    pub fn fork(&mut self, pid: i32, parent: i32, time_ns: i64) {
        if pid != parent {
            self.change(pid, time_ns, Change::Fork(parent));
        }
    }

    /// It runs another program.
    pub fn exec(&mut self, pid: i32, time_ns: i64) {
        self.change(pid, time_ns, Change::Exec);
    }

    fn change(&mut self, pid: i32, time_ns: i64, change: Change) {
        self.by_pid.entry(pid).or_default().push((time_ns, change));
    }

    /// Puts everything in order; call before what follows. Records come by CPU, not by time.
    pub fn seal(&mut self) {
        self.by_pid.values_mut().for_each(|changes| changes.sort_by_key(|change| change.0));
    }

    /// How many changes a process has seen by then: addresses mean the same as long as these do not differ.
    pub fn at(&self, pid: i32, time_ns: i64) -> u32 {
        self.by_pid.get(&pid).map_or(0, |changes| changes.partition_point(|change| change.0 <= time_ns).narrow())
    }

    /// The mapping of each address. One pass over the changes of a process answers all that ask of it, so that the
    /// time is that of sorting, whatever a capture says.
    pub fn find(&self, queries: &[Query]) -> Vec<Option<u32>> {
        let mut found = vec![None; queries.len()];
        let mut open: Vec<(Query, usize)> = queries.iter().copied().zip(0..).collect();
        for _ in 0..MAX_FORKS {
            open.sort_unstable();
            let mut inherited = Vec::new();
            for of_pid in open.chunk_by(|one, other| one.0 .0 == other.0 .0) {
                self.sweep(of_pid, &mut found, &mut inherited);
            }
            if inherited.is_empty() {
                break;
            }
            open = inherited;
        }
        found
    }

    fn sweep(&self, queries: &[(Query, usize)], found: &mut [Option<u32>], inherited: &mut Vec<(Query, usize)>) {
        let Some(changes) = queries.first().and_then(|((pid, ..), _)| self.by_pid.get(pid)) else { return };
        let mut space = Space::default();
        let mut parent = None;
        let mut done = 0;
        for &((_, at, address), place) in queries {
            for &(time_ns, change) in &changes[done..(at as usize).clamp(done, changes.len())] {
                match change {
                    Change::Map(number) => space.add(self.mappings[number as usize], number),
                    Change::Fork(of) => (space, parent) = (Space::default(), Some((of, time_ns))),
                    Change::Exec => (space, parent) = (Space::default(), None),
                }
            }
            done = (at as usize).clamp(done, changes.len());
            found[place] = space.find(address);
            if let (None, Some((of, time_ns))) = (found[place], parent) {
                inherited.push(((of, self.at(of, time_ns), address), place));
            }
        }
    }
}

/// What lies where at one time, without overlaps: by the first address the end, and the mapping's number.
#[derive(Debug, Default)]
struct Space(BTreeMap<u64, (u64, u32)>);

impl Space {
    /// What was there before goes.
    fn add(&mut self, mapping: Mapping, number: u32) {
        let (start, end) = (mapping.address, mapping.address.saturating_add(mapping.length));
        if start >= end {
            return;
        }
        let mut cut: Vec<u64> = self.0.range(start..end).map(|(&at, _)| at).collect();
        cut.extend(self.0.range(..start).next_back().filter(|(_, of)| of.0 > start).map(|(&at, _)| at));
        for at in cut {
            let Some((until, of)) = self.0.remove(&at) else { continue };
            if at < start {
                self.0.insert(at, (start, of));
            }
            if until > end {
                self.0.insert(end, (until, of));
            }
        }
        self.0.insert(start, (end, number));
    }

    fn find(&self, address: u64) -> Option<u32> {
        let (_, &(end, number)) = self.0.range(..=address).next_back()?;
        (address < end).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(address: u64, length: u64, filename: u32) -> Mapping {
        Mapping { address, length, page_offset: 0, filename, build_id: 0 }
    }

    fn names(spaces: &Spaces, queries: &[(i32, i64, u64)]) -> Vec<Option<u32>> {
        let queries: Vec<Query> =
            queries.iter().map(|&(pid, time, address)| (pid, spaces.at(pid, time), address)).collect();
        let found = spaces.find(&queries);
        found.into_iter().map(|found| Some(spaces.mappings[found? as usize].filename)).collect()
    }

    #[test]
    fn what_is_mapped_over_it_is_there_from_then_on() {
        let mut spaces = Spaces::default();
        // In the order of a file that has one CPU after the other.
        spaces.map(1, 20, mapping(0x2000, 0x1000, 7));
        spaces.map(1, 10, mapping(0x1000, 0x3000, 5));
        spaces.seal();
        let at = |time, address| names(&spaces, &[(1, time, address)])[0];
        assert_eq!([at(9, 0x1000), at(10, 0x2000), at(20, 0x2000)], [None, Some(5), Some(7)]);
        assert_eq!([at(20, 0x1fff), at(20, 0x2fff), at(20, 0x3000), at(20, 0x4000)], [Some(5), Some(7), Some(5), None]);
    }

    #[test]
    fn a_fork_inherits_what_was_there_then_until_it_execs() {
        let mut spaces = Spaces::default();
        spaces.map(1, 10, mapping(0x1000, 0x1000, 5));
        spaces.fork(2, 1, 20);
        spaces.map(1, 30, mapping(0x1000, 0x1000, 6));
        spaces.map(2, 40, mapping(0x8000, 0x1000, 8));
        spaces.fork(3, 2, 50);
        spaces.exec(3, 60);
        spaces.seal();
        let queries = [(2, 35, 0x1000), (1, 35, 0x1000), (3, 55, 0x1000), (3, 55, 0x8000), (3, 60, 0x1000), (4, 9, 0)];
        assert_eq!(names(&spaces, &queries), [Some(5), Some(6), Some(5), Some(8), None, None]);
    }

    #[test]
    fn parents_that_are_each_others_children_end() {
        let mut spaces = Spaces::default();
        spaces.fork(1, 2, 5);
        spaces.fork(2, 1, 5);
        spaces.map(1, 6, mapping(0, u64::MAX, 3));
        spaces.map(1, 7, mapping(u64::MAX - 1, 100, 4));
        spaces.seal();
        assert_eq!(names(&spaces, &[(2, 9, 7), (1, 9, u64::MAX - 1)]), [None, Some(4)]);
    }
}
