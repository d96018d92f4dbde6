//! perf's records, each masked in as many bytes.

use super::Mask;
use crate::bytes::{until_nul, Order};
use crate::error::Result;
use crate::perf::record::{self, kind};
use crate::perf::recording::PerfData;
use crate::perf::samples::{CONTEXTS_OF_USER, FIRST_CONTEXT};
use crate::perf::spans;

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
        let body = &mut bytes[..end];
        self.names.hide_all(&spans::of_record(kind, body, order), body, order)
    }

    fn sample(&mut self, perf: &PerfData, bytes: &mut [u8]) -> Result<()> {
        let order = perf.order;
        let Some(event) = perf.event_of_sample(bytes, order) else {
            // Without its event the layout of a sample is not known: only its id is kept.
            let keep = perf.id_at.map_or(record::HEADER, |at| at + 8).min(bytes.len());
            bytes[keep..].fill(0);
            self.names.tell("samples of an unknown event zeroed", 1);
            return Ok(());
        };
        let Some(layout) = perf.layouts.get(event as usize) else { return Ok(()) };
        let (parts, whole) = layout.parts(bytes, order);
        if !whole {
            let fixed = layout.tail.min(bytes.len());
            bytes[fixed..].fill(0);
            self.names.tell("samples that end too early zeroed", 1);
            return Ok(());
        }
        bytes[parts.end..].fill(0);
        let chain = parts.callchain.map(|(at, count)| &mut bytes[at..at + 8 * count]);
        let hidden = chain.map_or(0, |words| hide_no_addresses(words, order));
        self.names.tell("words in call chains that are not addresses zeroed", hidden);
        for size_at in [parts.sizes[0], parts.sizes[2]].into_iter().flatten() {
            let size = order.u64(bytes, size_at).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
            let memory = size_at.checked_add(8).and_then(|at| bytes.get_mut(at..at.checked_add(size)?));
            if let Some(memory) = memory.filter(|memory| !memory.is_empty()) {
                memory.fill(0);
                self.names.tell("copies of memory in samples (user stacks, AUX) zeroed", 1);
            }
        }
        let Some((at, size)) = parts.raw else { return Ok(()) };
        let Some(payload) = bytes.get_mut(at..at + size) else { return Ok(()) };
        if !perf.events[event as usize].is_tracepoint() {
            if !until_nul(payload).is_empty() {
                self.names.tell("payloads of events that are not tracepoints zeroed", 1);
            }
            payload.fill(0);
            return Ok(());
        }
        self.payload(event, order, payload)
    }
}

/// Zeroes the words of a call chain's user part that no program's address can be: without frame pointers they are
/// what lay on its stack, texts among it. How many there were.
fn hide_no_addresses(words: &mut [u8], order: Order) -> u64 {
    let (mut in_user, mut hidden) = (false, 0);
    for word in words.chunks_exact_mut(8) {
        let value = order.u64(word, 0).unwrap_or(0);
        if value >= FIRST_CONTEXT {
            in_user = CONTEXTS_OF_USER.contains(&value);
        } else if in_user && value >= END_OF_USER {
            word.fill(0);
            hidden += 1;
        }
    }
    hidden
}

/// Beyond this lies no program, on any architecture, unless it asks for it (five levels of page tables).
const END_OF_USER: u64 = 1 << 48;
