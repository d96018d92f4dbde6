//! The tracks beside those that Perfetto makes of events: their descriptions, and counters.

use crate::narrow::Narrow;
use crate::perfetto::out::Out;
use crate::perfetto::proto::{bytes, double, message, number};
use crate::recording::Recording;

/// `TracePacket`.
pub mod packet {
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const FLAGS: u32 = 13;
    pub const SYSTEM_INFO: u32 = 45;
    pub const CLOCK: u32 = 58;
    pub const DEFAULTS: u32 = 59;
    pub const TRACK: u32 = 60;
}

/// `TrackEvent`.
pub mod event {
    pub const CATEGORY: u32 = 3;
    pub const ARGUMENT: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const NAME_TEXT: u32 = 23;
    pub const DOUBLE: u32 = 44;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// "cost" and a number: identities of tracks are meant to differ from those that others choose.
const TRACKS: u64 = 0x636f_7374 << 32;
const GROUP: u64 = TRACKS;
const CPUS: u64 = TRACKS + (1 << 20);
const GAPS: u64 = TRACKS + (2 << 20);
const COUNTERS: u64 = TRACKS + (3 << 20);
/// What comes in the order of time by itself; each CPU's slices have a sequence of their own.
pub const SHARED: u64 = 1;

/// The sequence of a CPU's slices.
pub fn sequence(cpu: u32) -> u64 {
    SHARED + 1 + u64::from(cpu)
}

/// The track of a CPU's slices.
pub fn of_cpu(cpu: u32) -> u64 {
    CPUS + u64::from(cpu)
}

/// The track of its gaps.
pub fn of_gaps(cpu: u32) -> u64 {
    GAPS + u64::from(cpu)
}

/// A value over time.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    /// What it is of.
    pub name: String,
    /// The unit of its values.
    pub unit: String,
    /// From when each value holds, in order.
    pub times: Vec<i64>,
    /// As many.
    pub values: Vec<f64>,
}

/// What stands before everything else: the group, the host, counters.
pub fn begin(out: &mut Out<'_>, recording: &Recording, counters: &[Counter]) {
    describe(out, GROUP, None, "netcost ledger", 0, |to| {
        bytes(to, 14, b"Who owned each CPU, exclusively: slices of a track have no gap and no overlap.");
        // Tracks within it by their rank.
        number(to, 11, 3);
    });
    if let Some(release) = &recording.host.os_release {
        out.packet(|to| {
            message(to, packet::SYSTEM_INFO, |to| {
                message(to, 1, |to| {
                    bytes(to, 1, b"Linux");
                    bytes(to, 3, release.as_bytes());
                    bytes(to, 4, recording.host.arch.as_deref().unwrap_or_default().as_bytes());
                });
            });
        });
    }
    for (place, counter) in counters.iter().enumerate() {
        let track = COUNTERS + place as u64;
        describe(
            out,
            track,
            Some(GROUP),
            &counter.name,
            place.narrow::<i32>() - counters.len().narrow::<i32>(),
            |to| {
                message(to, 8, |to| bytes(to, 6, counter.unit.as_bytes()));
            },
        );
        for (&time, &value) in counter.times.iter().zip(&counter.values) {
            out.packet(|to| {
                number(to, packet::TIMESTAMP, time as u64);
                number(to, packet::SEQUENCE, SHARED);
                message(to, packet::TRACK_EVENT, |to| {
                    number(to, event::TYPE, event::COUNTER);
                    number(to, event::TRACK, track);
                    double(to, event::DOUBLE, value);
                });
            });
        }
    }
}

/// A CPU's track of owners, or of gaps beneath it.
pub fn of_a_cpu(out: &mut Out<'_>, cpu: u32, gaps: bool) {
    let (track, name) = match gaps {
        false => (of_cpu(cpu), format!("CPU {cpu}")),
        true => (of_gaps(cpu), format!("CPU {cpu}: lost or unknown")),
    };
    describe(out, track, Some(GROUP), &name, 2 * cpu as i32 + i32::from(gaps), |_| {});
}

fn describe(
    out: &mut Out<'_>,
    track: u64,
    parent: Option<u64>,
    name: &str,
    rank: i32,
    more: impl FnOnce(&mut Vec<u8>),
) {
    out.packet(|to| {
        number(to, packet::SEQUENCE, SHARED);
        message(to, packet::TRACK, |to| {
            number(to, 1, track);
            bytes(to, 2, name.as_bytes());
            if let Some(parent) = parent {
                number(to, 5, parent);
                number(to, 12, i64::from(rank) as u64);
            }
            more(to);
        });
    });
}
