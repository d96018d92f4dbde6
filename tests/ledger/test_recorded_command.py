# What the recorder was told changes about the ledger: by its command line, which perf keeps in the
# capture, and by rings that keep the newest events.

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis import open_capture
from netcost_analysis._native import Capture, CaptureError
from support.drawn import happenings, ledger_of, recorded
from support.native_tables import Answer, assert_conserved, by, rows
from support.perfdata import FinishedRound, Header, cpu, recording, write_file
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import OPENSSL, UDPSINK

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


# Rings that kept the newest events (perf record --overwrite): every CPU begins where its oldest
# kept event is, and before that its time is unknown.
# CPU 0 has a full ring here, CPU 1 one with room.


STEPS, STEP = 1_500, 10_000
RING = 128 << 10
BUSY = cpu(
    0,
    *happenings(
        "0 irq 32, 100 raise NET_RX, 200 end irq 32, 300 NET_RX, 1200 poll eth0 8, 1300 end NET_RX",
        range(1_000_000, 1_000_000 + STEPS * STEP, STEP),
    ),
    task=OPENSSL,
)
QUIET = cpu(1, h.Switch(1_500_000, UDPSINK), h.Switch(1_600_000, OPENSSL))
END = 1_000_000 + STEPS * STEP - STEP + 1_300


def told(path: Path, overwritten: int | None = RING, **written: Any) -> Path:
    return recording(BUSY, QUIET, overwritten=overwritten).write(path, **written)


@cache
def oldest_kept() -> int:
    told = recording(BUSY, QUIET, overwritten=RING)
    return min(one.where.time for one in told.newest_first(BUSY, RING))  # type: ignore[union-attr]


@pytest.mark.parametrize("written", [{}, {"mode": "pipe"}, {"compressed": 1}])
def test_before_the_oldest_kept_event_time_is_unknown(
    tmp_path: Path, written: dict[str, Any]
) -> None:
    path = told(tmp_path / "trace", **written)
    begin = oldest_kept()
    assert 1_500_000 < begin < END - 100 * STEP
    got = Answer(path)
    assert_conserved(got)
    coverage = open_capture(path).timeline().coverage
    assert [tuple(row) for row in coverage.itertuples(index=False)] == [
        (0, 1_500_000, begin, "overwritten", 0)
    ]
    owned = by(got.sums, ("cpu", "context"), lambda row: row["ns"])
    assert owned[0, "unknown"] == begin - 1_500_000
    assert {context for cpu, context in owned if cpu == 1} == {"task"}
    assert owned[1, "task"] == END - 1_500_000


def test_what_was_kept_is_what_the_whole_recording_has_there(tmp_path: Path) -> None:
    kept, whole = (
        [row for row in Answer(path, ["segments"]).segments if row["start_ns"] > begin]
        for begin in (oldest_kept() + STEP,)
        for path in (told(tmp_path / "kept"), told(tmp_path / "whole", None))
    )
    assert kept == whole
    assert len(kept) > 1_000


# The same records in the order of time, as a recording without --overwrite would have them.
def test_events_are_those_of_the_records_turned_round(tmp_path: Path) -> None:
    turned = recording(BUSY, QUIET, overwritten=RING)
    rings = [turned.newest_first(one, RING)[::-1] for one in turned.cpus]
    plain = recording(BUSY, QUIET)
    records = [record for ring in rings for record in ring]
    (tmp_path / "forward").write_bytes(write_file(plain.attrs(), plain.formats, records))
    forward = Capture(str(tmp_path / "forward")).all_events()
    backward = Capture(str(turned.write(tmp_path / "backward"))).all_events()
    assert forward.keys() == backward.keys()
    for name, table in forward.items():
        assert pa.table(backward[name]).equals(pa.table(table)), name


# Events that were recorded without --overwrite beside them have rings of their own, drained again
# and again: what came of those says nothing of how large the others are.
def test_events_of_other_rings_do_not_make_a_ring_larger(tmp_path: Path) -> None:
    turned = recording(BUSY, overwritten=RING)
    switch = [one.event for one in turned.formats].index("sched:sched_switch")
    attrs = turned.attrs()
    attrs[switch] = replace(attrs[switch], flags=attrs[switch].flags - {"write_backward"})
    tasks = [(UDPSINK, OPENSSL)[at % 2] for at in range(8_000)]
    drained = recording(cpu(0, *(h.Switch(1_000 + at, task) for at, task in enumerate(tasks))))
    records = [*drained.ring(drained.cpus[0]), *turned.newest_first(BUSY, RING), FinishedRound()]
    (tmp_path / "trace").write_bytes(write_file(attrs, turned.formats, records))
    coverage = rows(Capture(str(tmp_path / "trace")).scan()["coverage"])
    assert [(row["cpu"], row["why"]) for row in coverage] == [(0, "overwritten")]


def test_info_says_what_was_overwritten(tmp_path: Path, netcost: Netcost) -> None:
    done = netcost("info", str(told(tmp_path / "trace")))
    [gap] = [line for line in done.out.splitlines() if line.startswith("gap")]
    assert "CPU 0," in gap
    assert gap.endswith("11.8 ms: overwritten")
