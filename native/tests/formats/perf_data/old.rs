//! What old perfs wrote: version 1 of the magic, a header without features, names as records or as a section of their
//! own, pipes whose features come first, events without ids.

use netcost::{Error, Order};

use super::samples::ORDERS;
use crate::described::{
    opened, pipe_of, softirq, tracing, Attr, Bytes, CPU, IDENTIFIER, IP, PERIOD, RAW, SAMPLE, TID, TIME,
};
use crate::shown::{all_words, Shown};

const OLD: u64 = IP | TID | TIME | PERIOD;
const ID: u64 = 1 << 6;
/// The sizes that an attr has had: 64 in 2.6.31, 136 in 6.17.
const SIZES: [usize; 9] = [64, 72, 80, 96, 104, 112, 120, 128, 136];

fn cycles(more: u64, ids: &[u64]) -> Attr<'_> {
    Attr { kind: 0, config: 0, period: 1, sample_type: OLD | more, read_format: 0, flags: 0, ids }
}

/// A name and five samples, of which each may have an id.
fn told(order: Order, more: u64) -> Bytes {
    let here = || Bytes::of(order);
    let sample = |records: Bytes, place: u64| {
        let body = if more & IDENTIFIER > 0 { here().u64(3) } else { here() };
        let body = body.u64(place).u32(500).u32(501).u64(100 + place);
        records.record(SAMPLE, 1, if more & ID > 0 { body.u64(3) } else { body }.u64(7))
    };
    (0..5).fold(here().record(3, 0, here().u32(500).u32(501).raw(b"prog\0\0\0\0")), sample)
}

/// The samples are read, under a name that nobody could have made of the attr.
fn read_back(bytes: Vec<u8>, name: &str) -> Shown {
    let shown = Shown::of(bytes);
    let found = all_words(&shown.samples(name), "time_ns tid comm ip period");
    let wanted: Vec<String> = (0..5).map(|place| format!("{} 501 prog {place} 7", 100 + place)).collect();
    assert_eq!(found, wanted);
    shown
}

/// A feature's text, and a name's entry in a list of events.
fn text(order: Order, text: &str) -> Bytes {
    Bytes::of(order).u32(64).raw(text.as_bytes()).raw(&[0; 64][text.len()..])
}

fn named(order: Order, config: u64, name: &str) -> Bytes {
    Bytes::of(order).u64(config).raw(name.as_bytes()).raw(&[0; 64][name.len()..])
}

/// A file of version 1, which has a feature where its header is long enough for one.
fn file(order: Order, size: usize, header: u64, names: &Bytes) -> Vec<u8> {
    let mut attr = cycles(0, &[]).bytes(order).bytes;
    attr[4..8].copy_from_slice(&order.u32_bytes(size as u32));
    attr.resize(size, 0);
    let records = told(order, 0);
    let (entry, names_size, size) = (size as u64 + 16, names.bytes.len() as u64, records.bytes.len() as u64);
    let data = header + entry + names_size;
    let head = Bytes::of(order).raw(b"PERFFILE").u64(header).u64(entry).u64(header).u64(entry);
    let head = head.u64(data).u64(size).u64(if names_size > 0 { header + entry } else { 0 }).u64(names_size);
    let (head, feature) = if header > 72 {
        let table = Bytes::of(order).u64(data + size + 16).u64(68).raw(&text(order, "described").bytes);
        (head.u64(1 << 3).u64(0).u64(0).u64(0), table)
    } else {
        (head, Bytes::of(order))
    };
    head.raw(&attr).u64(header).u64(0).raw(&names.bytes).raw(&records.bytes).raw(&feature.bytes).bytes
}

#[test]
fn version_1_with_any_attr() {
    for order in ORDERS {
        for (size, header) in SIZES.into_iter().flat_map(|size| [(size, 72), (size, 104)]) {
            let shown = read_back(file(order, size, header, &named(order, 0, "some-cycles")), "some-cycles");
            assert_eq!((shown.recording.version, shown.recording.order), (1, order));
            assert_eq!(
                shown.recording.host.hostname.as_deref(),
                (header > 72).then_some("described"),
                "{order:?} {size}"
            );
        }
        // Without a section of names, the attr's numbers have to do.
        read_back(file(order, 64, 72, &Bytes::of(order)), "cycles");
    }
    // The size of the attrs is all that tells the order: one that fits neither is refused.
    let mut bytes = file(Order::Little, 64, 72, &Bytes::of(Order::Little));
    bytes[16..24].copy_from_slice(&(80_u64 << 32).to_le_bytes());
    assert!(matches!(opened(&bytes), Err(Error::Capture { offset: Some(_), .. })));
}

