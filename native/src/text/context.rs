//! The columns that say in which context an event happened: `d.h2.`, as letters and digits under a
//! header that names them, or under none.

/// More than any kernel prints.
pub const MAX_COLUMNS: usize = 8;

/// What one character says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// `d` interrupts off, `b` bottom halves off, `D` both.
    IrqsOff,
    /// Which of the bits that ask for a reschedule are set.
    NeedResched,
    /// A column of its own for the lazy one, on PREEMPT_RT before Linux commit 0172afefbfbd ("tracing: Record task flag
    /// NEED_RESCHED_LAZY.").
    NeedReschedLazy,
    /// `h` hardirq, `s` softirq, `H` both, `z` NMI, `Z` NMI in a hardirq.
    Context,
    /// Hexadecimal, as those below.
    PreemptDepth,
    /// Low half of common_preempt_count is the depth of preemption, high half this.
    MigrateDisable,
    /// Not kept: `preempt-lazy-depth`, `lock-depth`.
    Other,
}

use crate::narrow::Narrow;
use Column::{Context, IrqsOff, MigrateDisable, NeedResched, NeedReschedLazy, Other, PreemptDepth};

/// What kernels print where no header tells: by width, from 4.
const BY_WIDTH: [&[Column]; 5] = [
    &[IrqsOff, NeedResched, Context, PreemptDepth],
    &[IrqsOff, NeedResched, Context, PreemptDepth, MigrateDisable],
    &[IrqsOff, NeedResched, NeedReschedLazy, Context, PreemptDepth, MigrateDisable],
    &[IrqsOff, NeedResched, NeedReschedLazy, Context, PreemptDepth, Other, MigrateDisable],
    &[IrqsOff, NeedResched, NeedReschedLazy, Context, PreemptDepth, Other, MigrateDisable, Other],
];

/// What a line shows of an event's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// Its columns.
    Letters(&'a [u8]),
    /// common_flags as a number: `trace-cmd report -R -l`.
    Flags(u8),
    /// common_flags and common_preempt_count as numbers: ftrace's verbose format.
    Numbers(u8, u8),
}

impl Shown<'_> {
    /// Whether it has common_flags.
    #[inline(always)]
    pub fn has_flags(self) -> bool {
        self != Shown::Nothing
    }

    /// Whether it has common_preempt_count.
    #[inline(always)]
    pub fn has_depth(self) -> bool {
        matches!(self, Shown::Letters(_) | Shown::Numbers(..))
    }
}

// `enum trace_flag_type`. Bit 1 was IRQS_NOSUPPORT before it was NEED_RESCHED_LAZY (Linux commit 0172afefbfbd), and
// bit 7 NEED_RESCHED_LAZY (on PREEMPT_RT) before it was BH_OFF (289e7b0f7eb4, "tracing: Account bottom half disabled
// sections."): the letter tells which is meant.
const IRQS_OFF: u8 = 0x01;
const IRQS_NOSUPPORT: u8 = 0x02;
const LAZY: u8 = 0x02;
const NEED: u8 = 0x04;
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;
const PREEMPT: u8 = 0x20;
const NMI: u8 = 0x40;
const BH_OFF: u8 = 0x80;
const LAZY_OF_RT: u8 = 0x80;

/// How to read the columns of a capture.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    named: Vec<Column>,
    /// trace-cmd writes `N` for NEED_RESCHED alone, and has no letter for PREEMPT_RESCHED.
    pub of_trace_cmd: bool,
}

impl Columns {
    /// A comment line, which may name a column: `#  || / _---=> hardirq/softirq`.
    pub fn comment(&mut self, line: &[u8]) {
        let Some(at) = memchr::memmem::find(line, b"=> ") else { return };
        let column = match line[at + 3..].trim_ascii() {
            name if name.starts_with(b"irqs-off") => {
                self.named.clear();
                IrqsOff
            }
            b"need-resched" => NeedResched,
            b"need-resched_lazy" | b"need-resched-lazy" => NeedReschedLazy,
            b"hardirq/softirq" => Context,
            b"preempt-depth" => PreemptDepth,
            b"migrate-disable" => MigrateDisable,
            b"preempt-lazy-depth" | b"lock-depth" => Other,
            _ => return,
        };
        if self.named.len() < MAX_COLUMNS {
            self.named.push(column);
        }
    }

