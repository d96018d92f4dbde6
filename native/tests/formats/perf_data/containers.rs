//! A perf.data's header and records: as perf wrote them on this kind of machine (fixtures/switches.sh),
//! and as they could have been written, in either byte order, of any size, cut anywhere.

use std::collections::BTreeMap;

use netcost::parts::{FileHeader, Magic};
use netcost::{Order, What};

use crate::described::{file_of, opened, pipe, tracing, walked, Attr, Bytes, Other, Seen};
use crate::described::{CALLCHAIN, CPU, IDENTIFIER, IP, PERIOD, RAW, SAMPLE, TID, TIME};

const AUXTRACE: u32 = 71;
/// No recorder's.
const STRANGE: u32 = 200;

#[test]
fn recordings_have_the_records_that_perf_counts() {
    let recorded: [(&[u8], &str, &str); 2] = [
        (
            include_bytes!("../../fixtures/switches.file.perf.data"),
            include_str!("../../fixtures/switches.file.stats"),
            "file",
        ),
        (
            include_bytes!("../../fixtures/switches.pipe.perf.data"),
            include_str!("../../fixtures/switches.pipe.stats"),
            "pipe",
        ),
    ];
    for (bytes, stats, mode) in recorded {
        let recording = opened(bytes).expect("opens");
        assert_eq!((recording.mode, recording.finished, recording.cut), (mode, true, false));
        assert_eq!((recording.order, recording.clock.as_str()), (Order::Little, "monotonic"));
        assert_eq!(recording.events[0].name, "context-switches");
        assert_eq!(recording.host.tool_version.as_deref().map(|version| &version[..3]), Some("6.1"));
        let (seen, tally) = walked(&recording);
        assert_eq!((tally.unreadable, tally.notes), (0, vec![]));
        let counted = stats.lines().filter_map(|line| {
            let (name, rest) = line.trim().split_once(" events:")?;
            let name = if matches!(name, "ATTR" | "FEATURE") { format!("HEADER_{name}") } else { name.to_owned() };
            Some((name, rest.split_whitespace().next()?.parse().ok()?))
        });
        let counted: BTreeMap<String, u64> = counted.filter(|(name, _)| name != "TOTAL").collect();
        assert_eq!(tally.records, counted, "{mode}");
        assert_eq!(seen.samples.len() as u64, counted["SAMPLE"]);
        assert!(seen.samples.iter().all(|sample| sample.1 == 0));
        assert!(seen.others.iter().any(|other| matches!(other.4, What::Comm { .. })));
    }
}

#[test]
fn a_header_of_every_size_and_byte_order() {
    for order in [Order::Little, Order::Big] {
        let magic = if order == Order::Big { b"2ELIFREP" } else { b"PERFILE2" };
        for size in [16, 72, 104] {
            let start = Bytes::of(order).raw(magic).u64(size).bytes;
            assert_eq!(Magic::parse(&start), Some(Magic { version: 2, order, header: size }));
            let start = Bytes::of(order).raw(b"PERFFILE").u64(size).bytes;
            assert_eq!(Magic::parse(&start), Some(Magic { version: 1, order, header: size }));
        }
        let start = Bytes::of(order).raw(magic).u64(104).u64(80).u64(200).u64(160).u64(360).u64(96).u64(0).u64(0);
        // Features 1, 3, 38 and 64, in words of 8 bytes and in words of 4.
        let wide = start.clone().u64(1 << 1 | 1 << 3 | 1 << 38).u64(1).u64(0).u64(0).bytes;
        let narrow = start.u32(1 << 1 | 1 << 3).u32(1 << 6).u32(1).raw(&[0; 20]).bytes;
        for bytes in [wide, narrow] {
            let header = FileHeader::parse(&bytes, order).expect("a header");
            let sections = [header.attrs, header.data, header.event_types].map(|one| (one.offset, one.size));
            assert_eq!((header.attr_size, sections), (80, [(200, 160), (360, 96), (0, 0)]));
            assert_eq!(header.features, [1, 3, 38, 64], "{order:?}");
            for size in 0..bytes.len() {
                let cut = FileHeader::parse(&bytes[..size], order);
                assert_eq!(cut.map(|header| header.features), (size >= 72).then(Vec::new), "{size}");
            }
        }
    }
    assert_eq!(Magic::parse(b"PERFILE3\x68\0\0\0\0\0\0\0"), None);
    assert_eq!(Magic::parse(b"PERFILE2\x68\0\0"), None);
}

