# The gate of netcost compare: what passes, what fails, and what cannot be judged and does not pass.

import json
from pathlib import Path

import numpy as np
import pytest

from netcost_analysis import Run, compare
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run_set import RunSet
from netcost_analysis.questions.comparison.comparability import refusals
from netcost_analysis.questions.comparison.counted import Metric
from netcost_analysis.questions.thresholds import parsed
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.run_sets import polling
from support.told import NET_RX
from support.tracedat import write_trace_dat

OPENSSL = h.Task(600, "openssl")
STEADY = [100.0, 101, 99, 100, 102, 98]
SIX = np.ones(6)


def of_figures(base: list[float], new: list[float], paired: bool = False) -> Comparison:
    def side(name: str, values: list[float]) -> RunSet:
        return RunSet(
            Run(f"{name}{at}", {"side": name, "repeat": str(at)}, {"figure": value, "other": 1.0})
            for at, value in enumerate(values)
        )

    return Comparison(side("a", base), side("b", new), beforehand=["figure"], paired=paired)


@pytest.mark.parametrize(
    ("base", "new", "condition", "verdict"),
    [
        # All of the interval is on one side, or it is not.
        (STEADY, [20 * SIX[0] + one for one in STEADY], "change(figure) > 5%", "failed"),
        (STEADY, STEADY, "change(figure) > 5%", "passed"),
        (STEADY, STEADY, "change(figure) > 0.1%", "unjudged"),
        (STEADY, [50, 150, 60, 160, 70, 110], "change(figure) > 5%", "unjudged"),
        (STEADY, [50, 150, 60, 160, 70, 110], "change(figure) < -80%", "passed"),
        (STEADY, [2 + one for one in STEADY], "change(figure) > 5%", "passed"),
        (STEADY, STEADY, "figure > 90", "failed"),
        (STEADY, STEADY, "figure > 100", "unjudged"),
        (STEADY, STEADY, "figure > 103", "passed"),
        # Neither side scatters.
        ([1.0] * 6, [12.0] * 6, "change(figure) > 5%", "failed"),
        ([1.0] * 6, [1.0] * 6, "change(figure) > 5%", "passed"),
        ([1.0] * 6, [10, 14, 11, 13, 12, 12], "change(figure) >= 900%", "failed"),
        # From 0 any difference is without end, and none is none.
        ([0.0] * 6, STEADY, "change(figure) > 5%", "failed"),
        ([0.0] * 6, STEADY, "change(figure) > 1e9%", "failed"),
        ([0.0] * 6, STEADY, "change(figure) < -5%", "passed"),
        ([0.0] * 6, [0.0] * 6, "change(figure) > 5%", "passed"),
        ([0.0] * 6, [0, 0, 0, 1, 1, 2], "change(figure) > 5%", "unjudged"),
        ([0, 0, 0, 0, 1, 2], STEADY, "change(figure) > 5%", "failed"),
        # Fewer than six of figures say nothing.
        (STEADY[:5], [2 * one for one in STEADY], "change(figure) > 5%", "unjudged"),
    ],
)
def test_a_condition_is_judged_by_the_whole_interval(
    base: list[float], new: list[float], condition: str, verdict: str
) -> None:
    frame = of_figures(base, new).ask.comparison.changes().frame
    judged = parsed(condition).of_changes(frame)
    assert judged.verdict == verdict, judged
    assert judged.met == (verdict == "failed")
    assert bool(judged.why_not) == (verdict == "unjudged")


# Of one interval every limit is in one of three places, and agrees with the test at no change.
def test_limits_fall_into_three_stretches() -> None:
    frame = of_figures(STEADY, [4 + one for one in STEADY]).ask.comparison.changes().frame
    row = frame.set_index("metric").loc["figure"]
    found = [
        parsed(f"change(figure) > {at / 1000:.3f}").of_changes(frame).verdict for at in range(100)
    ]
    assert found == sorted(found, key=["failed", "unjudged", "passed"].index)
    assert set(found) == {"failed", "unjudged", "passed"}
    assert found[0] == "failed"
    assert row["p_value"] < 0.05


@pytest.mark.parametrize(
    ("base", "new", "repeats"),
    [
        (STEADY[:5], [2 * one for one in STEADY[:5]], 6),
        (STEADY[:1], [200.0], 6),
        # The same figures on both sides of the limit never tell.
        (STEADY, [1.05 * one for one in STEADY], None),
    ],
)
def test_the_repeats_that_would_tell(
    base: list[float], new: list[float], repeats: int | None
) -> None:
    frame = of_figures(base, new).ask.comparison.changes().frame
    judged = parsed("change(figure) > 5%").of_changes(frame)
    assert (judged.verdict, judged.repeats) == ("unjudged", repeats)
    # How far fewer than 6 scatter says little.
    assert judged.is_least == (len(base) < 6)


