# The project's notebooks, run in this process: on samples, on captures that lack something, and on
# names that would do harm. The answers that they show are in tests/golden.

import re
from html import unescape
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import about
from netcost_analysis.answers.registry import questions
from netcost_analysis.display.templates import as_text, render
from netcost_analysis.questions.batches.rate_curve import explained
from support import fleets, sweeps
from support.asked import rate_curve
from support.doctored import doctored
from support.host import ROOT, SAMPLES
from support.kept import kept_calibration
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.stacks import capture_of, stack
from support.talking import talk
from support.told import IDLE, NET_RX, OPENSSL, RCU, UDPSINK, robbed, written
from support.told_notebook import Told, told_by

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.py"))
STOLEN, BATCHES, LOCAL, DEVICES, ACCOUNTING, SWEEP, _, CYCLES, FLEET = NOTEBOOKS
HARDIRQS = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)
SCRIPT = "<script>$x_{1"
NET_DEV = "Inter-|\n face |\n  eth0: " + " ".join(["0"] * 16) + "\n"


def words(told: Told) -> str:
    return unescape(re.sub(r"<[^>]+>", "", told.text))


def lacking(text: str, *phrases: str) -> list[str]:
    return [one for one in phrases if one not in text]


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
        (STOLEN, "nic-stolen-time", 10, ["all CPU time", "for openssl"]),
        # The default's experiment is not another capture's.
        (BATCHES, "nic-guest/6.12-nic-1-flows.netcost.tar.zst", 6, ["rate_curve is asked"]),
        (LOCAL, "local-migrations.netcost.tar.zst", 5, ["95 % interval", "client, iperf3"]),
        (DEVICES, "quiet-interface.netcost.tar.zst", 4, ["busy0 costs most", "quiet0 has no"]),
    ],
    ids=lambda one: one.stem if isinstance(one, Path) else None,
)
def test_samples(
    monkeypatch: pytest.MonkeyPatch, script: Path, sample: str, pictures: int, says: list[str]
) -> None:
    told = told_by(script, monkeypatch, path=str(SAMPLES / sample))
    assert lacking(words(told), *says) == []
    assert len(told.pictures) >= pictures
    assert all(told.pictures)


def test_a_calibration_beside_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcost, "open_experiment", lambda _: kept_calibration())
    sample = str(SAMPLES / "veth-stolen-time")
    told = told_by(ACCOUNTING, monkeypatch, path=sample, experiment="hidden-cost")
    assert re.findall(r"24 \w+ runs\b.(\d\d)", told.text) == ["24", "23"]
    assert len(told.pictures) == 6


