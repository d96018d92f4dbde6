# The project's notebooks, run in this process: on samples, and on captures that lack something or
# are small. The answers that they show are in tests/golden.

import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

import netcost_analysis as netcost
from support.host import SAMPLES
from support.kept import kept_calibration
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talking import talk
from support.told import IDLE, NET_RX, OPENSSL, RCU, UDPSINK, robbed, written
from support.told_notebook import (
    ACCOUNTING,
    BATCHES,
    DEVICES,
    LOCAL,
    NOTEBOOKS,
    STOLEN,
    lacking,
    told_by,
)

HARDIRQS = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_script_and_notebook_are_one(script: Path) -> None:
    source = jupytext.read(script)
    book = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    found, expected = (
        [(cell.cell_type, cell.source, cell.metadata.get("tags")) for cell in one.cells]
        for one in (book, source)
    )
    assert found == expected, "make notebooks"
    assert not any(cell.get("outputs") for cell in book.cells)
    [parameters] = [cell for cell in book.cells if "parameters" in cell.metadata.get("tags", ())]
    named = re.findall(r'"(\.\./[^"]+)"', parameters.source)
    assert named
    assert all((script.parent / name).exists() for name in named)


@pytest.mark.parametrize(
    ("script", "sample", "pictures", "says"),
    [
        # The default's experiment is not another capture's.
        (BATCHES, "nic-guest/6.12-nic-1-flows.netcost.tar.zst", 6, ["rate_curve is a"]),
        (LOCAL, "local-migrations.netcost.tar.zst", 5, ["95 % interval", "client, iperf3"]),
        (DEVICES, "quiet-interface.netcost.tar.zst", 4, ["busy0 costs most", "quiet0 has no"]),
    ],
    ids=lambda one: one.stem if isinstance(one, Path) else None,
)
def test_samples(
    monkeypatch: pytest.MonkeyPatch, script: Path, sample: str, pictures: int, says: list[str]
) -> None:
    told = told_by(script, monkeypatch, path=str(SAMPLES / sample))
    assert lacking(told.words, *says) == []
    assert len(told.pictures) >= pictures
    assert all(told.pictures)


def test_a_calibration_beside_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcost, "open_experiment", lambda _: kept_calibration())
    sample = str(SAMPLES / "veth-stolen-time")
    told = told_by(ACCOUNTING, monkeypatch, path=sample, experiment="hidden-cost")
    assert re.findall(r"(\d\d) of 24 \w+ runs", told.text) == ["24", "23"]
    assert len(told.pictures) == 6


# Twelve times 2 us of hardirq and 12.5 us of softirq in 1.16 ms, with a poll of 8 packets and one
# of none.
WHOLE = {
    STOLEN: (
        *("15.0 %", "174 µs", "eth0 168 µs", "24 polls", "96 packets", "8.0 each on"),
        *("12 polls (50.0", "estimates needs", "12 episodes"),
    ),
    BATCHES: (
        *("12 NET_RX", "polled 24 times", "received 96 packets", "received 8.0", "took 150 µs"),
        *("12 (50.0 %)", ", 24.0 µs,", "eth0-rx-0 12", "needs 200", "no softnet_stat"),
    ),
}
NO_POLLS = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
NO_SOFTIRQS = tuple(one for one in t.FORMATS if "softirq" not in one.name)
NO_MIGRATIONS = tuple(one for one in t.FORMATS if "migrate" not in one.name)


# What a recording has: the words of the page about it, and how many pictures.
@pytest.mark.parametrize(
    ("script", "formats", "says", "pictures"),
    [
        (STOLEN, t.FORMATS, WHOLE[STOLEN], 9),
        (STOLEN, (*t.IRQ_FORMATS, t.NAPI_POLL), ["known: sched:sched_switch", "took"], 9),
        (STOLEN, (*t.IRQ_FORMATS, *t.SCHED_FORMATS), ["napi:napi_poll was", "took"], 6),
        (
            STOLEN,
            (*HARDIRQS, *t.SCHED_FORMATS),
            ["irq:softirq_exit were", "in softirqs is unknown"],
            None,
        ),
        (STOLEN, HARDIRQS, ["irq:softirq_exit were", "napi:napi_poll was"], None),
        (STOLEN, t.SCHED_FORMATS, ["cannot say"], None),
        (BATCHES, t.FORMATS, WHOLE[BATCHES], 8),
        (BATCHES, NO_SOFTIRQS, ["softirq_chains needs irq:softirq_entry"], None),
        (BATCHES, t.SCHED_FORMATS, ["irq_gaps needs irq:irq_handler_entry"], None),
        (BATCHES, t.IRQ_FORMATS, ["poll_sizes needs napi", "poll_costs needs napi"], None),
        (LOCAL, (*t.IRQ_FORMATS, t.NAPI_POLL), ["context_switches needs sched:sched_sw"], None),
        (LOCAL, t.SCHED_FORMATS, ["softirq_time needs irq:softirq_entry"], None),
        (LOCAL, NO_MIGRATIONS, ["migrations needs sched:sched_mig", "Softirqs took"], None),
        (DEVICES, t.FORMATS, ["eth0 costs most", "bare recording"], 3),
        (DEVICES, HARDIRQS, ["because napi:napi_poll"], 1),
        (DEVICES, NO_POLLS, ["took 150 µs"], 1),
        (DEVICES, (t.NAPI_POLL,), ["how long"], 1),
        (DEVICES, (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT), ["netcost-record --profile light"], 0),
        (ACCOUNTING, HARDIRQS, ["no victim"], 0),
    ],
)
def test_what_was_not_recorded_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: Path,
    formats: tuple[Any, ...],
    says: list[str],
    pictures: int | None,
) -> None:
    path = written(tmp_path, robbed(), formats=formats)
    told = told_by(script, monkeypatch, path=str(path))
    assert lacking(told.words, *says) == []
    assert pictures in (None, len(told.pictures))
    # Without any interrupt nothing is claimed.
    if script == STOLEN:
        assert ("etworking took" in told.text) == (formats != t.SCHED_FORMATS)


