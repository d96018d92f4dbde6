# notebooks/02-anatomy-and-batches: the figures of its functions on a sample, and a line instead of
# each part that a capture cannot answer.

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import about
from netcost_analysis.answers.registry import questions
from netcost_analysis.display.templates import as_text, render
from netcost_analysis.questions.batches.rate_curve import explained
from netcost_analysis.units import duration, share
from support import told_notebook
from support.asked import (
    irq_gaps,
    long_softirqs,
    poll_costs,
    poll_sizes,
    rate_curve,
    softirq_chains,
    squeezes,
)
from support.host import ROOT, SAMPLES
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.robbed import robbed, written
from support.told import IDLE, NET_RX, OPENSSL, UDPSINK
from support.told_notebook import Told, tell, told_by

SCRIPT = ROOT / "notebooks" / "02-anatomy-and-batches.py"
SAMPLE = "nic-guest/6.12-nic-1-flows.netcost.tar.zst"


@pytest.fixture(scope="module")
def page() -> str:
    with pytest.MonkeyPatch.context() as patch:
        told = told_by(SCRIPT, patch, path=str(SAMPLES / SAMPLE))
    assert len(told.pictures) >= 6
    assert all(told.pictures)
    return told.text


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    # The notebook has no victim.
    source = SCRIPT.read_text() + "\nvictim = None\n"
    monkeypatch.setattr(told_notebook, "SCRIPT", Source(source))
    return monkeypatch


class Source:
    def __init__(self, text: str) -> None:
        self.text = text

    def read_text(self) -> str:
        return self.text


def words(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page))


def test_the_figures_are_the_functions(page: str) -> None:
    text = words(page)
    timeline = kept(SAMPLE).timeline()
    chains = softirq_chains(timeline)
    own = chains["poll_ns"].sum() + chains["outside_polls_ns"].sum()
    assert f"{len(chains):,} NET_RX" in text
    assert f"polled {chains['polls'].sum():,}" in text
    assert f"{duration(own)}, {share(own / timeline.duration_ns / 2)}" in text
    sizes = poll_sizes(timeline)
    full = sizes.loc[sizes["trap"] == "full", "polls"].sum()
    assert f"{full:,} ({share(full / sizes['polls'].sum())})" in text
    row = squeezes(timeline).by_cpu.iloc[0]
    assert f"{row['squeezes_low']:,} to {row['squeezes_high']:,}" in text
    assert f"of {row['with_polls']:,} NET_RX" in text
    longest = long_softirqs(timeline)["wall_ns"].max()
    assert f">{duration(longest)}</td>" in page
    gaps = irq_gaps(timeline)
    assert f"{gaps['interrupts'].iloc[0]:,} interrupts" in text
    cost = poll_costs(timeline).iloc[0]
    assert duration(cost["marginal_ns"]) in text


WITHOUT = "rate_curve is asked"


def test_somebody_elses_capture_is_not_told_with_the_samples_experiment(page: str) -> None:
    assert WITHOUT in words(page)
    assert "datapath-sweep, kernel" not in words(page)


# Given is not the default, whatever the folder is called.
def test_an_experiment_that_is_given_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "datapath-sweep"
    mine.mkdir()
    (mine / "experiment.json").write_text('{"netcost_experiment": 1}')
    (mine / "steps.tsv").write_text("bundle\tpps\na\t1\n")
    path = written(tmp_path, robbed())
    for given, says, silent in (
        (str(mine), f"of {mine} was", WITHOUT),
        (None, WITHOUT, "no step of"),
    ):
        text = words(told_by(SCRIPT, monkeypatch, path=str(path), experiment=given).text)
        assert says in text
        assert silent not in text


def test_a_whole_small_capture(tmp_path: Path, told: pytest.MonkeyPatch) -> None:
    shown = tell(written(tmp_path, robbed()), told)
    text = words(shown.text)
    # Twelve softirqs of 12.5 us, with a poll of 8 packets and one of none.
    for figure in (
        *("12 NET_RX", "polled 24 times", "received 96 packets", "8.0 in", "took 150 µs"),
        *("12 (50.0 %)", ", 24.0 µs,", "eth0-rx-0 12", "needs 200", "no softnet_stat"),
    ):
        assert figure in text, figure
    assert len(shown.pictures) == 8