#[test]
fn a_file_with_a_header_of_either_size() {
    for order in [Order::Little, Order::Big] {
        for size in [72, 104] {
            let sample = Bytes::of(order).record(SAMPLE, 0, Bytes::of(order).u64(5).u32(1).u32(0));
            let attr = Attr::tracepoint(1, TIME | CPU);
            let recording = opened(&file_of(order, size, &attr, &sample)).expect("opens");
            assert_eq!((recording.mode, recording.order, recording.finished), ("file", order, true));
            let (seen, tally) = walked(&recording);
            let found: Vec<(i64, u32)> = seen.samples.iter().map(|sample| (sample.0, sample.1)).collect();
            assert_eq!((found, tally.notes), (vec![(5, 1)], vec![]), "{order:?} {size}");
        }
    }
}

/// Samples with their number as time, and a record of `size` bytes behind each.
fn many(sizes: impl Iterator<Item = usize>) -> Bytes {
    let mut records = Bytes::of(Order::Little);
    for (number, size) in sizes.enumerate() {
        records = records.record(SAMPLE, 0, Bytes::of(Order::Little).u64(number as u64).u32(3).u32(0));
        records = records.record(STRANGE, 0, Bytes::of(Order::Little).raw(&vec![number as u8; size - 8]));
    }
    records
}

#[test]
fn records_cross_every_border_of_what_is_read_at_once() {
    // Beyond 8 MiB a thread reads ahead.
    for (sizes, bytes) in [(vec![8, 65_528, 24, 4096], 3 << 20), (vec![65_528], 3 << 20), (vec![40, 1016, 8], 9 << 20)]
    {
        let count = bytes / sizes.iter().sum::<usize>() * sizes.len();
        let records = many(sizes.iter().copied().cycle().take(count));
        let (seen, tally) = walked(&opened(&pipe(Order::Little, 1, TIME | CPU, &records)).expect("opens"));
        assert_eq!((tally.notes, tally.records["SAMPLE"]), (vec![], count as u64));
        assert!(seen.samples.iter().zip(0..).all(|(sample, number)| sample.0 == number && sample.1 == 3));
        let others = seen.others.iter().filter(|other| other.0 == STRANGE);
        let whole = others.zip(sizes.iter().cycle()).enumerate().filter(|(number, (other, &size))| {
            other.1[8..].iter().all(|&byte| byte == *number as u8) && other.1.len() == size
        });
        assert_eq!(whole.count(), count);
    }
}

#[test]
fn a_record_smaller_than_its_header_ends_the_pass() {
    // What a processor traced goes before it: more than is read at once.
    let traced = Bytes::of(Order::Little).u64(2 << 20).u64(0).u64(0).u64(0).u64(0);
    let traced = Bytes::of(Order::Little).record(AUXTRACE, 0, traced).raw(&vec![0xee; 2 << 20]);
    for size in [0, 1, 7] {
        let records = many([16, 16].into_iter()).raw(&traced.bytes).u32(STRANGE).u16(0).u16(size).raw(&[0; 64]);
        let bytes = pipe(Order::Little, 1, TIME | CPU, &records);
        let (seen, tally) = walked(&opened(&bytes).expect("opens"));
        let at = bytes.len() - 72;
        let note =
            format!("record at byte {at} has a size smaller than its header: the 72 bytes from there on are not read");
        assert_eq!((seen.samples.len(), tally.notes), (2, vec![note]), "{size}");
    }
}

#[test]
fn cut_anywhere_whole_records_are_kept_and_one_note_says_so() {
    let whole = pipe(Order::Little, 1, TIME | CPU, &many([16, 40].into_iter()));
    // The last three records end here.
    let ends = [whole.len() - 40 - 24, whole.len() - 40, whole.len()];
    for size in ends[0]..=ends[2] {
        let (seen, tally) = walked(&opened(&whole[..size]).expect("opens"));
        assert_eq!(seen.samples.len(), if size < ends[1] { 1 } else { 2 }, "{size}");
        let end = ends.iter().rev().find(|&&end| end <= size).expect("an end");
        let (left, next) = (size - end, if size < ends[1] { 24 } else { 40 });
        let note = match left {
            0 => vec![],
            1..8 => vec![format!("file cut short at byte {end}: only {left} bytes of the last record are there")],
            _ => vec![format!("file cut short at byte {end}: only {left} of a record's {next} bytes are there")],
        };
        assert_eq!(tally.notes, note, "{size}");
    }
}

