# What stands before an event's own text, in every shape that perf, trace-cmd and ftrace print it:
# who, where, in which context, when, which event.

from pathlib import Path

import pytest

from support.native_tables import rows
from support.text_capture import capture, only, tables

EXIT = "vec=3 [action=NET_RX]"
NS = 15867_437834_000
SWITCH = (
    "prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> next_comm={} next_pid={} next_prio=120"
)

# A line of irq:softirq_exit; thread, CPU, time in ns; common_flags and common_preempt_count.
LINES: list[tuple[str, int | None, int | None, int, tuple[int, int] | None]] = [
    # perf script: as it comes, with both ids, with --ns, without CPU, without any id.
    ("   perf 23008 [000] 15867.437834:  irq:softirq_exit: ", 23008, 0, NS, None),
    ("perf   8/9     [001] 15867.437834: irq:softirq_exit: ", 9, 1, NS, None),
    ("perf 7 [017] 15867.437834965: irq:softirq_exit: ", 7, 17, NS + 965, None),
    ("   perf 23008 15867.437834:   irq:softirq_exit: ", 23008, None, NS, None),
    ("   perf   8/9 15867.437834:   irq:softirq_exit: ", 9, None, NS, None),
    ("            perf [000] 15867.437834: irq:softirq_exit: ", None, 0, NS, None),
    ("  swapper     0 [1023] 15867.437834: irq:softirq_exit: ", 0, 1023, NS, None),
    ("  :4711  4711 [000] 15867.437834:  irq:softirq_exit: ", 4711, 0, NS, None),
    ("   perf    -1 [000] 15867.437834:  irq:softirq_exit: ", -1, 0, NS, None),
    (" :-1    -1/-1  [000] 15867.437834:  irq:softirq_exit: ", -1, 0, NS, None),
    (" :-1 17875/-1  [000] 15867.437834:  irq:softirq_exit: ", -1, 0, NS, None),
    # Its latency format, and the letters for modes.
    ("    perf 23008   1 15867.437834:   irq:softirq_exit: ", 23008, 1, NS, None),
    ("kworker/     8  12 15867.437834:   irq:softirq_exit: ", 8, 12, NS, None),
    ("   perf 23008 [000] K  15867.437834: irq:softirq_exit: ", 23008, 0, NS, None),
    # trace-cmd report: as it comes, with columns, -t, and its latency format.
    ("  perf-23008 [000] 15867.437834: softirq_exit:     ", 23008, 0, NS, None),
    (" perf-8 [003] d..2. 15867.437834: softirq_exit:    ", 8, 3, NS, (1, 2)),
    ("  perf-8 [003] 15867.437834965: softirq_exit:      ", 8, 3, NS + 965, None),
    ("perf_dat-8   0d.h.. 15867.437834: softirq_exit:    ", 8, 0, NS, (9, 0)),
    ("  perf-8 [003] 15867.437834: (+12) softirq_exit:   ", 8, 3, NS, None),
    ("  perf-8 [003]15867437834000: softirq_exit:        ", 8, 3, NS, None),
    ("  a.dat:            perf-8 [003] 15867.437834: softirq_exit: ", 8, 3, NS, None),
    # ftrace: four and five columns, Android's process, the latency format of tracers and oopses.
    ("  perf-8     [000] d.h5 15867.437834: softirq_exit: ", 8, 0, NS, (9, 5)),
    ("  perf-8     [000] ..s.. 15867.437834: softirq_exit: ", 8, 0, NS, (16, 0)),
    ("  perf-8   (  8) [001] .... 15867.437834: softirq_exit: ", 8, 1, NS, (0, 0)),
    ("  perf-8   (-----) [001] 15867.437834: softirq_exit: ", 8, 1, NS, None),
    ("  <idle>-0   (-------) [001] D.Zf2 1.5: softirq_exit: ", 0, 1, 1_500_000_000, (0xC9, 0x2F)),
    ("  perf-8       1d..2. 15867437834us#: softirq_exit: ", 8, 1, NS, (1, 2)),
    ("  perf-8      12d..2 4us : softirq_exit: ", 8, 12, 4000, (1, 2)),
    ("[   12.1]   <idle>-0   1d.h1. 15867437834us : softirq_exit: ", 0, 1, NS, (9, 1)),
    # PREEMPT_RT: more columns, by their number and by where the letters stand.
    ("  perf-8     [000] d.h22 15867.437834: softirq_exit: ", 8, 0, NS, (9, 0x22)),
    ("  perf-8  [000] d.Lh1.2 15867.437834: softirq_exit: ", 8, 0, NS, (0x89, 0x21)),
    ("  perf-8  [000] d...2.1 15867.437834: softirq_exit: ", 8, 0, NS, (1, 0x12)),
]