    /// Whether the word may be such columns.
    #[inline(always)]
    pub fn fit(word: &[u8]) -> bool {
        (4..=MAX_COLUMNS).contains(&word.len())
            && b".dDbX".contains(&word[0])
            && word[1..].iter().all(|byte| b".0123456789abcdefNnpPBbLlhsHzZ".contains(byte))
    }

    /// common_flags and common_preempt_count, 0 for what is not shown.
    #[inline(always)]
    pub fn of(&self, shown: Shown<'_>) -> (u8, u8) {
        match shown {
            Shown::Nothing => (0, 0),
            Shown::Letters(word) => self.read(word),
            Shown::Flags(flags) => (flags, 0),
            Shown::Numbers(flags, count) => (flags, count),
        }
    }

    /// The same, of columns.
    #[inline(always)]
    fn read(&self, word: &[u8]) -> (u8, u8) {
        let columns = if self.named.len() == word.len() {
            &self.named
        } else {
            match word.len().checked_sub(4).and_then(|place| BY_WIDTH.get(place)) {
                Some(columns) => *columns,
                None => return (0, 0),
            }
        };
        let (mut flags, mut count) = (0, 0);
        for (&byte, column) in word.iter().zip(columns) {
            if byte == b'.' {
                continue;
            }
            match column {
                IrqsOff => flags |= irqs(byte),
                NeedResched => flags |= self.resched(byte),
                NeedReschedLazy => flags |= LAZY_OF_RT,
                Context => flags |= context(byte),
                PreemptDepth => count |= nibble(byte),
                MigrateDisable => count |= nibble(byte) << 4,
                Other => {}
            }
        }
        (flags, count)
    }

    fn resched(&self, byte: u8) -> u8 {
        match byte {
            b'N' if self.of_trace_cmd => NEED,
            b'N' => NEED | PREEMPT,
            b'n' => NEED,
            b'p' => PREEMPT,
            b'B' => NEED | PREEMPT | LAZY,
            b'L' => PREEMPT | LAZY,
            b'b' => NEED | LAZY,
            b'l' => LAZY,
            _ => 0,
        }
    }
}

fn irqs(byte: u8) -> u8 {
    match byte {
        b'd' => IRQS_OFF,
        b'D' => IRQS_OFF | BH_OFF,
        b'b' => BH_OFF,
        b'X' => IRQS_NOSUPPORT,
        _ => 0,
    }
}

fn context(byte: u8) -> u8 {
    match byte {
        b'h' => HARDIRQ,
        b's' => SOFTIRQ,
        b'H' => HARDIRQ | SOFTIRQ,
        b'z' => NMI,
        b'Z' => NMI | HARDIRQ,
        _ => 0,
    }
}

fn nibble(byte: u8) -> u8 {
    (byte as char).to_digit(16).unwrap_or(0).narrow()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_every_width() {
        let plain = Columns::default();
        assert_eq!(plain.read(b"...."), (0, 0));
        assert_eq!(plain.read(b"d.h5"), (0x09, 5));
        assert_eq!(plain.read(b"dNs3."), (0x35, 3));
        assert_eq!(plain.read(b"D.Z.2"), (0xc9, 0x20));
        assert_eq!(plain.read(b"bl.1f"), (0x82, 0xf1));
        assert_eq!(plain.read(b"d...2.1"), (0x01, 0x12));
        assert_eq!(plain.read(b"d.Lh1.2"), (0x89, 0x21));
        let trace_cmd = Columns { of_trace_cmd: true, ..Columns::default() };
        assert_eq!(trace_cmd.read(b"dNs3."), (0x15, 3));
    }

    #[test]
    fn columns_by_their_header() {
        let mut columns = Columns::default();
        for name in ["irqs-off", "need-resched", "hardirq/softirq", "preempt-depth", "lock-depth"] {
            columns.comment(format!("#   || / _--=> {name} ").as_bytes());
        }
        columns.comment(b"#  => started at: x");
        assert_eq!(columns.read(b"d.h21"), (0x09, 2));
        columns.comment(b"#   _-----=> irqs-off/BH-disabled");
        assert_eq!(columns.read(b"d.h21"), (0x09, 0x12));
    }

    #[test]
    fn words_that_are_none() {
        for word in ["d.h2", "....", "d..2.", "bN.1...", "X..."] {
            assert!(Columns::fit(word.as_bytes()), "{word}");
        }
        for word in ["", "d.h", "0...", "d.h2d.h2.", "name", "d. 2"] {
            assert!(!Columns::fit(word.as_bytes()), "{word}");
        }
    }
}