const FORMAT: &str = "name: softirq_entry
ID: 77
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long addr;\toffset:8;\tsize:8;\tsigned:0;
\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;
\tfield:u16 parts[2];\toffset:24;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] dev;\toffset:28;\tsize:4;\tsigned:0;

print fmt: \"\"
";

/// A stream with a bit of everything, its event's format included.
fn everything(order: Order) -> Vec<u8> {
    let here = || Bytes::of(order);
    const ID: [u8; 24] = *b"20 bytes of a build id  ";
    // Process and thread, time, CPU and identifier, as samples have them and other records end in them.
    let trailer = |body: Bytes, time: u64| body.u32(500).u32(501).u64(time).u32(3).u32(0).u64(7);
    let payload = here().u16(77).raw(&[1, 0]).u32(501).u64(0xffff_8881_2345_6789).raw(b"openssl\0");
    let payload = payload.u16(0x0102).u16(0x0304).u32(32 | 5 << 16).raw(b"eth0\0");
    let sample = here().u64(7).u64(0x40_0010).u32(500).u32(501).u64(1000).u32(3).u32(0).u64(9);
    let sample = sample.u64(2).u64(u64::MAX - 511).u64(0x40_0020).u32(44).raw(&payload.bytes).raw(&[0; 7]);
    tracing(here(), 8, "irq", &[FORMAT])
        .record(SAMPLE, 2, sample.clone())
        .record(1, 1, trailer(here().u32(500).u32(501).u64(0x1000).u64(0x2000).u64(3).raw(b"libc.so\0"), 1001))
        .record(2, 0, trailer(here().u64(7).u64(12), 1002))
        .record(3, 0, trailer(here().u32(500).u32(501).raw(b"openssl\0"), 1003))
        .record(5, 0, trailer(here().u64(1004).u64(7).u64(8), 1004))
        .record(7, 0, trailer(here().u32(502).u32(500).u32(502).u32(501).u64(1005), 1005))
        .record(
            10,
            0,
            trailer(
                here()
                    .u32(500)
                    .u32(501)
                    .u64(1)
                    .u64(2)
                    .u64(3)
                    .u32(8)
                    .u32(1)
                    .u64(99)
                    .u64(1)
                    .u32(5)
                    .u32(2)
                    .raw(b"/a\0\0\0\0\0\0"),
                1006,
            ),
        )
        // One with a build id where the others have device and inode.
        .record(
            10,
            1 << 14,
            trailer(here().u32(500).u32(501).u64(1).u64(2).u64(3).raw(&ID).u32(5).u32(2).raw(b"/a\0\0\0\0\0\0"), 1007),
        )
        .record(15, 0, trailer(here().u32(600).u32(601), 1008))
        .record(17, 0, trailer(here().u64(0xffff_ffff_c000_0000).u32(64).u16(1).u16(0).raw(b"bpf_prog"), 1009))
        // Bytes that are no records follow, which nobody turns around.
        .record(AUXTRACE, 0, here().u64(16).u64(0).u64(0).u32(0).u32(0).u32(3).u32(0))
        .raw(&[0xee; 16])
        .record(SAMPLE, 2, sample)
        .bytes
}

#[test]
fn a_big_endian_record_turned_around_is_the_little_endian_one() {
    const ALL: u64 = IDENTIFIER | IP | TID | TIME | CPU | PERIOD | CALLCHAIN | RAW;
    let seen = [Order::Little, Order::Big].map(|order| {
        let records = Bytes { order, bytes: everything(order) };
        let recording = opened(&pipe(order, 77, ALL, &records)).expect("opens");
        assert_eq!((recording.order, recording.events[0].name.as_str()), (order, "irq:softirq_entry"));
        let (seen, tally) = walked(&recording);
        assert_eq!((tally.unreadable, tally.notes), (0, vec![]), "{order:?}");
        seen
    });
    let [little, big] = &seen;
    assert_eq!((little.samples.len(), little.others.len()), (2, 10));
    assert_eq!(little.samples[0], little.samples[1]);
    assert_eq!(little.samples, big.samples);
    // An attr is read at the opening, and stays as it was.
    let records = |seen: &Seen| -> Vec<Other> { seen.others.iter().filter(|other| other.0 < 64).cloned().collect() };
    assert_eq!((records(little).len(), records(little)), (9, records(big)));
    let times: Vec<i64> = big.others.iter().filter_map(|other| other.2).collect();
    assert_eq!(times, (1001..1010).collect::<Vec<i64>>());
}
