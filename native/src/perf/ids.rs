//! From the id in a sample to the event that made it.

use crate::narrow::Narrow;
use rustc_hash::FxHashMap;

/// Ids of one recording. Perf numbers events host-wide from a counter, so one recording's ids
/// are nearly always close together and a plain array finds them.
#[derive(Debug, Default)]
pub struct Ids {
    pairs: Vec<(u64, u32)>,
    base: u64,
    dense: Vec<u32>,
    sparse: FxHashMap<u64, u32>,
}

const ABSENT: u32 = u32::MAX;
const DENSE_SPAN: u64 = 1 << 20;

impl Ids {
    /// Says that `id` belongs to event number `event`. Call `seal` before `find`.
    pub fn add(&mut self, id: u64, event: u32) {
        self.pairs.push((id, event));
    }

    /// Builds the index over all that was added.
    pub fn seal(&mut self) {
        let smallest = self.pairs.iter().map(|pair| pair.0).min().unwrap_or(0);
        let largest = self.pairs.iter().map(|pair| pair.0).max().unwrap_or(0);
        self.dense.clear();
        self.sparse.clear();
        if largest - smallest < DENSE_SPAN {
            self.base = smallest;
            self.dense = vec![ABSENT; (largest - smallest + 1).narrow::<usize>()];
            for &(id, event) in &self.pairs {
                self.dense[(id - smallest).narrow::<usize>()] = event;
            }
        } else {
            self.sparse = self.pairs.iter().copied().collect();
        }
    }

    /// The event of a sample with this id.
    #[inline(always)]
    pub fn find(&self, id: u64) -> Option<u32> {
        let place = usize::try_from(id.wrapping_sub(self.base)).unwrap_or(usize::MAX);
        if let Some(&event) = self.dense.get(place) {
            return (event != ABSENT).then_some(event);
        }
        self.sparse.get(&id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_ids_are_found() {
        for far in [40, 1 << 40] {
            let mut ids = Ids::default();
            ids.add(17, 0);
            ids.add(far, 1);
            ids.seal();
            assert_eq!(ids.find(17), Some(0));
            assert_eq!(ids.find(far), Some(1));
            assert_eq!(ids.find(18), None);
            assert_eq!(ids.find(3), None);
        }
    }
}
