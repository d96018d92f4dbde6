//! Where a sample keeps what, in the order in which the kernel writes it (`perf_output_sample`).

use crate::bytes::{slice, u32_at, u64_at, Order};
use crate::narrow::Narrow;
use crate::perf::attr::Attr;

/// `PERF_SAMPLE_*`.
pub mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const TRANSACTION: u64 = 1 << 17;
    pub const REGS_INTR: u64 = 1 << 18;
    pub const PHYS_ADDR: u64 = 1 << 19;
    pub const AUX: u64 = 1 << 20;
    pub const CGROUP: u64 = 1 << 21;
    pub const DATA_PAGE_SIZE: u64 = 1 << 22;
    pub const CODE_PAGE_SIZE: u64 = 1 << 23;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// `PERF_FORMAT_*`.
pub mod read {
    pub const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    pub const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub const ID: u64 = 1 << 2;
    pub const GROUP: u64 = 1 << 3;
    pub const LOST: u64 = 1 << 4;
}

/// Parts whose place is the same in every sample.
const FIXED: u64 = sample::IDENTIFIER
    | sample::IP
    | sample::TID
    | sample::TIME
    | sample::ADDR
    | sample::ID
    | sample::STREAM_ID
    | sample::CPU
    | sample::PERIOD;

const BRANCH_HW_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;

/// Byte offsets inside a sample record (from its header), fixed for a given attr.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Address of the instruction, 8 bytes.
    pub ip: Option<usize>,
    /// Process and thread id, 4 bytes each.
    pub tid: Option<usize>,
    /// Time in ns, 8 bytes.
    pub time: Option<usize>,
    /// Address of the data, 8 bytes.
    pub addr: Option<usize>,
    /// CPU, 4 bytes.
    pub cpu: Option<usize>,
    /// Event id, 8 bytes.
    pub id: Option<usize>,
    /// Occurrences that the sample stands for, 8 bytes.
    pub period: Option<usize>,
    /// First byte after the fixed part.
    pub tail: usize,
    /// Where time, CPU and the payload's size are in every sample; a place beyond any record where one of them is not,
    /// or moves.
    usual: [u16; 3],
    /// Distances from the END of a non-sample record.
    pub trailer_time: Option<usize>,
    /// The same for the CPU.
    pub trailer_cpu: Option<usize>,
    /// The same for the event's id.
    pub trailer_id: Option<usize>,
    /// Bytes of that trailer; 0 where such records have none.
    pub trailer: usize,
    /// Which fields there are.
    pub sample_type: u64,
    /// Shape of the READ field.
    pub read_format: u64,
    /// Words of a BRANCH_STACK besides its count: fixed, and per branch.
    branch: (u64, u64),
    /// Registers in REGS_USER and REGS_INTR.
    registers: (u64, u64),
}

/// Where the parts of varying size, and those after them, lie in one sample record.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    /// Counter values; `Layout::read_format` says which.
    pub read: Option<usize>,
    /// First address of the callchain, and how many there are.
    pub callchain: Option<(usize, usize)>,
    /// Payload: first byte, and size.
    pub raw: Option<(usize, usize)>,
    /// Branch records and their like: first word, and words.
    pub words: [Option<(usize, usize)>; 3],
    /// WEIGHT or WEIGHT_STRUCT, 8 bytes.
    pub weight: Option<usize>,
    /// DATA_SRC, 8 bytes; the same for those below.
    pub data_src: Option<usize>,
    /// TRANSACTION.
    pub transaction: Option<usize>,
    /// PHYS_ADDR.
    pub phys_addr: Option<usize>,
    /// CGROUP.
    pub cgroup: Option<usize>,
    /// DATA_PAGE_SIZE.
    pub data_page_size: Option<usize>,
    /// CODE_PAGE_SIZE.
    pub code_page_size: Option<usize>,
    /// Sizes that precede bytes copied from memory (STACK_USER, AUX), and that after the first.
    pub sizes: [Option<usize>; 3],
    /// Where the last of them ends, if all are there.
    pub end: usize,
}

