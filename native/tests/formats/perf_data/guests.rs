//! Virtual machines: samples that the host took while a guest ran, and a guest's own recording that
//! `perf inject --guest-data` has merged into the host's.

use netcost::Order;

use super::samples::{body, hardware, with, ORDERS};
use crate::described::{pipe_of, softirq, tracing, Attr, Bytes, CALLCHAIN, CPU, IDENTIFIER, RAW, SAMPLE, TID, TIME};
use crate::shown::{all_words, rows, table, Shown};

const QEMU: u64 = 4000;
/// CPU modes.
const MODES: [&str; 6] = ["unknown", "kernel", "user", "hypervisor", "guest kernel", "guest user"];
const GUEST_KERNEL: u16 = 4;
const CONTEXT_GUEST_KERNEL: u64 = (-2176_i64) as u64;
const CONTEXT_GUEST_USER: u64 = (-2560_i64) as u64;

/// An ID_INDEX of these ids, and whose they are.
fn index(records: Bytes, ids: &[u64], owners: &[u64]) -> Bytes {
    let body = Bytes::of(records.order).u64(ids.len() as u64);
    let body = ids.iter().fold(body, |body, &id| body.u64(id).u64(0).u64(0).u64(0));
    records.record(69, 0, owners.iter().fold(body, |body, &owner| body.u64(owner).u64(0)))
}

// One counter on the host sees everything: its own kernel, qemu, and the guest inside. Guests' frames are frames, and
// their markers are none. An ID_INDEX without its second list, as every recording has, says nothing of guests.
#[test]
fn samples_of_a_guest_are_kept_and_marked() {
    let told = [1, 4, 2, 5, 4, 3];
    for order in ORDERS {
        let sample = |records: Bytes, mode: u16| {
            let chain = match mode {
                4 => vec![CONTEXT_GUEST_KERNEL, 0xffff_ffff_8200_0000],
                5 => vec![CONTEXT_GUEST_USER, 0x7f00_0000_0000],
                _ => vec![],
            };
            records.record(SAMPLE, mode, with(body(order, 10, 1), chain.len(), &chain))
        };
        let records = told.into_iter().fold(index(Bytes::of(order), &[10], &[]), sample);
        let shown = Shown::of(pipe_of(order, &[hardware(0, CALLCHAIN, &[10])], &records));
        assert_eq!(shown.recording.events[0].guest, None);
        let found = all_words(&shown.samples("cycles"), "cpu_mode callchain");
        let wanted = told.map(|mode| {
            let chain = match mode {
                4 => format!("[{}]", 0xffff_ffff_8200_0000_u64),
                5 => format!("[{}]", 0x7f00_0000_0000_u64),
                _ => "[]".to_owned(),
            };
            format!("{} {chain}", MODES[usize::from(mode)])
        });
        assert_eq!((found, shown.scan.guest_samples), (wanted.to_vec(), 3), "{order:?}");
    }
}

/// Two softirqs of the host's, with a guest's between them or not. What perf inject does: the guest's events become
/// attrs with ids of their own behind the host's, an ID_INDEX says which are whose, and every record of the guest's has
/// a guest's mode. The guest's task 500 is not the host's.
fn merged(order: Order, has_guest: bool) -> Shown {
    let here = || Bytes::of(order);
    let ids: [&[u64]; 4] = [&[1], &[2], &[1001], &[1002]];
    let attr = |place: usize| Attr {
        ids: ids[place],
        ..Attr::tracepoint(70 + place as u64 % 2, IDENTIFIER | TID | TIME | CPU | RAW)
    };
    let attrs: Vec<Attr<'_>> = (0..if has_guest { 4 } else { 2 }).map(attr).collect();
    let formats = [softirq("softirq_entry", 70), softirq("softirq_exit", 71)];
    let one = |records: Bytes, place: usize, misc: u16, time: u64, vec: u32| {
        let payload = here().u16(70 + place as u16 % 2).raw(&[0x10, 1]).u32(500).u32(vec);
        let body = here().u64(ids[place][0]).u32(500).u32(500).u64(time).u32(0).u32(0).u32(12).raw(&payload.bytes);
        records.record(SAMPLE, misc, body)
    };
    let named = |records: Bytes, misc: u16, id: u64, comm: &[u8]| {
        let body = here().u32(500).u32(500).raw(comm).u32(500).u32(500).u64(90).u32(0).u32(0).u64(id);
        records.record(3, misc, body)
    };
    let texts = [formats[0].as_str(), &formats[1]];
    let mut records = tracing(here(), 8, "irq", &texts);
    if has_guest {
        records = index(records, &[1, 2, 1001, 1002], &[0, 0, QEMU, QEMU]);
        records = named(records, GUEST_KERNEL, 1001, b"inside\0\0");
    }
    records = named(records, 1, 1, b"openssl\0");
    for (time, place) in [(100, 0), (200, 1), (300, 0), (400, 1)] {
        records = one(records, place, 1, time, 3);
        if has_guest {
            records = one(records, 2, GUEST_KERNEL, time, 9);
        }
    }
    Shown::of(pipe_of(order, &attrs, &records))
}

// What the guest's CPUs did is no part of the host's time, and neither side's names are the other's.
#[test]
fn a_guests_recording_in_its_hosts() {
    for order in ORDERS {
        let [alone, both] = [false, true].map(|has_guest| merged(order, has_guest));
        let names = both.recording.events.iter().map(|event| (event.name.as_str(), event.guest));
        let wanted = [("irq:softirq_entry", None), ("irq:softirq_exit", None)];
        let inside = [("irq:softirq_entry (guest 4000)", Some(4000)), ("irq:softirq_exit (guest 4000)", Some(4000))];
        assert_eq!(names.collect::<Vec<_>>(), [wanted, inside].concat());
        assert_eq!((both.scan.guest_samples, &both.scan.counts[..]), (4, &[2, 2, 4, 0][..]));
        let of_guest = both.events(inside[0].0);
        assert_eq!(all_words(&of_guest, "vec common_comm"), ["9 null"; 4], "{order:?}");
        assert_eq!(all_words(&both.samples(inside[0].0), "cpu_mode"), ["guest kernel"; 4]);
        for name in [wanted[0].0, wanted[1].0] {
            assert_eq!(both.events(name), alone.events(name), "{order:?}");
            assert_eq!(all_words(&both.samples(name), "comm"), ["openssl"; 2]);
        }
        let [alone, both] = [alone, both].map(|shown| shown.ledger().expect("a ledger"));
        for name in ["segments", "softirqs", "slices"] {
            assert_eq!(table(&both, name), table(&alone, name), "{order:?}");
        }
        assert_eq!(rows(&both.sums), rows(&alone.sums));
    }
}
