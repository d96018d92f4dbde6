//! Where the recording has no events, and why: an instant where each such time begins.

use rustc_hash::FxHashSet;

use crate::ledger::rows::CoverageRow;
use crate::perfetto::out::Out;
use crate::perfetto::proto::{bytes, message, number};
use crate::perfetto::tracks::{event, of_a_cpu, of_gaps, packet, SHARED};

/// Writes gaps, with their CPUs, as far as they lie in a window; `seen`: CPUs whose track is described. Gaps may overlap,
/// which slices may not.
pub fn add<'r>(
    gaps: impl Iterator<Item = (u32, &'r CoverageRow)>,
    window: (i64, i64),
    seen: &mut FxHashSet<u32>,
    out: &mut Out<'_>,
) {
    for (cpu, row) in gaps {
        if seen.insert(cpu) {
            of_a_cpu(out, cpu, true);
        }
        let (start_ns, end_ns) = (row.start_ns.max(window.0), row.end_ns.min(window.1));
        out.packet(|to| {
            number(to, packet::TIMESTAMP, start_ns as u64);
            number(to, packet::SEQUENCE, SHARED);
            message(to, packet::TRACK_EVENT, |to| {
                number(to, event::TYPE, event::INSTANT);
                number(to, event::TRACK, of_gaps(cpu));
                bytes(to, event::NAME_TEXT, row.why.as_bytes());
                let events = if row.why == "overwritten" { "overwritten_events" } else { "lost_events" };
                for (name, value) in [("ns", (end_ns - start_ns) as u64), (events, row.lost)] {
                    message(to, event::ARGUMENT, |to| {
                        bytes(to, 10, name.as_bytes());
                        number(to, 4, value);
                    });
                }
            });
        });
    }
}
