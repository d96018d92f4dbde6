//! A text of each kind, with a little of everything in it, and what may be made of it.

use std::collections::BTreeMap;

use crate::shown::{Row, Shown, Tables};

pub const KINDS: [&str; 7] = ["perf", "trace-cmd", "ftrace", "latency", "verbose", "raw", "graph"];
/// A header of each kind.
const HEADERS: [&str; 7] = [
    "# ========\n# hostname : vm\n# cmdline : /usr/bin/perf record -a\n#",
    "cpus=2",
    "# tracer: nop\n#\n# entries-in-buffer/entries-written: 34/90   #P:2\n#   _-----=> irqs-off\n#  / _----=> need-resched\n# | / _---=> hardirq/softirq\n# || / _--=> preempt-depth\n# ||| / _-=> migrate-disable",
    "# tracer: nop\n# latency: 0 us, #34/90, CPU#0 | (M:PREEMPT VP:0, KP:0 #P:2)",
    "# tracer: nop\n# latency: 0 us, #34/90, CPU#0 | (M:PREEMPT VP:0 #P:2)",
    "cpus=2",
    "# tracer: function_graph\n#",
];
const TEXTS: [(&str, &str, &str); 17] = [
    ("irq", "irq_handler_entry", "irq=36 name=virtio1-req.0"),
    ("irq", "irq_handler_exit", "irq=36 ret=handled"),
    ("irq", "softirq_raise", "vec=3 [action=NET_RX]"),
    ("irq", "softirq_entry", "vec=3 [action=NET_RX]"),
    ("napi", "napi_poll", "napi poll on napi struct 0xffff9d3d53863e88 for device eth0 work 7 budget 64"),
    ("irq", "softirq_exit", "vec=3 [action=NET_RX]"),
    ("irq_vectors", "local_timer_entry", "vector=236"),
    ("irq_vectors", "local_timer_exit", "vector=236"),
    ("sched", "sched_waking", "comm=a b pid=8 prio=120 target_cpu=001"),
    ("sched", "sched_wakeup", "comm=a b pid=8 prio=120 success=1 target_cpu=001"),
    (
        "sched",
        "sched_switch",
        "prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=8 next_prio=98",
    ),
    ("sched", "sched_migrate_task", "comm=a b pid=8 prio=120 orig_cpu=0 dest_cpu=1"),
    ("sched", "sched_process_fork", "comm=sh pid=7 child_comm=sh child_pid=9"),
    ("sched", "sched_process_exec", "filename=/bin/true pid=9 old_pid=9"),
    ("sched", "sched_process_exit", "comm=true pid=9 prio=120 group_dead=true"),
    ("net", "netif_rx", "dev=lo skbaddr=0xffff len=9"),
    (
        "sched",
        "sched_switch",
        "prev_comm=a b prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=sh next_pid=7 next_prio=98",
    ),
];
pub const EVENTS: usize = 4 * TEXTS.len();

fn line(kind: &str, place: usize) -> String {
    let (system, event, text) = TEXTS[place % TEXTS.len()];
    // The second switch is of the other task.
    let (comm, tid) = if place % TEXTS.len() > 10 { ("a b", 8) } else { ("sh", 7) };
    let (cpu, s, us) = (place / TEXTS.len() % 2, 76, 211_513 + 7 * place);
    match kind {
        "perf" => format!("{comm:>16} {tid:5} [{cpu:03}] {s:5}.{us:06}: {system}:{event}: {text}"),
        "trace-cmd" => format!("{comm:>16}-{tid:<5} [{cpu:03}] {s:5}.{us:06}: {event}:      {text}"),
        "ftrace" => format!("{comm:>16}-{tid:<7} [{cpu:03}] d.s2. {s:5}.{us:06}: {event}: {text}"),
        "latency" => format!("{comm:>8}-{tid:<7} {cpu:3}d.s2. {us:4}us : {event}: {text}"),
        "verbose" => format!(
            "{comm:>16} {tid:7} {cpu:3} 17 00000002 {place:08x} [{:08x}] {place}.750ms (+0.007ms): {event}: {text}",
            s * 1_000_000 + us
        ),
        "raw" => format!("{comm:>8}-{tid:<5} {cpu:3}-0x11 {s:5}.{us:06}: {event}:      {text}"),
        _ => format!(" {s:5}.{us:06} |   {cpu})    {comm}-{tid}    |  d.s2. |               |  /* {event}: {text} */"),
    }
}

