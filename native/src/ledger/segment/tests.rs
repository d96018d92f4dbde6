use super::*;

const NET_RX: u32 = 1000;
const ETH0: u32 = 1001;
const OPENSSL: u32 = 7;

fn of(thief: u32, start: i64, end: i64) -> Segment {
    let depth = u8::from(!matches!(thief, TASK | IDLE | UNKNOWN));
    Segment { start, end, victim: OPENSSL, thief, class: Class::None, depth }
}

fn drained(tail: &mut Tail, pending: Option<u64>, all: bool) -> Vec<(i64, u32)> {
    let mut found = Vec::new();
    tail.drain(pending, i64::MIN, all, |segment| found.push((segment.start, segment.thief)));
    found
}

#[test]
fn a_poll_takes_its_softirqs_segments_and_not_what_has_become_unknown() {
    let mut tail = Tail::default();
    let indices: Vec<u64> = (0..3).map(|number| tail.push(of(NET_RX, number, number + 1))).collect();
    tail.push(of(NET_RX, 3, 4));
    if let Some(middle) = tail.newest_first().nth(2) {
        middle.thief = UNKNOWN;
    }
    tail.give(&indices, NET_RX, ETH0);
    assert_eq!(drained(&mut tail, None, true), [(0, ETH0), (1, UNKNOWN), (2, ETH0), (3, NET_RX)]);
    // A drained segment is out of reach, and its index is not reused.
    assert!(indices.iter().all(|&index| tail.get(index).is_none()));
    assert_eq!(tail.push(of(TASK, 4, 5)), 4);
}

#[test]
fn what_may_still_change_is_not_drained() {
    let mut tail = Tail::default();
    let count = 2 * KEEP as u64;
    for number in 0..count as i64 {
        tail.push(of(NET_RX, number, number + 1));
    }
    assert_eq!(drained(&mut tail, Some(3), false).len(), 3);
    assert_eq!(drained(&mut tail, None, false).len(), KEEP - 3);
    assert_eq!(tail.first_of(Class::None), Some(KEEP as i64));
    assert_eq!(drained(&mut tail, Some(count - 1), true).len(), KEEP);
}

#[test]
fn more_owners_than_are_kept_at_hand_are_all_summed() {
    let mut sums = Sums::default();
    let owners = 3 * RECENT as u32;
    for round in 0..2 {
        (0..owners).for_each(|number| sums.add(&of(NET_RX + number, round, round + 1), 1, 1));
    }
    sums.flush(0, 0);
    assert_eq!(sums.rows.len(), owners as usize);
    assert!(sums.rows.iter().all(|row| (row.ns, row.segments) == (2, 2)));
}

#[test]
fn neighbours_of_one_owner_become_one_and_the_head_joins_the_first() {
    let mut finished = Finished::default();
    for segment in [of(TASK, 10, 20), of(TASK, 20, 30), of(NET_RX, 30, 40), of(NET_RX, 40, 50)] {
        finished.take(&segment, true);
    }
    finished.take_head(&of(TASK, 0, 10), true);
    finished.sums.flush(0, 0);
    let rows: Vec<_> = finished.table.slices().flatten().map(|row| (row.start, row.thief(), row.depth())).collect();
    // Two consecutive softirqs stay two.
    assert_eq!(rows, [(0, TASK, 0), (30, NET_RX, 1), (40, NET_RX, 1)]);
    let sums: Vec<_> = finished.sums.rows.iter().map(|row| (row.thief, row.ns, row.segments)).collect();
    assert_eq!((sums, finished.end), (vec![(TASK, 30, 1), (NET_RX, 20, 2)], 50));
}
