//! From rows to Arrow tables: names, devices and holders are resolved here.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Int16Type, Int32Type, Int64Type, UInt64Type};

use crate::error::Result;
use crate::intern::{dictionary, NONE};
use crate::ledger::cpu::Cpu;
use crate::ledger::irqs::IrqRow;
use crate::ledger::rows::{Cause, MigrationRow, SliceRow};
use crate::ledger::segment::{Segment, SumRow};
use crate::ledger::thief::{Class, Context, Network, Thief};
use crate::ledger::world::{Counters, World};
use crate::ledger::Request;
use crate::tables::{batch, booleans, optional, plain};

/// Everything a pass gives.
#[derive(Debug)]
pub struct Output {
    /// The tables that were asked for, by name.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// Victim x thief x class x CPU x bin.
    pub sums: RecordBatch,
    /// Displaced time per CPU and victim.
    pub displaced: RecordBatch,
    /// Interrupt lines and their devices.
    pub irqs: RecordBatch,
    /// Start and end of the accounted window.
    pub window: (i64, i64),
    /// CPUs with rows.
    pub cpus: Vec<u32>,
    /// What the reader must know.
    pub notes: Vec<String>,
    /// Lost records; those without a place.
    pub lost: (u64, u64),
    /// What went wrong, counted.
    pub counters: Counters,
    /// Whether tasks have names between interrupts.
    pub has_switches: bool,
}

struct Names {
    world: World,
    irqs: Vec<IrqRow>,
}

type Columns = Vec<(String, ArrayRef)>;

