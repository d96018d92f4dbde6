//! Records beside the samples: read where they say something, walked over where they do not, in either byte order, with
//! and without the sample_id that ends them.

use netcost::{maps, Order};

use super::samples::{at, hardware, ORDERS};
use crate::described::{pipe_of, Attr, Bytes};
use crate::shown::{all_words, rows, Shown};

const KERNEL: u64 = 0xffff_ffff_8100_0000;
/// CPU modes of a record's header.
const UNKNOWN: u16 = 0;
const IN_KERNEL: u16 = 1;
const IN_USER: u16 = 2;
const IN_GUEST: u16 = 5;
const MMAP_DATA: u16 = 1 << 13;
const BUILD_ID: u16 = 1 << 14;

/// A stream of one event, whose records end with a sample_id or not.
fn stream(order: Order, is_timed: bool, records: &Bytes) -> Shown {
    let cycles = hardware(0, 0, &[10]);
    Shown::of(pipe_of(order, &[if is_timed { cycles } else { Attr { flags: 0, ..cycles } }], records))
}

/// A record of the kernel's, of time 77.
fn record(records: Bytes, is_timed: bool, kind: u32, misc: u16, body: Bytes) -> Bytes {
    let timed = |body: Bytes| body.u32(500).u32(501).u64(77).u64(10);
    records.record(kind, misc, if is_timed { timed(body) } else { body })
}

/// A name that ends with a NUL, and then at a word's end.
fn text(body: Bytes, name: &str) -> Bytes {
    let padding = 8 - name.len() % 8;
    body.raw(name.as_bytes()).raw(&[0; 8][..padding])
}

/// Their types, names, and bytes of what they say.
const KINDS: [(u32, &str, usize); 26] = [
    (1, "MMAP", 64),
    (2, "LOST", 16),
    (3, "COMM", 24),
    (4, "EXIT", 24),
    (5, "THROTTLE", 24),
    (6, "UNTHROTTLE", 24),
    (7, "FORK", 24),
    (8, "READ", 16),
    (10, "MMAP2", 80),
    (11, "AUX", 24),
    (12, "ITRACE_START", 8),
    (13, "LOST_SAMPLES", 8),
    (14, "SWITCH", 0),
    (15, "SWITCH_CPU_WIDE", 8),
    (16, "NAMESPACES", 128),
    (17, "KSYMBOL", 56),
    (18, "BPF_EVENT", 16),
    (19, "CGROUP", 40),
    (20, "TEXT_POKE", 24),
    (21, "AUX_OUTPUT_HW_ID", 8),
    (22, "CALLCHAIN_DEFERRED", 32),
    (63, "type 63", 0),
    (67, "HEADER_BUILD_ID", 60),
    (69, "ID_INDEX", 8),
    (82, "FINISHED_INIT", 0),
    (200, "type 200", 24),
];

// What a processor traced stands behind its record. Everything else in the stream stays what it was.
#[test]
fn every_record_is_counted_by_its_name_and_samples_are_found_between_them() {
    for (order, is_timed) in ORDERS.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        let one = |records: Bytes, place: usize, (kind, _, size): (u32, &str, usize)| {
            let body = Bytes::of(order).raw(&vec![0; size]);
            record(records, is_timed && kind < 64, kind, 0, body).raw(&at(order, &[100 + place as u64]).bytes)
        };
        let told = KINDS.into_iter().enumerate().fold(Bytes::of(order), |told, (place, kind)| one(told, place, kind));
        let traced = Bytes::of(order).u64(264).raw(&[0; 32]);
        let shown = stream(order, is_timed, &told.record(71, 0, traced).raw(&[9; 264]).raw(&at(order, &[126]).bytes));
        let mut wanted: Vec<(&str, u64)> = KINDS.iter().map(|kind| (kind.1, 1)).collect();
        wanted.extend([("AUXTRACE", 1), ("HEADER_ATTR", 1), ("SAMPLE", 27)]);
        wanted.sort_unstable();
        let found = shown.scan.tally.records.iter().map(|(name, count)| (name.as_str(), *count));
        assert_eq!(found.collect::<Vec<(&str, u64)>>(), wanted, "{order:?} {is_timed}");
        let times: Vec<String> = (100..127).map(|time| time.to_string()).collect();
        assert_eq!(all_words(&shown.samples("cycles"), "time_ns"), times, "{order:?} {is_timed}");
    }
}

