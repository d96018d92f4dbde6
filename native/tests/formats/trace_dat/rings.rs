//! Sub-buffers that no quiet machine makes, what damage leaves of them, and what a ring had no room for. Byte by byte:
//! pages.rs.

use super::written::{found, Dat, MACHINES, MISSED, PADDING, PAGE, S, STORED, TIME_EXTEND, TIME_STAMP, X86_64};
use crate::shown::Shown;

#[test]
fn sub_buffers_without_an_event_say_nothing() {
    for machine in MACHINES {
        let rest = vec![u32::MAX; machine.room() / 4 - 1];
        let bodies = [
            vec![],
            // An event that was given back; and padding to the end, which has no length.
            machine.record(PADDING, 5, &[20, 1, 1, 1, 1]),
            machine.record(PADDING, 0, &rest),
            machine.record(PADDING, 0, &[]),
            machine.record(TIME_EXTEND, 0, &[8]),
            machine.record(TIME_STAMP, 0, &[8]),
        ];
        for body in bodies {
            let odd = machine.page(S + 5, body.len() as u64, &body);
            let [before, after] = [S, S + 10].map(|at| machine.ring(9, &[(at, 1)]));
            let lane = [before, odd.clone(), after].concat();
            let shown = Dat::of(machine, 7, vec![(0, lane), (1, odd)]).shown();
            assert_eq!((found(&shown), shown.notes()), (vec![(0, 0, 1), (10, 0, 1)], vec![]), "{machine:?} {body:?}");
        }
    }
}

// What stands before the damage in its sub-buffer is kept, and all others.
#[test]
fn damage_ends_one_sub_buffer_and_is_said() {
    for machine in MACHINES {
        let room = machine.room() as u64;
        for (behind, commit, is_kept) in [
            (machine.record(0, 1, &[4000, 0, 0]), None, true),
            (machine.record(0, 1, &[u32::MAX, 0, 0]), None, true),
            (vec![1, 1], None, true),
            (vec![], Some(room + 4), false),
            (vec![], Some((1 << 27) - 1), false),
        ] {
            let body = [machine.event(77, 0, 1), behind].concat();
            let bad = machine.page(S, commit.unwrap_or(body.len() as u64), &body);
            let [before, after] = [S - 10, S + 10].map(|at| machine.ring(9, &[(at, 1)]));
            let shown = Dat::of(machine, 7, vec![(0, [before, bad, after.clone()].concat()), (1, after)]).shown();
            let mut wanted = vec![(-10, 0, 1), (0, 0, 1), (10, 0, 1), (10, 1, 1)];
            wanted.retain(|event| is_kept || event.0 != 0);
            assert_eq!(found(&shown), wanted, "{machine:?} {body:?}");
            assert!(shown.notes().iter().any(|note| note.contains("damage")), "{:?}", shown.notes());
        }
    }
}

// Records of an event that no format describes are counted, and of half a sub-buffer at the end what is whole is read.
#[test]
fn what_is_not_understood_is_said() {
    let of = |kind, vec| X86_64.event(kind, 1, vec);
    let body = [of(77, 0), of(999, 0), of(77, 2)].concat();
    let shown = Dat::of(X86_64, 7, vec![(0, X86_64.page(S, body.len() as u64, &body))]).shown();
    assert_eq!(found(&shown), [(1, 0, 0), (3, 0, 2)]);
    assert_eq!(shown.scan.tally.unreadable, 1);
    let events: Vec<(u64, u32)> = (0..300).map(|number| (S + number, 1)).collect();
    let ring = X86_64.ring(255, &events);
    let shown = Dat::of(X86_64, 7, vec![(0, ring[..PAGE + 100].to_vec())]).shown();
    let times: Vec<i64> = found(&shown).iter().map(|event| event.0).collect();
    assert_eq!(times[..255], (0..255).collect::<Vec<i64>>());
    assert!(!shown.notes().is_empty());
}

// Each CPU's stream is in the order of time, and so is the table of all. A clock that is not coherent runs backwards
// within a CPU: the order of its ring stays.
#[test]
fn streams_merge_by_time_and_rings_keep_their_order() {
    let lanes: [&[i64]; 4] = [&[0, 3, 6, 9], &[1, 1, 1, 20], &[], &[5, 6, 7]];
    let ring = |lane: &[i64]| {
        let events: Vec<(u64, u32)> = lane.iter().map(|&at| (S + at as u64, 1)).collect();
        X86_64.ring(2, &events)
    };
    let shown = Dat::of(X86_64, 7, (0..4).map(|cpu| (cpu, ring(lanes[cpu as usize]))).collect()).shown();
    let of_lane = |(cpu, lane): (usize, &&[i64])| lane.iter().map(|&at| (at, cpu as i64, 1)).collect::<Vec<_>>();
    let mut wanted: Vec<(i64, i64, i64)> = lanes.iter().enumerate().flat_map(of_lane).collect();
    wanted.sort_unstable();
    assert_eq!(found(&shown), wanted);
    let backwards = [0, 100, 50, 200, 150, 300];
    let events: Vec<(u64, u32)> = (0..6).map(|vec| (S + backwards[vec], vec as u32)).collect();
    let shown = Dat::of(X86_64, 7, vec![(0, X86_64.ring(4, &events))]).shown();
    assert_eq!(found(&shown), [0, 1, 2, 3, 4, 5].map(|vec| (backwards[vec] as i64, 0, vec as i64)));
}

