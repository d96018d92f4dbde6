//! Tiles of a recorded host add up to its ledger at every level, with segments and without.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use netcost::ledger::{self, Request, Want};
use netcost::open;
use netcost::tiles::{max_level, tile, Kept, Owners, Summed, BUCKETS};

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Time by owner in all of a tile.
fn summed(bytes: &[u8]) -> BTreeMap<u32, u64> {
    let cpus = u32_at(bytes, 4) as usize;
    let mut at = 8 + 8 * cpus;
    let mut found = BTreeMap::new();
    for cpu in 0..cpus {
        let (form, count) = (u32_at(bytes, 8 + 8 * cpu), u32_at(bytes, 12 + 8 * cpu) as usize);
        let owners = at + if form == 0 { 8 * count } else { 16 * count };
        for row in 0..count {
            let first = f64_at(bytes, at + 8 * row);
            let ns = if form == 0 { first } else { f64_at(bytes, at + 8 * (count + row)) - first };
            *found.entry(u32_at(bytes, owners + 4 * row)).or_default() += ns as u64;
        }
        let small = if form == 0 { (2 * count).next_multiple_of(8) } else { (4 * count).next_multiple_of(8) };
        at = owners + (4 * count).next_multiple_of(8) + small + 12 * BUCKETS as usize;
    }
    assert_eq!(at, bytes.len());
    found
}

#[test]
fn every_level_adds_up_to_the_ledger() {
    let recording = open("../sample-data/nic-stolen-time/trace.perf.data", None, &mut || true).unwrap();
    let want = Want { segments: true, polls: true, ..Want::default() };
    let output = ledger::run(&recording, &Request { want, ..Request::default() }, &mut |_| true).unwrap();
    let of_rows: Vec<(u32, u32)> = (0..output.sums.num_rows() as u32).map(|row| (row, row)).collect();
    let owners = Owners::new(std::iter::once(&output.sums), &of_rows, vec![false; of_rows.len()]).unwrap();
    let (begin, end) = output.window;
    let duration = (end - begin) as u64;
    let mut sums = Summed::new(&output.cpus, begin, duration, 10_000);
    let counted: Vec<(u32, usize)> = output.cpus.iter().map(|&cpu| (cpu, 0)).collect();
    let mut kept = Kept::new(&counted, begin, 0, duration);
    for (name, batch) in &output.tables {
        if *name == "segments" {
            sums.add_segments(batch, &owners).unwrap();
            kept.add_segments(batch, &owners).unwrap();
        } else if *name == "polls" {
            sums.add_polls(batch).unwrap();
            kept.add_polls(batch).unwrap();
        }
    }
    sums.finish();
    kept.finish();
    let ns = output.sums["ns"].as_primitive::<Int64Type>().values();
    let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
    // Of one owner on two CPUs there are two rows, of which the last has the number.
    for (row, &ns) in ns.iter().enumerate() {
        *expected.entry(row as u32).or_default() += ns as u64;
    }
    assert!(sums.entries() <= 20_000);
    for level in sums.base()..=max_level(duration) {
        for kept in [None, Some(&kept)] {
            let mut found: BTreeMap<u32, u64> = BTreeMap::new();
            for index in 0..duration.div_ceil(BUCKETS << level) {
                for (owner, ns) in summed(&tile(&owners, &sums, kept, level, index).unwrap()) {
                    *found.entry(owner).or_default() += ns;
                }
            }
            assert_eq!(found.values().sum::<u64>(), duration * output.cpus.len() as u64, "level {level}");
            assert!(found.iter().all(|(owner, ns)| expected[owner] <= *ns), "level {level}");
        }
    }
}
