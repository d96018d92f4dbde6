//! From a ring buffer's time stamps to the capture's time.

use crate::recording::Unit;

/// One correction of a guest's clock, from `time` on.
#[derive(Debug, Clone, Copy)]
pub struct Shift {
    /// When it was measured, on the guest's clock.
    pub time: i64,
    /// What to add.
    pub offset: i64,
    /// What to multiply with first, shifted right by `fraction` afterwards.
    pub scaling: u64,
    /// See `scaling`.
    pub fraction: u32,
}

/// How time stamps are to be read.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// ftrace's name.
    pub name: String,
    /// Multiplier and right shift from cycles to nanoseconds.
    pub tsc: Option<(u32, u32)>,
    /// Added at last.
    pub offset_ns: i64,
    /// Corrections from a guest's clock to its host's, by CPU.
    pub shifts: Vec<Vec<Shift>>,
    /// Whether offsets between corrections grow evenly.
    pub interpolate: bool,
}

/// The kernel's uptime clock counts hundredths of seconds.
const UPTIME_NS: u64 = 10_000_000;
const NS_PER_S: u128 = 1_000_000_000;

impl Clock {
    /// The clock that the text of `trace_clock` marks: `[local] global counter ...`, or a lone name.
    pub fn named(text: &str) -> Clock {
        let marked = text.split(['[', ']']).nth(1).unwrap_or(text);
        Clock { name: marked.trim().to_owned(), ..Default::default() }
    }

    /// Multiplier and shift of so many cycles a second: as many bits as a multiplier has, so that
    /// a time is off by less than a part in 2^31 (the kernel's clocks_calc_mult_shift does the same).
    pub fn tsc_of(hertz: u64) -> (u32, u32) {
        let multiplier = |shift: u32| ((NS_PER_S << shift) + u128::from(hertz) / 2) / u128::from(hertz.max(1));
        let fitting = (0..64).rev().find_map(|shift| Some((u32::try_from(multiplier(shift)).ok()?, shift)));
        fitting.unwrap_or((1, 0))
    }

    /// What times read with it count.
    pub fn unit(&self) -> Unit {
        match self.name.as_str() {
            "counter" => Unit::Order,
            "x86-tsc" | "ppc-tb" | "s390-tod" | "tsc2nsec" if self.tsc.is_none() => Unit::Cycles,
            _ => Unit::Nanoseconds,
        }
    }

    /// Distance between two times that can be told apart.
    pub fn resolution_ns(&self) -> u64 {
        if self.name == "uptime" {
            UPTIME_NS
        } else {
            1
        }
    }

    /// Whether a time stamp is the time already.
    pub fn is_plain(&self) -> bool {
        self.tsc.is_none() && self.offset_ns == 0 && self.shifts.is_empty() && self.name != "uptime"
    }

    /// The time of a stamp that a CPU took.
    pub fn time(&self, stamp: u64, cpu: usize) -> u64 {
        let mut time = match self.shifts.get(cpu) {
            Some(shifts) => self.shifted(stamp, shifts),
            None => stamp,
        };
        if let Some((multiplier, shift)) = self.tsc {
            time = (u128::from(time) * u128::from(multiplier)).checked_shr(shift).map_or(0, low);
        } else if self.name == "uptime" {
            time = time.wrapping_mul(UPTIME_NS);
        }
        time.wrapping_add(self.offset_ns as u64)
    }

    fn shifted(&self, stamp: u64, shifts: &[Shift]) -> u64 {
        let [first, .., last] = shifts else {
            return shifts.first().map_or(stamp, |only| stamp.wrapping_add(only.offset as u64));
        };
        let place = match stamp as i64 {
            early if early <= first.time => 0,
            late if late >= last.time => shifts.len() - 2,
            time => shifts.partition_point(|shift| shift.time <= time).clamp(1, shifts.len() - 1) - 1,
        };
        let (shift, next) = (&shifts[place], &shifts[place + 1]);
        let delta = next.time.saturating_sub(shift.time);
        let mut offset = i128::from(shift.offset);
        if self.interpolate && delta != 0 {
            let passed = i128::from(stamp as i64) - i128::from(shift.time);
            let grown = passed * (i128::from(next.offset) - i128::from(shift.offset));
            offset += (grown + i128::from(delta / 2)) / i128::from(delta);
        }
        let scaled = (u128::from(stamp) * u128::from(shift.scaling)).checked_shr(shift.fraction).map_or(0, low);
        scaled.wrapping_add(low(offset as u128))
    }
}

/// The lower half: times wrap, as they do for who recorded them.
fn low(wide: u128) -> u64 {
    (wide & 0xffff_ffff_ffff_ffff) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units() {
        assert_eq!(Clock::named("local [global] counter\n").name, "global");
        assert_eq!(Clock::named("mono").unit(), Unit::Nanoseconds);
        assert_eq!(Clock::named("x86-tsc").unit(), Unit::Cycles);
        assert_eq!(Clock { tsc: Some((1, 0)), ..Clock::named("x86-tsc") }.unit(), Unit::Nanoseconds);
        assert_eq!(Clock::named("counter").unit(), Unit::Order);
    }

    #[test]
    fn cycles_become_nanoseconds_before_the_offset() {
        let clock = Clock { tsc: Some((3, 1)), offset_ns: -5, ..Clock::named("x86-tsc") };
        assert_eq!(clock.time(1000, 0), 1495);
    }

    #[test]
    fn a_second_of_cycles_is_a_second() {
        for hertz in [1_000_000, 24_000_000, 1_000_000_000, 2_399_998_000, 4_096_000_000, 100_000_000_000] {
            let clock = Clock { tsc: Some(Clock::tsc_of(hertz)), ..Clock::named("x86-tsc") };
            let day = clock.time(hertz * 86_400, 0);
            assert!(day.abs_diff(86_400_000_000_000) < 86_400_000_000_000 >> 31, "{hertz} {day}");
        }
    }

    #[test]
    fn a_guests_offset_grows_between_corrections() {
        let shift = |time, offset| Shift { time, offset, scaling: 1, fraction: 0 };
        let mut clock = Clock { shifts: vec![vec![shift(0, 100), shift(1000, 200)]], ..Clock::named("local") };
        assert_eq!(clock.time(500, 0), 600);
        clock.interpolate = true;
        assert_eq!(clock.time(500, 0), 650);
        assert_eq!(clock.time(500, 1), 500);
    }
}
