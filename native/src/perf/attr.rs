//! `struct perf_event_attr` and where it puts things in a sample (`include/uapi/linux/perf_event.h`).

use crate::bytes::{slice, u32_at, u64_at};

/// `PERF_TYPE_TRACEPOINT`.
pub const TYPE_TRACEPOINT: u32 = 2;

const SAMPLE_IP: u64 = 1 << 0;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ADDR: u64 = 1 << 3;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_ID: u64 = 1 << 6;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_STREAM_ID: u64 = 1 << 9;
const SAMPLE_RAW: u64 = 1 << 10;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

const READ_TOTAL_TIME_ENABLED: u64 = 1 << 0;
const READ_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

const FLAG_FREQ: u64 = 1 << 10;
const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_USE_CLOCKID: u64 = 1 << 25;

/// The parts of one event's `perf_event_attr` that reading needs.
#[derive(Debug, Clone)]
pub struct Attr {
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// For a tracepoint, its format's ID.
    pub config: u64,
    /// Period, or frequency with `freq`.
    pub sample_period: u64,
    /// Which fields a sample has.
    pub sample_type: u64,
    /// Shape of the READ field.
    pub read_format: u64,
    /// `CLOCK_*` of the timestamps, if not perf's own.
    pub clockid: Option<i32>,
    flags: u64,
}

impl Attr {
    /// Reads an attr that lies at the start of `bytes`; its own `size` field says how much of it
    /// the recorder knew, and what lies past that reads as zero.
    pub fn parse(bytes: &[u8]) -> Option<Attr> {
        let known = match u32_at(bytes, 4)? as usize {
            0 => 64, // PERF_ATTR_SIZE_VER0 recorders left it empty
            size => size,
        };
        let bytes = slice(bytes, 0, known.min(bytes.len()))?;
        let flags = u64_at(bytes, 40)?;
        Some(Attr {
            kind: u32_at(bytes, 0)?,
            config: u64_at(bytes, 8)?,
            sample_period: u64_at(bytes, 16)?,
            sample_type: u64_at(bytes, 24)?,
            read_format: u64_at(bytes, 32)?,
            clockid: (flags & FLAG_USE_CLOCKID != 0).then(|| u32_at(bytes, 92).map(|clock| clock as i32)).flatten(),
            flags,
        })
    }

    /// Whether records other than samples end in a time, cpu and id.
    pub fn sample_id_all(&self) -> bool {
        self.flags & FLAG_SAMPLE_ID_ALL != 0
    }

    /// Whether not every occurrence was recorded: by frequency, or by a period above one.
    pub fn sampled(&self) -> bool {
        self.flags & FLAG_FREQ != 0 || self.sample_period > 1
    }

    /// Whether the event followed one command instead of whole CPUs.
    pub fn follows_command(&self) -> bool {
        self.flags & FLAG_ENABLE_ON_EXEC != 0
    }

    /// Whether samples say when they happened.
    pub fn has_time(&self) -> bool {
        self.sample_type & SAMPLE_TIME != 0
    }

    /// Whether samples say on which CPU they happened.
    pub fn has_cpu(&self) -> bool {
        self.sample_type & SAMPLE_CPU != 0
    }

    /// Whether samples carry the tracepoint's payload.
    pub fn has_raw(&self) -> bool {
        self.sample_type & SAMPLE_RAW != 0
    }

    /// Where this event's samples keep what.
    pub fn layout(&self) -> Layout {
        Layout::of(self)
    }
}

/// Byte offsets inside a sample record (from its header), fixed for a given attr.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Time in ns, 8 bytes.
    pub time: Option<usize>,
    /// CPU, 4 bytes.
    pub cpu: Option<usize>,
    /// Event id, 8 bytes.
    pub id: Option<usize>,
    /// First byte after the fixed part.
    pub tail: usize,
    /// Distances from the END of a non-sample record.
    pub trailer_time: Option<usize>,
    /// The same for the CPU.
    pub trailer_cpu: Option<usize>,
    sample_type: u64,
    read_format: u64,
}

impl Layout {
    fn of(attr: &Attr) -> Layout {
        let has = |bit: u64| attr.sample_type & bit != 0;
        let mut layout = Layout { sample_type: attr.sample_type, read_format: attr.read_format, ..Default::default() };
        let mut at = 8;
        let mut take = |present: bool| {
            let here = at;
            at += if present { 8 } else { 0 };
            present.then_some(here)
        };
        let identifier = take(has(SAMPLE_IDENTIFIER));
        take(has(SAMPLE_IP));
        take(has(SAMPLE_TID));
        layout.time = take(has(SAMPLE_TIME));
        take(has(SAMPLE_ADDR));
        let id = take(has(SAMPLE_ID));
        take(has(SAMPLE_STREAM_ID));
        layout.cpu = take(has(SAMPLE_CPU));
        take(has(SAMPLE_PERIOD));
        layout.id = identifier.or(id);
        layout.tail = at;
        if attr.sample_id_all() {
            let mut back = 0;
            let mut take = |present: bool| {
                back += if present { 8 } else { 0 };
                present.then_some(back)
            };
            take(has(SAMPLE_IDENTIFIER));
            layout.trailer_cpu = take(has(SAMPLE_CPU));
            take(has(SAMPLE_STREAM_ID));
            take(has(SAMPLE_ID));
            layout.trailer_time = take(has(SAMPLE_TIME));
        }
        layout
    }

    /// The payload of a sample record: offset and size. `None` if it has none or does not fit.
    #[inline(always)]
    pub fn raw(&self, record: &[u8]) -> Option<(usize, usize)> {
        if self.sample_type & SAMPLE_RAW == 0 {
            return None;
        }
        let mut at = self.tail;
        if self.sample_type & (SAMPLE_READ | SAMPLE_CALLCHAIN) != 0 {
            at = self.after_variable(record, at)?;
        }
        let size = u32_at(record, at)? as usize;
        slice(record, at + 4, size)?;
        Some((at + 4, size))
    }

    fn after_variable(&self, record: &[u8], mut at: usize) -> Option<usize> {
        let words = |count: u64| usize::try_from(count).ok()?.checked_mul(8);
        if self.sample_type & SAMPLE_READ != 0 {
            let has = |bit: u64| u64::from(self.read_format & bit != 0);
            let times = has(READ_TOTAL_TIME_ENABLED) + has(READ_TOTAL_TIME_RUNNING);
            let each = 1 + has(READ_ID) + has(READ_LOST);
            let count = if self.read_format & READ_GROUP != 0 {
                u64_at(record, at)?.checked_mul(each)?.checked_add(1 + times)?
            } else {
                each + times
            };
            at = at.checked_add(words(count)?)?;
        }
        if self.sample_type & SAMPLE_CALLCHAIN != 0 {
            at = at.checked_add(words(u64_at(record, at)?.checked_add(1)?)?)?;
        }
        (at <= record.len()).then_some(at)
    }
}
