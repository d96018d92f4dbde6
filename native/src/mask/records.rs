//! perf's records, each masked in as many bytes.

use super::Mask;
use crate::bytes::{until_nul, Order};
use crate::error::Result;
use crate::perf::record::{self, kind, BUILD_ID_AREA, MISC_MMAP_BUILD_ID};
use crate::perf::recording::PerfData;

/// Types that `record::kind` has no use for.
mod other {
    pub const SWITCH: u32 = 14;
    pub const BUILD_ID: u32 = 67;
    pub const AUXTRACE_INFO: u32 = 70;
    pub const AUXTRACE_ERROR: u32 = 72;
    pub const THREAD_MAP: u32 = 73;
    pub const CPU_MAP: u32 = 74;
    pub const STAT_ROUND: u32 = 77;
    pub const TIME_CONV: u32 = 79;
    pub const FINISHED_INIT: u32 = 82;
}

/// Where texts begin.
const COMM_AT: usize = 16;
const MMAP_NAME_AT: usize = 40;
const MMAP2_NAME_AT: usize = 72;
const KSYMBOL_NAME_AT: usize = 24;
const CGROUP_PATH_AT: usize = 16;
const AUXTRACE_TYPE_END: usize = 16;
const AUXTRACE_MESSAGE_AT: usize = 48;
/// In the area of a build id behind its size.
const MMAP2_BUILD_ID_AT: usize = 44;

