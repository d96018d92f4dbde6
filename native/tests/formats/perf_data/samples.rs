//! Samples where a record alone does not tell: whose counts they are, what the event is called, what is cut short.

use netcost::{ErrorKind, Order, Rate};

use crate::described::{pipe_of, Attr, Bytes, SAMPLE_ID_ALL};
use crate::described::{CALLCHAIN, IDENTIFIER, IP, RAW, SAMPLE, TID, TIME};
use crate::shown::{all_words, refused, words, Shown};

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];
const BASIC: u64 = IDENTIFIER | IP | TID | TIME;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const BRANCH_STACK: u64 = 1 << 11;
const STACK_USER: u64 = 1 << 13;
const PHYS_ADDR: u64 = 1 << 19;
const AUX: u64 = 1 << 20;
const GROUP_WITH_IDS: u64 = 4 | 8;
const KERNEL: u64 = (-128_i64) as u64;
const USER: u64 = (-512_i64) as u64;
const USER_DEFERRED: u64 = (-640_i64) as u64;

/// A hardware event.
pub fn hardware(config: u64, more: u64, ids: &[u64]) -> Attr<'_> {
    let (sample_type, flags) = (BASIC | more, SAMPLE_ID_ALL);
    Attr { kind: 0, config, period: 1, sample_type, read_format: GROUP_WITH_IDS, flags, ids }
}

/// The fields of this event's samples that BASIC selects.
pub fn body(order: Order, id: u64, time: u64) -> Bytes {
    Bytes::of(order).u64(id).u64(0).u32(500).u32(501).u64(time)
}

/// Samples of cycles at these times, with nothing behind.
pub fn at(order: Order, times: &[u64]) -> Bytes {
    times.iter().fold(Bytes::of(order), |bytes, &time| bytes.record(SAMPLE, 1, body(order, 10, time)))
}

pub fn with(bytes: Bytes, number: usize, words: &[u64]) -> Bytes {
    words.iter().fold(bytes.u64(number as u64), |bytes, &word| bytes.u64(word))
}

// A chain of the user's alone, one with nothing in it, and one whose user's part was put off: the kernel leaves a cookie,
// by which a later CALLCHAIN_DEFERRED can be found. It is no address.
#[test]
fn marks_and_cookies_of_a_chain_are_no_frames() {
    let kernel = 0xffff_ffff_8100_0001;
    for (chain, wanted) in [
        (&[KERNEL, kernel, kernel + 1, USER_DEFERRED, 77][..], format!("[{kernel}, {}] 2", kernel + 1)),
        (&[USER, 0x40_0000, 0x40_0010], "[4194304, 4194320] 0".to_owned()),
        (&[], "[] 0".to_owned()),
    ] {
        for order in ORDERS {
            let sample = Bytes::of(order).record(SAMPLE, 1, with(body(order, 10, 1), chain.len(), chain));
            let found = Shown::of(pipe_of(order, &[hardware(0, CALLCHAIN, &[10])], &sample)).samples("cycles");
            assert_eq!(all_words(&found, "callchain kernel_frames"), [wanted.as_str()], "{order:?}");
        }
    }
}

// Each attr has its own columns: which one a sample follows, its first word says.
#[test]
fn events_of_different_sample_types_are_told_apart() {
    for order in ORDERS {
        let attrs = [hardware(0, 0, &[10]), hardware(3, ADDR | PHYS_ADDR | RAW, &[20])];
        let samples = (0..6).fold(Bytes::of(order), |bytes, number| {
            let plain = body(order, 10 + 10 * (number % 2), number);
            let whole = plain.clone().u64(number).u32(4).u32(0).u64(2 * number);
            bytes.record(SAMPLE, 1, if number % 2 == 0 { plain } else { whole })
        });
        let shown = Shown::of(pipe_of(order, &attrs, &samples));
        assert_eq!(all_words(&shown.samples("cycles"), "time_ns addr"), ["0 _", "2 _", "4 _"]);
        let misses = all_words(&shown.samples("cache-misses"), "time_ns addr phys_addr");
        assert_eq!(misses, ["1 1 2", "3 3 6", "5 5 10"]);
    }
}

// Two groups: each leader's samples carry the counts of its own group, in any order of ids.
#[test]
fn group_reads_belong_to_the_events_of_their_group() {
    const COUNTS: &str = "read:cycles read:instructions read:branches read:branch-misses";
    for order in ORDERS {
        let ids = [[10, 20], [11, 21], [14, 24], [15, 25]];
        let attrs = [(0, 0), (1, 1), (4, 2), (5, 3)].map(|(config, at): (u64, usize)| hardware(config, READ, &ids[at]));
        let samples = Bytes::of(order).record(SAMPLE, 1, with(body(order, 10, 1), 2, &[100, 10, 200, 11])).record(
            SAMPLE,
            1,
            with(body(order, 14, 2), 2, &[400, 15, 300, 14]),
        );
        let shown = Shown::of(pipe_of(order, &attrs, &samples));
        let counts = |name: &str| words(&shown.samples(name)[0], COUNTS).replace("null", "_");
        assert_eq!([counts("cycles"), counts("branches")], ["100 200 _ _", "_ _ 300 400"]);
    }
}

