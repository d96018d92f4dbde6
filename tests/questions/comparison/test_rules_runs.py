# How many runs there are, in which order they were made, and how far apart they are; whether their
# steps were what they were set to, and whole.

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from netcost_analysis import Run, compare
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run_set import RunSet
from support.perfdata import cpu
from support.run_sets import codes, compared, measured, only, plain, polling, recorded, severities
from support.sweeps import Told, sweep

STEADY = [100, 103, 99, 101, 98, 102, 100, 101]
RISING = [100, 101, 102, 104, 105, 106, 107, 108]
NEARLY = [100, 102, 101, 104, 103, 106, 106, 108]
WILD = [60, 140, 75, 120, 90, 110, 70, 130]
EVEN, ODD = range(0, 16, 2), range(1, 16, 2)
# As they were made, rising figures went up and down.
MIXED = (1, 9, 3, 15, 5, 13, 7, 11)


def figures(
    base: Sequence[float],
    new: Sequence[float],
    base_rows: Sequence[int] = EVEN,
    new_rows: Sequence[int] = ODD,
    **labels: str,
) -> Comparison:
    first = measured("base", base, base_rows[: len(base)], **labels)
    other = dict.fromkeys(labels, "other")
    return compared(first, measured("new", new, new_rows[: len(new)], **other))


@pytest.mark.parametrize(
    ("runs", "labels", "expected"),
    [
        ((STEADY, STEADY), {}, {}),
        ((STEADY, STEADY[:5]), {}, {"repeats": {"side": "new", "found": 5, "limit": 6}}),
        ((STEADY, STEADY, range(8), range(8, 16)), {}, {"order": {"first": "base"}}),
        ((STEADY, STEADY, range(8, 16), range(8)), {}, {"order": {"first": "new"}}),
        ((STEADY, RISING), {}, {"drift": {"side": "new", "rises": True, "runs": 8}}),
        (
            *((STEADY, NEARLY), {}),
            {"drift": {"found": pytest.approx(stats.spearmanr(range(8), NEARLY).pvalue)}},
        ),
        ((RISING[::-1], STEADY), {}, {"drift": {"side": "base", "rises": False}}),
        # Of five nobody can tell.
        ((STEADY, RISING[:5]), {}, {"repeats": {"side": "new"}}),
        ((STEADY, RISING, EVEN, MIXED), {}, {}),
        (
            *((WILD, STEADY), {}),
            {"baseline": {"found": pytest.approx(0.4875), "number": 8, "of": "repeats"}},
        ),
        # Of the new side that is its own figure's interval.
        ((STEADY, WILD), {}, {}),
        (
            *((STEADY, STEADY), {"data_path": "bridge"}),
            {"labels": {"labels": {"kernel": ("base", "new"), "data_path": ("bridge", "other")}}},
        ),
    ],
)
def test_figures_are_suspected_for_one_reason(
    runs: tuple[Sequence[int], ...], labels: dict[str, str], expected: dict[str, dict[str, Any]]
) -> None:
    comparison = figures(*runs, **labels)
    assert codes(comparison) == set(expected)
    for code, wanted in expected.items():
        found = only(comparison, code)
        assert found.severity == ("note" if code == "repeats" else "warning")
        known = {**found._asdict(), **found.figures}
        assert {name: known[name] for name in wanted} == wanted


def test_runs_that_nobody_ordered_are_noted() -> None:
    sides = figures(STEADY, STEADY).sides
    bare = [RunSet(replace(run, place=None) for run in runs) for runs in sides.values()]
    assert only(compared(*bare), "order_unknown").severity == "note"


def test_captures_are_ordered_by_their_hosts_clock(tmp_path: Path) -> None:
    def run(at: int, host: str = "one") -> Run:
        files = {"before/settings/hostname": f"{host}\n"}
        return recorded(tmp_path / f"{host}{at}", at_s=1_000 + at, files=files)

    first, second, third, fourth = map(run, (1, 2, 3, 4))
    turns = compared(RunSet([first, third]), RunSet([second, fourth]))
    assert codes(turns) == {"repeats"}
    assert codes(compared(RunSet([first, second]), RunSet([third, fourth]))) == {"repeats", "order"}
    others = compared(RunSet([first, third]), RunSet([run(2, "other")]))
    assert "order_unknown" in codes(others)


