# Recordings that were not made alike, or do not say all.

from pathlib import Path

import pytest

from netcost_analysis import compare, open_capture
from netcost_analysis.questions.comparison.comparability import findings
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.features import Header
from support.run_sets import NET_RX, codes, compared, only, plain, polling, recorded
from support.sweeps import Told, sweep

ALWAYS = {"repeats"}


def test_another_recorder_is_warned_of(tmp_path: Path) -> None:
    newer = recorded(tmp_path / "b", header=Header(tool_version="6.9.1"))
    comparison = compared(plain(), newer)
    assert codes(comparison) == {"recorders"} | ALWAYS
    assert only(comparison, "recorders").figures["names"]["new"] == ["perf 6.9.1"]


def test_other_events_are_warned_of(tmp_path: Path) -> None:
    fewer = tuple(one for one in t.FORMATS if not one.event.startswith("irq_vectors:"))
    comparison = compared(plain(), recorded(tmp_path / "b", formats=fewer))
    assert codes(comparison) == {"events"} | ALWAYS
    found = only(comparison, "events")
    assert found.severity == "warning"
    base, new = (found.figures["unlike"][side] for side in ("base", "new"))
    assert {one.partition(":")[0] for one in base} == {"irq_vectors"}
    assert not new


def test_what_tracing_cost_is_set_beside_the_difference(tmp_path: Path) -> None:
    # Alike polls, one of which leaves two and a half times the events.
    def noisy() -> list[h.Happening]:
        return [
            h.Waking(at + step, h.Task(600, "udp-load"))
            for at in range(10_000, 1_010_000, 10_000)
            for step in range(3_000, 9_000, 1_000)
        ]

    quiet = polling()
    told = sorted([*quiet.happenings, *noisy()], key=lambda one: one.at)
    comparison = compared(plain(), recorded(tmp_path / "b", cpu(0, *told)))
    assert codes(comparison) == {"tracing"} | ALWAYS
    found = only(comparison, "tracing")
    assert found.severity == "warning"
    assert found.figures["unit"] == "packet"
    assert (found.figures["base"], found.figures["new"]) == (300, 750)
    # Beside a difference that is ten times as large it is nothing.
    large = compared(
        recorded(tmp_path / "c", polling(500)), recorded(tmp_path / "d", polling(8_000))
    )
    assert codes(large) == ALWAYS


def test_losses_are_warned_of(tmp_path: Path) -> None:
    told = polling().happenings
    lossy = cpu(0, *told[:200], h.Lost(told[200].at, 7), *told[204:])
    comparison = compared(plain(), recorded(tmp_path / "b", lossy))
    found = only(comparison, "coverage")
    assert (found.severity, found.side, found.of_run) == ("warning", "new", "b")
    assert found.figures["lost"] == 7


def test_time_without_an_owner_is_warned_of(tmp_path: Path) -> None:
    # A softirq's exit without its entry: what was before it is in doubt.
    doubtful = cpu(0, *polling().happenings, h.spurious(h.SoftirqExit(1_100_000, NET_RX)))
    comparison = compared(plain(), recorded(tmp_path / "b", doubtful))
    found = only(comparison, "coverage")
    assert found.found == found.figures["owned"] < 0.99
    assert (found.figures["lost"], found.figures["lost_unknown"]) == (0, False)


def test_what_cannot_be_read_is_refused_and_crashes_nothing(tmp_path: Path) -> None:
    silent = recording(cpu(0, task=h.Task(500, "openssl"))).write(tmp_path / "a.data")
    instant = recording(cpu(0, h.SoftirqEntry(1_000, NET_RX))).write(tmp_path / "b.data")
    whole = recording(polling()).write(tmp_path / "c.data")
    for base, new, side in ((silent, whole, "base"), (whole, instant, "new")):
        comparison = compare(base, new)
        found = only(comparison, "unreadable")
        assert (found.severity, found.side) == ("refused", side)
        assert len(comparison.ask.comparison.comparability().parts["refusals"]) == 1


def test_bare_recordings_say_what_is_not_known(tmp_path: Path) -> None:
    files = [recording(polling(cost)).write(tmp_path / f"{cost}.data") for cost in (2_000, 3_000)]
    assert codes(compare(*files)) == {"unknown"} | ALWAYS
    assert codes(compare(*map(open_capture, files))) == {"unknown"} | ALWAYS


def test_a_rotated_recording_is_one_run(tmp_path: Path) -> None:
    for at in range(2):
        recording(polling()).write(tmp_path / f"perf.data.202611200000000{at}")
    whole = recording(polling()).write(tmp_path / "other.data")
    comparison = compare(
        [str(tmp_path / f"perf.data.202611200000000{at}") for at in range(2)], whole
    )
    assert "unreadable" not in codes(comparison)


@pytest.mark.parametrize(("missing", "severity"), [(1, None), (2, "warning"), (6, "refused")])
def test_softirqs_that_are_missing_are_found(
    tmp_path: Path, missing: int, severity: str | None
) -> None:
    sides = sweep(tmp_path / "s", Told(), Told("xdp", lacking=missing))
    paths = {"base_where": {"data_path": "bridge"}, "new_where": {"data_path": "xdp"}}
    found = [one for one in findings(compare(sides, **paths)) if one.code == "missing"]
    assert [one.severity for one in found] == ([severity] if severity else [])
    for one in found:
        assert one.found == pytest.approx(missing / 100, abs=5e-4)
        assert one.figures["more"] == 0