impl Mask<'_> {
    /// Masks a record. What is known to be numbers stays; records that nobody knows keep their header and
    /// the time and CPU at their end.
    pub(super) fn record(&mut self, perf: &PerfData, bytes: &mut [u8]) -> Result<()> {
        let order = perf.order;
        let Some((kind, _)) = record::header(bytes, order) else { return Ok(()) };
        if kind == kind::SAMPLE {
            return self.sample(perf, bytes);
        }
        let trailer = if kind < kind::HEADER_ATTR { perf.layout_of_trailer(bytes, order).trailer } else { 0 };
        let end = bytes.len().saturating_sub(trailer).max(record::HEADER);
        let misc = order.u16(bytes, 4).unwrap_or(0);
        let (body, _) = bytes.split_at_mut(end);
        let behind = |at: usize| at.min(end);
        match kind {
            kind::COMM => self.names.text("task", &mut body[behind(COMM_AT)..]).map(|_| ()),
            kind::MMAP => self.names.text("path", &mut body[behind(MMAP_NAME_AT)..]).map(|_| ()),
            kind::MMAP2 => {
                let replaced = self.names.text("path", &mut body[behind(MMAP2_NAME_AT)..])?;
                if replaced && misc & MISC_MMAP_BUILD_ID != 0 && end >= MMAP2_NAME_AT {
                    body[MMAP2_BUILD_ID_AT..40 + BUILD_ID_AREA].fill(0);
                }
                Ok(())
            }
            kind::KSYMBOL => {
                self.symbols(&mut body[behind(KSYMBOL_NAME_AT)..]);
                Ok(())
            }
            kind::CGROUP => self.names.text("path", &mut body[behind(CGROUP_PATH_AT)..]).map(|_| ()),
            other::BUILD_ID => self.build_id(body),
            other::THREAD_MAP => self.thread_map(body),
            kind::HEADER_FEATURE => {
                let feature = order.u64(body, 8).and_then(|feature| usize::try_from(feature).ok());
                self.feature(feature.unwrap_or(usize::MAX), &mut body[behind(16)..], order)
            }
            other::AUXTRACE_INFO => self.zero(kind, &mut body[behind(AUXTRACE_TYPE_END)..]),
            other::AUXTRACE_ERROR => self.zero(kind, &mut body[behind(AUXTRACE_MESSAGE_AT)..]),
            _ if numbers(kind) => Ok(()),
            _ => self.zero(kind, &mut body[record::HEADER..]),
        }
    }

    fn zero(&mut self, kind: u32, bytes: &mut [u8]) -> Result<()> {
        if bytes.iter().any(|&byte| byte != 0) {
            self.tell(&format!("records of {} zeroed", record::name(kind)), 1);
        }
        bytes.fill(0);
        Ok(())
    }

    /// A count, then numbers and names of tasks.
    fn thread_map(&mut self, bytes: &mut [u8]) -> Result<()> {
        for entry in bytes.get_mut(16..).unwrap_or_default().chunks_mut(24) {
            if let Some(comm) = entry.get_mut(8..) {
                self.names.text("task", comm)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, perf: &PerfData, bytes: &mut [u8]) -> Result<()> {
        let order = perf.order;
        let Some(event) = perf.event_of_sample(bytes, order) else {
            // Without its event a sample has no layout: only the id that nobody knows is left.
            let keep = perf.id_at.map_or(record::HEADER, |at| at + 8).min(bytes.len());
            bytes[keep..].fill(0);
            self.tell("samples of an unknown event zeroed", 1);
            return Ok(());
        };
        let Some(layout) = perf.layouts.get(event as usize) else { return Ok(()) };
        let (parts, whole) = layout.parts(bytes, order);
        if !whole {
            let fixed = layout.tail.min(bytes.len());
            bytes[fixed..].fill(0);
            self.tell("samples that end too early zeroed", 1);
            return Ok(());
        }
        bytes[parts.end..].fill(0);
        for size_at in [parts.sizes[0], parts.sizes[2]].into_iter().flatten() {
            let size = order.u64(bytes, size_at).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
            let memory = size_at.checked_add(8).and_then(|at| bytes.get_mut(at..at.checked_add(size)?));
            if let Some(memory) = memory.filter(|memory| !memory.is_empty()) {
                memory.fill(0);
                self.tell("copies of memory in samples (user stacks, AUX) zeroed", 1);
            }
        }
        let Some((at, size)) = parts.raw else { return Ok(()) };
        let Some(payload) = bytes.get_mut(at..at + size) else { return Ok(()) };
        if !perf.events[event as usize].is_tracepoint() {
            if !until_nul(payload).is_empty() {
                self.tell("payloads of events that are no tracepoints zeroed", 1);
            }
            payload.fill(0);
            return Ok(());
        }
        self.payload(Some(event), order, payload)
    }
}

/// Records of numbers alone, or of names that are the kernel's and the events'.
fn numbers(kind: u32) -> bool {
    const SIDE: [u32; 16] = [
        kind::FORK,
        kind::EXIT,
        kind::LOST,
        kind::THROTTLE,
        kind::UNTHROTTLE,
        kind::READ,
        kind::AUX,
        kind::ITRACE_START,
        kind::LOST_SAMPLES,
        other::SWITCH,
        kind::SWITCH_CPU_WIDE,
        kind::NAMESPACES,
        kind::BPF_EVENT,
        kind::TEXT_POKE,
        kind::AUX_OUTPUT_HW_ID,
        kind::CALLCHAIN_DEFERRED,
    ];
    const OWN: [u32; 9] = [
        kind::HEADER_ATTR,
        kind::HEADER_EVENT_TYPE,
        kind::TRACING_DATA,
        kind::FINISHED_ROUND,
        kind::ID_INDEX,
        kind::AUXTRACE,
        kind::EVENT_UPDATE,
        other::TIME_CONV,
        other::FINISHED_INIT,
    ];
    SIDE.contains(&kind) || OWN.contains(&kind) || (other::CPU_MAP..=other::STAT_ROUND).contains(&kind)
}

/// The `Order` of a recording as bytes of a number of four.
pub fn four(order: Order, number: u32) -> [u8; 4] {
    if order == Order::Big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    }
}

/// The same of eight.
pub fn eight(order: Order, number: u64) -> [u8; 8] {
    if order == Order::Big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    }
}

/// A record's header: type, misc 0, size.
pub fn header(kind: u32, size: usize, order: Order) -> [u8; 8] {
    let mut header = [0; 8];
    header[..4].copy_from_slice(&four(order, kind));
    let size = size as u16;
    header[6..].copy_from_slice(&if order == Order::Big { size.to_be_bytes() } else { size.to_le_bytes() });
    header
}
