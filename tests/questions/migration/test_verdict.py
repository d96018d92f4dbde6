# What is said of migrations: how many there were, and what an effect of theirs comes to.

import re

import pandas as pd
import pytest

from netcost_analysis.questions.migration.migration_verdict import judged

MS = 1_000_000
# The reason that one of four words has.
CLOSE = "too close in time"


def verdict(
    count: int,
    low: float,
    high: float,
    studied: int = 40,
    own_ms: int = 500,
    several: bool = False,
    problem: str | None = None,
) -> tuple[str, str]:
    row = pd.Series({"studied": studied, "effect": (low + high) / 2,
                     "effect_low": low, "effect_high": high})  # fmt: skip
    given = (count, 10_000 * MS, 10 * MS, 1_000 * MS, own_ms * MS, row)
    found = judged(*given, several=several, problem=problem)
    return found["explains"], found["reason"]


def test_the_verdict() -> None:
    nan = float("nan")
    assert verdict(0, nan, nan, 0) == ("no", "not migrated")
    # Document 003: too seldom to matter, whatever each does.
    row = pd.Series({"studied": 0, "effect": nan, "effect_low": nan, "effect_high": nan})
    seldom = judged(5, 10_000 * MS, 10 * MS, 10_000 * MS, 9_000 * MS, row)
    assert (seldom["explains"], seldom["reason"], seldom["reach_share"]) == (
        "no",
        "too seldom",
        0.005,
    )
    assert "0.5 % of" in seldom["why"]
    nearly = judged(997, 10**12, 10 * MS, 10**12, 10**12, row)
    assert "0.99 % of" in nearly["why"]
    hardly = judged(1, 10**12, 10 * MS, 10**12, 10**12, row)
    for fact in ("1 migration", "1000 s", "10.0 ms", "<0.01 % of"):
        assert fact in hardly["why"]
    # 40 times 10 ms in 500 ms of its own: an effect of 0.1 is 8 %.
    assert verdict(40, -0.2, -0.05) == verdict(40, 0.05, 0.2) == ("yes", "effect")
    assert verdict(40, -0.2, 0.01) == verdict(40, -0.2, -0.001) == ("cannot tell", "uncertain")
    assert verdict(40, -0.01, 0.01) == ("no", "too small")
    assert verdict(40, -0.2, -0.05, studied=9) == ("cannot tell", "too few studied")
    # Studied in too few blocks of time.
    assert verdict(40, nan, nan) == ("cannot tell", CLOSE)
    # What less than half of them did need not be what the others did.
    assert verdict(81, -0.2, -0.05) == ("cannot tell", "under half studied")
    assert verdict(81, -0.001, 0.001) == ("cannot tell", "under half studied")
    assert verdict(80, -0.2, -0.05) == ("yes", "effect")


def test_several_tasks_together_get_no_yes() -> None:
    # What one gained another may have lost. That nobody's changed is a "no" all the same.
    assert verdict(40, -0.2, -0.05, several=True) == ("cannot tell", "others' time")
    assert verdict(40, 0.05, 0.2, several=True) == ("cannot tell", "others' time")
    assert verdict(40, -0.01, 0.01, several=True) == ("no", "too small")


def test_where_nothing_can_be_set_side_by_side() -> None:
    nan = float("nan")
    assert verdict(40, nan, nan, 0, problem="clocks disagree") == ("cannot tell", "incomparable")
    assert verdict(0, nan, nan, 0, problem="clocks disagree") == ("no", "not migrated")


def test_what_is_at_stake_is_frequency_times_effect() -> None:
    row = pd.Series({"studied": 40, "effect": -0.1, "effect_low": -0.2, "effect_high": -0.05})
    found = judged(40, 10_000 * MS, 10 * MS, 1_000 * MS, 500 * MS, row)
    assert found["migrations_per_s"] == 4
    assert found["reach_share"] == pytest.approx(0.4)
    assert found["at_stake_low_share"] == pytest.approx(40 * 10 * -0.2 / 500)
    assert found["at_stake_high_share"] == pytest.approx(40 * 10 * -0.05 / 500)
    assert re.findall(r"-[\d.]+", found["why"]) == ["-16.0", "-4.0"]
