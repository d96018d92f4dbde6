//! The ledger's segments as slices, a track for each CPU.
//!
//! Each CPU's slices are a sequence of packets with a clock that counts from packet to packet, and with its own texts,
//! each written where it is first used: so most of a slice is its two packets' headers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ledger::cpu::Found;
use crate::ledger::resolve::Names;
use crate::perfetto::gaps;
use crate::perfetto::out::Out;
use crate::perfetto::owners::{Owner, Owners, Texts};
use crate::perfetto::proto::{bytes, message, number};
use crate::perfetto::tracks::{event, of_a_cpu, of_cpu, packet, sequence};

/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const CLEARED: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_STATE: u64 = 2;
/// The first clock that is a sequence's own.
const CLOCK: u64 = 64;
/// `BUILTIN_CLOCK_BOOTTIME`: what Perfetto takes the times of ftrace's events for.
const BOOTTIME: u64 = 6;
/// Names of arguments.
const TASK: u32 = 1;
const NAPI: u32 = 2;
const ARGUMENTS: [(u32, &str); 2] = [(TASK, "task"), (NAPI, "napi")];

/// A CPU's sequence, as far as it is written.
#[derive(Debug, Default)]
struct Track {
    last_ns: i64,
    names: FxHashSet<u32>,
    categories: FxHashSet<u32>,
    values: FxHashSet<u32>,
}

/// All CPUs'.
#[derive(Debug, Default)]
pub struct Slices {
    owners: Owners,
    tracks: FxHashMap<u32, Track>,
    with_gaps: FxHashSet<u32>,
    count: u64,
}

impl Slices {
    /// How many were written.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Writes rows of some CPUs.
    pub fn add(&mut self, names: &Names, cpus: &[Found], window: (i64, i64), out: &mut Out<'_>) {
        for cpu in cpus {
            cpu.finished.each(|row, end_ns| {
                let owner = self.owners.of(row, names);
                self.slice(out, cpu.number, row.start, end_ns, owner);
            });
        }
        let gaps = cpus.iter().flat_map(|cpu| cpu.rows.coverage.iter().map(|row| (cpu.number, row)));
        gaps::add(gaps.filter(|gap| gap.1.is_in(window)), window, &mut self.with_gaps, out);
    }

    fn slice(&mut self, out: &mut Out<'_>, cpu: u32, start: i64, end: i64, owner: Owner) {
        let Slices { owners, tracks, .. } = self;
        let track = tracks.entry(cpu).or_insert_with(|| {
            begin(out, cpu, start);
            Track { last_ns: start, ..Track::default() }
        });
        let sequence = sequence(cpu);
        out.packet(|to| {
            number(to, packet::TIMESTAMP, (start - track.last_ns) as u64);
            number(to, packet::SEQUENCE, sequence);
            number(to, packet::FLAGS, NEEDS_STATE);
            intern(to, owners, track, owner);
            message(to, packet::TRACK_EVENT, |to| {
                number(to, event::TYPE, event::BEGIN);
                number(to, event::NAME, u64::from(owner.name));
                if owner.category != 0 {
                    number(to, event::CATEGORY, u64::from(owner.category));
                }
                for (name, value) in [(TASK, owner.task), (NAPI, owner.napi)] {
                    if value != 0 {
                        message(to, event::ARGUMENT, |to| {
                            number(to, 1, u64::from(name));
                            number(to, 17, u64::from(value));
                        });
                    }
                }
            });
        });
        out.packet(|to| {
            number(to, packet::TIMESTAMP, (end - start) as u64);
            number(to, packet::SEQUENCE, sequence);
            number(to, packet::FLAGS, NEEDS_STATE);
            message(to, packet::TRACK_EVENT, |to| number(to, event::TYPE, event::END));
        });
        track.last_ns = end;
        self.count += 1;
    }
}

/// What a CPU's sequence begins with.
fn begin(out: &mut Out<'_>, cpu: u32, start: i64) {
    of_a_cpu(out, cpu, false);
    let sequence = sequence(cpu);
    out.packet(|to| {
        number(to, packet::SEQUENCE, sequence);
        number(to, packet::FLAGS, CLEARED);
        message(to, packet::DEFAULTS, |to| {
            number(to, packet::CLOCK, CLOCK);
            message(to, packet::TRACK_EVENT, |to| number(to, event::TRACK, of_cpu(cpu)));
        });
        message(to, packet::INTERNED, |to| {
            for (place, name) in ARGUMENTS {
                text(to, 3, place, name);
            }
        });
    });
    out.packet(|to| {
        number(to, packet::SEQUENCE, sequence);
        message(to, packet::CLOCK_SNAPSHOT, |to| {
            for (clock, counts) in [(CLOCK, true), (BOOTTIME, false)] {
                message(to, 1, |to| {
                    number(to, 1, clock);
                    number(to, 2, start as u64);
                    if counts {
                        number(to, 3, 1);
                    }
                });
            }
        });
    });
}

/// The texts that this sequence does not have yet.
#[inline(always)]
fn intern(to: &mut Vec<u8>, owners: &Owners, track: &mut Track, owner: Owner) {
    let mut new = Vec::new();
    let mut note = |seen: &mut FxHashSet<u32>, texts: &Texts, field: u32, place: u32| {
        if place != 0 && seen.insert(place) {
            text(&mut new, field, place, texts.get(place));
        }
    };
    note(&mut track.names, &owners.names, 2, owner.name);
    note(&mut track.categories, &owners.categories, 1, owner.category);
    note(&mut track.values, &owners.values, 29, owner.task);
    note(&mut track.values, &owners.values, 29, owner.napi);
    if !new.is_empty() {
        bytes(to, packet::INTERNED, &new);
    }
}

fn text(to: &mut Vec<u8>, field: u32, place: u32, text: &str) {
    message(to, field, |to| {
        number(to, 1, u64::from(place));
        bytes(to, 2, text.as_bytes());
    });
}
