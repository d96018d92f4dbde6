# Migrations, switches, preemptions and wake-ups: planted ones are kept, red herrings dismissed.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from support.talking import Talk

BASE = Talk(packets=800, hog_every=200, hog_ns=3_000, sleep_every=200, asleep_ns=2_000)


def asked(path: Path, base: Talk, new: Talk) -> Any:
    return netcost.compare(
        base.write(path / "base.data"), new.write(path / "new.data")
    ).ask.comparison.other_causes()


# As in Performance of Local IP Traffic: the server is migrated far more often, the client's
# softirqs take longer, and it is no less often preempted or asleep.
def test_red_herrings_are_dismissed(tmp_path: Path) -> None:
    found = asked(tmp_path, BASE, replace(BASE, softirq_ns=4_500, move_every=10))
    rows = found.frame.set_index(["side", "suspect"])
    assert set(rows["verdict"]) == {"dismissed"}
    moves = rows.loc[("server", "migrations")]
    assert (moves["base"], moves["reason"]) == (0, "time to spare")
    # 80 of 800 packets of 11.5 us, and the few stops of the client.
    assert moves["new"] == pytest.approx(80 / (800 * 11.5e-6), rel=0.01)
    assert moves["each_ns"] == 25
    preempted = rows.loc[("client", "preemptions")]
    assert preempted["each_ns"] == 3_000
    assert preempted["base_ns_per_unit"] == 15
    assert preempted["at_most_share"] < 0.05
    (passed,) = found.tables["to_explain"].to_dict("records")
    assert passed["difference_ns"] == pytest.approx(1_500, rel=1e-3)
    counts = [found[name] for name in ("kept", "dismissed", "undecided_causes")]
    assert counts == [0, 10, 0]
    assert "per packet" in found.plot().get_xlabel()


# A neighbour that takes the client's CPU for a fifth of its time is what took the throughput.
def test_a_planted_cause_is_kept(tmp_path: Path) -> None:
    found = asked(tmp_path, BASE, replace(BASE, hog_every=5, hog_ns=12_000))
    rows = found.frame.set_index(["side", "suspect"])
    preempted = rows.loc[("client", "preemptions")]
    assert (preempted["verdict"], preempted["reason"]) == ("kept", "enough")
    assert preempted["difference_ns"] == pytest.approx(2_400 - 15)
    assert preempted["least_share"] > 0.8
    others = rows.drop(index=("client", "preemptions"))
    assert set(others["verdict"]) == {"dismissed"}


# What cannot be told from no change is not explained, and a cost of next to nothing is none.
def test_without_a_change_nothing_is_kept(tmp_path: Path) -> None:
    found = asked(tmp_path, BASE, replace(BASE, move_every=10))
    assert not found.tables["to_explain"]["is_change"].iloc[0]
    assert "kept" not in set(found.frame["verdict"])


# The rule is about what it cost a unit of work, and not about how often it happened.
def test_the_reason_is_told_of_what_the_rule_is_about(tmp_path: Path) -> None:
    # Packets take longer, and a neighbour less of the client's time.
    base = replace(BASE, hog_every=5, hog_ns=6_000)
    answer = asked(tmp_path, base, replace(base, softirq_ns=6_000, hog_ns=2_000))
    (passed,) = answer.tables["to_explain"].to_dict("records")
    assert passed["difference_ns"] > 0
    rows = answer.frame.to_dict("records")
    assert "no more" in {row["reason"] for row in rows}
    for row in rows:
        assert (row["reason"] == "no more") <= (row["difference_ns"] <= 0)


# Events cost time too: where one side alone has so many more that the change may be theirs, nobody
# knows what is to be explained.
def test_what_tracing_may_have_made_has_no_cause(tmp_path: Path) -> None:
    found = asked(tmp_path, BASE, replace(BASE, softirq_ns=3_300, move_every=1))
    (passed,) = found.tables["to_explain"].to_dict("records")
    apart = passed["new_tracing_ns"] - passed["base_tracing_ns"]
    assert apart > passed["difference_ns"] > 0
    rows = found.frame[found.frame["side"] == "client"]
    assert set(rows["reason"]) == {"tracing"}
    assert set(rows["verdict"]) == {"unknown"}
