# What document 001 found, judged: shares with what they leave open, over sizes and sides.

import re
import tomllib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.questions.functions.findings import (
    DOCUMENT,
    NO,
    OPEN,
    PART,
    UNTESTED,
    YES,
    _judged,
)
from support.kept import kept_experiment

SAID = tomllib.loads(DOCUMENT.read_text())
DRIVER = {"column": "driver_share", "least": 0.26, "at": "every size"}
COPY = {"column": "copy_share", "most": 0.34, "at": "every size"}


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
    major = {"column": "protocol_share", "most": "major_share", "at": "every size"}
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
        (major, (0.2,), 0, YES),
        (major, (0.2,), 0.2, OPEN),
        (major, (0.6,), 0.2, NO),
        (DRIVER, (np.nan,), 0, OPEN),
    ):
        assert judged(one, *shares, open_=open_)["holds"] == holds, (one, shares, open_)


def test_received_interrupts_may_be_left_out() -> None:
    found = judged(DRIVER, 0.2, behind=0.5)
    assert (found["holds"], found["holds_without_interrupts"]) == (NO, YES)
    assert judged(DRIVER, 0.2)["holds_without_interrupts"] == NO


def test_ours_are_the_ends_over_all_sizes() -> None:
    found = judged(DRIVER, 0.1, 0.3, open_=0.1)
    assert 9 < found["ours_low"] < 10
    assert 40 < found["ours_high"] < 41.1
    why = judged(DRIVER, 0.4, 0.1)["why"]
    assert re.findall(r"(yes|no) at (\d+)", why) == [("yes", "64"), ("no", "256")]


def test_cpus_are_of_a_link() -> None:
    one = {"column": "cores_per_gbit", "least": 0.2, "at": "the largest size"}
    found = judged(one, 1.9, 0.21)
    assert (found["ours_low"], found["ours_unit"]) == (pytest.approx(2.1), "CPUs")
    assert found["holds"] == YES
    assert found["holds_without_interrupts"] is None


# What is judged by is what stands there.
def test_bounds_are_the_documents_figures() -> None:
    for one in SAID["tested"]:
        bound, number = one.get("least", one.get("most")), re.search(r"(\d+) %", one["figure"])
        assert number is None or float(number[1]) == pytest.approx(100 * bound)


def test_the_sample_is_judged_whole() -> None:
    experiment = kept_experiment("io-sizes")
    answer = experiment.ask.functions.findings()
    rows = answer.frame
    tested = rows[rows["holds"] != UNTESTED]
    assert set(rows["claim"]) == {one["claim"] for kind in SAID.values() for one in kind}
    # Two protocols, two sides; of cores, receiving alone.
    assert len(tested) == 6 * 4 + 2
    sides = experiment.ask.functions.components_by_size()["sides"]
    assert {one["column"] for one in SAID["tested"]} <= set(sides)
    verdicts = answer.tables["verdicts"].set_index("claim")["holds"]
    # A veth has hardly a driver.
    (driver,) = (one["claim"] for one in SAID["tested"] if one["column"] == "driver_share")
    assert verdicts[driver] == NO
    (release,) = (one["claim"] for one in SAID["tested"] if one["column"] == "release_share")
    by = rows[rows["claim"] == release].set_index(["protocol", "io_side"])
    assert by["holds_without_interrupts"]["udp", "receive"] == YES
    assert (rows["holds"] == UNTESTED).sum() == len(SAID["untested"])


def test_an_experiment_of_other_steps_is_refused() -> None:
    ask = kept_experiment("hidden-cost").ask.functions
    for answer in (ask.findings(), ask.components_by_size()):
        assert "lacks io_bytes" in str(answer.refusal)