def _lossy() -> Cpu:
    whole = robbed().happenings
    return cpu(0, *whole[:24], h.Lost(380_000, 7), *whole[24:], task=OPENSSL)


# Small captures, and strange ones: what the page says, where it is about something.
SMALL: dict[str, tuple[tuple[Cpu, ...], dict[Path, list[str]]]] = {
    "wake-ups alone": (
        (cpu(0, h.Waking(5, UDPSINK), h.Waking(9, UDPSINK), task=OPENSSL),),
        {BATCHES: []},
    ),
    "a window of nothing": (
        (cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL),),
        {STOLEN: ["window is empty"], BATCHES: [], LOCAL: ["no migration"]},
    ),
    "one dispatch": (
        (
            cpu(
                0,
                *(h.SoftirqRaise(5, NET_RX), h.SoftirqEntry(9, NET_RX), h.SoftirqExit(15, NET_RX)),
                task=OPENSSL,
            ),
        ),
        {BATCHES: []},
    ),
    "a poll without a begin": (
        (cpu(0, h.NapiPoll(5, "eth0", 3), h.Waking(9, UDPSINK), task=OPENSSL),),
        {BATCHES: []},
    ),
    "an exit that was lost": (
        (
            cpu(
                0,
                *(h.IrqEntry(5, 32), h.Lost(8, 4), h.IrqEntry(20, 32), h.IrqExit(30, 32)),
                task=OPENSSL,
            ),
        ),
        {BATCHES: []},
    ),
    "losses": ((_lossy(),), {STOLEN: ["7 events were"], LOCAL: ["7 events were"]}),
    "an idle CPU": (
        (robbed(victim=IDLE),),
        {STOLEN: ["from idle: 174", "(eth0 poll 144"], LOCAL: ["no migration"]},
    ),
    "several devices": (
        tuple(robbed(number, device=f"eth{number}") for number in range(5)),
        {STOLEN: ["2 more devices", "48 polls", "192 packets", "3 more"]},
    ),
    "many CPUs": (
        tuple(
            robbed(number, h.Task(1_000 + number, f"worker-{number % 40}"), rounds=3)
            for number in range(128)
        ),
        {STOLEN: ["0-127 with events", "36 others", "CPUs 0,40,80,120"]},
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_captures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus, pages = SMALL[name]
    path = written(tmp_path, *cpus)
    for script, says in pages.items():
        told = told_by(script, monkeypatch, path=str(path))
        assert told.html
        assert lacking(told.words, *says) == []


def test_two_that_talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recording(*talk(), known=(OPENSSL, UDPSINK)).write(tmp_path / "perf.data")
    told = told_by(LOCAL, monkeypatch, path=str(path))
    # A tenth more softirq time makes it 1 % longer.
    figures = ("client, udpsink (600),", "for 20.0 µs", "2.00 µs (10.0 %)", "1.0 % longer")
    assert lacking(told.words, *figures, "1.0 % lower", "no migration") == []


def test_many_devices_are_one_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = [robbed(number, IDLE, device=f"eth{number}", rounds=4) for number in range(20)]
    told = told_by(BATCHES, monkeypatch, path=str(written(tmp_path, *cpus)))
    assert any("device and CPU" in one for one in told.pictures)


def test_a_large_capture_is_shown_in_part_and_summed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, robbed(rounds=40))
    monkeypatch.setattr("netcost_analysis.timeline.timeline._MOST_EVENTS", 80)
    told = told_by(STOLEN, monkeypatch, path=str(path))
    # 320 events in 3.96 ms: a quarter of it.
    figures = ("for 990 µs", "1.49 ms after", "20 polls", "80 packets", "580 µs of", "3.96 ms")
    assert lacking(told.text, *figures) == []


def test_a_victim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path, robbed()))
    assert "openssl" in told_by(LOCAL, monkeypatch, path=path, victim="openssl").text
    for script in (STOLEN, LOCAL):
        with pytest.raises(ValueError, match=r"'opensl' .* openssl$"):
            told_by(script, monkeypatch, path=path, victim="opensl")
