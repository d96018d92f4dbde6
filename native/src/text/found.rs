//! An event as its lines showed it, and what follows from that for reading them.

use super::head::Style;
use super::known::{Known, Role, OPTIONAL, OTHER};
use super::tracepoints::known;

/// What the lines of one event had in common.
#[derive(Debug, Clone)]
pub struct Found {
    pub name: String,
    /// How its text is read, where that was tried.
    pub known: Option<Known>,
    /// Lines in all, and those whose text could be read.
    pub lines: u64,
    pub readable: u64,
    /// The first that could not.
    pub unreadable: Option<(u64, String)>,
    /// Readable lines that have the event's optional fields.
    pub optional: u64,
    /// Periods: how many lines have one, the smallest and the largest.
    pub periods: (u64, u64, u64),
}

impl Found {
    /// An event of which no line has been looked at.
    pub fn new(name: String) -> Found {
        let known = name.split_once(':').filter(|part| !part.0.is_empty()).and_then(|part| known(Some(part.0), part.1));
        let (lines, readable, optional, unreadable) = (0, 0, 0, None);
        Found { name, known, lines, readable, unreadable, optional, periods: (0, u64::MAX, 0) }
    }

    /// Whether it is a tracepoint, as all that ftrace records: `irq:softirq_entry`, but not `cycles:u`
    /// or `cpu/cycles/`.
    pub fn is_tracepoint(&self, style: Style) -> bool {
        let Some((system, event)) = self.name.split_once(':') else { return style != Style::Perf };
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let modifiers = event.bytes().all(|byte| b"ukhIGHpPSDWeb".contains(&byte));
        plain(system) && plain(event) && !modifiers
    }

    /// How its lines are read: by its fields where most can be, as text otherwise.
    pub fn reading(&self) -> Known {
        self.known.filter(|_| self.readable * 2 >= self.lines.max(1)).unwrap_or(OTHER)
    }

    /// The optional fields that most of its lines have: one that lacks them is damaged, or cut.
    pub fn needs(&self) -> u8 {
        let has = self.reading().fields.iter().any(|&(.., bit)| bit != 0);
        u8::from(has && self.optional * 2 > self.readable) * OPTIONAL
    }

    /// Lines that no table will have.
    pub fn lost_lines(&self) -> u64 {
        match (self.reading().role, self.needs()) {
            (Role::Text, _) => 0,
            (_, 0) => self.lines - self.readable,
            _ => self.lines - self.optional,
        }
    }
}
