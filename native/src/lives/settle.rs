//! Lives under each name of a task, by its time on CPU in the sums. A slice has one name, the last, while the sums
//! split its time among all of the task's names.

use rustc_hash::FxHashMap;

use crate::intern::Interner;
use crate::lives::life::{Life, LifeOf, Named};

/// Time on CPU of a task under a name.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    /// The task.
    pub tid: i64,
    /// Its name.
    pub comm: u32,
    /// For how long.
    pub ns: i64,
    /// It ran itself, except for network work that it exists for.
    pub own: bool,
}

/// Sorted by tid and name.
pub fn settled(lives: FxHashMap<Named, Life>, sums: &[Sum], names: &Interner) -> Vec<LifeOf> {
    let mut on_cpu: FxHashMap<Named, (i64, i64)> = FxHashMap::default();
    for sum in sums {
        let of = on_cpu.entry((sum.tid, sum.comm)).or_default();
        (of.0, of.1) = (of.0 + sum.ns, of.1 + if sum.own { sum.ns } else { 0 });
    }
    let mut every = lives;
    for &key in on_cpu.keys() {
        every.entry(key).or_default();
    }
    let mut rows: Vec<LifeOf> = every.into_iter().collect();
    rows.sort_by_key(|&((tid, comm), _)| (tid, names.get(comm)));
    for names_of_one in rows.chunk_by_mut(|one, other| one.0 .0 == other.0 .0) {
        settle(names_of_one, &on_cpu);
    }
    rows
}

fn settle(rows: &mut [LifeOf], on_cpu: &FxHashMap<Named, (i64, i64)>) {
    let of = |key: &Named| on_cpu.get(key).copied().unwrap_or_default();
    let other: Vec<i64> = rows.iter().map(|(key, life)| of(key).0 - life.on_cpu).collect();
    // Time on CPU that moves from one of the task's names to another. If events contradict each other, the sums can
    // have more or less of the task than its slices. The length of its life does not follow that.
    let contradicted: i64 = other.iter().sum();
    let most = other.iter().map(|ns| ns.abs()).max().unwrap_or(0);
    let widest = other.iter().position(|ns| ns.abs() == most);
    for (place, (key, life)) in rows.iter_mut().enumerate() {
        let (ns, own) = of(key);
        life.on_cpu = ns;
        // The sums give a task all time before its first event on a CPU.
        life.twice = life.twice.min(own);
        let moved = other[place] - if widest == Some(place) { contradicted } else { 0 };
        life.lifetime += moved - life.twice;
        life.lifetime_max += moved - life.twice;
        hold(life);
        // A name that a task had only for part of a slice has not been counted yet.
        life.tasks = life.tasks.max(1);
    }
    pool(rows);
}

/// No life is shorter than its parts.
fn hold(life: &mut Life) {
    let ran = life.on_cpu - life.twice;
    let over = |life: &Life| (ran + life.asleep + life.waited - life.lifetime_max).max(0);
    life.asleep -= over(life).min(life.asleep);
    life.waited -= over(life).min(life.waited);
    life.lifetime = life.lifetime.max(ran);
    life.lifetime_max = life.lifetime_max.max(ran);
}

/// If something was lost about a task that had several names, it may have had any of them at any time at which its name
/// is unknown.
fn pool(rows: &mut [LifeOf]) {
    let sum = |of: fn(&Life) -> i64| rows.iter().map(|(_, life)| of(life)).sum::<i64>();
    if rows.len() < 2 || sum(|life| life.lost) == 0 {
        return;
    }
    let free = (sum(|life| life.whole) - sum(|life| life.lifetime)).max(0);
    let unseen = sum(|life| life.unseen);
    for (_, life) in rows {
        life.lifetime_max = life.lifetime + free;
        life.unseen = unseen;
    }
}