impl Layout {
    /// The layout of an event's samples.
    pub fn of(attr: &Attr) -> Layout {
        let has = |bit: u64| attr.sample_type & bit != 0;
        let branch_has = |bit: u64| u64::from(attr.branch_sample_type & bit != 0);
        let mut layout = Layout {
            sample_type: attr.sample_type,
            read_format: attr.read_format,
            branch: (branch_has(BRANCH_HW_INDEX), 3 + branch_has(BRANCH_COUNTERS)),
            registers: (attr.regs_user.count_ones().into(), attr.regs_intr.count_ones().into()),
            ..Default::default()
        };
        let mut at = 8;
        let mut take = |present: bool| {
            let here = at;
            at += if present { 8 } else { 0 };
            present.then_some(here)
        };
        let identifier = take(has(sample::IDENTIFIER));
        layout.ip = take(has(sample::IP));
        layout.tid = take(has(sample::TID));
        layout.time = take(has(sample::TIME));
        layout.addr = take(has(sample::ADDR));
        let id = take(has(sample::ID));
        take(has(sample::STREAM_ID));
        layout.cpu = take(has(sample::CPU));
        layout.period = take(has(sample::PERIOD));
        layout.id = identifier.or(id);
        layout.tail = at;
        let is_still = has(sample::RAW) && !has(sample::READ | sample::CALLCHAIN);
        layout.usual =
            [layout.time, layout.cpu, is_still.then_some(at)].map(|at| at.map_or(u16::MAX, |at| at.narrow()));
        if attr.sample_id_all() {
            let mut back = 0;
            let mut take = |present: bool| {
                back += if present { 8 } else { 0 };
                present.then_some(back)
            };
            let identifier = take(has(sample::IDENTIFIER));
            layout.trailer_cpu = take(has(sample::CPU));
            take(has(sample::STREAM_ID));
            let id = take(has(sample::ID));
            layout.trailer_id = identifier.or(id);
            layout.trailer_time = take(has(sample::TIME));
            take(has(sample::TID));
            layout.trailer = back;
        }
        layout
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Time, CPU and payload of a sample that has all of them at their usual places: three comparisons. Others are asked
    /// one by one.
    #[inline(always)]
    pub fn usual(&self, record: &[u8]) -> Option<(u64, u32, (usize, usize))> {
        let [time, cpu, raw] = self.usual.map(usize::from);
        let (time, cpu) = (u64_at(record, time)?, u32_at(record, cpu)?);
        let size = u32_at(record, raw)? as usize;
        (raw + 4 + size <= record.len()).then_some((time, cpu, (raw + 4, size)))
    }

    /// The same of any sample: 0 where there is none, `None` where the record ends before.
    #[inline(never)]
    pub fn unusual(&self, record: &[u8]) -> Option<(u64, u32, (usize, usize))> {
        let time = self.time.map_or(Some(0), |at| u64_at(record, at))?;
        let cpu = self.cpu.map_or(Some(0), |at| u32_at(record, at))?;
        Some((time, cpu, self.raw(record).unwrap_or_default()))
    }

    /// The payload of a sample record: offset and size. `None` if it has none or does not fit.
    #[inline(always)]
    pub fn raw(&self, record: &[u8]) -> Option<(usize, usize)> {
        if !self.has(sample::RAW) {
            return None;
        }
        let mut at = self.tail;
        if self.sample_type & (sample::READ | sample::CALLCHAIN) != 0 {
            at = self.after_variable(record, at)?;
        }
        let size = u32_at(record, at)? as usize;
        slice(record, at + 4, size)?;
        Some((at + 4, size))
    }

    fn after_variable(&self, record: &[u8], mut at: usize) -> Option<usize> {
        if self.has(sample::READ) {
            at = after_words(record, at, self.read_words(u64_at(record, at)?)?)?;
        }
        if self.has(sample::CALLCHAIN) {
            at = after_words(record, at, u64_at(record, at)?.checked_add(1)?)?;
        }
        Some(at)
    }

    /// Words of a READ field that begins with `first`.
    pub fn read_words(&self, first: u64) -> Option<u64> {
        let has = |bit: u64| u64::from(self.read_format & bit != 0);
        let times = has(read::TOTAL_TIME_ENABLED) + has(read::TOTAL_TIME_RUNNING);
        let each = 1 + has(read::ID) + has(read::LOST);
        if self.read_format & read::GROUP != 0 {
            first.checked_mul(each)?.checked_add(1 + times)
        } else {
            Some(each + times)
        }
    }

    /// Where a whole sample record has its callchain, if any.
    #[inline(always)]
    pub fn callchain(&self, record: &[u8]) -> Option<Option<(usize, usize)>> {
        if self.sample_type & !FIXED != sample::CALLCHAIN {
            let (parts, true) = self.parts(record, Order::Little) else { return None };
            return Some(parts.callchain);
        }
        let count = u64_at(record, self.tail)?;
        after_words(record, self.tail, count.checked_add(1)?)?;
        Some(Some((self.tail + 8, count.narrow())))
    }

    /// Where a sample record keeps the rest, and whether it is whole: one that ends before its last
    /// part has the parts up to there.
    pub fn parts(&self, record: &[u8], order: Order) -> (Parts, bool) {
        let mut parts = Parts::default();
        let whole = self.find_parts(record, order, &mut parts).is_some();
        (parts, whole)
    }

    fn find_parts(&self, record: &[u8], order: Order, parts: &mut Parts) -> Option<()> {
        let mut cursor = Cursor { record, order, at: self.tail };
        if self.has(sample::READ) {
            let words = self.read_words(cursor.word()?)?;
            parts.read = Some(cursor.words(words)?.0);
        }
        if self.has(sample::CALLCHAIN) {
            let count = cursor.word()?;
            let (at, _) = cursor.words(count.checked_add(1)?)?;
            parts.callchain = Some((at + 8, count.narrow()));
        }
        if self.has(sample::RAW) {
            let size = order.u32(record, cursor.at)? as usize;
            let at = cursor.at + 4;
            cursor.bytes(4 + size)?;
            parts.raw = Some((at, size));
        }
        if self.has(sample::BRANCH_STACK) {
            let (fixed, each) = self.branch;
            let words = cursor.word()?.checked_mul(each)?.checked_add(1 + fixed)?;
            parts.words[0] = Some(cursor.words(words)?);
        }
        if self.has(sample::REGS_USER) {
            parts.words[1] = Some(cursor.registers(self.registers.0)?);
        }
        if self.has(sample::STACK_USER) {
            let size = cursor.word()?;
            parts.sizes[0] = Some(cursor.words(1)?.0);
            if size > 0 {
                cursor.bytes(usize::try_from(size).ok()?)?;
                parts.sizes[1] = Some(cursor.words(1)?.0);
            }
        }
        parts.weight = cursor.one(self.has(sample::WEIGHT | sample::WEIGHT_STRUCT))?;
        parts.data_src = cursor.one(self.has(sample::DATA_SRC))?;
        parts.transaction = cursor.one(self.has(sample::TRANSACTION))?;
        if self.has(sample::REGS_INTR) {
            parts.words[2] = Some(cursor.registers(self.registers.1)?);
        }
        parts.phys_addr = cursor.one(self.has(sample::PHYS_ADDR))?;
        parts.cgroup = cursor.one(self.has(sample::CGROUP))?;
        parts.data_page_size = cursor.one(self.has(sample::DATA_PAGE_SIZE))?;
        parts.code_page_size = cursor.one(self.has(sample::CODE_PAGE_SIZE))?;
        if self.has(sample::AUX) {
            let size = cursor.word()?;
            parts.sizes[2] = Some(cursor.words(1)?.0);
            cursor.bytes(usize::try_from(size).ok()?)?;
        }
        parts.end = cursor.at;
        (cursor.at <= record.len()).then_some(())
    }
}

/// A place in a sample record that never leaves it.
struct Cursor<'a> {
    record: &'a [u8],
    order: Order,
    at: usize,
}

impl Cursor<'_> {
    /// The word here.
    fn word(&self) -> Option<u64> {
        self.order.u64(self.record, self.at)
    }

    /// Moves on by so many words: where they begin, and how many.
    fn words(&mut self, count: u64) -> Option<(usize, usize)> {
        let begin = self.at;
        self.at = after_words(self.record, begin, count)?;
        Some((begin, count.narrow()))
    }

    fn bytes(&mut self, size: usize) -> Option<()> {
        slice(self.record, self.at, size)?;
        self.at += size;
        Some(())
    }

    /// One word, where there is one.
    fn one(&mut self, present: bool) -> Option<Option<usize>> {
        if present {
            return self.words(1).map(|(at, _)| Some(at));
        }
        Some(None)
    }

    /// The ABI, and unless that is "none" so many registers.
    fn registers(&mut self, count: u64) -> Option<(usize, usize)> {
        let count = if self.word()? == 0 { 0 } else { count };
        self.words(1 + count)
    }
}

/// The end of so many words at `at`; `None` past the record's end.
fn after_words(record: &[u8], at: usize, words: u64) -> Option<usize> {
    let end = at.checked_add(usize::try_from(words).ok()?.checked_mul(8)?)?;
    (end <= record.len()).then_some(end)
}
