//! Episodes of segments that are spelled out.

use crate::episodes::cpu::{Cpu, Side};
use crate::episodes::rows::{Kind, Owner, Segment, Whose};
use crate::episodes::told::{Episode, Told};
use crate::intern::NONE;
use crate::ledger::thief::Class;

/// Start, end, tid, and what ran: 0, 1, ... for an interrupt.
type Row = (i64, i64, i64, Result<u32, Kind>);

/// Times, each with a value.
type Timed<'t> = &'t [(i64, Option<i64>)];

fn segment(&(start_ns, end_ns, tid, ran): &Row) -> Segment {
    let (context, kind) = ran.map_or_else(|kind| (NONE, kind), |context| (context, Kind::Taken));
    let owner = Owner { context, id: None, name: NONE, device: NONE, class: Class::None, network: NONE };
    Segment { start_ns, end_ns, tid: Some(tid), comm: NONE, owner, kind }
}

/// The episodes of CPU 0.
struct Found {
    cpu: Cpu,
    whose: Whose,
    told: Told,
}

impl Found {
    fn of(whose: Whose) -> Found {
        Found { cpu: Cpu::default(), whose, told: Told::new(20_000) }
    }

    /// Feeds the next rows.
    fn show(&mut self, rows: &[Row], softirqs: Timed<'_>, polls: Timed<'_>) {
        let mut side = Side { cpu: 0, gap_ns: 10_000, whose: &self.whose, told: &mut self.told };
        self.cpu.entered.extend(softirqs.iter().copied());
        self.cpu.polled.extend(polls.iter().copied());
        self.cpu.resume(&mut side);
        rows.iter().for_each(|row| self.cpu.add(segment(row), &mut side));
        self.cpu.forget();
    }

    /// All episodes, in order of time.
    fn told(&mut self) -> Vec<Episode> {
        self.cpu.finish(&mut Side { cpu: 0, gap_ns: 10_000, whose: &self.whose, told: &mut self.told });
        let mut rows: Vec<Episode> = self.told.longest().into_iter().map(|row| row.1).collect();
        rows.sort_by_key(|row| row.span.start_ns);
        rows
    }

    fn spans(&mut self) -> Vec<(i64, i64)> {
        self.told().iter().map(|row| (row.span.start_ns, row.span.end_ns)).collect()
    }
}

// task | hardirq | task | softirq | task
// 0   100       150    160       200   300
const ONE: [Row; 5] = [
    (0, 100, 7, Err(Kind::Own)),
    (100, 150, 7, Ok(0)),
    (150, 160, 7, Err(Kind::Own)),
    (160, 200, 7, Ok(1)),
    (200, 300, 7, Err(Kind::Own)),
];

#[test]
fn a_softirq_may_come_batches_later() {
    for (raise_ns, wanted) in [
        (Some(140), vec![(100, 200)]),
        // The task itself raised it.
        (Some(155), vec![(100, 150), (160, 200)]),
        // The time of its raise is unknown.
        (None, vec![(100, 200)]),
    ] {
        let mut found = Found::of(Whose::All);
        for row in ONE {
            found.show(&[row], &[], &[]);
        }
        found.show(&[(300, 400, 7, Err(Kind::Own))], &[(160, raise_ns)], &[]);
        assert_eq!(found.spans(), wanted);
    }
    // A later softirq came, so this one never entered.
    let mut found = Found::of(Whose::All);
    found.show(&ONE, &[(170, Some(140))], &[]);
    assert_eq!(found.spans(), [(100, 150), (160, 200)]);
}

#[test]
fn none_is_waited_for_without_end() {
    let mut found = Found::of(Whose::All);
    let mut at = 0;
    let mut rows = Vec::new();
    for _ in 0..9_000 {
        rows.extend(ONE.map(|row| (row.0 + at, row.1 + at, row.2, row.3)));
        at += 300;
    }
    found.show(&rows, &[], &[]);
    // The softirqs at the end are still awaited.
    found.show(&[(at, at + 10, 7, Err(Kind::Own))], &[(at - 140, Some(at - 160))], &[]);
    let spans = found.spans();
    assert_eq!((spans.len(), spans.last()), (17_999, Some(&(at - 200, at - 100))));
}

#[test]
fn what_an_episode_has() {
    let mut found = Found::of(Whose::Tids(vec![7]));
    // A poll that ends at the episode's start is outside, one that ends at its end is inside.
    found.show(&ONE[..3], &[(160, Some(120))], &[(100, Some(1))]);
    found.show(&ONE[3..], &[], &[(180, Some(2)), (200, Some(4))]);
    // A segment of another task, then one next to unknown time.
    let beside = [(300, 320, 8, Ok(0)), (320, 350, 7, Ok(0)), (350, 360, 7, Err(Kind::Unknown))];
    found.show(&beside, &[], &[(340, None)]);
    let told = found.told();
    assert_eq!([told[0].span.start_ns, told[0].span.end_ns], [100, 200]);
    assert_eq!([told[1].span.start_ns, told[1].span.end_ns], [320, 350]);
    let parts = |row: &Episode| row.parts.iter().map(|part| part.1).collect::<Vec<i64>>();
    let of = |row: &Episode| (row.span.before_ns, row.polls, row.packets, row.span.is_cut, parts(row));
    assert_eq!(of(&told[0]), (100, 2, Some(6), false, vec![50, 40]));
    assert_eq!(of(&told[1]), (0, 1, None, true, vec![30]));
}
