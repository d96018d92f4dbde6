# Switches, preemptions and wake-ups of client, server and others, a second.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.kept import kept
from support.talking import Talk

SAMPLE = "local-migrations.netcost.tar.zst"


def test_planted_rates_are_told(tmp_path: Path) -> None:
    talk = Talk(packets=1_000, hog_every=10, hog_ns=10_000, sleep_every=50, asleep_ns=4_000)
    found = netcost.open_capture(talk.write(tmp_path / "a.data")).ask.processes.scheduler_rates()
    rows = found.frame.set_index("side")
    seconds = (1_000 * 10_000 + 100 * 10_000 + 20 * 4_000) / 1e9
    rates = ["voluntary_per_s", "involuntary_per_s", "wake_ups_per_s"]
    assert rows.index.to_list() == ["client", "server", "other"]
    for side, counts in (("client", (20, 100, 20)), ("server", (1_000, 0, 1_000))):
        expected = [count / seconds for count in counts]
        assert rows.loc[side, rates].astype(float).to_list() == pytest.approx(expected, rel=1e-3)
    assert rows.loc["client", "runnable_wait_ns"] == 100 * 10_000
    assert rows.loc["client", "woken_wait_ns"] == 20 * 200
    assert rows.loc["server", "woken_wait_ns"] == 1_000 * 20
    assert rows["tasks"].to_list() == [1, 1, 1]


def test_the_sides_are_the_sums_of_their_tasks() -> None:
    ask = kept(SAMPLE).ask
    found = ask.processes.scheduler_rates()
    whole = ask.processes.context_switches().frame
    for name in ("switches_per_s", "voluntary_per_s", "involuntary_per_s"):
        assert found.frame[name].sum() == pytest.approx(whole[name].sum())
        assert found.tables["rates"][name].sum() == pytest.approx(whole[name].sum())
    assert found.frame["tasks"].sum() == found.tables["rates"]["tid"].nunique()