def test_who_where_and_when(tmp_path: Path) -> None:
    for line, tid, cpu, time_ns, context in LINES:
        found, row = only(tmp_path, f"{line}{EXIT}\n")
        when = row.get("time_ns", row.get("time_order"))
        assert (found, when) == ("irq:softirq_exit", time_ns), line
        assert (row["common_cpu"], row["vec"]) == (cpu, 3)
        assert row.get("common_pid") == tid
        assert ("common_pid" in row) == (tid is not None)
        flags = ("common_flags", "common_preempt_count")
        assert tuple(row[key] for key in flags if key in row) == (context or ())


COMMS = [
    *("sh", "swapper/0", "kworker/u256:1-", "Web Content", "a-7", "(sd-pam)", "[k]", "a [001] b"),
    *("x: y", "GPU [0]", "-", "1", "tab 7/8", "ünïcode", "<ab>"),
]


def test_names_that_hold_anything(tmp_path: Path) -> None:
    for comm in COMMS:
        for line in (
            "{comm:>16} {tid:7d} [000] 1.000000: irq:softirq_exit: " + EXIT,
            "{comm:>16} {tid:7d}/{tid:<7d} [000] 1.000000: irq:softirq_exit: " + EXIT,
            "{comm:>16}-{tid:<5d} [000] 1.000000: softirq_exit:         " + EXIT,
            "{comm:>16}-{tid:<7d} [000] d..2. 1.000000: softirq_exit: " + EXIT,
            "{comm:>16}-{tid:<7d} ({tid:7d}) [000] d..2. 1.000000: softirq_exit: " + EXIT,
        ):
            _, row = only(tmp_path, line.format(comm=comm, tid=4711) + "\n")
            assert (row["common_pid"], row["common_comm"]) == (4711, comm)


def test_forgotten_names_are_no_names(tmp_path: Path) -> None:
    for nobody in ("<...>-4711 [000] ", ":4711 4711 [000] "):
        name = "softirq_exit" if "-" in nobody else "irq:softirq_exit"
        _, row = only(tmp_path, f"  {nobody} 1.000000: {name}: {EXIT}\n")
        assert row["common_comm"] is None


def test_idle_has_one_name(tmp_path: Path) -> None:
    for idle in ("<idle>-0 [000] 1.0: ", "swapper 0 [000] 1.0: irq:"):
        _, row = only(tmp_path, f"  {idle}softirq_exit: {EXIT}\n")
        assert row["common_comm"] == "swapper"


# The latency format cuts names after eight letters.
def test_names_that_may_be_cut_are_taken_from_where_they_are_whole(tmp_path: Path) -> None:
    switch = SWITCH.format("kworker/0:1", 7, "sh", 8)
    text = f"kworker/-7 0d..2. 1us : sched_switch: {switch}\n"
    text += f"      sh-8 0d..2. 2us : softirq_exit: {EXIT}\n"
    found = tables(tmp_path, text)
    assert [row["common_comm"] for row in found["sched:sched_switch"]] == ["kworker/0:1"]
    assert [row["common_comm"] for row in found["irq:softirq_exit"]] == ["sh"]


