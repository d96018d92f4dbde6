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
    assert (
        "Packet processing took <strong>15.0 %</strong> of openssl's time on CPU: 174 µs"
        in told.text
    )
    assert "eth0 (168 µs)" in told.text
    assert "12 used" not in told.text
    assert "<strong>eth0</strong>: 24 polls handled 96 packets: 8.0 in the mean" in told.text
    assert "12 polls (50.0 %) received nothing" in told.text
    assert "estimates needs what netcost-record keeps beside a trace" in told.text
    assert len(told.pictures) == 9
    assert "12 episodes of interrupts on top of openssl" in told.text
    assert "<p>Nothing was handed over" in told.text


@pytest.mark.parametrize(
    ("kept", "sentence", "pictures"),
    [
        (
            (*t.IRQ_FORMATS, t.NAPI_POLL),
            "The share of its time on CPU is not known: sched:sched_switch",
            9,
        ),
        (
            tuple(one for one in t.FORMATS if one is not t.NAPI_POLL),
            "napi:napi_poll was not recorded",
            6,
        ),
        (
            tuple(one for one in t.FORMATS if "softirq" not in one.name),
            "irq:softirq_entry and irq:softirq_exit were not recorded",
            8,
        ),
    ],
    ids=["no switches", "no polls", "no softirqs"],
)
def test_events_that_were_not_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: tuple[object, ...],
    sentence: str,
    pictures: int,
) -> None:
    told = tell(written(tmp_path, robbed(), formats=kept), monkeypatch)
    assert sentence in told.text
    assert len(told.pictures) == pictures


def test_a_capture_of_hardirqs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)
    told = tell(written(tmp_path, robbed(), formats=formats), monkeypatch)
    for sentence in (
        "irq:softirq_entry and irq:softirq_exit were not recorded",
        "napi:napi_poll was not recorded",
        "The share of its time on CPU is not known: sched:sched_switch",
    ):
        assert sentence in told.text


def test_without_any_interrupt_it_claims_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(written(tmp_path, robbed(), formats=t.SCHED_FORMATS), monkeypatch)
    assert "<strong>cannot say</strong> what packet processing took from openssl" in told.text
    assert "Packet processing took" not in told.text


def test_without_softirqs_it_is_a_lower_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT, *t.SCHED_FORMATS)
    told = tell(written(tmp_path, robbed(), formats=kept), monkeypatch)
    assert re.search(r"Packet processing took <strong>.*?, as far as it was recorded", told.text)
    assert "irq:softirq_entry and irq:softirq_exit were not recorded" in told.text
    assert "napi:napi_poll, which names them, was not recorded" in told.text


def test_several_devices_are_all_thieves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = [robbed(number, device=f"eth{number}") for number in range(5)]
    told = tell(written(tmp_path, *cpus), monkeypatch)
    assert "<p>2 more devices, together 48 polls and 192 packets.</p>" in told.text
    assert re.search(r"The thieves are eth\d \(.*?\), eth\d .*? and 2 more, in their", told.text)


def test_only_an_idle_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(written(tmp_path, robbed(victim=IDLE)), monkeypatch)
    assert "No task was seen" in told.text
    assert "<li>from idle: 174 µs (eth0 poll 144 µs," in told.text
    assert "Packets per poll of eth0" in names(told)


def test_a_window_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(written(tmp_path, cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL)), monkeypatch)
    assert "The window is empty" in told.text
    assert "irq:softirq_entry and irq:softirq_exit were recorded, and did not happen" in told.text


def test_many_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [h.Task(1_000 + number, f"worker-{number % 40}") for number in range(128)]
    cpus = [robbed(number, task, rounds=3) for number, task in enumerate(tasks)]
    told = tell(written(tmp_path, *cpus), monkeypatch)
    assert "0-127 with events" in told.text
    assert "36 others" in told.text
    assert "CPUs 0,40,80,120" in told.text


@pytest.mark.parametrize("name", ["<script>$x_{1%s", "a\tb\nc\x1b[1m网络"])
def test_names_from_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    told = tell(written(tmp_path, robbed(victim=h.Task(500, name), device=name)), monkeypatch)
    assert "<script" not in told.text
    assert "\x1b" not in told.text + names(told)
    assert re.search(r"took <strong>15\.0 %</strong>", told.text)


def test_losses_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = robbed()
    happenings = (*whole.happenings[:24], h.Lost(380_000, 7), *whole.happenings[24:])
    told = tell(written(tmp_path, cpu(0, *happenings, task=OPENSSL)), monkeypatch)
    assert "7 events were lost" in told.text
    assert "The record of these CPUs has" in told.text


def test_a_victim_that_did_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^no task 'opensl' in the window; there are openssl$"):
        tell(written(tmp_path, robbed()), monkeypatch, victim="opensl")


def test_a_large_capture_is_shown_in_part_and_summed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, robbed(rounds=40))
    monkeypatch.setattr("netcost_analysis.timeline.timeline._MOST_EVENTS", 80)
    told = tell(path, monkeypatch)
    # 320 events in 3.96 ms: a quarter of it.
    assert "are of 990 µs from its middle, 1.49 ms after its start" in told.text
    assert "<strong>eth0</strong>: 20 polls handled 80 packets" in told.text
    assert "580 µs of 3.96 ms" in told.text
