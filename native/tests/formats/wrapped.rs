//! Captures that somebody packed before sending them: opened as they are, or refused in a line.

use std::io::Write;

use flate2::write::GzEncoder;
use netcost::Order;

use crate::described::{pipe_of, Bytes};
use crate::perf_data::samples::{at, hardware};
use crate::shown::{refused, rows, Shown, Tables};
use crate::text::kinds::text;

const KINDS: [&str; 2] = ["gzip", "zstd"];

/// In so many members, one behind the other.
fn packed(bytes: &[u8], kind: &str, members: usize) -> Vec<u8> {
    let one = |part: &[u8]| match kind {
        "zstd" => zstd::bulk::compress(part, 1).expect("packs"),
        _ => {
            let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(part).and_then(|()| packer.finish()).expect("packs")
        }
    };
    if bytes.is_empty() {
        return one(bytes);
    }
    bytes.chunks(bytes.len().div_ceil(members)).flat_map(one).collect()
}

/// All that is told of it: events, samples, records and, where it has one, a ledger.
fn contents(shown: &Shown) -> (Tables, Vec<Vec<(String, String)>>, String) {
    let samples = shown.recording.samples(&shown.recording.events[0].name, None, &mut |_| true);
    let samples = samples.map(|batch| rows(&batch).into_iter().map(|row| row.into_iter().collect()).collect());
    let sums = shown.ledger().map(|output| rows(&output.sums));
    (shown.tables(), samples.unwrap_or_default(), format!("{:?} {:?}", shown.scan.tally, sums.ok()))
}

#[test]
fn a_packed_capture_reads_as_it_is() {
    let file: &[u8] = include_bytes!("../fixtures/switches.file.perf.data");
    let pipe: &[u8] = include_bytes!("../fixtures/switches.pipe.perf.data");
    for bytes in [file, pipe, text("ftrace").as_bytes()] {
        let plain = Shown::of(bytes);
        assert_eq!(plain.recording.wrapping, None);
        for kind in KINDS {
            for members in [1, 2, 5] {
                let shown = Shown::of(packed(bytes, kind, members));
                assert_eq!((shown.recording.wrapping, shown.recording.mode), (Some(kind), plain.recording.mode));
                assert_eq!(contents(&shown), contents(&plain), "{kind} {members}");
            }
        }
    }
}

// What came before the cut is read, and that there was a cut is said. Small members leave some of them whole.
#[test]
fn a_packing_that_is_cut_short_keeps_what_came_before() {
    let times: Vec<u64> = (0..20_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8).collect();
    let whole = pipe_of(Order::Little, &[hardware(0, 0, &[10])], &at(Order::Little, &times));
    for kind in KINDS {
        let packed = packed(&whole, kind, 50);
        for per_mille in [310, 610, 910, 999] {
            let shown = Shown::of(&packed[..packed.len() * per_mille / 1000]);
            let share = shown.records("SAMPLE") as usize * 1000 / times.len();
            assert!(per_mille / 2 < share && share <= 1000, "{kind} {per_mille}: {share}");
            assert!(shown.notes().iter().any(|note| note.contains(kind)), "{kind} {per_mille}");
        }
    }
}

#[test]
fn what_is_no_capture_inside_is_refused() {
    let whole = pipe_of(Order::Little, &[hardware(0, 0, &[10])], &Bytes::of(Order::Little));
    for kind in KINDS {
        let good = packed(&whole, kind, 1);
        for bytes in [
            packed(b"", kind, 1),
            packed(&b"not a capture\n".repeat(100), kind, 1),
            good[..20].to_vec(),
            [&good[..12], &[0xff; 500]].concat(),
        ] {
            let (_, message) = refused(Shown::opened(bytes, None));
            assert!(!message.is_empty() && !message.contains('\n'), "{kind}: {message}");
        }
    }
}
