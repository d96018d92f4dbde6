//! Polls in order of time, summed over stretches of neighbours. Stretches are as long as needed to keep the number of
//! sums below this. If there are fewer polls, each is a stretch.

use rustc_hash::FxHashMap;

use crate::pairing::rows::Poll;

const MOST: usize = 100_000;

/// Device, CPU, number of the stretch, and the power of two that its packets fill.
pub type Stretch = (u32, i64, i64, i64);

/// Polls, packets, ns, packets squared, packets times ns, and ns squared in two halves, so that each stays within 64
/// bits.
pub type Line = [i64; 7];

/// Sums, and the number of polls per device and CPU.
#[derive(Default)]
pub struct Stretches {
    pub sums: FxHashMap<Stretch, Line>,
    pub seen: FxHashMap<(u32, i64), i64>,
    /// Log2 of the number of polls in a stretch.
    pub power: u32,
}

impl Stretches {
    /// Adds the next poll, which has packets and a fully known time.
    pub fn add(&mut self, cpu: i64, poll: &Poll, work: i64, ns: i64) {
        let seen = self.seen.entry((poll.device, cpu)).or_default();
        let kind = i64::from(u64::BITS - (work as u64 - 1).leading_zeros());
        let key = (poll.device, cpu, *seen >> self.power, kind);
        *seen += 1;
        // 64 bits hold the square of four seconds.
        let squared = (ns.min(u32::MAX.into()) as u64).wrapping_pow(2);
        let (high, low) = ((squared >> 32) as i64, (squared & u64::from(u32::MAX)) as i64);
        let values = [1, work, ns, work.wrapping_mul(work), work.wrapping_mul(ns), high, low];
        added(self.sums.entry(key).or_default(), &values);
        while self.sums.len() > MOST && self.power < 62 {
            self.power += 1;
            for ((device, cpu, stretch, kind), values) in std::mem::take(&mut self.sums) {
                added(self.sums.entry((device, cpu, stretch >> 1, kind)).or_default(), &values);
            }
        }
    }
}

/// Adds `values` to `sums`.
pub fn added<const N: usize>(sums: &mut [i64; N], values: &[i64; N]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intern::NONE;

    #[test]
    fn stretches_grow_with_what_they_hold() {
        let mut stretches = Stretches::default();
        let poll = Poll { device: NONE, start_ns: None, end_ns: 0, work: None, self_ns: None, softirq: None };
        for number in 0..3 * MOST as i64 {
            stretches.add(0, &poll, 1 + number % 8, number);
        }
        let total = stretches.sums.values().fold([0; 7], |mut sum, line| {
            added(&mut sum, line);
            sum
        });
        assert!(stretches.sums.len() <= MOST && stretches.power >= 4);
        assert_eq!((total[0], total[2]), (3 * MOST as i64, (0..3 * MOST as i64).sum()));
        let kinds: Vec<i64> = stretches.sums.keys().map(|key| key.3).collect();
        assert_eq!((kinds.iter().min(), kinds.iter().max()), (Some(&0), Some(&3)));
    }
}
