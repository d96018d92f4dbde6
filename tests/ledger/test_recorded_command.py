# What the recorder's command line, which perf keeps in the capture, changes about the ledger.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import ALL_TABLES
from support.perfdata import Header, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, answer

# openssl |hardirq: raises NET_RX |NET_RX: a poll of no packet |openssl
#         90                      100     (150)                200     300
STORY = (
    h.IrqEntry(90, 32),
    h.SoftirqRaise(95, NET_RX),
    h.IrqExit(99, 32),
    h.SoftirqEntry(100, NET_RX),
    h.unrecorded(h.NapiPoll(150, "eth0", 0)),
    h.SoftirqExit(200, NET_RX),
    h.Waking(300, UDPSINK),
)
RECORD = ("perf", "record", "-a")


def header(*words: str) -> Header:
    return Header(cmdline=(*RECORD, *words))


# The filter hid the poll: a NET_RX without one need not be a dispatch.
def test_filtered_polls_leave_no_dispatch(tmp_path: Path) -> None:
    for pattern in ("napi:napi_poll", "napi:*", "napi:napi_p*"):
        got = answer(
            tmp_path,
            cpu(0, *STORY, task=OPENSSL),
            known=(OPENSSL,),
            header=header("-e", pattern, "--filter", "work > 0", "-e", "irq:*", "-e", "sched:*"),
        )
        assert got.lane(0, 0, "context", "name", "cost_class", "is_network")[2:] == [
            (100, 200, "softirq", "NET_RX", "stolen", "yes"),
            (200, 300, "task", None, None, None),
        ]
        assert any("work > 0" in note for note in got.summary["notes"])


def filters(path: Path, *words: str) -> dict[str, str | None]:
    told = recording(cpu(0, *STORY, task=OPENSSL), header=header(*words))
    found = Capture(str(told.write(path / "perf.data"))).header()["events"]
    return {one["name"]: one["filter"] for one in found}


# perf expands wildcards in event names, and a filter is of every event of the -e before it.
def test_a_filter_is_of_every_event_that_a_wildcard_names(tmp_path: Path) -> None:
    for pattern, hidden in (
        ("irq:*", "irq:"),
        ("irq:softirq_*", "irq:softirq_"),
        ("irq:*_handler_*", "irq:irq_handler_"),
        ("irq:softirq_e????", "irq:softirq_entry"),
        ("irq:softirq_*,sched:sched_s*", ("irq:softirq_", "sched:sched_switch")),
    ):
        rule = "common_pid != 0"
        found = filters(tmp_path, "-e", pattern, "--filter", rule, "-e", "napi:napi_poll")
        assert {name for name, one in found.items() if one == rule} == {
            name for name in found if name.startswith(hidden)
        }
        assert {one for name, one in found.items() if not name.startswith(hidden)} == {None}


# A filter of the second -e is not one of the first.
def test_a_filter_is_not_of_an_earlier_wildcard(tmp_path: Path) -> None:
    found = filters(tmp_path, "-e", "sched:*", "-e", "irq:*", "--filter", "common_pid != 0")
    assert found["irq:irq_handler_entry"] == "common_pid != 0"
    assert found["sched:sched_switch"] is None


def refusal(path: Path, words: tuple[str, ...]) -> str:
    told = recording(cpu(0, *STORY, task=OPENSSL), header=Header(cmdline=words))
    with pytest.raises(CaptureError) as refused:
        Capture(str(told.write(path / "perf.data"))).timeline(ALL_TABLES)
    return str(refused.value)


# What followed one task saw its CPUs only while it ran; between its stays there is no owner. And
# `-p` overrides `-a` and `-C` in perf (target__validate).
def test_recordings_that_follow_a_task_are_refused(tmp_path: Path) -> None:
    for words in (
        ("-p", "500"),
        ("-p500",),
        ("--pid", "500"),
        ("--pid=500",),
        ("-t", "500"),
        ("--tid=500",),
        ("-a", "-p", "500"),
        ("-qp", "500"),
        ("-m", "512", "-p", "500"),
        ("-C", "0", "-p", "500"),
    ):
        said = refusal(tmp_path, ("perf", "record", "-e", "sched:sched_switch", *words))
        assert "\n" not in said
        assert said


# `-p 22` here is the recorded command's own.
def test_words_of_the_command_that_ran_meanwhile_are_not_perfs(tmp_path: Path) -> None:
    for words in (
        ("--", "ssh", "-p", "22", "host"),
        ("ssh", "-p", "22", "host"),
        ("-o", "out.data", "--clockid", "monotonic", "ssh", "-p", "22", "host"),
        ("--clockid=monotonic", "-m", "512", "-z", "ssh", "-p", "22", "host"),
    ):
        cmdline = (*RECORD, "-e", "irq:*", "-e", "sched:sched_switch", *words)
        answer(tmp_path, cpu(0, *STORY, task=OPENSSL), header=Header(cmdline=cmdline))
