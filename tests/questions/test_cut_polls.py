# Polls that a window cuts: each is counted once, in the window in which it ends, and no price of a
# packet holds a part of a poll's time.

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcost_analysis as netcost
from netcost_analysis.answers.registry import questions
from support.host import examples
from support.perfdata import recording
from support.told import OPENSSL, UDPSINK, robbed

# Of robbed(): of each round's two polls the one with packets takes 10,000 ns for 8.
LEAST_NS, LENGTH = 10_000 / 8, 11 * 100_000 + 60_000
COUNTS = ["ns", "polls", "packets", "interrupts"]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> netcost.Capture:
    folder: Path = tmp_path_factory.mktemp("polls")
    file = recording(robbed(), known=(OPENSSL, UDPSINK)).write(folder / "perf.data")
    return netcost.open_capture(file)


def told(timeline: netcost.Timeline) -> dict[str, Any]:
    # What is summed of the device's polls, by every question that counts them.
    times = timeline.ask.devices.device_time().frame
    own = times[times["device"] == "eth0"]
    sizes = timeline.ask.batches.poll_sizes().frame
    covered = timeline.ask.completeness.coverages()["of_cpus"]
    return {
        **{name: int(own[name].fillna(0).sum()) for name in COUNTS},
        "sized": int(sizes["polls"].sum()),
        "sized_packets": int(sizes["packets"].sum()),
        "covered_packets": int(covered["packets"].fillna(0).sum()),
    }


@pytest.fixture(scope="module")
def whole(capture: netcost.Capture) -> dict[str, Any]:
    return told(capture.timeline())


@examples(4)
@given(st.integers(1, LENGTH - 1))
def test_what_two_windows_count_adds_up(
    capture: netcost.Capture, whole: dict[str, Any], at_ns: int
) -> None:
    first, last = (capture.timeline(0.0, at_ns / 1e9), capture.timeline(at_ns / 1e9, None))
    parts = told(first), told(last)
    assert {name: sum(part[name] for part in parts) for name in whole} == whole


# Every price of every question that has one, in any window.
@examples(6)
@given(st.integers(0, LENGTH - 1_000), st.integers(500, 150_000))
def test_no_packet_is_cheaper_than_in_the_cheapest_poll(
    capture: netcost.Capture, start_ns: int, width_ns: int
) -> None:
    window = capture.timeline(start_ns / 1e9, (start_ns + width_ns) / 1e9)
    for name in ("device_cost", "device_summary", "poll_costs", "packet_costs"):
        assert name in questions()
        answer = window.ask(name)
        assert answer.refusal is None
        for frame in answer.tables.values():
            for price in {"ns_per_work", "packet_ns", "alone_ns"} & set(frame.columns):
                known = pd.to_numeric(frame[price]).dropna()
                assert (known >= LEAST_NS).all()