/// Builds the tables.
pub fn build(
    mut world: World,
    mut cpus: Vec<Cpu>,
    request: &Request,
    capture: (i64, i64),
    (lost, lost_samples): (u64, u64),
    mut notes: Vec<String>,
) -> Result<Output> {
    world.take_answers();
    let shown = |cpu: u32| request.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
    cpus.retain(|cpu| shown(cpu.number));
    cpus.sort_by_key(|cpu| cpu.number);
    notes.extend(world.shapes.notes.iter().cloned());
    notes.extend(counted(&world.counters));
    let unplaced = lost_samples.saturating_sub(lost);
    if unplaced > 0 {
        notes.push(format!("{unplaced} lost records have no place in time: every figure is a lower bound"));
    }
    let told = world.shapes.has_raise;
    let irqs = world.irqs.resolve(&world.strings, told);
    let window = request.window.map_or(capture, |window| (window.0.max(capture.0), window.1.min(capture.1)));
    let (want, counters, has_switches) = (request.want, world.counters, world.shapes.has_switch);
    let mut names = Names { world, irqs };
    names.sort_rows(&shown);
    let mut tables: Vec<(&'static str, RecordBatch)> = Vec::new();
    let migrations = want.migrations.then(|| names.migrations());
    if want.segments {
        tables.push(("segments", batch(names.segments(&mut cpus))?));
    }
    if want.softirqs {
        tables.push(("softirqs", batch(names.softirqs())?));
    }
    if want.hardirqs {
        tables.push(("hardirqs", batch(names.hardirqs())?));
    }
    if want.polls {
        tables.push(("polls", batch(names.polls())?));
    }
    if want.slices {
        tables.push(("slices", batch(names.slices())?));
    }
    if let Some(migrations) = migrations {
        tables.push(("migrations", batch(migrations)?));
    }
    tables.push(("coverage", batch(names.coverage(&window))?));
    Ok(Output {
        tables,
        sums: batch(names.sums(&cpus))?,
        displaced: batch(names.displaced(&shown))?,
        irqs: batch(names.irq_lines())?,
        window,
        cpus: cpus.iter().map(|cpu| cpu.number).collect(),
        notes,
        lost: (lost.max(lost_samples), unplaced),
        counters,
        has_switches,
    })
}

fn counted(counters: &Counters) -> Vec<String> {
    let say = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    [
        say(counters.repeats, "records that perf had written twice were dropped from the ledger"),
        say(
            counters.disagreements,
            "times the recorded flags or task contradicted what came before; the stretch since is unknown",
        ),
        say(counters.orphan_exits, "exits came without their entry; the stretch in doubt is unknown"),
        say(counters.backwards, "timestamps ran backwards within a ring and were held"),
        say(
            counters.polls_without_begin,
            "polls outside softirqs and NAPI threads (busy poll, netpoll) have no begin and own no time",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn column(name: &str, array: ArrayRef) -> (String, ArrayRef) {
    (name.to_owned(), array)
}

fn labels<'a>(codes: impl Iterator<Item = u32>, values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
    dictionary(codes.collect(), &values)
}

const ORIGINS: [&str; 5] = ["irq", "task", "softirq", "mixed", "unknown"];
const NETWORKS: [&str; 3] = ["yes", "no", "unknown"];

impl Names {
    fn strings(&self, codes: impl Iterator<Item = u32>) -> ArrayRef {
        dictionary(codes.collect(), self.world.strings.values())
    }

    fn thief(&self, thief: u32) -> &Thief {
        &self.world.thieves.all[thief as usize]
    }

    /// Every thief's value of something, to be looked up per row.
    fn per_thief<T>(&self, value: impl Fn(&Thief) -> T) -> Vec<T> {
        self.world.thieves.all.iter().map(value).collect()
    }

    fn irq(&self, irq: i64) -> Option<&IrqRow> {
        self.irqs.binary_search_by_key(&irq, |row| row.irq).ok().map(|index| &self.irqs[index])
    }

    fn device(&self, thief: &Thief) -> u32 {
        match (thief.context, thief.id) {
            (Context::Hardirq, Some(irq)) => self.irq(irq).map_or(NONE, |row| row.device),
            _ => thief.device,
        }
    }

    fn name(&self, thief: &Thief) -> u32 {
        match (thief.context, thief.id) {
            (Context::Hardirq, Some(irq)) if thief.name == NONE => self.irq(irq).map_or(NONE, |row| row.name),
            _ => thief.name,
        }
    }

    fn network(&self, thief: &Thief) -> u32 {
        match thief.network {
            Network::Yes => 0,
            Network::No => 1,
            Network::Unknown => 2,
            Network::NotApplicable => NONE,
            Network::OfIrq(irq) => match self.irq(i64::from(irq)).map(|row| row.network) {
                Some(Network::Yes) => 0,
                Some(Network::No) => 1,
                _ => 2,
            },
        }
    }

    fn tids(&self, victims: impl Iterator<Item = u32>) -> ArrayRef {
        let tids: Vec<Option<i32>> =
            victims.map(|victim| self.world.tasks.victims.get(victim as usize).map(|found| found.tid)).collect();
        optional::<Int32Type>(tids.into_iter())
    }

    fn comms(&self, victims: impl Iterator<Item = u32>) -> ArrayRef {
        let tasks = &self.world.tasks;
        let codes: Vec<u32> = (0..tasks.victims.len() as u32).map(|victim| tasks.comm(victim)).collect();
        self.strings(victims.map(|victim| codes.get(victim as usize).copied().unwrap_or(NONE)))
    }

    /// tid, comm, context, id, name, napi, device, cost_class, is_network of rows.
    fn owners<'a, R: 'a>(
        &self,
        rows: &'a [R],
        victim: fn(&R) -> u32,
        thief: fn(&R) -> u32,
        class: fn(&R) -> Class,
    ) -> Columns {
        let contexts = self.per_thief(|thief| thief.context as u32);
        let ids = self.per_thief(|thief| thief.id);
        let names = self.per_thief(|thief| self.name(thief));
        let napis = self.per_thief(|thief| thief.napi);
        let devices = self.per_thief(|thief| self.device(thief));
        let networks = self.per_thief(|thief| self.network(thief));
        let each = || rows.iter().map(|row| thief(row) as usize);
        let class = |row: &R| match class(row) {
            Class::None => NONE,
            class => class as u32,
        };
        vec![
            column("tid", self.tids(rows.iter().map(victim))),
            column("comm", self.comms(rows.iter().map(victim))),
            column("context", labels(each().map(|thief| contexts[thief]), Context::NAMES)),
            column("id", optional::<Int64Type>(each().map(|thief| ids[thief]))),
            column("name", self.strings(each().map(|thief| names[thief]))),
            column("napi", optional::<UInt64Type>(each().map(|thief| napis[thief]))),
            column("device", self.strings(each().map(|thief| devices[thief]))),
            column("cost_class", labels(rows.iter().map(class), Class::NAMES)),
            column("is_network", labels(each().map(|thief| networks[thief]), NETWORKS)),
        ]
    }

    fn segments(&self, cpus: &mut [Cpu]) -> Columns {
        let numbers: Vec<i32> =
            cpus.iter().flat_map(|cpu| std::iter::repeat_n(cpu.number as i32, cpu.finished.table.len())).collect();
        let rows: Vec<Segment> = match cpus {
            [only] => std::mem::take(&mut only.finished.table),
            cpus => cpus.iter_mut().flat_map(|cpu| std::mem::take(&mut cpu.finished.table)).collect(),
        };
        let mut columns = vec![
            column("cpu", plain::<Int32Type>(numbers.into_iter())),
            column("start_ns", plain::<Int64Type>(rows.iter().map(|row| row.start))),
            column("end_ns", plain::<Int64Type>(rows.iter().map(|row| row.end))),
        ];
        let mut owners = self.owners(&rows, |row| row.victim, |row| row.thief, |row| row.class);
        // DESIGN's order: context before the victim.
        let context = owners.remove(2);
        owners.insert(0, context);
        columns.extend(owners);
        columns.push(column("depth", plain::<Int16Type>(rows.iter().map(|row| i16::from(row.depth)))));
        columns
    }

    fn sums(&self, cpus: &[Cpu]) -> Columns {
        let rows: Vec<SumRow> = cpus.iter().flat_map(|cpu| cpu.finished.sums.rows.iter().copied()).collect();
        let one_bin = self.world.bin_ns.is_none();
        let start = if one_bin { self.world.window.0.max(i64::MIN) } else { 0 };
        let mut columns = vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("bin_ns", plain::<Int64Type>(rows.iter().map(|row| if one_bin { start } else { row.bin_ns }))),
        ];
        columns.extend(self.owners(&rows, |row| row.victim, |row| row.thief, |row| row.class));
        columns.push(column("ns", plain::<Int64Type>(rows.iter().map(|row| row.ns))));
        columns.push(column("episodes", plain::<Int64Type>(rows.iter().map(|row| row.episodes))));
        columns
    }

    fn softirqs(&self) -> Columns {
        let rows = &self.world.rows.softirqs;
        let action = |vec: i64| self.thief(self.world.softirq_thief(vec)).name;
        let origin = |name: &str| ORIGINS.iter().position(|known| *known == name).map_or(NONE, |index| index as u32);
        let class = |class: Class| if class == Class::None { NONE } else { class as u32 };
        vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("ordinal", plain::<Int64Type>(rows.iter().map(|row| row.ordinal))),
            column("raise_ns", optional::<Int64Type>(rows.iter().map(|row| row.raise_ns))),
            column("entry_ns", optional::<Int64Type>(rows.iter().map(|row| row.entry_ns))),
            column("exit_ns", optional::<Int64Type>(rows.iter().map(|row| row.exit_ns))),
            column("vec", plain::<Int64Type>(rows.iter().map(|row| row.vec))),
            column("action", self.strings(rows.iter().map(|row| action(row.vec)))),
            column("tid", self.tids(rows.iter().map(|row| row.victim))),
            column("comm", self.comms(rows.iter().map(|row| row.victim))),
            column("origin", labels(rows.iter().map(|row| origin(row.origin.name(row.inherited))), ORIGINS)),
            column("in_kthread", booleans(rows.iter().map(|row| row.in_kthread))),
            column("cost_class", labels(rows.iter().map(|row| class(row.class)), Class::NAMES)),
            column("self_ns", plain::<Int64Type>(rows.iter().map(|row| row.self_ns))),
            column("core_ns", plain::<Int64Type>(rows.iter().map(|row| row.self_ns - row.poll_ns))),
            column("polls", plain::<Int64Type>(rows.iter().map(|row| row.polls))),
            column("packets", plain::<Int64Type>(rows.iter().map(|row| row.packets))),
        ]
    }

    fn hardirqs(&self) -> Columns {
        let rows = &self.world.rows.hardirqs;
        let thieves = || rows.iter().map(|row| self.thief(row.thief));
        let number = |thief: &Thief| thief.id.filter(|_| thief.context == Context::Hardirq);
        vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("entry_ns", optional::<Int64Type>(rows.iter().map(|row| row.entry_ns))),
            column("exit_ns", optional::<Int64Type>(rows.iter().map(|row| row.exit_ns))),
            column("irq", optional::<Int64Type>(thieves().map(number))),
            column("name", self.strings(thieves().map(|thief| self.name(thief)))),
            column("context", labels(thieves().map(|thief| thief.context as u32), Context::NAMES)),
            column("tid", self.tids(rows.iter().map(|row| row.victim))),
            column("comm", self.comms(rows.iter().map(|row| row.victim))),
            column("device", self.strings(thieves().map(|thief| self.device(thief)))),
            column("self_ns", plain::<Int64Type>(rows.iter().map(|row| row.self_ns))),
        ]
    }

    fn polls(&self) -> Columns {
        let rows = &self.world.rows.polls;
        let class = |class: Class| if class == Class::None { NONE } else { class as u32 };
        vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("start_ns", optional::<Int64Type>(rows.iter().map(|row| row.start_ns))),
            column("end_ns", plain::<Int64Type>(rows.iter().map(|row| row.end_ns))),
            column("napi", plain::<UInt64Type>(rows.iter().map(|row| self.thief(row.thief).napi.unwrap_or(0)))),
            column("device", self.strings(rows.iter().map(|row| self.thief(row.thief).device))),
            column("work", optional::<Int64Type>(rows.iter().map(|row| row.work))),
            column("budget", optional::<Int64Type>(rows.iter().map(|row| row.budget))),
            column("self_ns", optional::<Int64Type>(rows.iter().map(|row| row.self_ns))),
            column("softirq_ordinal", optional::<Int64Type>(rows.iter().map(|row| row.softirq))),
            column("tid", self.tids(rows.iter().map(|row| row.victim))),
            column("comm", self.comms(rows.iter().map(|row| row.victim))),
            column("cost_class", labels(rows.iter().map(|row| class(row.class)), Class::NAMES)),
        ]
    }

    fn slices(&self) -> Columns {
        let rows = &self.world.rows.slices;
        let number = |value: fn(&SliceRow) -> i64| plain::<Int64Type>(rows.iter().map(value));
        let maybe = |value: fn(&SliceRow) -> Option<i64>| optional::<Int64Type>(rows.iter().map(value));
        let mut columns = vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("tid", self.tids(rows.iter().map(|row| row.victim))),
            column("comm", self.comms(rows.iter().map(|row| row.victim))),
            column("in_ns", number(|row| row.in_ns)),
            column("out_ns", number(|row| row.out_ns)),
            column("task_ns", number(|row| row.task_ns)),
            column("hardirq_ns", number(|row| row.hardirq_ns)),
            column("softirq_ns", number(|row| row.softirq_ns)),
            column("poll_ns", number(|row| row.poll_ns)),
            column("unknown_ns", number(|row| row.unknown_ns)),
        ];
        let mut kinds: Vec<(u8, Class)> = Vec::new();
        for entry in rows.iter().flat_map(|row| &row.by_softirq) {
            if !kinds.contains(&(entry.0, entry.1)) {
                kinds.push((entry.0, entry.1));
            }
        }
        kinds.sort_by_key(|kind| (kind.0, kind.1 as u8));
        for (vec, class) in kinds {
            let action = self.world.strings.get(self.thief(self.world.softirq_thief(i64::from(vec))).name);
            let of = |row: &SliceRow| {
                row.by_softirq.iter().find(|entry| (entry.0, entry.1) == (vec, class)).map_or(0, |entry| entry.2)
            };
            let name = format!("softirq_{action}_{}_ns", Class::NAMES[class as usize]);
            columns.push((name, plain::<Int64Type>(rows.iter().map(of))));
        }
        columns.push(column("wake_ns", maybe(|row| row.wake_ns)));
        columns.push(column("wait_ns", maybe(|row| row.wait_ns)));
        columns.push(column("prev_state", maybe(|row| row.prev_state)));
        columns
    }

    /// Who held a CPU at a time, from the slices (sorted by CPU and time).
    fn holder(&self, cpu: i64, time_ns: i64) -> Option<u32> {
        let rows = &self.world.rows.slices;
        let after = rows.partition_point(|row| (i64::from(row.cpu), row.in_ns) <= (cpu, time_ns));
        let row = rows.get(after.checked_sub(1)?)?;
        (i64::from(row.cpu) == cpu && time_ns <= row.out_ns).then_some(row.victim)
    }

    fn migrations(&mut self) -> Columns {
        /// A stopper that moves a task on exec runs just before the exec is recorded.
        const EXEC_WITHIN_NS: i64 = 50_000_000;
        let mut rows: Vec<MigrationRow> = std::mem::take(&mut self.world.rows.migrations);
        let execs = &self.world.rows.execs;
        for row in rows.iter_mut().filter(|row| row.cause == Cause::Stopper) {
            let soon = |exec: &&(i64, i32)| exec.1 == row.tid && (0..EXEC_WITHIN_NS).contains(&(exec.0 - row.time_ns));
            if execs.iter().any(|exec| soon(&exec)) {
                row.cause = Cause::Exec;
            }
        }
        let holders = |cpu: fn(&MigrationRow) -> i64| -> Vec<u32> {
            rows.iter().map(|row| self.holder(cpu(row), row.time_ns).unwrap_or(NONE)).collect()
        };
        let (orig, dest) = (holders(|row| row.orig_cpu), holders(|row| row.dest_cpu));
        let causes = [Cause::WakeUp, Cause::Balance, Cause::Stopper, Cause::Exec].map(Cause::name);
        let cause =
            |cause: Cause| causes.iter().position(|name| *name == cause.name()).map_or(NONE, |index| index as u32);
        vec![
            column("time_ns", plain::<Int64Type>(rows.iter().map(|row| row.time_ns))),
            column("tid", plain::<Int32Type>(rows.iter().map(|row| row.tid))),
            column("comm", self.comms(rows.iter().map(|row| row.victim))),
            column("orig_cpu", plain::<Int64Type>(rows.iter().map(|row| row.orig_cpu))),
            column("dest_cpu", plain::<Int64Type>(rows.iter().map(|row| row.dest_cpu))),
            column("cause", labels(rows.iter().map(|row| cause(row.cause)), causes)),
            column("orig_holder_tid", self.tids(orig.iter().copied())),
            column("orig_holder_comm", self.comms(orig.iter().copied())),
            column("dest_holder_tid", self.tids(dest.iter().copied())),
            column("dest_holder_comm", self.comms(dest.iter().copied())),
        ]
    }

    fn coverage(&self, window: &(i64, i64)) -> Columns {
        let inside = |row: &&crate::ledger::rows::CoverageRow| row.end_ns >= window.0 && row.start_ns <= window.1;
        let rows: Vec<_> = self.world.rows.coverage.iter().filter(inside).collect();
        let mut reasons: Vec<&str> = rows.iter().map(|row| row.why).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let why = |why: &str| reasons.binary_search(&why).map_or(NONE, |index| index as u32);
        vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.cpu as i32))),
            column("start_ns", plain::<Int64Type>(rows.iter().map(|row| row.start_ns.max(window.0)))),
            column("end_ns", plain::<Int64Type>(rows.iter().map(|row| row.end_ns.min(window.1)))),
            column("why", labels(rows.iter().map(|row| why(row.why)), reasons.iter().copied())),
            column("lost", plain::<Int64Type>(rows.iter().map(|row| row.lost.min(i64::MAX as u64) as i64))),
        ]
    }

    fn displaced(&self, shown: &impl Fn(u32) -> bool) -> Columns {
        let mut rows: Vec<(u32, u32, i64)> = self
            .world
            .waits
            .displaced
            .iter()
            .map(|(&(cpu, victim), &ns)| (cpu, victim, ns))
            .filter(|row| shown(row.0))
            .collect();
        rows.sort_unstable();
        vec![
            column("cpu", plain::<Int32Type>(rows.iter().map(|row| row.0 as i32))),
            column("tid", self.tids(rows.iter().map(|row| row.1))),
            column("comm", self.comms(rows.iter().map(|row| row.1))),
            column("ns", plain::<Int64Type>(rows.iter().map(|row| row.2))),
        ]
    }

    fn irq_lines(&self) -> Columns {
        let rows = &self.irqs;
        let network = |row: &IrqRow| match row.network {
            Network::Yes => 0,
            Network::No => 1,
            _ => 2,
        };
        vec![
            column("irq", plain::<Int64Type>(rows.iter().map(|row| row.irq))),
            column("name", self.strings(rows.iter().map(|row| row.name))),
            column("device", self.strings(rows.iter().map(|row| row.device))),
            column("is_network", labels(rows.iter().map(network), NETWORKS)),
            column("count", plain::<Int64Type>(rows.iter().map(|row| row.count))),
        ]
    }

    fn sort_rows(&mut self, shown: &impl Fn(u32) -> bool) {
        let rows = &mut self.world.rows;
        rows.softirqs.retain(|row| shown(row.cpu));
        rows.softirqs.sort_by_key(|row| (row.cpu, row.entry_ns.or(row.exit_ns)));
        rows.hardirqs.retain(|row| shown(row.cpu));
        rows.hardirqs.sort_by_key(|row| (row.cpu, row.entry_ns.or(row.exit_ns)));
        rows.polls.retain(|row| shown(row.cpu));
        rows.polls.sort_by_key(|row| (row.cpu, row.end_ns));
        let window = self.world.window;
        rows.slices.retain(|row| shown(row.cpu) && row.in_ns <= window.1 && row.out_ns >= window.0);
        rows.slices.sort_by_key(|row| (row.cpu, row.in_ns));
        rows.migrations.sort_by_key(|row| row.time_ns);
        rows.coverage.retain(|row| shown(row.cpu));
        rows.coverage.sort_by_key(|row| (row.cpu, row.start_ns));
    }
}
