# netcost convert: what it writes, says and refuses; the tables themselves: tests/export.

import json
from pathlib import Path

from support.host import ROOT
from support.kept import kept
from support.run_cli import Netcost

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
SAMPLES = str(ROOT / "sample-data" / "io-sizes" / "tcp-64.netcost.tar.zst")


def test_json(netcost: Netcost, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = netcost("convert", NIC, "-o", str(out), "--tables", "polls, sums", "--json").json
    assert list(said["tables"]) == ["polls", "sums"]
    polls = said["tables"]["polls"]
    assert polls["bytes"] == sum(one.stat().st_size for one in (out / "polls").iterdir())
    written = json.loads((out / "netcost.json").read_text())
    assert written["netcost_dataset"] == 1
    assert {**written, **said["recording"]} == written
    assert written["tables"] == said["tables"]


def test_events_and_samples_by_name_and_all(netcost: Netcost, tmp_path: Path) -> None:
    def tables(path: str, *words: str) -> list[str]:
        name = f"out{len(list(tmp_path.iterdir()))}"
        run = netcost("convert", path, "-o", str(tmp_path / name), *words, "--json")
        return list(run.json["tables"])

    few = ("--tables", "irqs")
    assert tables(NIC, *few, "--events", "napi_poll,irq:softirq_exit") == [
        *("irqs", "events.napi:napi_poll", "events.irq:softirq_exit")
    ]
    every = tables(NIC, *few, "--events", "--samples")
    recorded = [name for name, count in kept("nic-stolen-time").info["events"].items() if count]
    assert every == ["irqs", *(f"events.{name}" for name in recorded)]
    # A recording of samples alone has no ledger.
    assert tables(SAMPLES, "--tables", "none", "--samples") == ["samples.cpu-clock"]


def test_a_folder_that_is_there(netcost: Netcost, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("convert", NIC, "-o", str(out), "--tables", "irqs")
    assert netcost(*words).code == 0
    run = netcost(*words)
    assert (run.code, run.out) == (2, "")
    assert "--overwrite" in run.err
    assert netcost(*words, "--overwrite").code == 0
    (out / "netcost.json").unlink()
    run = netcost(*words, "--overwrite")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert (out / "irqs").is_dir()


def test_a_trace_for_perfetto(netcost: Netcost, tmp_path: Path) -> None:
    out = tmp_path / "x.perfetto-trace"
    run = netcost("convert", NIC, "-o", str(out))
    assert (run.code, run.err) == (0, "")
    again = netcost("convert", NIC, "-o", str(out))
    assert (again.code, again.out) == (2, "")
    assert "--overwrite" in again.err
    words = ("--victim", "udp-load", "--start", "3.5", "--end", "3.7", "--cpu", "1", "--json")
    said = netcost("convert", NIC, "-o", str(out), "--overwrite", *words).json
    assert said["bytes"] == out.stat().st_size
    assert (said["path"], said["slices"]) == (str(out), 589)
    assert {name.partition(":")[0] for name in said["counters"]} == {"udp-load"}
