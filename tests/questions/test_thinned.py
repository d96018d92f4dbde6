# What is removed from a recording in silence makes no sum wrong and no question crash; nor does a
# victim that ends early.

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.registry import questions
from support import thinned
from support.asked import stolen
from support.host import ROOT
from support.kept import Kept
from support.thinned import Row, without
from support.typed import assert_whole

SAMPLES = {
    name: ROOT / "sample-data" / name
    for name in (
        "nic-stolen-time",
        "datapath-sweep/bridge-wire-to1-pinned-10000.netcost.tar.zst",
        "nic-guest/6.1-nic-1-flows.netcost.tar.zst",
    )
}
REMOVED = {
    "a CPU": lambda rows: without(rows, cpu=0),
    "a CPU's raises": lambda rows: without(rows, "softirq_raise", cpu=1),
    "raises": lambda rows: without(rows, "softirq_raise"),
    "polls": lambda rows: without(rows, "napi_poll"),
    "every third exit": lambda rows: without(rows, "softirq_exit", "irq_handler_exit", each=3),
    "every fifth switch": lambda rows: without(rows, "sched_switch", each=5),
    "every seventh event": lambda rows: without(rows, each=7),
    "the victim's second half": lambda rows: thinned.ending(rows, "openssl", middle(rows)),
}


@cache
def rows_of(name: str) -> list[Row]:
    return thinned.rows_of(SAMPLES[name])


def middle(rows: list[Row]) -> int:
    own = [int(row["time_ns"]) for row in rows if row["common_comm"] == "openssl"]
    return (own[0] + own[-1]) // 2


def of_recordings() -> list[Any]:
    return [one for one in questions().values() if one.asked_of == "recording"]


# Some of one sample; all of both take a minute.
_PAIRS = [
    pytest.param(name, removed, marks=[] if (first, second) == (0, 1) else [pytest.mark.slow])
    for first, name in enumerate(list(SAMPLES)[:2])
    for second, removed in enumerate(REMOVED)
]


@pytest.mark.parametrize(("name", "removed"), _PAIRS)
def test_conservation_holds_and_every_question_answers(
    tmp_path: Path, name: str, removed: str
) -> None:
    whole = rows_of(name)
    # Of a longer one a sixteenth around the middle of openssl's run, which has all that is needed.
    own = [place for place, row in enumerate(whole) if row["common_comm"] == "openssl"]
    centre, part = own[len(own) // 2], len(whole) // 32
    whole = whole if len(whole) < 50_000 else whole[max(centre - part, 0) : centre + part]
    rows = REMOVED[removed](whole)
    assert rows != whole
    path = thinned.written(SAMPLES[name], rows, tmp_path / "bundle")
    capture = Kept(path)
    timeline = capture.timeline()
    assert sum(capture.info["events"].values()) == len(rows)
    cpus = len({row["common_cpu"] for row in rows})
    assert int(timeline.sums()["ns"].sum()) == cpus * timeline.duration_ns
    for _, own in timeline.segments.groupby("cpu"):
        assert list(own["start_ns"][1:]) == list(own["end_ns"][:-1])
    frame = stolen(timeline).victims
    assert (frame["stolen_ns"] <= frame["stolen_max_ns"]).all()
    assert (frame["stolen_max_ns"] <= frame["on_cpu_ns"]).all()
    for one in of_recordings():
        assert_whole(capture.ask(one.name))


# What the victim had until then it has still, and nothing beyond.
@pytest.mark.parametrize("name", list(SAMPLES)[::2])
def test_a_life_cut_short_is_the_first_part_of_it(tmp_path: Path, name: str) -> None:
    rows = rows_of(name)
    cut = middle(rows)
    whole = netcost.open_capture(thinned.written(SAMPLES[name], rows, tmp_path / "whole"))
    short = thinned.written(SAMPLES[name], thinned.ending(rows, "openssl", cut), tmp_path / "short")
    until = (cut - whole.start_ns) / 1e9
    figures = ["on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns"]
    before = stolen(whole.timeline(end_s=until)).victims.loc["openssl", figures]
    after = stolen(netcost.open_capture(short).timeline()).victims.loc["openssl", figures]
    # It ends at the next switch, not at a moment.
    for name_ in figures:
        assert int(after[name_]) == pytest.approx(int(before[name_]), abs=12_000_000)