// A period that is the attr's stands in no sample; a frequency is no period.
#[test]
fn the_fixed_period_is_the_attrs() {
    const FREQ: u64 = 1 << 10;
    for order in ORDERS {
        let cycles = Attr { period: 100_003, ..hardware(0, 0, &[10]) };
        let misses = Attr { period: 4000, flags: FREQ, ..hardware(3, 0, &[20]) };
        let samples = at(order, &[1]).record(SAMPLE, 1, body(order, 20, 1));
        let shown = Shown::of(pipe_of(order, &[cycles, misses], &samples));
        let periods = ["cycles", "cache-misses"].map(|name| words(&shown.samples(name)[0], "period"));
        assert_eq!(periods, ["100003", "null"]);
        let rates: Vec<Rate> = shown.recording.events.iter().map(|event| event.rate).collect();
        assert_eq!(rates, [Rate::Period(100_003), Rate::Frequency(4000)]);
    }
}

/// These records between two samples: no table has any of them, but each is counted.
fn assert_left_out(order: Order, more: u64, whole: &Bytes, bodies: &[Bytes]) {
    let record = |bytes: Bytes, body: &Bytes| bytes.record(SAMPLE, 1, body.clone());
    let records = bodies.iter().fold(record(Bytes::of(order), whole), record);
    let shown = Shown::of(pipe_of(order, &[hardware(0, more, &[10])], &record(records, whole)));
    assert_eq!(all_words(&shown.samples("cycles"), "time_ns"), ["1", "1"], "{order:?} {more:#x}");
    assert_eq!(shown.records("SAMPLE") as usize, bodies.len() + 2, "{order:?} {more:#x}");
    let left_out = shown.scan.short + shown.scan.tally.unreadable;
    assert_eq!(left_out as usize, bodies.len(), "{order:?} {more:#x}");
}

// What a sample's record does not hold any more, it cannot say.
#[test]
fn samples_cut_short_are_counted_and_left_out() {
    for order in ORDERS {
        let whole = with(body(order, 10, 1), 3, &[KERNEL, 1, 2]);
        for left in [8, 16, 24, 32] {
            let cut = Bytes::of(order).raw(&whole.bytes[..left]);
            assert_left_out(order, CALLCHAIN, &whole, &[cut]);
        }
    }
}

// A chain, a payload, a stack longer than the record that it stands in. The part's length is the first word after the
// fixed four, and the record ends there. A payload's has 32 bits, and four bytes of the payload stand beside it.
#[test]
fn parts_longer_than_their_record_are_left_out() {
    let lengths = [5, 1 << 16, 1 << 29, 1 << 31, u32::MAX.into(), 1 << 32, 1 << 61, (1 << 61) + 1, 1 << 63, u64::MAX];
    for order in ORDERS {
        for part in [CALLCHAIN, RAW, BRANCH_STACK, STACK_USER, READ, AUX] {
            let (least, most) = if part == RAW { (4, u64::from(u32::MAX)) } else { (8, u64::MAX) };
            let told = lengths.into_iter().filter(|&length| least < length && length <= most);
            let long = |length: u64| match part {
                RAW => body(order, 10, 2).u32(length as u32).u32(0),
                _ => body(order, 10, 2).u64(length),
            };
            let bodies: Vec<Bytes> = told.map(long).collect();
            let whole = body(order, 10, 1);
            let whole = if part == RAW { whole.u32(4).u32(0) } else { whole.u64(0) };
            assert_left_out(order, part, &whole, &bodies);
        }
    }
}

#[test]
fn an_event_that_is_not_there_is_named() {
    let shown = Shown::of(pipe_of(Order::Little, &[hardware(0, 0, &[10])], &at(Order::Little, &[1])));
    let (kind, message) = refused(shown.recording.samples("cache-misses", None, &mut |_| true));
    assert!(kind == ErrorKind::Missing && message.contains("cache-misses"), "{message}");
}

// Threads inherit their parent's name, and exec changes it.
#[test]
fn names_follow_forks_and_execs() {
    const EXEC: u16 = 1 << 13;
    for order in ORDERS {
        let here = || Bytes::of(order);
        let trailer = |body: Bytes, tid: u32, time: u64| body.u32(tid).u32(tid).u64(time).u64(10);
        let sample = |time: u64, tid: u32| here().u64(10).u64(0).u32(tid).u32(tid).u64(time);
        let records = here()
            .record(3, 0, trailer(here().u32(500).u32(500).raw(b"sh\0\0\0\0\0\0"), 500, 0))
            .record(SAMPLE, 1, sample(1, 500))
            .record(7, 0, trailer(here().u32(600).u32(500).u32(600).u32(500).u64(2), 500, 2))
            .record(SAMPLE, 1, sample(3, 600))
            .record(3, EXEC, trailer(here().u32(600).u32(600).raw(b"openssl\0"), 600, 4))
            .record(SAMPLE, 1, sample(5, 600))
            .record(SAMPLE, 1, sample(6, 500))
            .record(SAMPLE, 1, sample(7, 0));
        let shown = Shown::of(pipe_of(order, &[hardware(0, 0, &[10])], &records));
        let names = all_words(&shown.samples("cycles"), "comm");
        assert_eq!(names[..4], ["sh", "sh", "openssl", "sh"]);
        assert!(names[4].starts_with("swapper"));
    }
}
