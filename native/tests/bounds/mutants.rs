//! Captures come from strangers: whatever was done to one, it is read or refused in a line, by the reader of the fuzz
//! targets and within its bounds. NETCOST_MUTANTS=1000000 looks further; `--nocapture` tells the last one.

use std::io::Write;

use netcost::Order;

use crate::described::{pipe_of, softirq, tracing, Attr, Bytes, CPU, IDENTIFIER, RAW, SAMPLE, TID, TIME};
use crate::kinds::{text, KINDS};
use crate::written::{Dat, MACHINES, S};
use crate::{alone, bounded, reading, spent_s, SLOWER};

/// Softirqs, of which a ledger is made.
fn softirqs(order: Order) -> Vec<u8> {
    let formats = [softirq("softirq_entry", 70), softirq("softirq_exit", 71)];
    let here = || Bytes::of(order);
    let sample = |records: Bytes, step: u64| {
        let payload = here().u16(70 + (step % 2) as u16).raw(&[0x10, 1]).u32(500).u32(3);
        let body = here().u64(1 + step % 2).u32(500).u32(500).u64(1000 + 10 * step).u32(0).u32(0).u32(12);
        records.record(SAMPLE, 1, body.raw(&payload.bytes))
    };
    let attr = |config, ids| Attr { ids, ..Attr::tracepoint(config, IDENTIFIER | TID | TIME | CPU | RAW) };
    let records = (0..12).fold(tracing(here(), 8, "irq", &[&formats[0], &formats[1]]), sample);
    pipe_of(order, &[attr(70, &[1]), attr(71, &[2])], &records)
}

fn captures() -> Vec<Vec<u8>> {
    let mut found = vec![
        include_bytes!("../fixtures/switches.file.perf.data").to_vec(),
        include_bytes!("../fixtures/switches.pipe.perf.data").to_vec(),
    ];
    found.extend([Order::Little, Order::Big].map(softirqs));
    for machine in MACHINES {
        let ring = |cpu: u32| (cpu, machine.ring(5, &(0..12).map(|at| (S + at, cpu)).collect::<Vec<_>>()));
        for (version, packing) in [(6, "none"), (7, "none"), (7, "zstd"), (7, "zlib")] {
            found.push(Dat::of(machine, version, vec![ring(0), ring(1)]).packed(packing).bytes());
        }
    }
    found.extend(KINDS.map(|kind| text(kind).into_bytes()));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    found.push(packer.write_all(&found[2]).and_then(|()| packer.finish()).expect("packs"));
    found
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, most: usize) -> usize {
        self.next() as usize % most.max(1)
    }
}

fn damaged(whole: &[u8], donor: &[u8], noise: &mut Noise) -> Vec<u8> {
    let mut data = whole.to_vec();
    for _ in 0..1 + noise.below(4) {
        // Headers have as many chances as all the rest.
        let most = if noise.below(2) == 0 { data.len().min(512) } else { data.len() };
        let at = noise.below(most);
        let end = (at + (1 << noise.below(4))).min(data.len());
        let size = data.len() as u64;
        let told = [0, 1, 7, 8, 255, 4096, 65_535, size, 1 << 24, 1 << 31, u32::MAX.into(), 1 << 40, 1 << 63, u64::MAX];
        let number = if noise.below(4) == 0 { noise.next() } else { told[noise.below(told.len())] };
        let number = if noise.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
        match noise.below(8) {
            0 if at < end => data[at] ^= 1 << noise.below(8),
            1..=3 => data[at..end].copy_from_slice(&number[..end - at]),
            4 => data.truncate(at),
            5 => drop(data.splice(at..at, number)),
            6 => drop(data.drain(at..end)),
            _ => {
                let start = noise.below(donor.len());
                let piece = donor[start..(start + (8 << noise.below(8))).min(donor.len())].iter().copied();
                drop(data.splice(at..if noise.below(2) == 0 { at } else { end }, piece));
            }
        }
    }
    data
}

#[test]
fn mutants_are_read_or_refused() {
    let _alone = alone();
    let captures = captures();
    let given = std::env::var("NETCOST_MUTANTS").ok().and_then(|count| count.parse().ok());
    let count = given.unwrap_or(if cfg!(debug_assertions) { 1000 } else { 5000 });
    let mut opened = 0;
    for number in 0..count {
        let mut noise = Noise(number as u64);
        noise.next();
        let whole = &captures[number % captures.len()];
        let data = damaged(whole, &captures[noise.below(captures.len())], &mut noise);
        eprintln!("mutant {number}");
        let begun = spent_s();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&data).expect("written");
        opened += usize::from(bounded::within(data.len(), || reading::read(file)));
        assert!(spent_s() - begun < 5.0 * SLOWER);
    }
    // It is no test where nothing gets far.
    assert!(opened > count / 2, "{opened} of {count}");
}
