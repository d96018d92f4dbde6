# Where a packet's time goes over sizes of write and read: sums that agree, findings that are judged
# by what sampling and interrupts off leave open, and pictures of the tables' figures.

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.functions.findings import (
    NO,
    OPEN,
    PAPER,
    PART,
    UNTESTED,
    YES,
    _judged,
)
from support.host import SAMPLES
from support.kept import kept_experiment

FOUND = tomllib.loads(PAPER.read_text())
DRIVER = {"column": "driver_share", "least": 0.26, "at": "every size"}
COPY = {"column": "copy_share", "most": 0.34, "at": "every size"}
MAJOR = {"column": "protocol_share", "most": "major_share", "at": "every size"}


def judged(one: dict[str, Any], *shares: float, open_: float = 0.0, behind: float = 0.0) -> Any:
    rows = pd.DataFrame(
        {
            "io_bytes": [64 * 4**at for at in range(len(shares))],
            one["column"]: shares,
            "samples": 10_000.0,
            "open_share": open_,
            "received_share": behind,
            "major_share": 0.3,
        }
    )
    return _judged(one, rows)


def test_a_finding_holds_where_all_that_is_left_open_meets_it() -> None:
    for one, shares, open_, holds in (
        (DRIVER, (0.3, 0.4), 0, YES),
        (DRIVER, (0.1, 0.2), 0, NO),
        # With all that interrupts off leave open it may.
        (DRIVER, (0.2, 0.2), 0.1, OPEN),
        (DRIVER, (0.4, 0.1), 0, PART),
        (DRIVER, (0.2, 0.1), 0.1, NO),
        (DRIVER, (0.4, 0.2), 0.1, OPEN),
        # Too near for so many samples.
        (DRIVER, (0.261,), 0, OPEN),
        (COPY, (0.01, 0.3), 0, YES),
        (COPY, (0.01, 0.3), 0.1, OPEN),
        (COPY, (0.01, 0.4), 0, PART),
        ({**DRIVER, "at": "the largest size"}, (0.1, 0.4), 0, YES),
        ({**DRIVER, "at": "the smallest size"}, (0.1, 0.4), 0, NO),
        (MAJOR, (0.2,), 0, YES),
        (MAJOR, (0.2,), 0.2, OPEN),
        (MAJOR, (0.6,), 0.2, NO),
        (DRIVER, (np.nan,), 0, OPEN),
    ):
        assert judged(one, *shares, open_=open_)["holds"] == holds, (one, shares, open_)


def test_what_a_finding_is_judged_by() -> None:
    # Received interrupts are left out of a second verdict.
    for behind, without in ((0.5, YES), (0, NO)):
        found = judged(DRIVER, 0.2, behind=behind)
        assert (found["holds"], found["holds_without_interrupts"]) == (NO, without)
    # Ours are the ends over all sizes.
    found = judged(DRIVER, 0.1, 0.3, open_=0.1)
    assert 9 < found["ours_low"] < 10
    assert 40 < found["ours_high"] < 41.1
    why = judged(DRIVER, 0.4, 0.1)["why"]
    assert re.findall(r"(yes|no) at (\d+)", why) == [("yes", "64"), ("no", "256")]
    # CPUs are of a link of 10 Gbit/s.
    found = judged({"column": "cores_per_gbit", "least": 0.2, "at": "the largest size"}, 1.9, 0.21)
    assert (found["ours_low"], found["ours_unit"]) == (pytest.approx(2.1), "CPUs")
    assert (found["holds"], found["holds_without_interrupts"]) == (YES, None)
    # Bounds are the paper's figures.
    for one in FOUND["tested"]:
        bound, number = one.get("least", one.get("most")), re.search(r"(\d+) %", one["figure"])
        assert number is None or float(number[1]) == pytest.approx(100 * bound)


def test_the_sample_is_judged_whole() -> None:
    ask = kept_experiment("io-sizes").ask.functions
    answer = ask.findings()
    assert set(answer.frame["claim"]) == {one["claim"] for kind in FOUND.values() for one in kind}
    # Two protocols, two sides; of cores, receiving alone.
    assert (answer.frame["holds"] != UNTESTED).sum() == 6 * 4 + 2
    assert {one["column"] for one in FOUND["tested"]} <= set(ask.components_by_size().frame)
    driver, release = (
        next(one["claim"] for one in FOUND["tested"] if one["column"] == column)
        for column in ("driver_share", "release_share")
    )
    # A veth has hardly a driver.
    assert answer["verdicts"].set_index("claim")["holds"][driver] == NO
    by = answer.frame.set_index(["claim", "protocol", "io_side"])
    assert by["holds_without_interrupts"][release, "udp", "receive"] == YES


# The lab's first step, for the floor of the energy.
def test_a_step_without_a_stream_has_no_sides(tmp_path: Path) -> None:
    sample = SAMPLES / "io-sizes"
    shutil.copy(sample / "experiment.json", tmp_path)
    for name in ("tcp-64", "idle"):
        shutil.copy(sample / "tcp-64.netcost.tar.zst", tmp_path / f"{name}.netcost.tar.zst")
    head, row, *_ = (sample / "steps.tsv").read_text().splitlines()
    idle = "idle\tnone\t0\t0\t1\t3.1\t0\t0\t0"
    (tmp_path / "steps.tsv").write_text("\n".join([head, idle, row, ""]))
    ask = netcost.open_experiment(tmp_path).ask.functions
    assert set(ask.components_by_size().frame["io_bytes"]) == {64}
    assert set(ask.findings().frame["protocol"].dropna()) == {"tcp"}


# Bars are as high as the tables' figures, with their parts of interrupts off.
def test_pictures_show_what_the_tables_say() -> None:
    answer = kept_experiment("io-sizes").ask.functions.components_by_size()
    titles, sides = set(), answer.frame.query("protocol == 'udp'")
    for per, column in (("packet", "weight_per_packet"), ("KiB", "weight_per_kib")):
        axes = answer.plot_cost(protocol="udp", per=per)
        tops: dict[float, float] = {}
        for bar in axes.patches:
            place = round(bar.get_x() + bar.get_width() / 2, 3)
            tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
        assert sorted(tops.values()) == pytest.approx(sorted(sides[column] / 1e3))
        titles.add(axes.get_title(loc="left"))
    axes = answer.plot(protocol="udp", io_side="receive")
    assert max(bar.get_y() + bar.get_height() for bar in axes.patches) == pytest.approx(100)
    rows = sides.query("io_side == 'receive'")
    for label, nic, major in zip(
        axes.get_xticklabels(), rows["driver_release_share"], rows["major_share"], strict=True
    ):
        assert f"driver + release {100 * nic:.0f}\nwith copy {100 * major:.0f}" in label.get_text()
    assert any("another" in text.get_text() for text in axes.get_legend().get_texts())
    titles |= {answer.plot(io_side=side).get_title(loc="left") for side in ("transmit", "receive")}
    assert len(titles | {axes.get_title(loc="left")}) == 5


def test_a_flame_graph_is_of_interrupts_where_there_are_any() -> None:
    ask = netcost.open_capture(SAMPLES / "io-sizes/tcp-1024.netcost.tar.zst").ask.functions
    assert "in interrupts" in ask.functions().plot_flame().get_title(loc="left")
    axes = ask.functions().plot_flame(kind="all")
    assert "without idle" in axes.get_title(loc="left")
    assert any(text.get_text().startswith("interrupts off: call_f") for text in axes.texts)
    # A part of the recording has none.
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        ask.functions(start_s=1.0).plot_flame()
