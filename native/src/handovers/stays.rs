//! When kernel threads had a CPU, and which of these stays something falls into.

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::lives::read::{at, numbers};

/// A thread's time on a CPU.
#[derive(Debug, Clone, Copy)]
pub struct Stay {
    pub cpu: i64,
    pub tid: i64,
    pub in_ns: i64,
    pub out_ns: i64,
    pub wake_ns: Option<i64>,
}

#[derive(Debug, Default)]
pub struct Stays {
    /// In the order given.
    pub rows: Vec<Stay>,
    /// Places of each task's stays, in order of start.
    of_task: FxHashMap<i64, Vec<usize>>,
    /// Per CPU: the start of each stay, in order, and the time by which it and all before it had ended.
    of_cpu: FxHashMap<i64, Vec<(i64, i64)>>,
    /// The same over all CPUs.
    all: Vec<(i64, i64)>,
}

impl Stays {
    /// From tables.
    pub fn of(tables: &[RecordBatch]) -> Result<Stays> {
        let mut found = Stays::default();
        for table in tables {
            let column = |name: &str| numbers(table, name);
            let (cpu, tid, wake) = (column("cpu")?, column("tid")?, column("wake_ns")?);
            let (begin, end) = (column("in_ns")?, column("out_ns")?);
            found.rows.extend((0..table.num_rows()).map(|row| Stay {
                cpu: cpu.value(row),
                tid: tid.value(row),
                in_ns: begin.value(row),
                out_ns: end.value(row),
                wake_ns: at(&wake, row),
            }));
        }
        for (place, stay) in found.rows.iter().enumerate() {
            found.of_task.entry(stay.tid).or_default().push(place);
            found.of_cpu.entry(stay.cpu).or_default().push((stay.in_ns, stay.out_ns));
        }
        for places in found.of_task.values_mut() {
            places.sort_by_key(|&place| found.rows[place].in_ns);
        }
        found.all = found.rows.iter().map(|stay| (stay.in_ns, stay.out_ns)).collect();
        for spans in found.of_cpu.values_mut().chain([&mut found.all]) {
            spans.sort_unstable();
            let mut latest = i64::MIN;
            for span in spans {
                latest = latest.max(span.1);
                span.1 = latest;
            }
        }
        Ok(found)
    }

    /// The place of the task's stay that contains a time, its end included: the last one that had begun by then.
    #[inline]
    pub fn around(&self, tid: i64, at_ns: i64) -> Option<usize> {
        let places = self.of_task.get(&tid)?;
        let after = places.partition_point(|&place| self.rows[place].in_ns <= at_ns);
        let place = places[after.checked_sub(1)?];
        (at_ns <= self.rows[place].out_ns).then_some(place)
    }

    /// Whether part of a stretch lies in a stay on that CPU.
    #[inline]
    pub fn meet(&self, cpu: i64, start_ns: i64, end_ns: i64) -> bool {
        self.of_cpu.get(&cpu).is_some_and(|spans| meet(spans, start_ns, end_ns))
    }

    /// Whether part of a stretch lies in a stay on any CPU.
    pub fn meet_anywhere(&self, start_ns: i64, end_ns: i64) -> bool {
        meet(&self.all, start_ns, end_ns)
    }
}

fn meet(spans: &[(i64, i64)], start_ns: i64, end_ns: i64) -> bool {
    let after = spans.partition_point(|span| span.0 < end_ns);
    start_ns < end_ns && after > 0 && spans[after - 1].1 > start_ns
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::tables::{batch, optional, plain};
    use arrow_array::types::Int64Type;

    /// From CPU, task, start, end and wake-up.
    pub fn stays(rows: &[(i64, i64, i64, i64, Option<i64>)]) -> Stays {
        let table = batch(vec![
            ("cpu".into(), plain::<Int64Type>(rows.iter().map(|row| row.0))),
            ("tid".into(), plain::<Int64Type>(rows.iter().map(|row| row.1))),
            ("in_ns".into(), plain::<Int64Type>(rows.iter().map(|row| row.2))),
            ("out_ns".into(), plain::<Int64Type>(rows.iter().map(|row| row.3))),
            ("wake_ns".into(), optional::<Int64Type>(rows.iter().map(|row| row.4))),
        ]);
        Stays::of(&[table.expect("a table")]).expect("stays")
    }

    #[test]
    fn what_is_in_a_stay_is_of_its_task_or_its_cpu() {
        let stays = stays(&[(0, 7, 100, 200, None), (1, 7, 200, 300, None), (0, 8, 250, 260, None)]);
        assert_eq!([99, 100, 199, 200, 300, 301].map(|at| stays.around(7, at)), {
            [None, Some(0), Some(0), Some(1), Some(1), None]
        });
        assert_eq!(stays.around(9, 150), None);
        let meets = [(0, 100), (0, 101), (199, 220), (200, 250), (255, 256), (260, 999), (150, 150)];
        let expected = [false, true, true, false, true, false, false];
        assert_eq!(meets.map(|(start, end)| stays.meet(0, start, end)), expected);
        assert!(!stays.meet(2, 0, 999));
    }

    #[test]
    fn a_stay_without_length_hides_no_other() {
        let stays = stays(&[(0, 7, 100, 200, None), (0, 8, 100, 100, None), (0, 9, 150, 150, None)]);
        assert!(stays.meet(0, 160, 300) && !stays.meet(0, 200, 300));
    }
}
