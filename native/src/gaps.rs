//! Stretches of a CPU about which nothing is known, from losses that a pass finds between samples.
//!
//! ```text
//!   CPU 0  | sample |  LOST 5 | LOST 7 | sample ...     one gap, from the sample to the last LOST
//!   CPU 1  LOST 3 | sample |  ...  | sample | LOST 2    from the window's start; to its end
//! ```

use rustc_hash::FxHashMap;

use crate::narrow::Narrow;
use crate::visit::{Side, MAX_CPUS};

/// Why nothing is known. The first of several reasons counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The recorder had no room for events.
    Lost,
    /// The recorder kept the newest events and dropped these.
    Overwritten,
    /// A text has unreadable lines there.
    PassedOver,
}

/// The reasons in words, in order.
pub const WHYS: [&str; 3] = ["events were lost", "overwritten", "lines that could not be read"];

/// A stretch without data. Stretches of one CPU do not overlap.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// The CPU that lost samples.
    pub cpu: u32,
    /// Time of its previous sample, or the window's start if there is none.
    pub start_ns: i64,
    /// End of the loss, or the window's end if no sample follows.
    pub end_ns: i64,
    /// Number of samples, as far as it is known.
    pub lost: u64,
    pub why: Why,
}

/// The gaps so far.
#[derive(Debug, Default)]
pub struct Gaps {
    /// The newest time of each CPU.
    latest: Vec<i64>,
    gaps: Vec<Gap>,
    /// Each CPU's last gap.
    last: FxHashMap<u32, usize>,
    /// Losses without a time, which end at their CPU's next sample.
    untimed: FxHashMap<u32, (u64, Why)>,
}

impl Gaps {
    /// Takes a sample.
    #[inline(always)]
    pub fn sample(&mut self, cpu: u32, time_ns: i64) {
        if !self.untimed.is_empty() {
            self.end_untimed(cpu, time_ns);
        }
        match self.latest.get_mut(cpu as usize) {
            Some(latest) => *latest = (*latest).max(time_ns),
            None if cpu < MAX_CPUS => {
                self.latest.resize(cpu as usize + 1, i64::MIN);
                self.latest[cpu as usize] = time_ns;
            }
            None => {}
        }
    }

    /// Takes a loss on a CPU since its previous sample.
    pub fn loss(&mut self, side: &Side<'_>, lost: u64, why: Why) {
        match (side.cpu, side.time_ns) {
            (Some(cpu), Some(time_ns)) => self.add(cpu, time_ns, lost, why),
            (Some(cpu), None) if cpu < MAX_CPUS => {
                let untimed = self.untimed.entry(cpu).or_insert((0, why));
                *untimed = (untimed.0.saturating_add(lost), untimed.1.min(why));
            }
            _ => {}
        }
    }

    /// CPUs with samples.
    pub fn cpus(&self) -> Vec<u32> {
        let seen = self.latest.iter().enumerate().filter(|(_, &latest)| latest > i64::MIN);
        seen.map(|(cpu, _)| cpu.narrow()).collect()
    }

    /// Closes the gaps, given the window. Losses before a CPU's first sample may reach back to its start, those after
    /// the last sample up to its end.
    pub fn finish(mut self, window: (i64, i64)) -> Vec<Gap> {
        let mut untimed: Vec<(u32, (u64, Why))> = std::mem::take(&mut self.untimed).into_iter().collect();
        untimed.sort_unstable();
        for (cpu, (lost, why)) in untimed {
            self.add(cpu, window.1, lost, why);
        }
        for (&cpu, &last) in &self.last {
            let latest = self.latest(cpu);
            let gap = &mut self.gaps[last];
            if latest < gap.end_ns {
                gap.end_ns = window.1;
            }
        }
        self.gaps.iter_mut().for_each(|gap| gap.start_ns = gap.start_ns.max(window.0));
        self.gaps
    }

    #[cold]
    fn end_untimed(&mut self, cpu: u32, time_ns: i64) {
        if let Some((lost, why)) = self.untimed.remove(&cpu) {
            self.add(cpu, time_ns, lost, why);
        }
    }

    /// Losses with no sample in between are one gap.
    fn add(&mut self, cpu: u32, end_ns: i64, lost: u64, why: Why) {
        let start_ns = self.latest(cpu).min(end_ns);
        let last = self.last.get(&cpu).map(|&last| &mut self.gaps[last]);
        match last.filter(|last| start_ns < last.end_ns && last.start_ns < end_ns) {
            Some(last) => {
                last.start_ns = start_ns.min(last.start_ns);
                last.end_ns = end_ns.max(last.end_ns);
                last.lost = lost.saturating_add(last.lost);
                last.why = why.min(last.why);
            }
            None => {
                self.last.insert(cpu, self.gaps.len());
                self.gaps.push(Gap { cpu, start_ns, end_ns, lost, why });
            }
        }
    }

