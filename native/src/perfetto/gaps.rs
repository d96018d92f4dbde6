//! Where the recording has no events, and why: an instant where each such time begins.

use arrow_array::cast::AsArray;
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::DataType;
use rustc_hash::FxHashSet;

use crate::error::{bad, Result};
use crate::perfetto::out::Out;
use crate::perfetto::owners::{cpus, times};
use crate::perfetto::proto::{bytes, message, number};
use crate::perfetto::tracks::{event, of_a_cpu, of_gaps, packet, SHARED};

/// Writes rows of coverage; `seen`: CPUs whose track is described. Such times may overlap, which slices may not.
pub fn add(batch: &RecordBatch, seen: &mut FxHashSet<u32>, out: &mut Out<'_>) -> Result<()> {
    let (cpus, starts, ends, lost) =
        (cpus(batch)?, times(batch, "start_ns")?, times(batch, "end_ns")?, times(batch, "lost")?);
    let why = batch.column_by_name("why").ok_or_else(|| bad!(Refused, "coverage has no column why"))?;
    let why = cast(why, &DataType::Utf8).map_err(|error| bad!(Refused, "column why: {error}"))?;
    let why = why.as_string::<i32>();
    for (row, &cpu) in cpus.iter().enumerate() {
        let cpu = cpu as u32;
        if seen.insert(cpu) {
            of_a_cpu(out, cpu, true);
        }
        out.packet(|to| {
            number(to, packet::TIMESTAMP, starts[row] as u64);
            number(to, packet::SEQUENCE, SHARED);
            message(to, packet::TRACK_EVENT, |to| {
                number(to, event::TYPE, event::INSTANT);
                number(to, event::TRACK, of_gaps(cpu));
                bytes(to, event::NAME_TEXT, why.value(row).as_bytes());
                let events = if why.value(row) == "overwritten" { "overwritten_events" } else { "lost_events" };
                for (name, value) in [("ns", ends[row] - starts[row]), (events, lost[row])] {
                    message(to, event::ARGUMENT, |to| {
                        bytes(to, 10, name.as_bytes());
                        number(to, 4, value as u64);
                    });
                }
            });
        });
    }
    Ok(())
}
