//! What stands where in what a perf.data says beside its samples.

use crate::bytes::Order;
use crate::kinds::{Kind, Span};
use crate::perf::feature;
use crate::perf::header::string_at;
use crate::perf::record::{self, kind, record_type, Behind, BUILD_ID_AREA, MISC_MMAP_BUILD_ID};
use crate::tracing::Tracing;

/// Where the build id and the name stand in a record of them.
const BUILD_ID: u64 = 12;
const BUILD_ID_NAME: usize = 36;
/// Where device and inode, or a build id, stand in MMAP2.
const BUILD_ID_AREA_AT: u64 = 40;

/// What stands where in a part of the header.
pub fn of_feature(feature: usize, bytes: &[u8], order: Order) -> Vec<Span> {
    let kind = feature::kind(feature);
    let (mut at, count) = match kind {
        Kind::TaskLines => return Tracing::of_perf(bytes).spans,
        Kind::Path => return build_ids(bytes, order),
        Kind::Host | Kind::Text => (0, 1),
        Kind::Arguments => (4, order.u32(bytes, 0).unwrap_or(0)),
        _ => return vec![(0..bytes.len() as u64, kind)],
    };
    let mut spans = vec![(0..4, Kind::Keep)];
    for _ in 0..count {
        let Some((_, next)) = string_at(bytes, at, order) else { break };
        spans.push((at as u64..at as u64 + 4, Kind::Keep));
        spans.push((at as u64 + 4..next as u64, kind));
        at = next;
    }
    spans
}

/// Records like those of a stream.
fn build_ids(bytes: &[u8], order: Order) -> Vec<Span> {
    let (mut at, mut spans) = (0, Vec::new());
    while let Some((_, size)) = bytes.get(at..).and_then(|rest| record::header(rest, order)) {
        if size <= BUILD_ID_NAME || size > bytes.len() - at {
            break;
        }
        spans.extend(build_id(at as u64, (at + size) as u64));
        at += size;
    }
    spans
}

/// What stands where in a record that is no sample, up to its trailer.
pub fn of_record(kind: u32, body: &[u8], order: Order) -> Vec<Span> {
    let end = body.len() as u64;
    let behind = |at: usize, kind| vec![(0..at as u64, Kind::Keep), (at as u64..end, kind)];
    match record_type(kind).behind {
        Behind::Numbers | Behind::Words => vec![(0..end, Kind::Keep)],
        Behind::Unknown(at) => behind(at, Kind::UnknownRecord(kind)),
        Behind::Is(at, _) if kind == kind::MMAP2 && order.u16(body, 4).unwrap_or(0) & MISC_MMAP_BUILD_ID != 0 => {
            let (id, after) = (BUILD_ID_AREA_AT + 4, BUILD_ID_AREA_AT + BUILD_ID_AREA as u64);
            let kept = [(0..id, Kind::Keep), (id..after, Kind::BuildId), (after..at as u64, Kind::Keep)];
            [&kept[..], &[(at as u64..end, Kind::Path)]].concat()
        }
        Behind::Is(at, found) => behind(at, found),
        Behind::Own if kind == kind::HEADER_BUILD_ID => build_id(0, end).to_vec(),
        // A count, then numbers and names of tasks.
        Behind::Own if kind == kind::THREAD_MAP => {
            let entry = |at: u64| [(at..at + 8, Kind::Keep), (at + 8..at + 24, Kind::Task)];
            [(0..16, Kind::Keep)].into_iter().chain((16..end).step_by(24).flat_map(entry)).collect()
        }
        Behind::Own => {
            let number = order.u64(body, 8).and_then(|number| usize::try_from(number).ok());
            let found = of_feature(number.unwrap_or(usize::MAX), body.get(16..).unwrap_or_default(), order);
            let moved = found.into_iter().map(|(range, kind)| (range.start + 16..range.end + 16, kind));
            [(0..16, Kind::Keep)].into_iter().chain(moved).collect()
        }
    }
}

/// The same in a build id's record: header, process, build id, name.
fn build_id(at: u64, end: u64) -> [Span; 4] {
    let (id, name) = (at + BUILD_ID, at + BUILD_ID_NAME as u64);
    [(at..id, Kind::Keep), (id..id + 20, Kind::BuildId), (id + 20..name, Kind::Keep), (name..end, Kind::Path)]
}
