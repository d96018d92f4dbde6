//! Deals events to the CPUs on which they happened. Their machines run on other cores meanwhile.
//!
//! ```text
//!   file -> Reader -> batch of CPU 0 -> Cpu 0 (any thread, one batch at a time, in order)
//!                  -> batch of CPU 1 -> Cpu 1
//!                     at the end of a round each also tells `Join` what the others have to know
//! ```
//! No machine sees another, so the result does not depend on which thread ran when.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use crate::error::{bad, Result};
use crate::ledger::cpu::Cpu;
use crate::ledger::event::Event;
use crate::ledger::join::{Done, Join, Round};
use crate::visit::Sample;

/// Events in a batch: few enough to stay in a core's own cache.
const BATCH: usize = 2048;
/// Batches that may wait. This bounds memory.
const MAX_WAITING: usize = 128;

/// What comes between a CPU's events.
#[derive(Debug)]
pub enum Between {
    /// A task got a name.
    Rename { pid: i32, victim: u32, time_ns: i64 },
    /// Records were lost, up to a time if that is known.
    Lose { until_ns: Option<i64>, lost: u64, why: &'static str },
    /// A needed event was throttled or resumed.
    Throttle { begins: bool, time_ns: i64 },
    /// The round of this number ended.
    Round(u64),
}

/// Events of one CPU, in order.
#[derive(Debug, Default)]
pub struct Batch {
    /// The first `count` are of this batch. The rest is left over from earlier ones, to be reused.
    events: Vec<Event>,
    count: usize,
    /// Each with the number of events before it.
    between: Vec<(usize, Between)>,
}

/// One CPU's machine and the batches that wait for it.
#[derive(Debug)]
struct Worker {
    cpu: Mutex<Cpu>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    is_scheduled: bool,
    /// Emptied batches, for new events of this CPU.
    spare: Vec<Batch>,
}

/// State shared by all threads.
#[derive(Debug)]
struct Shared {
    join: Join,
    waiting: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    batches: usize,
    /// A machine has panicked, so the pass must end.
    failed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Dealer<'s> {
    scope: &'s Scope<'static>,
    is_alone: bool,
    shared: Arc<Shared>,
    streams: Vec<(Batch, Arc<Worker>)>,
    rounds: u64,
}

impl<'s> Dealer<'s> {
    /// The machines run within `scope`, or while events are dealt if there is only one thread.
    pub fn new(scope: &'s Scope<'static>, join: Join) -> Dealer<'s> {
        let shared = Shared { join, waiting: Mutex::default(), room: Condvar::new() };
        // A pool thread must not wait for room: it is one of those that make room.
        let is_alone = rayon::current_num_threads() == 1 || rayon::current_thread_index().is_some();
        Dealer { scope, is_alone, shared: Arc::new(shared), streams: Vec::new(), rounds: 0 }
    }

    /// Adds a CPU; they are counted from 0.
    pub fn add(&mut self, cpu: Cpu) {
        let worker = Worker { cpu: Mutex::new(cpu), queue: Mutex::default() };
        self.streams.push((Batch::default(), Arc::new(worker)));
    }

    /// Deals the next events of a CPU. Returns how many could not be read.
    #[inline(always)]
    pub fn events(
        &mut self,
        place: usize,
        mut samples: &[Sample],
        mut read: impl FnMut(&Sample, &mut Event) -> bool,
    ) -> usize {
        let mut unreadable = 0;
        while !samples.is_empty() {
            let Batch { events, count, .. } = &mut self.streams[place].0;
            let (now, later) = samples.split_at(samples.len().min(BATCH - *count));
            if events.len() < *count + now.len() {
                events.resize(*count + now.len(), Event::NONE);
            }
            let (room, mut taken) = (&mut events[*count..*count + now.len()], 0);
            for sample in now {
                taken += usize::from(read(sample, &mut room[taken]));
            }
            *count += taken;
            unreadable += now.len() - taken;
            samples = later;
            if *count >= BATCH {
                self.pass(place);
            }
        }
        unreadable
    }

    /// Deals what comes next between a CPU's events.
    pub fn between(&mut self, place: usize, between: Between) {
        let batch = &mut self.streams[place].0;
        batch.between.push((batch.count, between));
        if batch.between.len() >= BATCH {
            self.pass(place);
        }
    }

