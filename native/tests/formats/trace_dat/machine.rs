//! Pages of a ring as a machine of either byte order and word size has them.

use netcost::Order;

use crate::described::Bytes;

pub const S: u64 = 1_000_000_000;
pub const PAGE: usize = 4096;
/// Records of a ring that are no events.
pub const PADDING: u32 = 29;
pub const TIME_EXTEND: u32 = 30;
pub const TIME_STAMP: u32 = 31;
/// Beside a sub-buffer's size: something was lost before it, and how much stands behind its records.
pub const MISSED: u64 = 1 << 31;
pub const STORED: u64 = 1 << 30;

/// Whose `long` has so many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub order: Order,
    pub word: usize,
}

pub const X86_64: Machine = Machine { order: Order::Little, word: 8 };
pub const MACHINES: [Machine; 4] = [
    X86_64,
    Machine { order: Order::Little, word: 4 },
    Machine { order: Order::Big, word: 8 },
    Machine { order: Order::Big, word: 4 },
];

/// A record's first word. Compilers of big-endian machines fill it from its other end.
pub fn head(order: Order, kind: u32, delta: u32) -> u32 {
    match order {
        Order::Little => kind | delta << 5,
        Order::Big => kind << 27 | delta,
    }
}

impl Machine {
    pub fn bytes(self) -> Bytes {
        Bytes::of(self.order)
    }

    pub fn long(self, number: u64) -> Vec<u8> {
        if self.word == 8 { self.bytes().u64(number) } else { self.bytes().u32(number as u32) }.bytes
    }

    /// Bytes of records that a sub-buffer holds.
    pub fn room(self) -> usize {
        PAGE - 8 - self.word
    }

    pub fn header_page(self) -> String {
        let line =
            |field: &str, at: usize, size: usize| format!("\tfield: {field};\toffset:{at};\tsize:{size};\tsigned:0;\n");
        let data = line("char data", 8 + self.word, self.room());
        line("u64 timestamp", 0, 8) + &line("local_t commit", 8, self.word) + &data
    }

    /// A record of two words at least.
    pub fn record(self, kind: u32, delta: u32, rest: &[u32]) -> Vec<u8> {
        rest.iter().fold(self.bytes().u32(head(self.order, kind, delta)), |bytes, &word| bytes.u32(word)).bytes
    }

    /// An event of this type with this vector.
    pub fn event(self, kind: u16, delta: u32, vec: u32) -> Vec<u8> {
        self.bytes().u32(head(self.order, 3, delta)).u16(kind).raw(&[0, 1]).u32(500).u32(vec).bytes
    }

    /// A sub-buffer that says it has so many bytes.
    pub fn page(self, time: u64, commit: u64, body: &[u8]) -> Vec<u8> {
        let mut page = self.bytes().u64(time).raw(&self.long(commit)).raw(body).bytes;
        page.resize(PAGE, 0);
        page
    }

    /// Sub-buffers of so many events each: their times and vectors.
    pub fn ring(self, each: usize, events: &[(u64, u32)]) -> Vec<u8> {
        let page = |some: &[(u64, u32)]| {
            let (mut now, mut body) = (some[0].0, Vec::new());
            for &(at, vec) in some {
                // What 27 bits do not reach, or what is earlier, needs a stamp.
                let delta = at.checked_sub(now).filter(|&delta| delta < 1 << 27);
                if delta.is_none() {
                    body.extend(self.record(TIME_STAMP, (at & 0x7ff_ffff) as u32, &[(at >> 27) as u32]));
                }
                body.extend(self.event(77, delta.unwrap_or(0) as u32, vec));
                now = at;
            }
            self.page(some[0].0, body.len() as u64, &body)
        };
        events.chunks(each).flat_map(page).collect()
    }
}