// From the last event that was kept to the first one behind the loss. The kernel writes the number behind the records
// where there is room, and nothing else would show.
#[test]
fn losses_are_counted_and_placed() {
    for (version, packing) in [(6, "none"), (7, "none"), (7, "zstd"), (7, "zlib")] {
        for (machine, is_counted) in MACHINES.into_iter().flat_map(|machine| [(machine, true), (machine, false)]) {
            let behind = |at: u64, lost: u64| {
                let event = machine.event(77, 0, 1);
                let (flags, count) = if is_counted { (MISSED | STORED, machine.long(lost)) } else { (MISSED, vec![]) };
                machine.page(S + at, event.len() as u64 | flags, &[event, count].concat())
            };
            let first = machine.ring(2, &[(S + 100, 1), (S + 110, 1)]);
            let rings = vec![
                (0, [first, behind(300, 5), behind(400, 70_000)].concat()),
                (1, machine.ring(9, &[(S + 50, 1), (S + 500, 1)])),
            ];
            let shown = Dat::of(machine, version, rings).packed(packing).shown();
            let at = |offset: i64| S as i64 + offset;
            let [one, other] = if is_counted { [5, 70_000] } else { [0, 0] };
            assert_eq!(shown.gaps(), [(0, at(110), at(300), one), (0, at(300), at(400), other)], "{machine:?}");
            let lost = if is_counted { (70_005, 0) } else { (0, 2) };
            assert_eq!((shown.scan.lost, shown.scan.lost_unknown), lost, "{machine:?}");
            assert_eq!(found(&shown).len(), 6);
        }
    }
}

// Bit 30 belongs to bit 31, and a number that would stand beyond the sub-buffer is none.
#[test]
fn what_is_no_loss() {
    let event = |delta| X86_64.event(77, delta, 1);
    let full: Vec<u8> = (0..255).flat_map(|_| event(1)).collect();
    let ring = [
        X86_64.ring(9, &[(S, 1)]),
        X86_64.page(S + 1, 16 | STORED, &event(0)),
        X86_64.ring(9, &[(S + 2, 1)]),
        X86_64.page(S + 10, full.len() as u64 | MISSED | STORED, &full),
    ];
    let shown: Shown = Dat::of(X86_64, 7, vec![(0, ring.concat())]).shown();
    assert_eq!((shown.scan.lost, shown.scan.lost_unknown), (0, 1));
    assert_eq!(shown.gaps(), [(0, S as i64 + 2, S as i64 + 11, 0)]);
    assert_eq!(found(&shown).len(), 3 + 255);
}

// Of a ring that kept its newest events, what was lost before a CPU's first is overwritten.
#[test]
fn what_a_rolling_ring_lost_first_was_overwritten() {
    use netcost::events::scan;
    let behind = |at, lost: u64| {
        let event = X86_64.event(77, 0, 1);
        X86_64.page(S + at, event.len() as u64 | MISSED | STORED, &[event, X86_64.long(lost)].concat())
    };
    let rings = vec![(0, [behind(400, 70_000), behind(600, 5)].concat()), (1, X86_64.ring(9, &[(S, 1), (S + 900, 1)]))];
    let mut shown = Dat::of(X86_64, 7, rings).shown();
    let whys = |shown: &Shown| shown.scan.gaps.iter().map(|gap| netcost::WHYS[gap.why as usize]).collect::<Vec<_>>();
    assert_eq!((shown.scan.lost, whys(&shown)), (70_005, vec!["events were lost"; 2]));
    let places = shown.gaps();
    shown.recording.set_rolling();
    shown.scan = scan(&shown.recording, &mut |_| true).expect("a pass");
    assert_eq!((shown.scan.lost, whys(&shown)), (5, vec!["overwritten", "events were lost"]));
    assert_eq!(shown.gaps(), places);
    assert_eq!(places, [(0, S as i64, S as i64 + 400, 70_000), (0, S as i64 + 400, S as i64 + 600, 5)]);
}