    /// Ends a round: no later one holds anything before `known_ns`.
    pub fn round(&mut self, known_ns: i64) {
        self.shared.join.expect(self.streams.len(), known_ns);
        for place in 0..self.streams.len() {
            self.between(place, Between::Round(self.rounds));
            self.pass(place);
        }
        self.rounds += 1;
    }

    /// Rounds that every CPU has reported since the last call.
    pub fn settled(&self) -> Vec<Round> {
        self.shared.join.settled()
    }

    /// What these rounds have made final.
    pub fn done(&self) -> Done {
        self.shared.join.done()
    }

    /// Whether a machine has panicked. The pass must then end.
    pub fn has_failed(&self) -> bool {
        lock(&self.shared.waiting).failed
    }

    fn pass(&mut self, place: usize) {
        let (batch, worker) = &mut self.streams[place];
        if self.is_alone {
            run(&mut lock(&worker.cpu), place, batch, &self.shared.join);
            return;
        }
        if !self.shared.make_room() {
            batch.count = 0;
            batch.between.clear();
            return;
        }
        let mut queue = lock(&worker.queue);
        let spare = queue.spare.pop().unwrap_or_default();
        queue.batches.push_back(std::mem::replace(batch, spare));
        if !std::mem::replace(&mut queue.is_scheduled, true) {
            let (worker, shared) = (Arc::clone(worker), Arc::clone(&self.shared));
            self.scope.spawn(move |_| work(place, &worker, &shared));
        }
    }

    /// Ends dealing.
    pub fn end(mut self) -> Dealt {
        (0..self.streams.len()).for_each(|place| self.pass(place));
        Dealt { shared: self.shared, workers: self.streams.into_iter().map(|stream| stream.1).collect() }
    }
}

/// The CPUs, to be collected once `scope` has ended.
pub struct Dealt {
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
}

impl Dealt {
    /// The machines in the order in which they were added, and the stage that joins them.
    pub fn collect(self) -> Result<(Vec<Cpu>, Join)> {
        let busy = || bad!(Refused, "the ledger's threads did not finish: this is a bug in netcost, please report it");
        let of = |worker: Arc<Worker>| {
            let worker = Arc::into_inner(worker).ok_or_else(busy)?;
            Ok(worker.cpu.into_inner().unwrap_or_else(PoisonError::into_inner))
        };
        let cpus = self.workers.into_iter().map(of).collect::<Result<_>>()?;
        Ok((cpus, Arc::into_inner(self.shared).ok_or_else(busy)?.join))
    }
}

impl Shared {
    /// Waits for room for one more batch. False if the pass must end.
    fn make_room(&self) -> bool {
        let full = |waiting: &mut Waiting| waiting.batches >= MAX_WAITING && !waiting.failed;
        let mut waiting = self.room.wait_while(lock(&self.waiting), full).unwrap_or_else(PoisonError::into_inner);
        waiting.batches += 1;
        !waiting.failed
    }
}

/// Makes room when a batch is done, even after a panic.
struct Busy<'a>(&'a Shared);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0.waiting);
        waiting.batches = waiting.batches.saturating_sub(1);
        waiting.failed |= std::thread::panicking();
        self.0.room.notify_one();
    }
}

/// Runs a CPU's machine over its waiting batches.
fn work(place: usize, worker: &Worker, shared: &Shared) {
    let mut cpu = lock(&worker.cpu);
    let mut used = None;
    loop {
        let mut queue = lock(&worker.queue);
        queue.spare.extend(used.take());
        let Some(mut batch) = queue.batches.pop_front() else {
            queue.is_scheduled = false;
            return;
        };
        drop(queue);
        let _busy = Busy(shared);
        run(&mut cpu, place, &mut batch, &shared.join);
        used = Some(batch);
    }
}

fn run(cpu: &mut Cpu, place: usize, batch: &mut Batch, join: &Join) {
    let mut begin = 0;
    for (at, between) in batch.between.drain(..) {
        batch.events[begin..at].iter_mut().for_each(|event| cpu.step(event));
        begin = at;
        match between {
            Between::Rename { pid, victim, time_ns } => cpu.rename(pid, victim, time_ns),
            Between::Lose { until_ns, lost, why } => cpu.lose(until_ns, lost, why),
            Between::Throttle { begins: true, time_ns } => cpu.throttle(time_ns),
            Between::Throttle { begins: false, time_ns } => cpu.unthrottle(time_ns),
            Between::Round(round) => join.tell(round, place, cpu.part()),
        }
    }
    batch.events[begin..batch.count].iter_mut().for_each(|event| cpu.step(event));
    batch.count = 0;
}
