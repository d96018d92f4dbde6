//! One page of a ring buffer into the places and times of its events (`kernel/trace/ring_buffer.c`).

use crate::bytes::Order;
use crate::narrow::Narrow;

/// Where a page keeps what, from the recorded `events/header_page`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLayout {
    /// Where the committed size lies, and how many bytes it has.
    pub commit: (usize, usize),
    /// Where events begin.
    pub data: usize,
    /// Bytes of a page with its header.
    pub size: usize,
    /// Byte order of the recorded machine.
    pub order: Order,
}

const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const COMMIT: u64 = (1 << 27) - 1;

const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;
const TIME_SHIFT: u32 = 27;
/// An absolute time stamp has 59 bits; the rest is the page's.
const STAMP_BITS: u64 = (1 << 59) - 1;

/// Pages smaller than a header or larger than this come from damage.
const MAX: usize = 1 << 20;

impl PageLayout {
    /// Reads the recorded text; `page_size` where that says nothing of it.
    pub fn parse(header_page: &str, long_bytes: usize, page_size: usize, order: Order) -> Option<PageLayout> {
        let number = |line: &str, key: &str| -> Option<usize> {
            line.split(';').find_map(|part| part.trim().strip_prefix(key)?.trim().parse().ok())
        };
        let field = |name: &str| {
            let line = header_page
                .lines()
                .find(|line| line.split(';').next().is_some_and(|part| part.trim_end().ends_with(name)))?;
            Some((number(line, "offset:")?, number(line, "size:")?))
        };
        let (commit, data) = (field(" commit").unwrap_or((8, long_bytes)), field(" data"));
        let data_at = data.map_or(8 + commit.1, |data| data.0);
        let size = if page_size > 0 { page_size } else { data.map_or(4096, |data| data.0 + data.1) };
        let sound = matches!(commit.1, 4 | 8) && commit.0 + commit.1 <= data_at && data_at < size && size <= MAX;
        sound.then_some(PageLayout { commit, data: data_at, size, order })
    }
}

/// One event of a page.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Time in the clock's own units.
    pub time: u64,
    /// First byte of the payload, from the page's start.
    pub at: u32,
    /// Bytes of the payload.
    pub size: u32,
}

/// Events lost right before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// None.
    No,
    /// Some; the kernel had no room to say how many.
    Unknown,
    /// So many.
    Some(u64),
}

/// What a page says besides its events.
#[derive(Debug, Clone, Copy)]
pub struct PageEnd {
    /// Events lost before it.
    pub missed: Missed,
    /// Whether its contents could be walked to their end.
    pub sound: bool,
}

impl PageLayout {
    /// Shows every event of a page of `size` bytes.
    pub fn walk(&self, page: &[u8], show: impl FnMut(Row)) -> PageEnd {
        self.walk_all(page, show, |_, _| {})
    }

    /// The same, and where the contents of events lie that were thrown away.
    pub fn walk_all(&self, page: &[u8], show: impl FnMut(Row), discarded: impl FnMut(usize, usize)) -> PageEnd {
        match self.order {
            Order::Little => self.events(page, show, discarded, |word| (word & 31, word >> 5)),
            Order::Big => self.events(page, show, discarded, |word| (word >> 27, word & ((1 << 27) - 1))),
        }
    }

    /// Bytes of a page that hold something: its events, and how many are missing before them.
    pub fn used(&self, page: &[u8]) -> usize {
        let commit = self.long(page, self.commit.0).unwrap_or(0);
        let counted = if commit & MISSED != 0 && commit & MISSED_STORED != 0 { self.commit.1 } else { 0 };
        (self.data + (commit & COMMIT) as usize + counted).min(page.len())
    }

    fn long(&self, page: &[u8], at: usize) -> Option<u64> {
        match self.commit.1 {
            8 => self.order.u64(page, at),
            _ => self.order.u32(page, at).map(u64::from),
        }
    }

    #[inline(always)]
    fn events(
        &self,
        page: &[u8],
        mut show: impl FnMut(Row),
        mut discarded: impl FnMut(usize, usize),
        split: impl Fn(u32) -> (u32, u32),
    ) -> PageEnd {
        let order = self.order;
        let long = |at: usize| self.long(page, at);
        let (Some(mut time), Some(commit)) = (order.u64(page, 0), long(self.commit.0)) else {
            return PageEnd { missed: Missed::No, sound: false };
        };
        let end = self.data + (commit & COMMIT) as usize;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::No,
            (true, true) => long(end).map_or(Missed::Unknown, Missed::Some),
            (true, false) => Missed::Unknown,
        };
        let Some(events) = page.get(..end) else { return PageEnd { missed, sound: false } };
        let word = |at: usize| order.u32(events, at);
        let mut at = self.data;
        while at < end {
            let Some((kind, delta)) = word(at).map(&split) else { return PageEnd { missed, sound: false } };
            let delta = u64::from(delta);
            at += 4;
            let (begin, size) = match kind {
                TYPE_TIME_EXTEND | TYPE_TIME_STAMP | TYPE_PADDING | 0 => {
                    // A padding without a delta is the rest of the page.
                    if kind == TYPE_PADDING && delta == 0 {
                        discarded(at, end - at);
                        break;
                    }
                    let Some(first) = word(at) else { return PageEnd { missed, sound: false } };
                    match kind {
                        TYPE_TIME_EXTEND => {
                            time = time.wrapping_add((u64::from(first) << TIME_SHIFT) + delta);
                            at += 4;
                            continue;
                        }
                        TYPE_TIME_STAMP => {
                            let stamp = time & !STAMP_BITS | ((u64::from(first) << TIME_SHIFT) + delta);
                            // A stamp holds only the low bits: if it lies far back, those above have been counted up.
                            let far_back = time.saturating_sub(stamp) > STAMP_BITS / 2;
                            time = if far_back { stamp.wrapping_add(STAMP_BITS + 1) } else { stamp };
                            at += 4;
                            continue;
                        }
                        TYPE_PADDING => {
                            // An event that was thrown away; its size counts the word before it.
                            time = time.wrapping_add(delta);
                            discarded(at + 4, (first as usize).saturating_sub(4));
                            at += first as usize;
                            continue;
                        }
                        _ if first < 4 => return PageEnd { missed, sound: false },
                        _ => (at + 4, (first as usize - 4).next_multiple_of(4)),
                    }
                }
                words => (at, 4 * words as usize),
            };
            at = begin + size;
            if at > end {
                return PageEnd { missed, sound: false };
            }
            time = time.wrapping_add(delta);
            show(Row { time, at: begin.narrow(), size: size.narrow() });
        }
        PageEnd { missed, sound: true }
    }
}