def test_perf_says_what_a_task_was_called_at_the_time(tmp_path: Path) -> None:
    line = "{} 7 [000] {}.000000: irq:softirq_exit: " + EXIT + "\n"
    text = line.format("bash", 1) + line.format("sleep", 2) + line.format("sleep", 3)
    [found] = tables(tmp_path, text).values()
    assert [row["common_comm"] for row in found] == ["bash", "sleep", "sleep"]


def test_ftrace_says_what_it_is_called_last_and_switches_know_better(tmp_path: Path) -> None:
    switch = SWITCH.format("a", 1, "bash", 7)
    text = f"a-1 [000] 1.0: sched_switch: {switch}\nsleep-7 [000] 2.0: softirq_exit: {EXIT}\n"
    assert tables(tmp_path, text)["irq:softirq_exit"][0]["common_comm"] == "bash"


def test_headers_name_the_columns(tmp_path: Path) -> None:
    for header in (
        ["irqs-off", "need-resched", "hardirq/softirq", "preempt-depth", "lock-depth"],
        [
            "irqs-off/BH-disabled",
            "need-resched",
            "hardirq/softirq",
            "preempt-depth",
            "migrate-disable",
        ],
    ):
        lines = [f"#   || / _--=> {column}   " for column in header]
        _, row = only(
            tmp_path, "\n".join([*lines, f"sh-8 [000] d.h21 1.0: softirq_exit: {EXIT}", ""])
        )
        assert row["common_preempt_count"] == (0x12 if header[-1] == "migrate-disable" else 2)


# The kernel's N is both ways of asking for a reschedule, trace-cmd's one.
def test_letters_are_of_who_wrote_them(tmp_path: Path) -> None:
    for first, flags in (("# tracer: nop", 0x34), ("cpus=2", 0x14)):
        _, row = only(tmp_path, f"{first}\n  sh-8 [000] .Ns.. 1.000000: softirq_exit: {EXIT}\n")
        assert row["common_flags"] == flags


def test_other_events_keep_their_text(tmp_path: Path) -> None:
    for line, name, text in (
        ("sh-8 [000] .... 1.0: initcall_level: level=console", "initcall_level", "level=console"),
        (
            "sh-8 [000] 1.0: cpu_frequency:        state=6 cpu_id=0",
            "cpu_frequency",
            "state=6 cpu_id=0",
        ),
        (
            "sh-8 [000] .... 1.0: tracing_mark_write: B|12|a: b",
            "ftrace:tracing_mark_write",
            "B|12|a: b",
        ),
        (
            "sh-8 [000] 1.0: print:                tracing_mark_write: hi",
            "ftrace:print",
            "tracing_mark_write: hi",
        ),
        (
            "sh-8 [000] .... 1.0: sys_close <-do_syscall_64",
            "ftrace:function",
            "sys_close <-do_syscall_64",
        ),
        ("sh-8 [000] d... 1.0: <stack trace>", "ftrace:kernel_stack", "<stack trace>"),
        ("sh 8 [000] 1.000000: net:netif_rx: dev=lo len=9", "net:netif_rx", "dev=lo len=9"),
        ("sh 8 [000] 1.000000:    1001001 cpu-clock: ", "cpu-clock", ""),
        (
            "sh 8 [000] 1.000000:    250000 cycles:ppp:  ffff81 foo ([kernel])",
            "cycles:ppp",
            "ffff81 foo ([kernel])",
        ),
        ("sh 8 [000] 1.000000: cpu-clock:", "cpu-clock", ""),
        ("sh 8 [000] 1.000000: cpu/cycles/u: ", "cpu/cycles/u", ""),
        (
            "sh-8 [000] 1.0: ipi_entry: (Rescheduling interrupts)",
            "ipi:ipi_entry",
            "(Rescheduling interrupts)",
        ),
    ):
        found, row = only(tmp_path, line + "\n")
        assert (found, row["text"], row["common_pid"]) == (name, text, 8)