# Its polls take ten times as long from the middle on.
def test_a_disturbed_base_is_found_over_parts_of_its_time(tmp_path: Path) -> None:
    slower, faster = polling(5_000).happenings, polling(500).happenings
    told = [one for one in faster if one.at < 500_000] + [one for one in slower if one.at > 500_000]
    disturbed = recorded(tmp_path / "a", cpu(0, *told))
    comparison = compared(disturbed, plain("b"))
    assert codes(comparison) == {"baseline", "repeats"}
    found = only(comparison, "baseline").figures
    assert (found["number"], found["of"]) == (8, "parts")


def test_a_label_that_one_side_lacks_is_not_known_to_differ(tmp_path: Path) -> None:
    labelled = recorded(tmp_path / "a", labels={"kernel": "6.1", "data_path": "xdp"})
    other = recorded(tmp_path / "b", labels={"data_path": "bridge"})
    assert codes(compared(labelled, other)) == {"repeats"}


@pytest.mark.parametrize(("missing", "severity"), [(1, None), (2, "warning"), (6, "refused")])
def test_softirqs_that_are_missing_are_found(
    tmp_path: Path, missing: int, severity: str | None
) -> None:
    sides = sweep(tmp_path / "s", Told(), Told("xdp", lacking=missing))
    paths = {"base_where": {"data_path": "bridge"}, "new_where": {"data_path": "xdp"}}
    comparison = compare(sides, **paths)
    assert severities(comparison).get("missing") == severity
    if severity:
        found = only(comparison, "missing")
        assert found.found == pytest.approx(missing / 100, abs=5e-4)
        assert found.figures["more"] == 0


# As the lab's table of steps says it: what a step was set to, and what its control counted.
@pytest.mark.parametrize(
    ("labels", "controls", "fails"),
    [
        ({}, {"control_packets": 40_000, "control_packets_elsewhere": 31}, False),
        ({}, {"control_packets": 31, "control_packets_elsewhere": 40_000}, True),
        ({"rps": "on", "cpus": "two"}, {"control_handed": 186_731}, False),
        ({"rps": "on", "cpus": "two"}, {"control_handed": 3}, True),
        ({"rps": "off", "cpus": "two"}, {"control_handed": 186_731}, True),
        ({"rps": "on", "cpus": "one"}, {"control_handed": 0}, False),
        *(
            (
                {"skb_defer_max": defer},
                {"control_freed_by_allocator": there, "control_freed_by_reader": 410 - there},
                (there > 205) != (defer == "64"),
            )
            for defer in ("0", "64")
            for there in (5, 400)
        ),
    ],
)
def test_a_step_whose_control_failed_is_refused(
    labels: dict[str, str], controls: dict[str, float], fails: bool
) -> None:
    base = measured("base", range(100, 106))
    new = measured("new", range(100, 106), **labels)
    runs = [replace(run, controls=controls if at == 3 else {}) for at, run in enumerate(new)]
    comparison = compared(base, RunSet(runs))
    assert ("controls" in severities(comparison)) == fails
    if fails:
        assert only(comparison, "controls").of_run == "new/3"
        # The throughput is what it is.
        assert set(comparison.ask.comparison.changes().frame["differs"]) == {"no"}


def test_a_victims_run_is_not_compared_with_a_whole_recording(tmp_path: Path) -> None:
    ran = {"comm": "udp-load", "start_ns": 100_000, "end_ns": 900_000}
    path = recorded(tmp_path / "b", polling()).captures[0].path
    manifest = json.loads((Path(path) / "manifest.json").read_text())
    (Path(path) / "manifest.json").write_text(json.dumps({**manifest, "victim": ran}))
    comparison = compared(plain(), compare(path, plain().captures[0].path).base.runs[0])
    assert severities(comparison)["windows"] == "refused"