def test_more_repeats_are_needed_the_closer_it_is() -> None:
    frame = of_figures(STEADY, [50, 150, 60, 160, 70, 110]).ask.comparison.changes().frame
    needed = [
        parsed(f"change(figure) > {limit}%").of_changes(frame).repeats for limit in (20, 30, 40)
    ]
    assert all(needed)
    assert needed == sorted(needed, reverse=True)  # type: ignore[type-var]
    assert needed[-1] >= 6  # type: ignore[operator]
    assert not parsed("change(figure) > 20%").of_changes(frame).is_least


# One of many metrics is corrected, the one that was named is not; as pairs the days are no scatter.
def test_what_a_condition_names_was_named_beforehand() -> None:
    frame = of_figures(STEADY, [20 + one for one in STEADY]).ask.comparison.changes().frame
    rows = frame.set_index("metric")
    assert rows["is_named"].to_dict() == {"figure": True, "other": False}
    assert rows.loc["figure", "p_adjusted"] == rows.loc["figure", "p_value"]
    days = [100.0, 200, 300, 400, 500, 600]
    risen = [one * (1.06 + at / 1000) for at, one in enumerate(days)]
    for paired, verdict in ((False, "unjudged"), (True, "failed")):
        found = of_figures(days, risen, paired).ask.comparison.changes()
        assert found["is_paired"] == paired
        assert parsed("change(figure) > 5%").of_changes(found.frame).verdict == verdict


# A device's interrupt and its poll, on top of a task, at a cost each.
def robbing(cost_ns: int, *more: h.Happening, count: int = 100) -> list[h.Happening]:
    happenings: list[h.Happening] = []
    for at in range(20_000, 20_000 * (count + 1), 20_000):
        happenings += [
            *(
                h.IrqEntry(at, 24, "eth0"),
                h.SoftirqRaise(at + 100, NET_RX),
                h.IrqExit(at + 300, 24),
            ),
            h.SoftirqEntry(at + 400, NET_RX),
            h.NapiPoll(at + 400 + cost_ns + at // 20_000 % 7, "eth0", 4),
            h.SoftirqExit(at + 500 + cost_ns, NET_RX),
        ]
    return [*happenings, *more]


def test_what_is_stolen_first_now_fails(netcost: Netcost, tmp_path: Path) -> None:
    base = recording(polling(2_000)).write(tmp_path / "base.data")
    new = recording(cpu(0, *robbing(9_500), task=OPENSSL)).write(tmp_path / "new.data")
    gate = ("--fail-if", "change(stolen_ns_per_packet) > 5%")
    run = netcost("compare", str(base), str(new), *gate, "--json")
    assert run.code == 3
    [condition] = json.loads(run.out)["conditions"]
    assert 2_000 < condition["low"] < condition["value"] < condition["high"] < 3_000
    assert condition["verdict"] == "failed"
    assert "blocks" in run.err
    # The other way round it is gone, by all that there was.
    run = netcost("compare", str(new), str(base), *gate, "--json")
    assert (run.code, json.loads(run.out)["conditions"][0]["value"]) == (0, -1)


def test_what_another_tool_sees_is_not_judged(netcost: Netcost, tmp_path: Path) -> None:
    base = recording(cpu(0, *robbing(8_000), task=OPENSSL)).write(tmp_path / "base.data")
    # Of the half before an exit without its entry nobody knows the owner.
    doubt = h.spurious(h.SoftirqExit(2_100_000, NET_RX))
    told = recording(cpu(0, *robbing(60, doubt, count=50), task=OPENSSL))
    new = write_trace_dat(told, tmp_path / "new.dat")
    sides = "compare", str(base), str(new), "--json"
    gate = ("--fail-if", "change(network_ns_per_packet) > 5%")
    run = netcost(*sides, *gate)
    assert run.code == 4
    rows = {row["metric"]: row for row in json.loads(run.out)["changes"]}
    assert rows["network_ns_per_packet"]["differs"] == "refused"
    assert rows["network_ns_per_packet"]["refused_by"]
    assert rows["batch_mean"]["refused_by"] == ""
    assert rows["network_ns_per_packet"]["outcome"] == ""
    # What does not depend on owners is compared.
    assert rows["batch_mean"]["differs"] == "no"
    assert netcost(*sides, *gate, "--unjudged", "pass").code == 0
    assert netcost(*sides, "--fail-if", "change(batch_mean) > 5%").code == 0
    # perf leaves out switches that ftrace shows, whoever owns the time.
    comparison = compare(base, new)
    is_refused = {
        name: bool(refusals(comparison, Metric(name, "", kind="counts")))
        for name in ("batch_mean", "switches_per_packet", "migrations_per_packet")
    }
    assert is_refused == dict(zip(is_refused, (False, True, True), strict=True))
    # What fails, fails whatever else cannot be judged.
    assert netcost(*sides, *gate, "--fail-if", "batch_mean > 1").code == 3
