//! From the ring's time stamps to times: ftrace's clocks, cycles, a guest's clock on its host's, and what options add.
//! A guest's clock between two comparisons, against trace-cmd: tests/formats/trace_dat/test_clocks.py.

use netcost::{Result, Unit};

use super::written::{found, Dat, Machine, MACHINES, S, X86_64};
use crate::shown::{refused, Shown};

const DATE: u16 = 1;
const OFFSET: u16 = 7;
const TRACEID: u16 = 11;
const TIME_SHIFT: u16 = 12;
const GUEST: u16 = 13;
const TSC2NSEC: u16 = 14;

type Options = Vec<(u16, Vec<u8>)>;
/// A clock, its options, what it counts in which steps, and what a reader makes of four stamps.
type Case = (&'static str, Options, (Unit, u64), [i64; 4]);

fn offset(ns: i64) -> (u16, Vec<u8>) {
    (OFFSET, format!("{ns}\0").into_bytes())
}

fn tsc(machine: Machine, multiplier: u32, shift: u32) -> (u16, Vec<u8>) {
    (TSC2NSEC, machine.bytes().u32(multiplier).u32(shift).u64(777).bytes)
}

/// Of each CPU one comparison at 0, or none; older files end before their fractions.
fn shift(cpus: &[Option<i64>], has_fractions: bool) -> (u16, Vec<u8>) {
    let head = X86_64.bytes().u64(7).u32(0).u32(cpus.len() as u32);
    let of_cpu = |bytes: crate::described::Bytes, cpu: &Option<i64>| match cpu {
        Some(offset) => bytes.u32(1).u64(0).u64(*offset as u64).u64(1),
        None => bytes.u32(0),
    };
    let shifts = cpus.iter().fold(head, of_cpu);
    (TIME_SHIFT, if has_fractions { cpus.iter().flatten().fold(shifts, |bytes, _| bytes.u64(0)) } else { shifts }.bytes)
}

/// At these times on the first CPU, and a tick later on the second.
fn steps(machine: Machine, version: u8, times: &[u64]) -> Dat {
    let ring = |cpu: u32| machine.ring(99, &times.iter().map(|at| (at + u64::from(cpu), cpu)).collect::<Vec<_>>());
    Dat::of(machine, version, vec![(0, ring(0)), (1, ring(1))])
}

fn times(shown: &Shown) -> Vec<i64> {
    let mut times: Vec<i64> = found(shown).iter().map(|event| event.0 + S as i64).collect();
    times.sort_unstable();
    times
}

#[test]
fn every_clock() {
    use Unit::{Cycles, Nanoseconds, Order};
    let plain = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai"];
    let same = [1000, 1001, 1005, 1006];
    let compared = shift(&[Some(1000), Some(-1000)], true);
    let both = [true, false].map(|has_fractions| vec![shift(&[Some(100); 2], has_fractions)]);
    // What a reader makes of 1000, 1001, 1005 and 1006. Shifted first, cycles to nanoseconds then, and what belongs on
    // the time added last.
    let mut clocks: Vec<Case> = plain.map(|clock| (clock, vec![], (Nanoseconds, 1), same)).into();
    clocks.extend([
        ("uptime", vec![], (Nanoseconds, 10_000_000), same.map(|at| at * 10_000_000)),
        ("counter", vec![], (Order, 1), same),
        ("x86-tsc", vec![], (Cycles, 1), same),
        ("mono", vec![offset(5)], (Nanoseconds, 1), [1005, 1006, 1010, 1011]),
        ("mono", vec![offset(5), offset(-7)], (Nanoseconds, 1), [998, 999, 1003, 1004]),
        ("x86-tsc", vec![compared, tsc(X86_64, 1, 1), offset(5)], (Nanoseconds, 1), [5, 8, 1005, 1007]),
        ("x86-tsc", vec![tsc(X86_64, 3, 1), offset(7)], (Nanoseconds, 1), [1507, 1508, 1514, 1516]),
    ]);
    clocks.extend(both.map(|options| ("mono", options, (Nanoseconds, 1), [1100, 1101, 1105, 1106])));
    // It has nothing to shift by.
    clocks.push(("mono", vec![shift(&[None, Some(100)], true)], (Nanoseconds, 1), [1000, 1005, 1101, 1106]));
    for version in [6, 7] {
        for (clock, options, (unit, resolution), wanted) in &clocks {
            let shown = steps(X86_64, version, &[1000, 1005]).clocked(clock, options).shown();
            let recording = &shown.recording;
            assert_eq!(
                (recording.clock.as_str(), recording.unit, recording.resolution_ns),
                (*clock, *unit, *resolution)
            );
            assert_eq!((recording.buffers[0].clock.as_str(), recording.session.date_offset_ns), (*clock, None));
            let column = match unit {
                Nanoseconds => "time_ns",
                Cycles => "time_cycles",
                Order => "time_order",
            };
            let rows = shown.events("irq:softirq_raise");
            let mut found: Vec<i64> = rows.iter().map(|row| row[column].parse().expect("a time")).collect();
            found.sort_unstable();
            assert_eq!(found, wanted, "{clock} {options:?}");
            assert_eq!(rows[0].keys().filter(|name| name.starts_with("time_")).count(), 1);
        }
    }
}

// Each nanosecond has a first cycle. Of 3 GHz the multiplier is rounded: half a nanosecond's cycles more keep times from
// falling below. For years: native/src/ring/clock.rs.
#[test]
fn cycles_of_known_and_of_given_length() {
    for (machine, version) in MACHINES.into_iter().flat_map(|machine| [(machine, 6), (machine, 7)]) {
        for (multiplier, right) in [(1, 0), (1, 1), (3, 1), (0x6aaa_aaab, 32), (0x7fff_ffff, 31), (10, 3)] {
            let stamps = [12_345, 1 << 32, (1 << 45) + 98_765];
            let dat = steps(machine, version, &stamps).clocked("x86-tsc", &[tsc(machine, multiplier, right)]);
            let wide = |at: u64| ((u128::from(at) * u128::from(multiplier)) >> right) as i64;
            let wanted: Vec<i64> = stamps.iter().flat_map(|at| [wide(*at), wide(at + 1)]).collect();
            assert_eq!(times(&dat.shown()), wanted, "{machine:?} {multiplier} {right}");
        }
        for hertz in [1_000_000_000_u64, 2_000_000_000, 2_500_000_000, 3_000_000_000] {
            let wanted: Vec<u64> = (0..50).map(|step| S + 7 * step * step).collect();
            let stamps: Vec<u64> = wanted.iter().map(|at| (at * hertz).div_ceil(S) + hertz / 2 / S).collect();
            let ring: Vec<(u64, u32)> = stamps.iter().map(|&at| (at, 1)).collect();
            let mut shown =
                Dat::of(machine, version, vec![(0, machine.ring(9, &ring))]).clocked("x86-tsc", &[]).shown();
            shown.recording.set_cycles_per_s(hertz).expect("cycles");
            assert_eq!((shown.recording.unit, shown.recording.clock.as_str()), (Unit::Nanoseconds, "x86-tsc"));
            assert!(shown.recording.notes[0].contains(&hertz.to_string()));
            assert_eq!(times(&shown), wanted.iter().map(|&at| at as i64).collect::<Vec<_>>(), "{hertz}");
        }
    }
}

// What counts nanoseconds, or events, or says itself how long a cycle is, takes no other length. And without nanoseconds
// what has to do with durations is refused.
#[test]
fn what_a_clock_does_not_tell_is_refused() {
    let given = |shown: Shown| -> Result<()> { { shown }.recording.set_cycles_per_s(S) };
    for (clock, options, counts) in [
        ("mono", vec![], "ns"),
        ("uptime", vec![], "ns"),
        ("counter", vec![], "an order alone"),
        ("x86-tsc", vec![tsc(X86_64, 1, 1)], "ns"),
    ] {
        let (_, message) = refused(given(steps(X86_64, 7, &[S]).clocked(clock, &options).shown()));
        assert!(message.ends_with(&format!("clock {clock} counts {counts}")), "{message}");
    }
    for clock in ["counter", "x86-tsc"] {
        let (_, message) = refused(steps(X86_64, 7, &[S]).clocked(clock, &[]).shown().ledger());
        assert!(message.contains(&format!("clock {clock} ")), "{message}");
    }
}

// Seconds between the clock's start and 1970 change no difference of times: they are told apart.
#[test]
fn what_is_said_beside_the_times() {
    let date = 1_700_000_000_000_000_i64;
    for (machine, version) in MACHINES.into_iter().flat_map(|machine| [(machine, 6), (machine, 7)]) {
        let guest = machine.bytes().raw(b"a guest\0").u64(0x42).u32(2).u32(0).u32(600).u32(1).u32(601);
        let options = [
            (DATE, format!("{date:#x}\0").into_bytes()),
            (TRACEID, machine.bytes().u64(0xdead_beef_1234_5678).bytes),
            (GUEST, guest.bytes),
        ];
        let shown = steps(machine, version, &[S, S + 7]).clocked("mono", &options).shown();
        assert_eq!(times(&shown), [0, 1, 7, 8].map(|at| S as i64 + at));
        let session = &shown.recording.session;
        assert_eq!((session.date_offset_ns, session.trace_id), (Some(1000 * date), Some(0xdead_beef_1234_5678)));
        let [guest] = &session.guests[..] else { panic!("{:?}", session.guests) };
        assert_eq!(
            (guest.name.as_str(), guest.trace_id, &guest.cpus[..]),
            ("a guest", 0x42, &[(0, 600), (1, 601)][..])
        );
    }
}

// Options that no version so far has, and pieces of known ones.
#[test]
fn strange_options_are_passed_over() {
    for version in [6, 7] {
        for id in [23, 24, 25, 40, 0xffff] {
            let dat = steps(X86_64, version, &[S]).clocked("mono", &[(id, vec![0xff; 100]), offset(5)]);
            assert_eq!(times(&dat.shown()), [S as i64 + 5, S as i64 + 6], "{id}");
        }
        for id in [DATE, OFFSET, TRACEID, TIME_SHIFT, GUEST, TSC2NSEC] {
            for data in [&[][..], &[0], &[0xff], &[0xff; 7]] {
                let dat = steps(X86_64, version, &[S]).clocked("mono", &[(id, data.to_vec())]);
                assert_eq!(found(&dat.shown()).len(), 2, "{id} {data:?}");
            }
        }
    }
}
