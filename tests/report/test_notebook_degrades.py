# The report on captures that lack something: a sentence that names it, never a traceback.

import re
from pathlib import Path

import pytest

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.robbed import robbed, written
from support.told import IDLE, OPENSSL, RCU
from support.told_notebook import Told, tell


def names(told: Told) -> str:
    return " ".join(told.pictures)


def test_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(written(tmp_path, robbed()), monkeypatch)
    # Twelve times 2 us of hardirq and 12.5 us of softirq in 1.16 ms: 15.0 %.
    for figure in (
        *("15.0 %", "174 µs", "eth0 168 µs", "24 polls", "96 packets"),
        *("8.0 in the", "12 polls (50.0", "estimates needs", "12 episodes"),
    ):
        assert figure in told.text, figure
    assert "12 used" not in told.text
    assert len(told.pictures) == 9


HARDIRQS = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)


# Without softirqs it is a lower bound; without any interrupt nothing is claimed.
@pytest.mark.parametrize(
    ("kept", "named", "pictures"),
    [
        ((*t.IRQ_FORMATS, t.NAPI_POLL), ["known: sched:sched_switch"], 9),
        ((*t.IRQ_FORMATS, *t.SCHED_FORMATS), ["napi:napi_poll was"], 6),
        (
            (*HARDIRQS, *t.SCHED_FORMATS),
            ["irq:softirq_exit were", ", as far as"],
            None,
        ),
        (
            HARDIRQS,
            ["irq:softirq_exit were", "napi:napi_poll was", "known: sched:sched_switch"],
            None,
        ),
        (t.SCHED_FORMATS, ["<strong>cannot say</strong>"], None),
    ],
    ids=["no switches", "no polls", "no softirqs", "hardirqs alone", "no interrupts"],
)
def test_events_that_were_not_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: tuple[object, ...],
    named: list[str],
    pictures: int | None,
) -> None:
    told = tell(written(tmp_path, robbed(), formats=kept), monkeypatch)
    assert [one for one in named if one not in told.text] == []
    assert len(told.pictures) == (pictures or len(told.pictures))
    assert ("etworking took" in told.text) == (kept != t.SCHED_FORMATS)


def test_several_devices_are_all_thieves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = [robbed(number, device=f"eth{number}") for number in range(5)]
    told = tell(written(tmp_path, *cpus), monkeypatch)
    for figure in ("2 more devices", "48 polls", "192 packets"):
        assert figure in told.text
    assert re.search(r"eth\d \d.*eth\d.*3 more", told.text)


def test_only_an_idle_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(written(tmp_path, robbed(victim=IDLE)), monkeypatch)
    assert "from idle: 174" in told.text
    assert "(eth0 poll 144" in told.text
    assert "of eth0" in names(told)


def test_a_window_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(written(tmp_path, cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL)), monkeypatch)
    assert "window is empty" in told.text
    assert "irq:softirq_exit were recorded" in told.text


def test_many_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [h.Task(1_000 + number, f"worker-{number % 40}") for number in range(128)]
    cpus = [robbed(number, task, rounds=3) for number, task in enumerate(tasks)]
    told = tell(written(tmp_path, *cpus), monkeypatch)
    assert "0-127 with events" in told.text
    assert "36 others" in told.text
    assert "CPUs 0,40,80,120" in told.text


def test_names_from_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<script>$x_{1%s\t\n\x1b[1m网络"
    told = tell(written(tmp_path, robbed(victim=h.Task(500, name[:15]), device=name)), monkeypatch)
    assert "<script" not in told.text
    assert "\x1b" not in told.text + names(told)
    assert "15.0 %" in told.text


def test_losses_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = robbed()
    happenings = (*whole.happenings[:24], h.Lost(380_000, 7), *whole.happenings[24:])
    told = tell(written(tmp_path, cpu(0, *happenings, task=OPENSSL)), monkeypatch)
    assert "7 events were" in told.text


def test_a_victim_that_did_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"'opensl' .* openssl$"):
        tell(written(tmp_path, robbed()), monkeypatch, victim="opensl")


def test_a_large_capture_is_shown_in_part_and_summed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, robbed(rounds=40))
    monkeypatch.setattr("netcost_analysis.timeline.timeline._MOST_EVENTS", 80)
    told = tell(path, monkeypatch)
    # 320 events in 3.96 ms: a quarter of it.
    for figure in ("of 990 µs", "1.49 ms after", "20 polls", "80 packets", "580 µs of", "3.96 ms"):
        assert figure in told.text, figure