/// Headers, events, and what stands between them.
pub fn lines(kind: &str) -> Vec<String> {
    let number = KINDS.iter().position(|one| *one == kind).expect("a kind");
    let mut found: Vec<String> = HEADERS[number].lines().map(str::to_owned).collect();
    for place in 0..EVENTS {
        found.push(line(kind, place));
        if place == 20 {
            let by_trace_cmd = matches!(kind, "trace-cmd" | "raw");
            found.push(if by_trace_cmd { "CPU:1 [EVENTS DROPPED]" } else { "CPU:1 [LOST 12 EVENTS]" }.to_owned());
        }
        if place == 25 && kind == "perf" {
            found.push("\tffffffff81135f6f foo ([kernel.kallsyms])\n".to_owned());
        }
    }
    found
}

pub fn text(kind: &str) -> String {
    lines(kind).join("\n")
}

/// Samples of perf script with call chains.
pub const CHAINS: &str = "\
# clockid: monotonic (1)
# event : name = cycles:u, , id = { 1 }, { sample_period, sample_freq } = 4000, freq = 1
sh 7/8 [000] 1.000001000:     250000 cycles:u:
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t          af08f5 std::map<int, a b>::at(int) const+0x65 (/usr/lib/a b.so.1 (deleted))
  call.c:847
\t               0 [unknown] ([unknown])

sh 7/8 [000] 1.000002000:          1 sched:sched_switch: prev_comm=sh prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=9 next_prio=120
\t          2724a main (inlined)

a b 9/9 [000] 1.000003000:     250000 cpu-clock:      7f6eb00f08f5 main+0x1 (/bin/sh)
:-1    -1/-1  [001] 1.000003500: irq:softirq_raise: vec=1 [action=TIMER]
sh 7/8 [000] 0.000000000: PERF_RECORD_COMM exec: sh:7/8
sh 7/8 [000] 1.000004000: PERF_RECORD_LOST lost 12
sh 7/8 [000] 1.000005000: PERF_RECORD_FORK(8:9):(7:8)
";

pub const BEFORE: [(usize, usize, &str); 3] = [(0, 100, ENTRY), (0, 200, EXIT), (1, 300, ENTRY)];
pub const BEHIND: [(usize, usize, &str); 4] = [(0, 700, ENTRY), (1, 800, EXIT), (0, 900, EXIT), (1, 1_100, ENTRY)];
pub const ENTRY: &str = "softirq_entry: vec=3 [action=NET_RX]";
pub const EXIT: &str = "softirq_exit: vec=3 [action=NET_RX]";

/// Lines of CPU, microseconds, event.
pub fn steps(steps: &[(usize, usize, &str)]) -> String {
    let line =
        |(cpu, at, what): &(usize, usize, &str)| format!("{:>16}-8       [{cpu:03}] d..2. 0.{at:06}: {what}\n", "sh");
    steps.iter().map(line).collect()
}

/// This between two stretches of known events.
pub fn between(text: &str) -> Shown {
    Shown::of(steps(&BEFORE) + text + &steps(&BEHIND))
}

/// How often each row is there. Names of tasks may come from another line.
pub fn flat(tables: &Tables) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (name, rows) in tables {
        for row in rows {
            let mut cells: Vec<_> = row.iter().filter(|cell| cell.0 != "common_comm").collect();
            cells.sort();
            *found.entry(format!("{name} {cells:?}")).or_default() += 1;
        }
    }
    found
}

pub fn flat_of(text: impl AsRef<[u8]>) -> BTreeMap<String, usize> {
    flat(&Shown::of(text).tables())
}

/// The one row of a text's one event, with its name.
pub fn only(text: impl AsRef<[u8]>) -> (String, Row) {
    let mut tables = Shown::of(text).tables().into_iter();
    match (tables.next(), tables.next()) {
        (Some((name, rows)), None) if rows.len() == 1 => (name, rows.into_iter().next().expect("a row")),
        other => panic!("not one event: {other:?}"),
    }
}
