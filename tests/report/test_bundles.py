# The project's notebooks on bundles and experiments, on what strangers wrote into them, and on
# samples of functions.

from pathlib import Path
from typing import Any

import pytest

from support import fleets, sweeps
from support.doctored import doctored
from support.host import SAMPLES
from support.perfdata import happenings as h
from support.perfdata import recording
from support.run_cli import Netcost
from support.stacks import capture_of, stack
from support.told import robbed, written
from support.told_notebook import (
    ACCOUNTING,
    BATCHES,
    CYCLES,
    DEVICES,
    FLEET,
    LOCAL,
    STOLEN,
    SWEEP,
    lacking,
    told_by,
)

SCRIPT = "<script>$x_{1"
NET_DEV = "Inter-|\n face |\n  eth0: " + " ".join(["0"] * 16) + "\n"


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
    says = ("<strong>xdp costs", "1 of 1", "mpstat was", "only in destinations")
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
    given = told_by(BATCHES, monkeypatch, path=path, experiment=str(mine)).words
    assert f"of {mine} was" in given
    assert "rate_curve is a" not in given


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
    assert lacking(told.words, "all CPU time") == []
    assert any(ESTIMATES in one for one in told.pictures)
    assert len(told.pictures) >= 10
    assert all(told.pictures)


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
    says = ("<code>capture/lab/hidden-cost -o", "hidden_cost is a", "got <strong>60.0")
    assert lacking(told.text, *says, "hidden_cost_predictions is a") == []
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
