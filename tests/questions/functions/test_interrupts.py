# Samples in the ledger: whose interrupt they hit, and on top of whom.

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from support.device_bundles import bundle
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.stacks import CLOCK, CYCLES, Stack, capture_of, stack
from support.told import NET_RX, OPENSSL

S = 1_000_000_000
MANIFEST = {
    "netcost_bundle": 1,
    "trace": "trace.perf.data",
    "samples_of_functions": {"output": "functions.perf.data"},
}
# A softirq with a poll from 1,000 to 9,000, in which the timer's own vector takes a sample twice:
# once of the poll, once of what the softirq did behind it.
TRACE = [
    h.IrqEntry(S + 200, 32, "eth0"),
    h.SoftirqRaise(S + 300, NET_RX),
    h.IrqExit(S + 500, 32),
    h.SoftirqEntry(S + 1_000, NET_RX),
    h.VectorEntry(S + 3_000),
    h.VectorExit(S + 3_200),
    h.NapiPoll(S + 6_000, "eth0", 3, 64, 0x8000_0000),
    h.VectorEntry(S + 7_000),
    h.VectorExit(S + 7_200),
    h.SoftirqExit(S + 9_000, NET_RX),
    h.VectorEntry(S + 20_000),
    h.VectorExit(S + 20_200),
    h.SoftirqRaise(S + 30_000, 1),
]


def asked(folder: Path, *stacks: Stack, timed: bool = True) -> Any:
    attr = replace(CLOCK if timed else CYCLES, clock="monotonic")
    capture_of(folder / "made", *stacks, attrs=(attr,))
    traced = cpu(0, *TRACE, task=OPENSSL)
    bundle(folder / "b", {"manifest.json": json.dumps(MANIFEST)}, traced, clock="monotonic")
    (folder / "made").rename(folder / "b" / "functions.perf.data")
    return open_capture(folder / "b").ask.functions.interrupt_components()


def rows(answer: Any) -> list[list[str | int | None]]:
    frame = answer.frame[["context", "device", "component", "samples"]].astype(object)
    return frame.where(frame.notna(), None).values.tolist()


# What the timer interrupted, not its own vector.
def test_a_timers_samples_are_of_what_it_interrupted(tmp_path: Path) -> None:
    answer = asked(
        tmp_path,
        stack("veth_poll < __napi_poll < handle_softirqs", time_ns=S + 3_100),
        stack("net_rx_action < handle_softirqs", time_ns=S + 7_100),
        # On top of openssl alone: no interrupt context.
        stack("", time_ns=S + 20_100),
    )
    assert rows(answer) == [
        ["poll", "eth0", "driver rx", 1],
        ["softirq", None, "NAPI and softirq", 1],
    ]
    assert set(answer.frame["comm"]) == {"openssl"}
    assert set(answer.frame["cost_class"]) == {"stolen"}
    assert (answer["interrupt_samples"], answer["window_samples"]) == (2, 3)
    assert answer.frame["hit_share"].sum() == pytest.approx(1)


# A counter's interrupt is an NMI, or ends within a vector that it is of.
def test_a_counters_samples_are_of_their_own_time(tmp_path: Path) -> None:
    answer = asked(tmp_path, stack("veth_poll", time_ns=S + 3_100), timed=False)
    assert rows(answer) == [["vector", None, "driver rx", 1]]


def test_samples_outside_a_trace_hit_nothing(tmp_path: Path) -> None:
    answer = asked(tmp_path, stack("veth_poll", time_ns=1), stack("veth_poll", time_ns=9 * S))
    assert (answer["interrupt_samples"], answer["window_samples"]) == (0, 0)
    assert answer.words
    capture = capture_of(tmp_path / "bare", stack("veth_poll"))
    assert "no ledger" in str(capture.ask.functions.interrupt_components().refusal)
