//! perf's records, each masked in as many bytes.

use super::Mask;
use crate::bytes::until_nul;
use crate::error::Result;
use crate::perf::record::{self, kind, record_type, Behind, BUILD_ID_AREA, MISC_MMAP_BUILD_ID};
use crate::perf::recording::PerfData;

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
        let from = |at: usize| at.min(end);
        match record_type(kind).behind {
            Behind::Numbers | Behind::Words => Ok(()),
            Behind::Task(at) => self.names.text("task", &mut body[from(at)..]).map(|_| ()),
            Behind::Path(at) => {
                let replaced = self.names.text("path", &mut body[from(at)..])?;
                if replaced && kind == kind::MMAP2 && misc & MISC_MMAP_BUILD_ID != 0 && end >= at {
                    body[MMAP2_BUILD_ID_AT..40 + BUILD_ID_AREA].fill(0);
                }
                Ok(())
            }
            Behind::Symbol(at) => {
                self.symbols(&mut body[from(at)..]);
                Ok(())
            }
            Behind::Unknown(at) => self.zero(kind, &mut body[from(at)..]),
            Behind::Own => match kind {
                kind::HEADER_BUILD_ID => self.build_id(body),
                kind::THREAD_MAP => self.thread_map(body),
                _ => {
                    let feature = order.u64(body, 8).and_then(|feature| usize::try_from(feature).ok());
                    self.feature(feature.unwrap_or(usize::MAX), &mut body[from(16)..], order)
                }
            },
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
