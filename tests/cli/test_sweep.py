# netcost sweep: the verdict first, tables that fit a mail, the command that repeats it last.

from pathlib import Path

import pytest

from support.run_cli import Netcost
from support.sweeps import Told, sweep

HOSTILE = "<script>\x1b[1m`x"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steps = [
        Told(path, rate=rate, scatter=0.2, packet_ns=cost, seed=seed, rounds=200)
        for seed, (path, rate, cost) in enumerate(
            (path, rate, cost)
            for path, cost in (("bridge", 2_500), ("xdp", 900))
            for rate in (2_000, 20_000)
        )
    ]
    return sweep(tmp_path_factory.mktemp("sweep") / "mine", *steps).path


def test_the_text_of_a_sweep(netcost: Netcost, folder: Path, tmp_path: Path) -> None:
    printed = netcost("sweep", str(folder))
    lines = printed.out.splitlines()
    assert lines[3].startswith("xdp ")
    assert " 2 of 2" in lines[3]
    assert lines[-1].split() == ["capture/lab/datapath-sweep", "-o", "mine"]
    tables = [line for line in lines if not line.startswith("    ")]
    # A checksum and the folder's name are words of their own.
    assert all(len(line) <= 72 or " " not in line for line in tables)
    assert "mpstat was" in " ".join(lines)
    text = tmp_path / "out.txt"
    assert netcost("sweep", str(folder), "-o", str(text)).out == f"write-up in {text}\n"
    assert text.read_text() == printed.out


def test_the_json_of_a_sweep(netcost: Netcost, folder: Path) -> None:
    found = netcost("sweep", str(folder), "--json").json
    assert list(found) == [
        *("cheaper_path", "by_rate", "cpu_by_rate", "saturation", "destinations"),
        *("rate_curve", "made_by"),
    ]
    assert [row["cheaper"] for row in found["cheaper_path"]["cheaper_path"]] == ["xdp", "xdp"]
    assert list(found["cpu_by_rate"]) == ["why_not"]
    assert found["by_rate"]["by_rate"][0]["rate_per_s"] == pytest.approx(2_000)
    assert found["made_by"]["command"] == "capture/lab/datapath-sweep -o mine"


def test_hostile_labels_steer_no_terminal(netcost: Netcost, tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(rounds=64), Told(HOSTILE, rounds=64))
    printed = netcost("sweep", str(experiment.path))
    assert printed.code == 0
    assert "\x1b" not in printed.out
    assert "<script>" in printed.out


def test_what_is_no_sweep(netcost: Netcost, tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(rounds=64))
    table = experiment.path / "steps.tsv"
    table.write_text(table.read_text().replace("offered_pps", "colour"))
    run = netcost("sweep", str(experiment.path))
    assert (run.code, run.out) == (1, "")
    assert run.err.count("\n") == 1
    assert "is no sweep" in run.err
    assert netcost("sweep", str(experiment.path / Told().name)).code == 1
    assert netcost("sweep", str(experiment.path), "-o", "x.pdf").code == 2