// A pipe of perf before 3.11, and ChromeOS' with its features in front. The numbers that ChromeOS used mean ID_INDEX,
// AUXTRACE and so on since: behind the first attr they do, whatever came before it.
#[test]
fn old_pipes() {
    for order in ORDERS {
        let here = || Bytes::of(order);
        let features = [(3, "described"), (4, "6.18.0"), (5, "6.1.187"), (6, "x86_64")];
        let first = features.iter().fold(here(), |records, (bit, said)| records.record(66 + bit, 0, text(order, said)));
        let first = first.record(66 + 7, 0, here().u32(2).u32(2));
        let words = ["perf", "record", "-a"].iter().fold(here().u32(3), |all, word| all.raw(&text(order, word).bytes));
        let first = first.record(66 + 11, 0, words);
        let name = here().record(65, 0, named(order, 0, "some-cycles"));
        let noise = [69, 70, 72, 73, 74, 75, 78, 79]
            .iter()
            .fold(here(), |all, &kind| all.record(kind, 0, here().raw(&[0; 16])));
        for (ids, is_chrome) in [(&[][..], false), (&[3, 4], false), (&[], true), (&[3, 4], true)] {
            let behind =
                name.clone().raw(&if is_chrome { noise.clone() } else { here() }.bytes).raw(&told(order, 0).bytes);
            let mut bytes = pipe_of(order, &[cycles(0, ids)], &behind);
            if is_chrome {
                bytes.splice(16..16, first.bytes.clone());
            }
            let host = read_back(bytes, "some-cycles").recording.host;
            let cmdline = host.cmdline.map(|words| words.join(" "));
            let found = [host.hostname, host.os_release, host.tool_version, host.arch, cmdline];
            let wanted = ["described", "6.18.0", "6.1.187", "x86_64", "perf record -a"];
            assert_eq!(found, wanted.map(|said| is_chrome.then(|| said.to_owned())), "{order:?}");
            assert_eq!(host.nr_cpus, is_chrome.then_some(2));
        }
    }
}

// In a pipe, features are records, and of two the later one holds: perf inject adds its own. Records of event types may
// name what is not recorded.
#[test]
fn features_and_names_of_a_pipe_are_records() {
    for order in ORDERS {
        let here = || Bytes::of(order);
        let features = [(3, "first"), (3, "later"), (4, "9.9")];
        let feature =
            |all: Bytes, (bit, said): &(u64, &str)| all.record(80, 0, here().u64(*bit).raw(&text(order, said).bytes));
        let records = features.iter().fold(here(), feature);
        let records = records.record(65, 0, named(order, 99, "another")).record(65, 0, named(order, 0, "mine"));
        let shown = read_back(pipe_of(order, &[cycles(0, &[])], &records.raw(&told(order, 0).bytes)), "mine");
        let host = &shown.recording.host;
        assert_eq!((host.hostname.as_deref(), host.os_release.as_deref()), (Some("later"), Some("9.9")));
        assert_eq!(shown.recording.events.len(), 1);
    }
}

// One event needs no ids, whatever its samples carry; its attr then names none.
#[test]
fn a_lone_event_without_ids() {
    for (order, more) in ORDERS.into_iter().flat_map(|order| [(order, 0), (order, ID), (order, IDENTIFIER)]) {
        for ids in [&[][..], &[3]] {
            let shown = read_back(pipe_of(order, &[cycles(more, ids)], &told(order, more)), "cycles");
            assert_eq!(shown.notes(), [""; 0], "{order:?} {more:#x}");
        }
    }
}

// A tracepoint's payload says by its first word which format it has; without any id that is all.
#[test]
fn tracepoints_without_ids_have_their_formats() {
    let names = ["softirq_entry", "softirq_exit", "softirq_raise"];
    let formats = [0, 1, 2].map(|at| softirq(names[at], 50 + at as u16));
    let attrs = [50, 51, 52].map(|config| Attr { ids: &[], flags: 0, ..Attr::tracepoint(config, TIME | CPU | RAW) });
    for order in ORDERS {
        let here = || Bytes::of(order);
        let texts = formats.each_ref().map(String::as_str);
        let sample = |records: Bytes, at: u16| {
            let payload = here().u16(50 + at % 3).raw(&[0, 1]).u32(500).u32(at.into());
            records.record(SAMPLE, 1, here().u64(1000 + u64::from(at)).u32(0).u32(0).u32(12).raw(&payload.bytes))
        };
        let shown = Shown::of(pipe_of(order, &attrs, &(0..12).fold(tracing(here(), 8, "irq", &texts), sample)));
        for (place, name) in names.iter().enumerate() {
            let wanted: Vec<String> = (place..12).step_by(3).map(|at| format!("{} 0 {at}", 1000 + at)).collect();
            assert_eq!(all_words(&shown.events(&format!("irq:{name}")), "time_ns common_cpu vec"), wanted, "{order:?}");
        }
    }
}