def test_what_is_a_tracepoint(tmp_path: Path) -> None:
    for name, tracepoint in (
        *(("irq:softirq_exit", True), ("net:netif_rx", True), ("probe:foo_1", True)),
        *(("cpu-clock", False), ("cycles:ppp", False), ("cycles:u", False), ("cpu/cycles/", False)),
    ):
        header = capture(tmp_path, f"sh 8 [000] 1.000000: {name}: vec=3\n").header()
        assert [(one["name"], one["tracepoint"]) for one in header["events"]] == [
            (name, tracepoint)
        ]


def test_call_chains_are_passed_over(tmp_path: Path) -> None:
    line = "sh 8/9 [003] {}.000000:    {} cpu-clock: \n\t  ffff81 foo ([kernel.kallsyms])\n\n"
    found = capture(tmp_path, line.format(1, 1000) + line.format(2, 1000))
    [event] = found.header()["events"]
    assert (event["period"], event["sampled"]) == (1000, True)
    assert [row["time_ns"] for row in rows(found.events("cpu-clock"))] == [10**9, 2 * 10**9]
    scan = found.scan()
    assert scan["records"] == {"event": 2, "call chain": 2, "blank": 2}
    assert [note for note in scan["notes"] if note.startswith("2 lines")]


# Tracepoints that perf was told to sample are no full recording.
def test_periods_tell_that_tracepoints_were_sampled(tmp_path: Path) -> None:
    line = "sh 8 [003] {}.000000:    {} sched:sched_switch: sh:8 [120] R ==> sh:9 [120]\n"
    found = capture(tmp_path, line.format(1, 1) + line.format(2, 17))
    [event] = found.header()["events"]
    assert event["sampled"]
    with pytest.raises(Exception, match="was sampled"):
        found.timeline(["segments"])


# What `perf script --header` says of filters and sampling holds for its text as for the recording.
def test_headers_tell_how_events_were_recorded(tmp_path: Path) -> None:
    header = (
        "# cmdline : /usr/bin/perf record -a -e irq:softirq_exit --filter vec == 3 -e cycles\n"
        "# event : name = irq:softirq_exit, , id = { 1 }, type = 2, "
        "{ sample_period, sample_freq } = 1, sample_type = RAW, sample_id_all = 1\n"
        "# event : name = sched:sched_switch, , id = { 2 }, type = 2, "
        "{ sample_period, sample_freq } = 4000, sample_type = RAW, freq = 1, sample_id_all = 1\n"
    )
    text = f"{header}sh 8 [000] 1.000000: irq:softirq_exit: {EXIT}\n"
    text += f"sh 8 [000] 2.000000: sched:sched_switch: {SWITCH.format('sh', 8, 'x', 9)}\n"
    text += "sh 8 [000] 3.000000: cycles:  ffff81 foo\n"
    [softirq, switch, cycles] = capture(tmp_path, text).header()["events"]
    assert (softirq["filter"], softirq["sampled"], softirq["period"]) == ("vec == 3", False, 1)
    assert (switch["filter"], switch["sampled"], switch["frequency"]) == (None, True, 4000)
    assert (cycles["sampled"], cycles["period"]) == (True, None)


# Behind the latency columns trace-cmd leaves no room for a number without a unit; what a column
# counts is not the time's.
def test_times_glued_to_columns(tmp_path: Path) -> None:
    for columns, flags, count in (
        ("d..3.", 1, 3),
        ("....1", 0, 0x10),
        ("d..31", 1, 0x13),
        ("d.h1.", 0x9, 1),
    ):
        text = f"  iperf3-15646   1{columns}26441878401970: softirq_exit: {EXIT}\n"
        [row] = tables(tmp_path, text)["irq:softirq_exit"]
        assert (row["common_cpu"], row["common_pid"], row["vec"]) == (1, 15646, 3)
        assert row["time_order"] == 26441878401970
        assert (row["common_flags"], row["common_preempt_count"]) == (flags, count)