@pytest.mark.parametrize(
    ("kept", "needs"),
    [
        (
            tuple(one for one in t.FORMATS if "softirq" not in one.name),
            ["softirq_chains needs irq:softirq_entry", "netcost-record --profile light"],
        ),
        (t.SCHED_FORMATS, ["irq_gaps needs irq:irq_handler_entry"]),
        (t.IRQ_FORMATS, ["poll_sizes needs napi:napi_poll", "poll_costs needs napi:napi_poll"]),
    ],
    ids=["no softirqs", "only tasks", "no switches and polls"],
)
def test_what_was_not_recorded_is_said(
    tmp_path: Path, told: pytest.MonkeyPatch, kept: tuple[object, ...], needs: list[str]
) -> None:
    text = words(tell(written(tmp_path, robbed(), formats=kept), told).text)
    assert all(one in text for one in needs)


@pytest.mark.parametrize(
    "happenings",
    [
        (h.Waking(5, UDPSINK), h.Waking(9, UDPSINK)),
        (h.SoftirqRaise(5, NET_RX),),
        (h.SoftirqRaise(5, NET_RX), h.SoftirqEntry(9, NET_RX), h.SoftirqExit(15, NET_RX)),
        (h.NapiPoll(5, "eth0", 3), h.Waking(9, UDPSINK)),
        (h.IrqEntry(5, 32), h.Lost(8, 4), h.IrqEntry(20, 32), h.IrqExit(30, 32)),
    ],
    ids=["nothing", "no time", "one dispatch", "a poll without a begin", "a loss"],
)
def test_small_captures(
    tmp_path: Path, told: pytest.MonkeyPatch, happenings: tuple[h.Happening, ...]
) -> None:
    assert tell(written(tmp_path, cpu(0, *happenings, task=OPENSSL)), told).html


def test_names_from_strangers(tmp_path: Path, told: pytest.MonkeyPatch) -> None:
    # Two devices are drawn one by one, so each name is a device's that is, and a task's.
    cpus = [
        robbed(number, victim=h.Task(500 + number, name), device=name)
        for number, name in enumerate(("<script>$x_{1", "a\tb\nc%(x)s{0}"))
    ]
    shown = tell(written(tmp_path, *cpus), told)
    assert "<script" not in shown.text
    assert shown.text.count("No line") == 2


def test_an_idle_cpu_and_many_devices(tmp_path: Path, told: pytest.MonkeyPatch) -> None:
    cpus = [robbed(number, IDLE, device=f"eth{number}", rounds=4) for number in range(20)]
    path = recording(*cpus, known=(IDLE,)).write(tmp_path / "perf.data")
    shown: Told = tell(path, told)
    # One picture of all instead of one for each.
    assert any("device and CPU" in one for one in shown.pictures)


def said_of(table: pd.DataFrame) -> str:
    asked = netcost.open_experiment(ROOT / "sample-data" / "nic-guest")
    answer = explained(asked, table)
    about(answer, questions()["rate_curve"], asked, {"Experiment": asked}, {})
    return as_text(answer.words)


def test_words_of_a_flat_curve() -> None:
    curve = rate_curve(netcost.open_experiment(ROOT / "sample-data" / "nic-guest"))
    assert "one step only" in said_of(curve)
    flat = curve.assign(
        curve="mine",
        flatness=[float("nan"), 0.9, 0.1, 0.2],
        share_growth=1.1,
        rate_growth=5.0,
        batch_growth=5.0,
        scheduled_share=0.0,
        expected_share=0.2,
        unbatched_share=0.8,
        marginal_share=0.02,
        packet_part_ns=100.0,
        poll_part_ns=5_000.0,
    )
    text = said_of(flat)
    for figure in ("in 1 step: mine", "75.0 %", "11 times", "26 times", "50.0 times"):
        assert figure in text
    near = flat.assign(rate_per_s=[50_000.0, 1e6, 1e6, 1e6], batch_mean=2.0)
    near["flatness"] = [0.1, 0.9, 0.1, 0.2]
    # 10 (100 + 5,000 / 64) / (100 + 5,000 / 2) = 0.69: batches of 64 would do more than enough.
    assert [one for one in ("10 times", "0.7 times") if one not in said_of(near)] == []


def test_counts_are_a_range_or_one() -> None:
    row = {"cpu": 0, "squeezes_low": 3, "squeezes_high": 3, "with_polls": 2_500, "by_budget": 3}
    row |= {"by_time_low": 1_000, "by_time_high": 2_000}
    told = {"by_cpu": [row], "against_softnet": []}
    text = as_text(render(questions()["squeezes"].template, told))
    assert re.findall(r"[\d,]+\d|\d", text.partition("CPU 0")[2])[:5] == [
        *("3", "2,500", "3", "1,000", "2,000"),
    ]
