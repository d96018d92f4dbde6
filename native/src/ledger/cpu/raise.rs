//! The origin of a softirq: all raises of its vector since it last ran.
//!
//! ```text
//!   raise in hardirq, raise in task A          entry: origin mixed (stolen or synchronous)
//!   raise in task A                            entry: origin task  (synchronous while A runs)
//!   raise in a softirq that came from an irq   entry: origin irq   (inherited)
//!   a loss since the last entry                entry: origin unknown
//! ```
//! A run of softirqs first takes what is pending. A raise between that and an entry is seen before the entry and served
//! after it. An entry without a raise thus takes the last of several raises before the previous entry.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// Only interrupts raised it.
    Irq,
    /// Only one task raised it; its tid.
    Task(i32),
    /// Several kinds of context or several tasks raised it.
    Mixed,
    /// No raise was seen, or some may be missing.
    Unknown,
}

/// Names of origins in the tables, indexed by `label`.
pub const ORIGINS: [&str; 5] = ["irq", "task", "softirq", "mixed", "unknown"];

impl Origin {
    /// Index into `ORIGINS`. `inherited`: every raise came from a softirq.
    pub fn label(self, inherited: bool) -> u8 {
        match self {
            Origin::Unknown => 4,
            _ if inherited => 2,
            Origin::Irq => 0,
            Origin::Task(_) => 1,
            Origin::Mixed => 3,
        }
    }
}

/// The raises of one vector on one CPU since its last entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raises {
    pub first_ns: Option<i64>,
    irq: bool,
    task: Option<i32>,
    several_tasks: bool,
    direct: bool,
    /// The source of at least one is unknown.
    unknown: bool,
    /// Some may be missing.
    incomplete: bool,
    /// The source of the last raise and of the one before, each with whether it was inherited.
    last: [Option<(Origin, bool)>; 2],
    /// The last raise before the previous entry, if there were several.
    late: Option<(Origin, bool)>,
}

impl Raises {
    /// No raises yet. Some may be missing if records were lost.
    pub fn behind(has_lost: bool) -> Raises {
        Raises { incomplete: has_lost, ..Raises::default() }
    }

    pub fn add(&mut self, time_ns: i64, from: Origin, inherited: bool) {
        self.first_ns.get_or_insert(time_ns);
        self.direct |= !inherited;
        self.last = [Some((from, inherited)), self.last[0]];
        match from {
            Origin::Irq => self.irq = true,
            Origin::Task(tid) => {
                self.several_tasks |= self.task.is_some_and(|known| known != tid);
                self.task = Some(tid);
            }
            Origin::Mixed => (self.irq, self.several_tasks) = (true, true),
            Origin::Unknown => self.unknown = true,
        }
    }

    /// Records were lost, so raises may be missing.
    pub fn lose(&mut self) {
        self.incomplete = true;
        self.first_ns = None;
    }

    /// Returns the origin of the softirq that enters now and whether it was inherited, and forgets the raises.
    pub fn take(&mut self) -> (Origin, bool) {
        let raises = std::mem::take(self);
        if let ([None, _], Some(late), false) = (raises.last, raises.late, raises.incomplete) {
            return late;
        }
        self.late = raises.last[0].filter(|_| raises.last[1].is_some() && !raises.incomplete);
        let origin = match (raises.irq, raises.task) {
            _ if raises.incomplete || raises.unknown => Origin::Unknown,
            _ if raises.several_tasks => Origin::Mixed,
            (true, None) => Origin::Irq,
            (false, Some(tid)) => Origin::Task(tid),
            (true, Some(_)) => Origin::Mixed,
            (false, None) => Origin::Unknown,
        };
        (origin, !raises.direct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(raises: &[(Origin, bool)]) -> (Origin, bool) {
        let mut set = Raises::default();
        for (time, &(from, inherited)) in raises.iter().enumerate() {
            set.add(time as i64, from, inherited);
        }
        set.take()
    }

    #[test]
    fn the_drawn_cases() {
        assert_eq!(origin(&[(Origin::Irq, false), (Origin::Task(7), false)]), (Origin::Mixed, false));
        assert_eq!(origin(&[(Origin::Task(7), false), (Origin::Task(7), false)]), (Origin::Task(7), false));
        assert_eq!(origin(&[(Origin::Irq, true)]), (Origin::Irq, true));
        assert_eq!(origin(&[]).0, Origin::Unknown);
        let mut raises = Raises::default();
        raises.add(5, Origin::Task(7), false);
        raises.add(6, Origin::Irq, false);
        assert_eq!(raises.take().0, Origin::Mixed);
        assert_eq!(raises.take(), (Origin::Irq, false));
        assert_eq!(raises.take().0, Origin::Unknown);
        let mut doubtful = Raises::default();
        doubtful.add(5, Origin::Unknown, false);
        doubtful.add(6, Origin::Irq, false);
        assert_eq!(doubtful.take().0, Origin::Unknown);
        assert_eq!(doubtful.take(), (Origin::Irq, false));
        let mut lossy = Raises::default();
        lossy.lose();
        lossy.add(5, Origin::Irq, false);
        assert_eq!(lossy.take().0, Origin::Unknown);
    }
}
