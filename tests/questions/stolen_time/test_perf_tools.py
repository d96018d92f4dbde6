# What perf's own reports say of the same recordings: perf sched timehist of who waited, perf kwork
# of softirq time.

import re

import pytest

import netcost_analysis as netcost
from support.asked import cost_classes, handovers
from support.host import SAMPLES, require_tool
from support.oracle import perf_kwork, run

TOP = SAMPLES / "stolen-time-top.netcost.tar.zst"
# "27638.020406 [0000]  perf[26002]   0.039      0.034      0.052      R ": when the stay ended.
STAY = re.compile(
    r"\s*(\d+)\.(\d{6}) \[(\d+)\]\s+(.*?)\[(\d+)[/\d]*\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\w)"
)


@pytest.fixture(scope="module")
def top() -> netcost.Timeline:
    return netcost.open_capture(TOP).timeline()


# A stay that began right after another of the task that ended in state R was waited for meanwhile;
# we count of that what ksoftirqd spent on the network, perf says only who had the CPU, across
# switches that it missed too.
def test_who_was_displaced_waited_by_perf_sched_timehist(top: netcost.Timeline) -> None:
    perf = require_tool("perf")
    assert top.capture.bundle
    listed = run(perf, "sched", "-f", "timehist", "--state", "-i", top.capture.bundle.trace)
    had: list[tuple[int, int]] = []
    waited: list[tuple[int, int]] = []
    state_before = ""
    for line in listed.splitlines():
        if not (match := STAY.match(line)):
            continue
        seconds, micros, number, comm, _, wait, _, ran, state = match.groups()
        end = int(seconds) * 1_000_000 + int(micros)
        start = end - round(float(ran) * 1_000)
        if comm.strip() == "ksoftirqd/1":
            had.append((start, end))
        elif comm.strip() == "openssl" and int(number) == 1:
            if state_before == "R":
                waited.append((start - round(float(wait) * 1_000), start))
            state_before = state
    behind_us = sum(
        max(0, min(until, end) - max(since, start)) for since, until in waited for start, end in had
    )
    found = handovers(top).displaced
    ours_us = found[found["comm"] == "openssl"]["ns"].sum() / 1_000
    assert ours_us > 900_000
    assert 0.98 * behind_us < ours_us <= behind_us


# perf counts from entry to exit, whatever ran in between.
def test_network_softirqs_take_as_long_by_perf_kwork(top: netcost.Timeline) -> None:
    assert top.capture.bundle
    theirs = sum(
        work.total_ns
        for work in perf_kwork(top.capture.bundle.trace, "softirq")
        if work.name == "(s)NET_RX"
    )
    classes = cost_classes(top)
    taken = classes[classes["cost_class"].isin(["stolen", "synchronous", "stolen_or_synchronous"])]
    kinds = [*taken["cost_class"].unique(), "scheduled", "from_idle"]
    network = classes[classes["cost_class"].isin(kinds) & (classes["is_network"] == "yes")]
    assert 0.99 * theirs < network["ns"].sum() <= theirs
