# What full batches save, by hand.

import pandas as pd
import pytest

from netcost_analysis.questions.remedies.robbed import of_polls

WHY = "batches of 1 size only"


def costs(refused: str | None = None, doubt: str | None = None) -> pd.DataFrame:
    row = {
        "device": "eth0",
        "fixed_low_ns": 900.0,
        "fixed_high_ns": 1_100.0,
        "irq_per_poll_ns": 300.0,
        "outside_polls_per_poll_ns": 200.0,
        "refused": refused,
        "doubt": doubt,
        "why": WHY,
    }
    return pd.DataFrame([row]).set_index("device")


def polls(*work: int, own: int = 10_000) -> pd.DataFrame:
    columns = {"device": "eth0", "polls": 1, "packets": work, "budget": 64, "ns": own}
    return pd.DataFrame(columns)


# 150 packets in 30 polls fill 3 of 64: 27 less, each the fixed part and 500 ns around it.
def test_full_batches_save_polls() -> None:
    found = of_polls(polls(*[5] * 30), costs(), 0)
    assert found[:2] == (27 * 1_400, 27 * 1_600)
    assert of_polls(polls(64, 64), costs(), 0)[:2] == (0, 0)
    # Polls without packets, of sent ones, need one.
    assert of_polls(polls(0, 0, 0), costs(), 0)[:2] == (2 * 1_400, 2 * 1_600)
    # A line says no more than what they took.
    assert of_polls(polls(*[5] * 30, own=10), costs(), 0)[:2] == (30 * 510, 30 * 510)


@pytest.mark.parametrize("line", [{"refused": "few sizes"}, {"doubt": "not straight"}])
def test_without_a_line_nothing_is_said_of_batches(line: dict[str, str]) -> None:
    found = of_polls(polls(*[5] * 30), costs(**line), 30 * 10_500)
    assert (found.device, found.why) == ("eth0", WHY)
    # What is too little to be said of counts in full.
    found = of_polls(polls(*[5] * 30), costs(**line), 30 * 10_500 + 1)
    assert found == (0, 30 * 10_500, None, None)
