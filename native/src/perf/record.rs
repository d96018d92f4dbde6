//! Record types, and the few records besides samples that carry meaning here.

use crate::bytes::{i32_at, text, u16_at, u64_at, Order};
use crate::kinds::Kind;
use crate::narrow::Narrow;
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

/// What stands behind the integers that a record's body begins with, up to its trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Numbers, or names of the kernel's and of events: nothing that would say who was recorded.
    Numbers,
    /// The same, in whole words of 8 bytes.
    Words,
    /// From this byte of the record on, something of this kind.
    Is(usize, Kind),
    /// From this byte on, something of unknown meaning.
    Unknown(usize),
    /// Parts that no other type has.
    Own,
}

/// A type of records.
#[derive(Debug)]
pub struct RecordType {
    id: u32,
    name: &'static str,
    /// Bytes of the integers that its body begins with.
    pub widths: &'static [usize],
    /// What follows them.
    pub behind: Behind,
}

macro_rules! record_types {
    ($($name:ident = $id:literal $widths:tt $behind:expr;)*) => {
        /// Numbers of the types.
        pub mod kind {
            $(pub const $name: u32 = $id;)*
        }

        const TYPES: &[RecordType] =
            &[$(RecordType { id: kind::$name, name: stringify!($name), widths: &$widths, behind: $behind }),*];
    };
}

use Behind::{Is, Numbers, Own, Unknown, Words};
use Kind::{Path, Symbols, Task};

// `enum perf_event_type` (include/uapi/linux/perf_event.h), and from 64 on perf's own (tools/lib/perf/include/perf/event.h).
record_types! {
    MMAP = 1 [4, 4, 8, 8, 8] Is(40, Path);
    LOST = 2 [] Words;
    COMM = 3 [4, 4] Is(16, Task);
    EXIT = 4 [4, 4, 4, 4, 8] Numbers;
    THROTTLE = 5 [] Words;
    UNTHROTTLE = 6 [] Words;
    FORK = 7 [4, 4, 4, 4, 8] Numbers;
    READ = 8 [4, 4] Words;
    SAMPLE = 9 [] Own;
    MMAP2 = 10 [4, 4, 8, 8, 8, 4, 4, 8, 8, 4, 4] Is(72, Path);
    AUX = 11 [] Words;
    ITRACE_START = 12 [4, 4] Numbers;
    LOST_SAMPLES = 13 [] Words;
    SWITCH = 14 [] Numbers;
    SWITCH_CPU_WIDE = 15 [4, 4] Numbers;
    NAMESPACES = 16 [4, 4] Words;
    KSYMBOL = 17 [8, 4, 2, 2] Is(24, Symbols);
    BPF_EVENT = 18 [2, 2, 4] Numbers;
    CGROUP = 19 [8] Is(16, Path);
    TEXT_POKE = 20 [8, 2, 2] Numbers;
    AUX_OUTPUT_HW_ID = 21 [] Words;
    CALLCHAIN_DEFERRED = 22 [] Words;
    HEADER_ATTR = 64 [] Numbers;
    HEADER_EVENT_TYPE = 65 [] Numbers;
    HEADER_TRACING_DATA = 66 [4] Numbers;
    HEADER_BUILD_ID = 67 [] Own;
    FINISHED_ROUND = 68 [] Numbers;
    ID_INDEX = 69 [] Numbers;
    AUXTRACE_INFO = 70 [] Unknown(16);
    AUXTRACE = 71 [8, 8, 8, 4, 4, 4, 4] Numbers;
    AUXTRACE_ERROR = 72 [] Unknown(48);
    THREAD_MAP = 73 [] Own;
    CPU_MAP = 74 [] Numbers;
    STAT_CONFIG = 75 [] Numbers;
    STAT = 76 [] Numbers;
    STAT_ROUND = 77 [] Numbers;
    EVENT_UPDATE = 78 [] Numbers;
    TIME_CONV = 79 [] Numbers;
    HEADER_FEATURE = 80 [] Own;
    COMPRESSED = 81 [] Unknown(HEADER);
    FINISHED_INIT = 82 [] Numbers;
    COMPRESSED2 = 83 [8] Unknown(HEADER);
}

/// What is known of a type; of one that is not, nothing.
pub fn record_type(kind: u32) -> &'static RecordType {
    const UNKNOWN: RecordType = RecordType { id: 0, name: "", widths: &[], behind: Unknown(HEADER) };
    TYPES.iter().find(|known| known.id == kind).unwrap_or(&UNKNOWN)
}

/// The name perf gives a record type; unknown ones by number.
pub fn name(kind: u32) -> String {
    match record_type(kind).name {
        "" => format!("type {kind}"),
        name => name.to_owned(),
    }
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

/// A record's header: type, misc 0, size.
pub fn header_bytes(kind: u32, size: usize, order: Order) -> [u8; 8] {
    let mut header = [0; 8];
    header[..4].copy_from_slice(&order.u32_bytes(kind));
    header[6..].copy_from_slice(&order.u16_bytes(size.narrow()));
    header
}

/// The misc of a record's header.
pub fn misc(record: &[u8]) -> u16 {
    u16_at(record, 4).unwrap_or(0)
}
