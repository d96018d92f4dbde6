use super::*;

fn at(time_ns: i64, what: What) -> Point {
    Point { time_ns, order: 0, tid: 7, cpu: 0, what }
}

/// The result of these points on CPU 0, stretches in which network work held it, and losses. CPU 1 records too.
fn settled(points: &[Point], held: &[(i64, i64)], gaps: &[(i64, i64)]) -> Waits {
    let mut waits = Waits::new(None, true);
    let (points, held, gaps) = (points.to_vec(), held.to_vec(), gaps.to_vec());
    waits.take(&mut Part { cpu: 1, has_events: true, ..Part::default() });
    waits.take(&mut Part { points, held, gaps, has_events: true, ..Part::default() });
    waits.settle_round(i64::MAX);
    waits
}

#[test]
fn a_wait_that_ends_unseen_has_no_length() {
    let points = [
        at(10, What::Wake(0)),
        at(60, What::Unseen),
        at(60, What::In(0, 70)),
        at(80, What::Out(true)),
        at(95, What::In(1, 70)),
    ];
    let waits = settled(&points, &[], &[]);
    let rows: Vec<(usize, i64)> = waits.answers.iter().map(|answer| (answer.row, answer.wait_ns)).collect();
    assert_eq!(rows, [(1, 15)]);
}

#[test]
fn what_passes_on_a_cpu_that_was_not_recorded_is_no_wait() {
    let waits_of = |points: &[Point]| {
        let points = [points, &[at(200, What::In(1, 70))]].concat();
        let mut waits = settled(&points, &[(110, 150)], &[]);
        waits.end(300);
        let known: Vec<i64> = waits.answers.iter().map(|answer| answer.wait_ns).collect();
        (known, waits.displaced.get(&(0, 70)).copied())
    };
    let left = at(100, What::Out(true));
    assert_eq!(waits_of(&[at(100, What::Wake(1))]), (vec![100], None));
    assert_eq!(waits_of(&[left, at(150, What::Migrate(0, 1))]), (vec![100], Some(40)));
    assert_eq!(waits_of(&[at(100, What::Wake(2))]), (vec![], None));
    assert_eq!(waits_of(&[left, at(150, What::Migrate(0, 2))]), (vec![], None));
    assert_eq!(waits_of(&[left, at(150, What::Migrate(2, 0))]), (vec![], None));
    // It was woken again, so it had slept in between, unseen.
    assert_eq!(waits_of(&[at(100, What::Wake(2)), at(150, What::Wake(0))]), (vec![], None));
}

#[test]
fn a_preempted_victim_is_displaced_by_what_holds_its_cpu() {
    let points = [at(0, What::In(0, 70)), at(100, What::Out(true)), at(170, What::In(1, 70))];
    let mut waits = settled(&points, &[(110, 150), (150, 160)], &[]);
    waits.end(200);
    assert_eq!(waits.displaced[&(0, 70)], 50);
    assert_eq!(waits.answers[0].wait_ns, 70);
    assert_eq!(waits.answers[0].wake_ns, None);
}

#[test]
fn a_cpu_that_records_later_counts_in_every_pass() {
    let left = [at(100, What::Out(true)), at(150, What::Migrate(0, 1)), at(160, What::Migrate(1, 0))];
    let points = [&left[..], &[at(200, What::In(0, 70))]].concat();
    let waits_of = |mut waits: Waits, later: &[u32]| {
        let part = Part { points: points.clone(), held: vec![(110, 150)], has_events: true, ..Part::default() };
        for mut part in
            std::iter::once(part).chain(later.iter().map(|&cpu| Part { cpu, has_events: true, ..Part::default() }))
        {
            waits.take(&mut part);
            waits.settle_round(i64::MAX);
        }
        let at_once = waits.answers.len();
        waits.end(300);
        let known: Vec<i64> = waits.answers.iter().map(|answer| answer.wait_ns).collect();
        (at_once, known, waits.displaced.get(&(0, 70)).copied())
    };
    let first = || Waits::new(None, true);
    assert_eq!(waits_of(first(), &[]), (0, vec![], None));
    assert_eq!(waits_of(first(), &[2]), (0, vec![], None));
    assert_eq!(waits_of(first(), &[1]), (0, vec![100], Some(40)));
    assert_eq!(waits_of(first().over([0, 1]), &[]), (1, vec![100], Some(40)));
    assert_eq!(waits_of(first().over([0]), &[]), (0, vec![], None));
}

// The task is moved after the loss, so its wait is older than its time on the new CPU.
#[test]
fn a_loss_is_kept_for_as_long_as_a_wait_lasts() {
    let mut waits = settled(&[at(10, What::Wake(0))], &[], &[(20, 50)]);
    for (known, point) in [(90, at(60, What::Migrate(0, 1))), (200, at(150, What::In(0, 70)))] {
        waits.take(&mut Part { points: vec![point], ..Part::default() });
        waits.settle_round(known);
    }
    assert!(waits.answers.is_empty());
}

#[test]
fn a_wait_across_a_loss_is_not_told() {
    let waits = settled(&[at(10, What::Wake(0)), at(60, What::In(0, 70))], &[], &[(20, 50)]);
    assert!(waits.answers.is_empty());
}
