//! `struct perf_event_attr` (`include/uapi/linux/perf_event.h`): how one event was recorded.

use crate::bytes::{slice, Order};
use crate::recording::Rate;

/// `PERF_ATTR_SIZE_VER0`: the first kernels' attr, whose recorders may leave its size empty.
pub const SMALLEST: usize = 64;

const FLAG_EXCLUDE_USER: u32 = 4;
const FLAG_EXCLUDE_KERNEL: u32 = 5;
const FLAG_EXCLUDE_HV: u32 = 6;
const FLAG_FREQ: u32 = 10;
const FLAG_ENABLE_ON_EXEC: u32 = 12;
const FLAG_PRECISE_IP: u32 = 15;
const FLAG_SAMPLE_ID_ALL: u32 = 18;
const FLAG_EXCLUDE_HOST: u32 = 19;
const FLAG_USE_CLOCKID: u32 = 25;
const FLAG_WRITE_BACKWARD: u32 = 27;

/// The parts of one event's `perf_event_attr` that reading needs.
#[derive(Debug, Clone)]
pub struct Attr {
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// For a tracepoint, its format's ID.
    pub config: u64,
    /// Which fields a sample has.
    pub sample_type: u64,
    /// Shape of the READ field.
    pub read_format: u64,
    /// Which branches a BRANCH_STACK has, and with what beside them.
    pub branch_sample_type: u64,
    /// Mask of the registers in REGS_USER.
    pub regs_user: u64,
    /// Mask of the registers in REGS_INTR.
    pub regs_intr: u64,
    /// `CLOCK_*` of the timestamps, if not perf's own.
    pub clockid: Option<i32>,
    /// How far the address of a sample may lie off, 0 (any) to 3.
    pub precise_ip: u8,
    sample_period: u64,
    flags: u64,
}

impl Attr {
    /// Reads an attr that lies at the start of `bytes`; its own `size` field says how much of it
    /// the recorder knew, and what lies past that reads as zero.
    pub fn parse(bytes: &[u8], order: Order) -> Option<Attr> {
        let bytes = slice(bytes, 0, Self::size(bytes, order)?.min(bytes.len()))?;
        let newer = |at| order.u64(bytes, at).unwrap_or(0);
        let flags = flags(bytes, order)?;
        let uses_clockid = flags >> FLAG_USE_CLOCKID & 1 == 1;
        let precise = (flags >> FLAG_PRECISE_IP & 3) as u8;
        Some(Attr {
            kind: order.u32(bytes, 0)?,
            config: order.u64(bytes, 8)?,
            sample_period: order.u64(bytes, 16)?,
            sample_type: order.u64(bytes, 24)?,
            read_format: order.u64(bytes, 32)?,
            branch_sample_type: newer(72),
            regs_user: newer(80),
            regs_intr: newer(96),
            clockid: uses_clockid.then(|| order.i32(bytes, 92)).flatten(),
            precise_ip: if order == Order::Big { precise >> 1 | (precise & 1) << 1 } else { precise },
            flags,
        })
    }

    /// Bytes that the recorder's attr takes, by its own size field.
    pub fn size(bytes: &[u8], order: Order) -> Option<usize> {
        match order.u32(bytes, 4)? as usize {
            0 => Some(SMALLEST),
            size => Some(size),
        }
    }

    fn flag(&self, bit: u32) -> bool {
        self.flags >> bit & 1 == 1
    }

    /// Whether records other than samples end in a time, cpu and id.
    pub fn sample_id_all(&self) -> bool {
        self.flag(FLAG_SAMPLE_ID_ALL)
    }

    /// How often the event was recorded.
    pub fn rate(&self) -> Rate {
        match self.flag(FLAG_FREQ) {
            true => Rate::Frequency(self.sample_period),
            false => Rate::Period(self.sample_period),
        }
    }

    /// Whether the event followed one command instead of whole CPUs.
    pub fn follows_command(&self) -> bool {
        self.flag(FLAG_ENABLE_ON_EXEC)
    }

    /// Whether each ring's records stand newest first.
    pub fn newest_first(&self) -> bool {
        self.flag(FLAG_WRITE_BACKWARD)
    }

    /// What was left out: user, kernel and hypervisor mode, and the host as against its guests.
    pub fn excludes(&self) -> [bool; 4] {
        [FLAG_EXCLUDE_USER, FLAG_EXCLUDE_KERNEL, FLAG_EXCLUDE_HV, FLAG_EXCLUDE_HOST].map(|bit| self.flag(bit))
    }

    /// Whether samples have this part (`PERF_SAMPLE_*`).
    pub fn has(&self, part: u64) -> bool {
        self.sample_type & part != 0
    }
}

/// The attr's bit field. Compilers of big-endian machines fill each byte from its other end.
fn flags(bytes: &[u8], order: Order) -> Option<u64> {
    let bytes: [u8; 8] = slice(bytes, 40, 8)?.try_into().ok()?;
    Some(match order {
        Order::Little => u64::from_le_bytes(bytes),
        Order::Big => u64::from_le_bytes(bytes.map(u8::reverse_bits)),
    })
}