# Twelve times 2 us of hardirq and 12.5 us of softirq in 1.16 ms, with a poll of 8 packets and one
# of none.
WHOLE = {
    STOLEN: (
        *("15.0 %", "174 µs", "eth0 168 µs", "24 polls", "96 packets", "8.0 each on"),
        *("12 polls (50.0", "estimates needs", "12 episodes"),
    ),
    BATCHES: (
        *("12 NET_RX", "polled 24 times", "received 96 packets", "8.0 in", "took 150 µs"),
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
        (DEVICES, HARDIRQS, ["named: napi:napi_poll"], 1),
        (DEVICES, NO_POLLS, ["took 150 µs"], 1),
        (DEVICES, (t.NAPI_POLL,), ["how long"], 1),
        (DEVICES, (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT), ["netcost-record --profile light"], 0),
        (ACCOUNTING, t.FORMATS, ["no victim"], 0),
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
    assert lacking(words(told), *says) == []
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
        assert lacking(words(told), *says) == []


def test_two_that_talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recording(*talk(), known=(OPENSSL, UDPSINK)).write(tmp_path / "perf.data")
    told = told_by(LOCAL, monkeypatch, path=str(path))
    # A tenth more softirq time makes it 1 % longer.
    figures = ("client, udpsink (600),", "for 20.0 µs", "2.00 µs, 10.0 %", "1.0 % longer")
    assert lacking(words(told), *figures, "1.0 % less", "no migration") == []


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
    figures = ("of 990 µs", "1.49 ms after", "20 polls", "80 packets", "580 µs of", "3.96 ms")
    assert lacking(told.text, *figures) == []


@pytest.mark.parametrize("script", [STOLEN, LOCAL], ids=lambda path: path.stem)
def test_a_victim(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path, robbed()))
    assert "openssl" in told_by(script, monkeypatch, path=path, victim="openssl").text
    with pytest.raises(ValueError, match=r"'opensl' .* openssl$"):
        told_by(script, monkeypatch, path=path, victim="opensl")


# A letter that the font has not is nothing to warn a reader of.
@pytest.mark.filterwarnings("error:Glyph")
@pytest.mark.parametrize("script", [STOLEN, BATCHES, LOCAL, DEVICES], ids=lambda path: path.stem)
def test_names_of_strangers_are_text(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two devices are drawn one by one.
    cpus = [
        robbed(number, victim=h.Task(500 + number, name[:15]), device=name)
        for number, name in enumerate((f"{SCRIPT}%s\t\n\x1b[1m网络", "a\tb\nc%(x)s{0}<script"))
    ]
    told = told_by(script, monkeypatch, path=str(written(tmp_path, *cpus)))
    assert "<script" not in told.text
    assert "\x1b" not in told.text + " ".join(told.pictures)


def test_experiments_and_fleets_of_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (
        sweeps.Told(),
        sweeps.Told("xdp", packet_ns=500),
        sweeps.Told(SCRIPT, destinations=2),
    )
    steps = tuple(sweeps.Told(**vars(one) | {"rounds": 64}) for one in steps)
    told = told_by(SWEEP, monkeypatch, path=str(sweeps.sweep(tmp_path / "s", *steps).path))
    says = ("<strong>xdp costs", "1 of 1", "mpstat was", "in destinations alone")
    assert lacking(told.text, *says) == []
    assert any("by packet rate" in one for one in told.pictures)
    assert "<script" not in told.text
    assert told.html[-1].rstrip().endswith(" mine\n</code></pre>")
    odd = fleets.Told(host=SCRIPT, kernel="6.1.0", batch=1, day=15)
    folder = fleets.dataset(tmp_path / "f", [*fleets.days(factor=1.15), odd], unreadable=1)
    told = told_by(FLEET, monkeypatch, path=str(folder))
    assert lacking(told.text, "by +1", "netcost report captures/") == []
    assert any(one.endswith(", by host") for one in told.pictures)
    assert any("kernel 6.12.0" in one for one in told.pictures)
    assert "<script" not in told.text


# Given is not the default, whatever the folder is called.
def test_an_experiment_that_is_given_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "datapath-sweep"
    mine.mkdir()
    (mine / "experiment.json").write_text('{"netcost_experiment": 1}')
    (mine / "steps.tsv").write_text("bundle\tpps\na\t1\n")
    path = str(written(tmp_path, robbed()))
    given = words(told_by(BATCHES, monkeypatch, path=path, experiment=str(mine)))
    assert f"of {mine} was" in given
    assert "rate_curve is asked" not in given


# What the victim left, and what was read of it.
def without_results(bundle: Path) -> Path:
    for left in ("victim.txt", "victim_stat", "samples/victim", "kernel_config"):
        (bundle / left).unlink()
    return bundle


ESTIMATES, WHOSE = "by ticks,", "for openssl (<code>openssl"


def test_without_a_baseline_two_estimates_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = ["times are an emulator's", "other"]
    path = doctored(tmp_path / "b", baseline=None, notes=notes)
    told = told_by(STOLEN, monkeypatch, path=str(path))
    assert lacking(told.text, "no baseline", "--victim-cpu 0</code>") == []
    assert any(ESTIMATES in one for one in told.pictures)
    assert "points more" not in told.text
    assert lacking("".join(told.html), notes[0], "<code>caveats</code>") == []


# A page about another task says whose the estimates are.
def test_the_estimates_are_the_recorded_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = str(SAMPLES / "nic-stolen-time")
    told = told_by(STOLEN, monkeypatch, path=sample, victim="udp-load")
    assert lacking(told.text, WHOSE, "for udp-load") == []
    assert any(ESTIMATES in one for one in told.pictures)


def test_a_victim_that_left_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its pid is openssl's.
    mine = {"command": "./mine -x", "cpu": 0, "pid": 500, "output": None}
    for number, (victim, why) in enumerate(((None, "No victim"), (mine, "no result"))):
        path = without_results(doctored(tmp_path / f"{number}", victim=victim))
        told = told_by(STOLEN, monkeypatch, path=str(path))
        assert why in told.text
        assert "from openssl," in " ".join(told.pictures)
        assert victim or not any(ESTIMATES in one for one in told.pictures)
        # What a monitor would show is unknown.
        assert WHOSE not in told.text


def test_a_manifest_of_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields: dict[str, Any] = {
        "victim": {"command": None, "cpu": "0", "pid": "x", "start_ns": True, "end_ns": 1.5},
        "notes": [None, {"a": 1}, "<script>alert(1)</script>"],
        "host": {"cpu_model": ["<b>"]},
        "load": "y",
        "record_command": None,
    }
    told = told_by(STOLEN, monkeypatch, path=str(doctored(tmp_path / "b", **fields)))
    assert "15.0 %" in told.text
    assert "<script" not in told.text


def test_accounts_of_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = doctored(tmp_path / "b")
    told = told_by(ACCOUNTING, monkeypatch, path=str(folder))
    says = ("<code>capture/lab/hidden-cost -o", "hidden_cost is asked", "got <strong>60.0")
    assert lacking(told.text, *says, "hidden_cost_predictions is asked") == []
    assert len(told.pictures) == 2
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("openssl speed", "<script>x</script>"))
    told = told_by(ACCOUNTING, monkeypatch, path=str(folder))
    assert "<script" not in told.text
    assert "&lt;script&gt;" in told.text


# Counters and trace have times that nobody can compare.
def test_a_clock_that_counters_do_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = doctored(tmp_path / "bundle")
    told = recording(robbed(), known=(robbed().first_task,), clock=None)
    told.write(path / "trace.perf.data")
    for when in ("before", "after"):
        (path / when / "net_dev").write_text(NET_DEV)
    assert "clock (perf)" in told_by(DEVICES, monkeypatch, path=str(path)).text


def test_samples_alone(netcost: Netcost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, path = tmp_path / "r.md", tmp_path / "r"
    sample = str(SAMPLES / "io-sizes" / "tcp-1024.netcost.tar.zst")
    run = netcost("report", sample, "--notebook", "where-the-cycles-go", "-o", str(page))
    assert (run.code, run.err) == (0, "")
    assert "of `cpu-clock`" in page.read_text()
    # What else was asked, and not answered, is no failure.
    run = netcost("ask", "estimates", sample)
    assert (run.code, run.err) == (0, "")
    send = "tcp_sendmsg < inet_sendmsg < __sys_sendto"
    capture_of(path, stack(f"memcpy < {send}"), stack("default_idle"))
    told = told_by(CYCLES, monkeypatch, path=str(path))
    assert lacking(told.text, "100 % are", "netcost-record") == []
    run = netcost("report", str(path), "--notebook", "accounting", "-o", str(tmp_path / "r.html"))
    assert (run.code, len(run.err.splitlines())) == (1, 1)
    assert "--notebook where-the-cycles-go" in run.err
    assert not (tmp_path / "r.html").exists()


def said_of(table: pd.DataFrame) -> str:
    asked = netcost.open_experiment(SAMPLES / "nic-guest")
    answer = explained(asked, table)
    about(answer, questions()["rate_curve"], asked, {"Experiment": asked}, {})
    return as_text(answer.words)


def test_words_of_a_flat_curve() -> None:
    curve = rate_curve(netcost.open_experiment(SAMPLES / "nic-guest"))
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
    figures = ("in 1 step: mine", "75.0 %", "11 times", "26 times", "50.0 times")
    assert lacking(said_of(flat), *figures) == []
    near = flat.assign(rate_per_s=[50_000.0, 1e6, 1e6, 1e6], batch_mean=2.0)
    near["flatness"] = [0.1, 0.9, 0.1, 0.2]
    # 10 (100 + 5,000 / 64) / (100 + 5,000 / 2) = 0.69: batches of 64 would do more than enough.
    assert lacking(said_of(near), "10 times", "0.7 times") == []


def test_counts_are_a_range_or_one() -> None:
    row = {"cpu": 0, "squeezes_low": 3, "squeezes_high": 3, "with_polls": 2_500, "by_budget": 3}
    row |= {"by_time_low": 1_000, "by_time_high": 2_000}
    told = {"by_cpu": [row], "against_softnet": []}
    text = as_text(render(questions()["squeezes"].template, told))
    found = re.findall(r"[\d,]+\d|\d", text.partition("CPU 0")[2])[:5]
    assert found == ["3", "2,500", "3", "1,000", "2,000"]
