//! Record types, and the few records besides samples that carry meaning here.

use crate::bytes::{i32_at, text, u16_at, u64_at, Order};
use crate::visit::What;

/// Bytes of every record's header: type, misc, size.
pub const HEADER: usize = 8;
/// Which mode the CPU was in, in a header's misc.
pub const MISC_CPUMODE_MASK: u16 = 7;
/// In the misc of MMAP: the mapping holds data, not code.
pub const MISC_MMAP_DATA: u16 = 1 << 13;
/// In the misc of MMAP2: a build id stands where device and inode would.
pub const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
/// Bytes of that build id with its size, as of the device and inode.
pub const BUILD_ID_AREA: usize = 24;

/// What `MISC_CPUMODE_MASK` selects: names by number.
pub const CPU_MODES: [&str; 6] = ["unknown", "kernel", "user", "hypervisor", "guest kernel", "guest user"];

/// Whether a record's misc says that a guest was running.
pub fn is_guest(misc: u16) -> bool {
    matches!(misc & MISC_CPUMODE_MASK, 4 | 5)
}

/// `enum perf_event_type` and perf's own user records.
pub mod kind {
    #![allow(missing_docs)]
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const UNTHROTTLE: u32 = 6;
    pub const FORK: u32 = 7;
    pub const READ: u32 = 8;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const AUX: u32 = 11;
    pub const ITRACE_START: u32 = 12;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const NAMESPACES: u32 = 16;
    pub const KSYMBOL: u32 = 17;
    pub const BPF_EVENT: u32 = 18;
    pub const CGROUP: u32 = 19;
    pub const TEXT_POKE: u32 = 20;
    pub const AUX_OUTPUT_HW_ID: u32 = 21;
    pub const CALLCHAIN_DEFERRED: u32 = 22;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_EVENT_TYPE: u32 = 65;
    pub const TRACING_DATA: u32 = 66;
    pub const FINISHED_ROUND: u32 = 68;
    pub const ID_INDEX: u32 = 69;
    pub const AUXTRACE: u32 = 71;
    pub const EVENT_UPDATE: u32 = 78;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

const NAMES: [&str; 23] = [
    "0",
    "MMAP",
    "LOST",
    "COMM",
    "EXIT",
    "THROTTLE",
    "UNTHROTTLE",
    "FORK",
    "READ",
    "SAMPLE",
    "MMAP2",
    "AUX",
    "ITRACE_START",
    "LOST_SAMPLES",
    "SWITCH",
    "SWITCH_CPU_WIDE",
    "NAMESPACES",
    "KSYMBOL",
    "BPF_EVENT",
    "CGROUP",
    "TEXT_POKE",
    "AUX_OUTPUT_HW_ID",
    "CALLCHAIN_DEFERRED",
];
const USER_NAMES: [&str; 20] = [
    "HEADER_ATTR",
    "HEADER_EVENT_TYPE",
    "HEADER_TRACING_DATA",
    "HEADER_BUILD_ID",
    "FINISHED_ROUND",
    "ID_INDEX",
    "AUXTRACE_INFO",
    "AUXTRACE",
    "AUXTRACE_ERROR",
    "THREAD_MAP",
    "CPU_MAP",
    "STAT_CONFIG",
    "STAT",
    "STAT_ROUND",
    "EVENT_UPDATE",
    "TIME_CONV",
    "HEADER_FEATURE",
    "COMPRESSED",
    "FINISHED_INIT",
    "COMPRESSED2",
];

/// The name perf gives a record type; unknown ones by number.
pub fn name(kind: u32) -> String {
    let known = match kind {
        64.. => USER_NAMES.get(kind as usize - 64),
        _ => NAMES.get(kind as usize),
    };
    known.map_or_else(|| format!("type {kind}"), |name| (*name).to_owned())
}

/// Reads what a record says; `find` maps ids to events.
pub fn what(kind: u32, record: &[u8], find: impl Fn(u64) -> Option<u32>) -> What {
    let parsed = match kind {
        kind::COMM => i32_at(record, 12).map(|tid| {
            let comm = text(record.get(16..(16 + 16).min(record.len())).unwrap_or_default());
            What::Comm { tid, comm }
        }),
        kind::FORK => match (i32_at(record, 16), i32_at(record, 20)) {
            (Some(tid), Some(parent)) => Some(What::Fork { tid, parent }),
            _ => None,
        },
        kind::LOST => u64_at(record, 16).map(What::Lost),
        kind::LOST_SAMPLES => u64_at(record, 8).map(What::LostSamples),
        kind::THROTTLE | kind::UNTHROTTLE => {
            u64_at(record, 16).map(|id| What::Throttle(kind == kind::THROTTLE, find(id)))
        }
        kind::FINISHED_ROUND => Some(What::Round),
        _ => None,
    };
    parsed.unwrap_or(What::Other)
}

/// Type and size of the record at the start of `bytes`.
#[inline(always)]
pub fn header(bytes: &[u8], order: Order) -> Option<(u32, usize)> {
    Some((order.u32(bytes, 0)?, order.u16(bytes, 6)? as usize))
}

/// The misc of a record's header.
pub fn misc(record: &[u8]) -> u16 {
    u16_at(record, 4).unwrap_or(0)
}
