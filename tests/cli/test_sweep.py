# netcost sweep: the verdict first, tables that fit a mail, the command that repeats it last.

from pathlib import Path

from support.run_cli import Netcost
from support.sweeps import Told, sweep

HOSTILE = "<script>\x1b[1m`x"


def test_the_text_of_a_sweep(netcost: Netcost, tmp_path: Path) -> None:
    steps = [
        Told(path, rate=rate, scatter=0.2, packet_ns=cost, seed=cost + rate, rounds=100)
        for path, cost in (("bridge", 2_500), ("xdp", 900))
        for rate in (2_000, 20_000)
    ]
    folder = sweep(tmp_path / "mine", *steps).path
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