// An inode and its generation, or a build id, then protection and flags.
#[test]
fn mappings_say_what_was_recorded() {
    const COLUMNS: &str = "pid tid address length page_offset filename executable build_id cpu_mode time_ns";
    let ids: Vec<u8> = (0..20).collect();
    let hex: String = ids.iter().map(|byte| format!("{byte:02x}")).collect();
    let at = |(address, length, offset): (u64, u64, u64)| format!("{address} {length} {offset}");
    let kernel = (KERNEL, 0xc0_0000, KERNEL);
    // Mode, process and thread, place, of a MMAP2 its build id and whether it is executable, name; what follows.
    type Mapping<'m> = (u16, (i32, i32), (u64, u64, u64), Option<(&'m [u8], bool)>, &'m str, &'m str);
    let mappings: [Mapping<'_>; 8] = [
        (IN_KERNEL, (-1, -1), kernel, None, "[kernel.kallsyms]_text", "true null kernel"),
        (IN_USER, (500, 501), (0x40_0000, 4096, 8192), None, "/usr/bin/openssl", "true null user"),
        (IN_USER | MMAP_DATA, (500, 501), (0x7f00_0000_0000, 1 << 40, 0), None, "//anon", "false null user"),
        (IN_USER, (500, 501), (0x50_0000, 8192, 1 << 33), Some((&[], true)), "/lib/libc.so.6", "true null user"),
        (IN_USER, (500, 501), (0x60_0000, 8192, 0), Some((&[], false)), "/lib/é.so", "false null user"),
        (IN_USER | BUILD_ID, (500, 501), (0x70_0000, 8192, 0), Some((&ids, true)), "/lib/libm.so.6", "true HEX40 user"),
        (
            IN_USER | BUILD_ID,
            (500, 501),
            (0x80_0000, 8192, 0),
            Some((&ids[..16], true)),
            "/lib/md5.so",
            "true HEX32 user",
        ),
        (IN_GUEST, (700, 700), (0xc000_0000, 8192, 0), Some((&[], true)), "/guest", "true null guest user"),
    ];
    for (order, is_timed) in ORDERS.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        let mut records = Bytes::of(order);
        for (misc, (pid, tid), (address, length, offset), newer, name, _) in mappings {
            let body = Bytes::of(order).u32(pid as u32).u32(tid as u32).u64(address).u64(length).u64(offset);
            let (kind, body) = match newer {
                None => (1, body),
                Some((id, executable)) => {
                    let body = if id.is_empty() {
                        body.u32(8).u32(1).u64(99).u64(0)
                    } else {
                        body.raw(&[id.len() as u8, 0, 0, 0])
                    };
                    let body = if id.is_empty() { body } else { body.raw(id).raw(&[0; 20][id.len()..]) };
                    (10, body.u32(if executable { 5 } else { 1 }).u32(2))
                }
            };
            records = record(records, is_timed, kind, misc, text(body, name));
        }
        let shown = stream(order, is_timed, &records);
        let found = rows(&maps::mappings(&shown.recording, &mut |_| true).expect("mappings"));
        let wanted = mappings.map(|(_, (pid, tid), place, _, name, rest)| {
            let rest = rest.replace("HEX40", &hex).replace("HEX32", &hex[..32]);
            format!("{pid} {tid} {} {name} {rest} {}", at(place), if is_timed { "77" } else { "null" })
        });
        assert_eq!(all_words(&found, COLUMNS), wanted, "{order:?} {is_timed}");
    }
}

// So the kernel marks what it tells a recorder that began before another one asked for build ids.
#[test]
fn a_device_and_an_inode_are_no_build_id() {
    // Major and minor number, inode, generation.
    let identities = [(254, 0, 18_500, 0), (8, 1, 99, 7), (259, 1, 1 << 33, 0), (0, 33, 4, 1)];
    for order in ORDERS {
        let one = |records, (major, minor, inode, generation): (u32, u32, u64, u64)| {
            let body = Bytes::of(order).u32(500).u32(500).u64(1).u64(2).u64(0);
            let body = body.u32(major).u32(minor).u64(inode).u64(generation).u32(5).u32(2);
            record(records, true, 10, IN_USER | BUILD_ID, text(body, "/bin/sh"))
        };
        let shown = stream(order, true, &identities.into_iter().fold(Bytes::of(order), one));
        let found = maps::mappings(&shown.recording, &mut |_| true).expect("mappings");
        assert_eq!(all_words(&rows(&found), "filename build_id"), ["/bin/sh null"; 4], "{order:?}");
    }
}

// The tail's place is found whatever the name's length.
#[test]
fn names_may_have_any_length() {
    for (order, is_timed) in ORDERS.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        for length in 0..30 {
            let name: String = "aé ſ/".chars().cycle().take(length).collect();
            let mapping = Bytes::of(order).u32(500).u32(500).u64(1).u64(2).u64(0);
            let newer = mapping.clone().u32(8).u32(1).u64(99).u64(0).u32(5).u32(2);
            let symbol = Bytes::of(order).u64(1).u32(2).u16(1).u16(0);
            let told = [(1, mapping), (10, newer), (17, symbol)];
            let one = |records, (kind, body)| record(records, is_timed, kind, IN_USER, text(body, &name));
            let shown = stream(order, is_timed, &told.into_iter().fold(Bytes::of(order), one));
            let mappings = maps::mappings(&shown.recording, &mut |_| true).expect("mappings");
            let symbols = maps::kernel_symbols(&shown.recording, &mut |_| true).expect("symbols");
            let time = if is_timed { "77" } else { "null" };
            assert_eq!(
                all_words(&rows(&mappings), "filename time_ns"),
                [format!("{name} {time}"), format!("{name} {time}")]
            );
            assert_eq!(all_words(&rows(&symbols), "name time_ns"), [format!("{name} {time}")]);
        }
    }
}

#[test]
fn kernel_symbols_say_what_was_recorded() {
    let symbols: [(u64, u32, u16, u16, &str, &str); 4] = [
        (0xffff_ffff_c000_1000, 300, 1, 0, "bpf_prog_6deef7357e7b4530_count", "bpf false"),
        (0xffff_ffff_c000_2000, 4096, 2, 0, "kprobe_insn_page", "out of line false"),
        (0xffff_ffff_c000_3000, u32::MAX, 9, 0, "later", "unknown false"),
        (0xffff_ffff_c000_1000, 300, 1, 1, "bpf_prog_6deef7357e7b4530_count", "bpf true"),
    ];
    for order in ORDERS {
        let mut records = Bytes::of(order);
        for (address, length, kind, flags, name, _) in symbols {
            let body = Bytes::of(order).u64(address).u32(length).u16(kind).u16(flags);
            records = record(records, true, 17, UNKNOWN, text(body, name));
        }
        let shown = stream(order, true, &records);
        let found = maps::kernel_symbols(&shown.recording, &mut |_| true).expect("symbols");
        let wanted = symbols.map(|(address, length, _, _, name, said)| format!("77 {address} {length} {said} {name}"));
        assert_eq!(all_words(&rows(&found), "time_ns address length kind unregistered name"), wanted);
    }
}
