//! Times as text.

use super::scan::digits;
use crate::narrow::Narrow;

/// Times beyond this (146 years) are damage; below it differences cannot overflow.
const LATEST_NS: u64 = 1 << 62;
const NS_PER_DIGIT: [u64; 10] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// A time, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds, or what a clock without a unit counts.
    pub time: i64,
    /// What its last digit stands for, in nanoseconds; 0 for a clock without a unit.
    pub unit_ns: u32,
}

impl Stamp {
    /// Of a line without one: its place among the others is all there is.
    pub const NONE: Stamp = Stamp { time: -1, unit_ns: 0 };

    /// Nanoseconds of this precision.
    pub fn of_ns(time: i64, unit_ns: u32) -> Option<Stamp> {
        (0..LATEST_NS as i64).contains(&time).then_some(Stamp { time, unit_ns })
    }

    /// Seconds with a fraction, without a colon behind them.
    pub fn whole(word: &[u8]) -> Option<Stamp> {
        let (whole, count) = digits(word);
        let (part, places) = digits(word.get(count + 1..)?);
        let unit_ns = *NS_PER_DIGIT.get(places).filter(|_| places > 0)?;
        let is_all = (1..=18).contains(&count) && word[count] == b'.' && count + 1 + places == word.len();
        let time = whole.checked_mul(NS_PER_DIGIT[0])?.checked_add(part * unit_ns)?;
        Self::of_ns(i64::try_from(time).ok().filter(|_| is_all)?, unit_ns.narrow())
    }

    /// The time at the start of `bytes`, which its colon ends: seconds with a fraction, or a mere
    /// number; and the bytes it takes with the colon.
    #[inline(always)]
    pub fn parse(bytes: &[u8]) -> Option<(Stamp, usize)> {
        let (whole, count) = digits(bytes);
        if count == 0 || count > 18 {
            return None;
        }
        match bytes.get(count)? {
            b':' => Some((Stamp { time: i64::try_from(whole).ok()?, unit_ns: 0 }, count + 1)),
            b'.' => {
                let (part, places) = digits(&bytes[count + 1..]);
                let unit_ns = *NS_PER_DIGIT.get(places).filter(|_| places > 0)?;
                let end = count + 1 + places;
                if bytes.get(end) != Some(&b':') {
                    return None;
                }
                let time = whole.checked_mul(NS_PER_DIGIT[0])?.checked_add(part * unit_ns)?;
                (time < LATEST_NS).then_some((Stamp { time: time as i64, unit_ns: unit_ns.narrow() }, end + 1))
            }
            // Latency tracers count microseconds, and mark the long ones: "12us+:".
            b'u' => {
                let mut end = count + 1;
                if bytes.get(end) != Some(&b's') {
                    return None;
                }
                end += 1;
                if bytes.get(end).is_some_and(|mark| b" +!#*@$".contains(mark)) {
                    end += 1;
                }
                let time = whole.checked_mul(1000).filter(|&time| time < LATEST_NS)?;
                (bytes.get(end) == Some(&b':')).then_some((Stamp { time: time as i64, unit_ns: 1000 }, end + 1))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_spelling() {
        let parsed = |text: &str| Stamp::parse(text.as_bytes()).map(|(stamp, end)| (stamp.time, stamp.unit_ns, end));
        assert_eq!(parsed("15867.437834: x"), Some((15_867_437_834_000, 1000, 13)));
        assert_eq!(parsed("15867.437834965: x"), Some((15_867_437_834_965, 1, 16)));
        assert_eq!(parsed("0.5:"), Some((500_000_000, 100_000_000, 4)));
        assert_eq!(parsed("205010910: x"), Some((205_010_910, 0, 10)));
        assert_eq!(parsed("15907403899us#: x"), Some((15_907_403_899_000, 1000, 15)));
        assert_eq!(parsed("4us : x"), Some((4000, 1000, 5)));
        for wrong in ["", "x", "1", "1.5", "1.:", "1.0123456789:", "1ms:", "4us", "1 :", "9999999999.0:", ".5:"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
