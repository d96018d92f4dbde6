//! The devices that one softirq has polled. Usually there is one, so a list is faster than a set.

use rustc_hash::FxHashSet;

/// Hardly any softirq polls more devices than this.
const FEW: usize = 8;

#[derive(Debug, Clone, Default)]
pub struct Polled {
    few: Vec<u32>,
    /// Devices beyond the first `FEW`.
    more: FxHashSet<u32>,
}

impl Polled {
    /// Adds a device; returns whether it is new.
    #[inline(always)]
    pub fn insert(&mut self, device: u32) -> bool {
        if self.few.contains(&device) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(device);
            return true;
        }
        self.more.insert(device)
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.few.clear();
        // Clearing a set takes time by its capacity, so it is replaced.
        if !self.more.is_empty() {
            self.more = FxHashSet::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_are_each_new_once() {
        let mut polled = Polled::default();
        for count in [1, FEW as u32, 3 * FEW as u32, 2] {
            polled.clear();
            assert!((0..count).all(|device| polled.insert(device)));
            assert!(!(0..count).any(|device| polled.insert(device)));
        }
    }
}
