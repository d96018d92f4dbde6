# What the recorder's command line, which perf keeps in the capture, changes about the ledger.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.drawn import ledger_of, recorded
from support.perfdata import Header

# A poll of no packet, which the filter hides.
STORY = (
    "CPU 0 openssl: 90 irq 32, 95 raise NET_RX, 99 end irq 32, 100 NET_RX, "
    "150 unseen poll eth0 0, 200 end NET_RX, 300 waking udpsink"
)
RECORD = ("perf", "record", "-a")


def header(*words: str) -> Header:
    return Header(cmdline=(*RECORD, *words))


# A NET_RX without a poll need not be a dispatch.
@pytest.mark.parametrize("pattern", ["napi:napi_poll", "napi:*", "napi:napi_p*"])
def test_filtered_polls_leave_no_dispatch(tmp_path: Path, pattern: str) -> None:
    words = ("-e", pattern, "--filter", "work > 0", "-e", "irq:*", "-e", "sched:*")
    got = ledger_of(tmp_path, STORY, header=header(*words))
    assert got.lane(0, 0, "context", "name", "cost_class", "is_network")[2:] == [
        (100, 200, "softirq", "NET_RX", "stolen", "yes"),
        (200, 300, "task", None, None, None),
    ]
    assert any("work > 0" in note for note in got.summary["notes"])


# perf expands wildcards in event names, and a filter is of every event of the -e before it.
@pytest.mark.parametrize(
    ("words", "filtered"),
    [
        (("-e", "irq:*"), "irq:"),
        (("-e", "irq:softirq_*"), "irq:softirq_"),
        (("-e", "irq:*_handler_*"), "irq:irq_handler_"),
        (("-e", "irq:softirq_e????"), "irq:softirq_entry"),
        (("-e", "irq:softirq_*,sched:sched_s*"), ("irq:softirq_", "sched:sched_switch")),
        (("-e", "sched:*", "-e", "irq:*"), "irq:"),
    ],
)
def test_a_filter_is_of_the_events_before_it(
    tmp_path: Path, words: tuple[str, ...], filtered: str | tuple[str, ...]
) -> None:
    rule = ("--filter", "common_pid != 0", "-e", "napi:napi_poll")
    path = recorded(STORY, header=header(*words, *rule)).write(tmp_path / "perf.data")
    found = {one["name"]: one["filter"] for one in Capture(str(path)).header()["events"]}
    assert found == {name: rule[1] if name.startswith(filtered) else None for name in found}


# What followed one task saw its CPUs only while it ran; in between there is no owner. And `-p`
# overrides `-a` and `-C` in perf (target__validate).
@pytest.mark.parametrize(
    "words",
    [
        "-p 500",
        "-p500",
        "--pid 500",
        "--pid=500",
        "-t 500",
        "--tid=500",
        "-a -p 500",
        "-qp 500",
        "-m 512 -p 500",
        "-C 0 -p 500",
    ],
)
def test_recordings_that_follow_a_task_are_refused(tmp_path: Path, words: str) -> None:
    command = ("perf", "record", "-e", "sched:sched_switch", *words.split())
    path = recorded(STORY, header=Header(cmdline=command)).write(tmp_path / "perf.data")
    with pytest.raises(CaptureError, match=r"^[^\n]+$"):
        Capture(str(path)).timeline([])


# `-p 22` here is the recorded command's own.
@pytest.mark.parametrize(
    "words",
    [
        "-- ssh -p 22 host",
        "ssh -p 22 host",
        "-o out.data --clockid monotonic ssh -p 22 host",
        "--clockid=monotonic -m 512 -z ssh -p 22 host",
    ],
)
def test_words_of_the_command_that_ran_meanwhile_are_not_perfs(tmp_path: Path, words: str) -> None:
    ledger_of(tmp_path, STORY, header=header("-e", "irq:*", "-e", "sched:*", *words.split()))
