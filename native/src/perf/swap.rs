//! Records of a big-endian recorder, as a little-endian one would have written them: everything
//! after this knows one byte order.

use crate::bytes::{u16_at, Order};
use crate::narrow::Narrow;
use crate::payload::{self, reverse};
use crate::perf::blocks::is_last;
use crate::perf::layout::{sample, Layout, Parts};
use crate::perf::record::{self, kind, record_type, Behind};
use crate::perf::recording::PerfData;

/// Bytes of the whole records at the start of `block`, up to and with the first one after which
/// something else than a record may follow.
pub fn extent(block: &[u8]) -> usize {
    let mut at = 0;
    while let Some((kind, size)) = block.get(at..).and_then(|rest| record::header(rest, Order::Big)) {
        if size < record::HEADER || block.len() - at < size {
            break;
        }
        at += size;
        if is_last(kind) {
            break;
        }
    }
    at
}

/// Turns these whole records around.
pub fn to_little(recording: &PerfData, records: &mut [u8]) {
    let mut rest = records;
    while let Some((kind, size)) = record::header(rest, Order::Big) {
        let (bytes, after) = rest.split_at_mut(size);
        match kind {
            kind::SAMPLE => swap_sample(recording, bytes),
            _ => swap_side(recording, kind, bytes),
        }
        Widths(&[4, 2, 2]).swap(bytes, 0, record::HEADER);
        rest = after;
    }
}

/// Sizes of integers that lie side by side.
struct Widths(&'static [usize]);

impl Widths {
    /// Turns them around as far as they end before `end`; where they do.
    fn swap(&self, bytes: &mut [u8], mut at: usize, end: usize) -> usize {
        for &width in self.0 {
            if at + width > end {
                break;
            }
            reverse(bytes, at, width);
            at += width;
        }
        at
    }
}

fn reverse_words(bytes: &mut [u8], at: usize, words: usize) {
    for word in 0..words {
        reverse(bytes, at + 8 * word, 8);
    }
}

fn swap_sample(recording: &PerfData, bytes: &mut [u8]) {
    let event = recording.event_of_sample(bytes, Order::Big);
    let layout = recording.layouts[event.unwrap_or(0) as usize];
    let (parts, _) = layout.parts(bytes, Order::Big);
    fixed_part(&layout, bytes);
    swap_parts(&parts, &layout, bytes);
    if let Some((at, size)) = parts.raw {
        reverse(bytes, at - 4, 4);
        let format = event.and_then(|event| recording.events[event as usize].format.as_deref());
        if let Some(payload) = bytes.get_mut(at..at + size) {
            payload::to_little(format, payload);
        }
    }
}

fn fixed_part(layout: &Layout, bytes: &mut [u8]) {
    let end = layout.tail.min(bytes.len());
    for at in (record::HEADER..end).step_by(8) {
        let halves = Some(at) == layout.tid || Some(at) == layout.cpu;
        Widths(if halves { &[4, 4] } else { &[8] }).swap(bytes, at, end);
    }
}

fn swap_parts(parts: &Parts, layout: &Layout, bytes: &mut [u8]) {
    if let Some(at) = parts.read {
        // This word is not turned around yet.
        let words = Order::Big.u64(bytes, at).and_then(|first| layout.read_words(first));
        reverse_words(bytes, at, words.unwrap_or(0).narrow());
    }
    if let Some((at, count)) = parts.callchain {
        reverse_words(bytes, at - 8, count + 1);
    }
    for (at, words) in parts.words.into_iter().flatten() {
        reverse_words(bytes, at, words);
    }
    let single = [parts.data_src, parts.transaction, parts.phys_addr, parts.cgroup];
    let single = single.into_iter().chain([parts.data_page_size, parts.code_page_size]).chain(parts.sizes);
    single.flatten().chain(parts.weight).for_each(|at| reverse(bytes, at, 8));
}

fn swap_side(recording: &PerfData, kind: u32, bytes: &mut [u8]) {
    let mut end = bytes.len();
    if kind < kind::HEADER_ATTR {
        let layout = recording.layout_of_trailer(bytes, Order::Big);
        end = end.saturating_sub(layout.trailer).max(record::HEADER);
        swap_trailer(&layout, bytes, end);
    }
    let known = record_type(kind);
    let build_id = u16_at(bytes, 4).is_some_and(|misc| misc.swap_bytes() & record::MISC_MMAP_BUILD_ID != 0);
    if kind == kind::MMAP2 && build_id {
        let at = Widths(&[4, 4, 8, 8, 8]).swap(bytes, record::HEADER, end);
        Widths(&[4, 4]).swap(bytes, at + record::BUILD_ID_AREA, end);
        return;
    }
    let at = Widths(known.widths).swap(bytes, record::HEADER, end);
    if known.behind == Behind::Words {
        reverse_words(bytes, at, (end - at) / 8);
    }
}

fn swap_trailer(layout: &Layout, bytes: &mut [u8], mut at: usize) {
    let end = bytes.len();
    if end < record::HEADER + layout.trailer {
        return;
    }
    let order = [sample::TID, sample::TIME, sample::ID, sample::STREAM_ID, sample::CPU, sample::IDENTIFIER];
    for bit in order.into_iter().filter(|bit| layout.sample_type & bit != 0) {
        let halves = matches!(bit, sample::TID | sample::CPU);
        at = Widths(if halves { &[4, 4] } else { &[8] }).swap(bytes, at, end);
    }
}