    fn latest(&self, cpu: u32) -> i64 {
        self.latest.get(cpu as usize).copied().unwrap_or(i64::MIN)
    }
}

/// Most gaps of a recording that are kept apart. Each takes some 500 bytes when reported.
pub const MOST_GAPS: usize = 50_000;

/// How many gaps there were, if too many to keep apart, and the widest distance between merged gaps of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    pub gaps: usize,
    pub apart_ns: i64,
}

/// The gaps. If there are more than `most`, as in small files crafted with losses between pages, the closest gaps of a
/// CPU are merged, and what was recorded between them counts as lost.
pub fn told_apart(mut gaps: Vec<Gap>, most: usize) -> (Vec<Gap>, Option<Merged>) {
    let number = gaps.len();
    if number <= most {
        return (gaps, None);
    }
    gaps.sort_by_key(|gap| (gap.cpu, gap.start_ns, gap.end_ns));
    let apart = |one: &Gap, next: &Gap| {
        if one.cpu == next.cpu {
            next.start_ns.saturating_sub(one.end_ns)
        } else {
            i64::MAX
        }
    };
    let mut between: Vec<i64> = gaps.windows(2).map(|pair| apart(&pair[0], &pair[1])).collect();
    let (_, &mut apart_ns, _) = between.select_nth_unstable(number - most - 1);
    let mut kept: Vec<Gap> = Vec::with_capacity(most);
    for gap in gaps {
        match kept.last_mut() {
            Some(last) if last.cpu == gap.cpu && apart(last, &gap) <= apart_ns => {
                last.end_ns = last.end_ns.max(gap.end_ns);
                last.lost = last.lost.saturating_add(gap.lost);
                last.why = last.why.min(gap.why);
            }
            _ => kept.push(gap),
        }
    }
    (kept, Some(Merged { gaps: number, apart_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visit::What;

    fn found(gaps: Gaps) -> Vec<(u32, i64, i64, u64, Why)> {
        let gaps = gaps.finish((0, 1000));
        gaps.iter().map(|gap| (gap.cpu, gap.start_ns, gap.end_ns, gap.lost, gap.why)).collect()
    }

    fn lose(gaps: &mut Gaps, time_ns: Option<i64>, lost: u64, why: Why) {
        gaps.loss(&Side::of(What::Lost(lost), time_ns, Some(0)), lost, why);
    }

    #[test]
    fn the_closest_are_one_where_there_are_too_many() {
        let gap = |cpu, start_ns, end_ns| Gap { cpu, start_ns, end_ns, lost: 1, why: Why::Lost };
        let gaps = || vec![gap(0, 10, 20), gap(1, 0, 5), gap(0, 22, 30), gap(0, 90, 95), gap(0, 96, 99)];
        let found = |most| {
            let (gaps, merged) = told_apart(gaps(), most);
            (gaps.iter().map(|gap| (gap.cpu, gap.start_ns, gap.end_ns, gap.lost)).collect::<Vec<_>>(), merged)
        };
        assert_eq!((found(5).0.len(), found(5).1), (5, None));
        let apart = |apart_ns| Some(Merged { gaps: 5, apart_ns });
        assert_eq!(found(4), (vec![(0, 10, 20, 1), (0, 22, 30, 1), (0, 90, 99, 2), (1, 0, 5, 1)], apart(1)));
        assert_eq!(found(3), (vec![(0, 10, 30, 2), (0, 90, 99, 2), (1, 0, 5, 1)], apart(2)));
        // Gaps of two CPUs are never merged.
        assert_eq!(found(1).0, [(0, 10, 99, 4), (1, 0, 5, 1)]);
    }

    #[test]
    fn losses_between_two_samples_are_one_gap() {
        let mut gaps = Gaps::default();
        gaps.sample(0, 100);
        for (time_ns, lost) in [(200, 5), (300, 7), (250, 1)] {
            lose(&mut gaps, Some(time_ns), lost, Why::PassedOver);
        }
        lose(&mut gaps, Some(310), 0, Why::Lost);
        gaps.sample(0, 310);
        lose(&mut gaps, None, 2, Why::Lost);
        gaps.sample(0, 400);
        assert_eq!(found(gaps), [(0, 100, 310, 13, Why::Lost), (0, 310, 400, 2, Why::Lost)]);
    }

    #[test]
    fn a_loss_without_samples_around_is_as_long_as_the_window() {
        for time_ns in [None, Some(500)] {
            let mut gaps = Gaps::default();
            lose(&mut gaps, time_ns, 5, Why::Lost);
            assert_eq!(found(gaps), [(0, 0, 1000, 5, Why::Lost)]);
        }
    }
}
