# netcost energy: what was measured, what was not and why, of recordings and experiments.

import re
from pathlib import Path

import pytest

from support.energy_bundles import WATTS, energy_bundle, energy_experiment, energy_samples
from support.run_cli import Netcost

OF_RECORDING = ["power", "energy_by_owner", "idle_wakeups", "cpu_counters"]


def test_a_recording_with_meters(netcost: Netcost, tmp_path: Path) -> None:
    printed = netcost("energy", str(energy_bundle(tmp_path / "b")))
    assert (printed.code, printed.err) == (0, "")
    lines = printed.out.splitlines()
    assert all(word in lines[2] for word in ("84 J", "4.00 s", "21 W", "powercap"))
    assert len([line for line in lines if line.startswith("Wh")]) == len(OF_RECORDING)
    # The same figures as the questions' own.
    found = netcost("energy", str(tmp_path / "b"), "--json").json
    assert list(found) == OF_RECORDING
    assert found["power"]["power"][0]["joules"] == pytest.approx(84)
    assert found["energy_by_owner"]["metered_share"] == 1.0
    assert found["cpu_counters"]["cpu_counters"][0]["ipc"] == 2.0
    asked = netcost("ask", "energy_by_owner", str(tmp_path / "b"), "--json").json
    assert asked == found["energy_by_owner"]


def test_an_experiment_with_meters(netcost: Netcost, tmp_path: Path) -> None:
    folder = str(energy_experiment(tmp_path / "e").path)
    printed = netcost("energy", folder)
    assert (printed.code, printed.err) == (0, "")
    steps = re.findall(r"(\d+), (\d+) J", printed.out)
    assert steps[:2] == [("65536", "25"), ("64", "200")]
    found = netcost("energy", folder, "--json").json
    assert list(found) == ["energy_by_size", "counters_by_step"]
    assert netcost("energy", folder, "--start", "1").code == 2


def test_a_window_is_the_ledgers(netcost: Netcost, tmp_path: Path) -> None:
    path = str(energy_bundle(tmp_path / "b"))
    found = netcost("energy", path, "--start", "2", "--json").json
    assert found["energy_by_owner"]["window_joules"] == pytest.approx(64)
    assert "takes no window" in netcost("energy", path, "--start", "2").out
    one = netcost("energy", path, "--cpu", "0", "--json").json
    assert "2 CPUs" in one["energy_by_owner"]["why_not"]


# netcost-record --profile counters,energy, and nothing else.
def test_a_recording_without_a_trace(netcost: Netcost, tmp_path: Path) -> None:
    path = energy_bundle(tmp_path / "b")
    whole = netcost("energy", str(path), "--json").json
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"perf.data"', "null"))
    (path / "perf.data").unlink()
    found = netcost("energy", str(path), "--json").json
    assert (found["power"], found["cpu_counters"]) == (whole["power"], whole["cpu_counters"])
    for name in ("energy_by_owner", "idle_wakeups"):
        assert all(word in found[name]["why_not"] for word in (name, "trace", str(path)))
    printed = netcost("energy", str(path))
    assert (printed.code, printed.err) == (0, "")
    assert "used 84 J" in printed.out
    assert "instructions per cycle" in printed.out


def test_hostile_names_steer_no_terminal(netcost: Netcost, tmp_path: Path) -> None:
    zone = {"intel-rapl:0 <b>\x1b[1m`x|": WATTS}
    path = energy_bundle(tmp_path / "b", {"samples/energy": energy_samples(zone)})
    printed = netcost("energy", str(path))
    assert printed.code == 0
    assert "\x1b" not in printed.out
    assert "<b>" in printed.out
