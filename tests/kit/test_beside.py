# What netcost-record writes beside the trace: settings, samples with their true intervals, daemons,
# sidecars, counters, and files of the load's own.

import json
import os
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.record import (
    VICTIM,
    manifest_of,
    recorder_in,
    samples,
)

pytestmark = pytest.mark.live

# Told by its process from what a command under test leaves: another test looks meanwhile.
SPACES = (f"netcost-beside-{os.getpid()}-a", f"netcost-beside-{os.getpid()}-b")


@pytest.fixture(scope="module")
def spaces() -> Iterator[None]:
    require_tool("ip")
    for name in SPACES:
        if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
            missing("needs to make network namespaces")
    link = ["link", "add", "beside0", "type", "veth", "peer", "name", "beside1"]
    subprocess.run(["ip", "-n", SPACES[0], *link], check=True)
    yield
    for name in SPACES:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.fixture(scope="module")
def bundle(spaces: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("mpstat", "pidstat", "perf", "ethtool"):
        require_tool(name)
    folder = tmp_path_factory.mktemp("beside")
    options = ["--tool", "tracefs", "--profile", "light,counters", "--interval", "0.3"]
    options += ["--daemon", "ksoftirqd/0", "--victim", VICTIM, "--victim-cpu", "0"]
    options += ["--netns", SPACES[0], "--netns", ".", "--netns", SPACES[1]]
    options += ["--load", 'echo of the load >"$NETCOST_FILES/own file"; sleep 60']
    with recorder_in(folder) as recorder:
        recorder(*options)
    return folder / "b"


def test_samples_say_when_they_were_read(bundle: Path) -> None:
    manifest = manifest_of(bundle)
    victim = manifest["victim"]
    for name in ("net_dev", "softnet_stat", "interrupts", "softirqs", "stat"):
        taken = samples(bundle, name)
        numbers = [number for number, *_ in taken]
        whole = list(range(1, numbers[-1] + 1))
        # The end cuts a round short: the copies that it had not come to are left out.
        assert numbers in (whole, whole[:-2] + whole[-1:])
        assert all(begin < end for _, begin, end, _ in taken)
        gaps = [later[1] - earlier[1] for earlier, later in pairwise(taken)]
        # Never shorter than was asked, but for the last, which is taken at the end.
        assert all(gap > 250_000_000 for gap in gaps[:-1])
        # From before the victim until after it.
        assert taken[0][1] < victim["start_ns"] < victim["end_ns"] < taken[-1][2]
        assert all(lines for *_, lines in taken)
    # Whole copies: as many lines each time.
    assert len({len(lines) for *_, lines in samples(bundle, "softirqs")}) == 1
    beside = {one["name"]: one for one in manifest["companions"]}
    assert beside["samples"]["start_ns"] < samples(bundle, "stat")[0][1]


def test_each_namespace_has_its_own_devices(bundle: Path) -> None:
    assert manifest_of(bundle)["network_namespaces"] == [SPACES[0], ".", SPACES[1]]
    for folder in ("before", "after"):
        first = (bundle / folder / "net_dev").read_text()
        assert "beside0:" in first
        assert "beside0:" not in (bundle / folder / "net_dev.host").read_text()
        assert "beside0:" not in (bundle / folder / f"net_dev.{SPACES[1]}").read_text()
    *_, lines = samples(bundle, "net_dev")[0]
    assert any("beside0:" in line for line in lines)
    links = json.loads((bundle / "before" / "ip_link.json").read_text())
    assert "beside0" in {link.get("ifname") for link in links}
    # sysfs, too, is of the namespace.
    assert "/net/beside0/" in (bundle / "before" / "settings" / "queues").read_text()
    driver = bundle / "before" / "settings" / "ethtool" / "beside0" / "driver"
    assert "driver: veth" in driver.read_text()


def test_settings_are_read_before_and_after(bundle: Path) -> None:
    stamps = {}
    for name in ("before", "after"):
        folder = bundle / name / "settings"
        lines = [line.split() for line in (folder / "stamp").read_text().splitlines()]
        stamps[name] = {words[0]: [int(word) for word in words[1:]] for words in lines}
        for file in ("cpuinfo", "cmdline", "hostname", "topology", "queues", "irq_affinity"):
            begin, end = stamps[name][file]
            assert begin <= end
            assert (folder / file).is_file()
        assert os.uname().nodename in (folder / "hostname").read_text()
        assert "net.core.netdev_budget = " in (folder / "sysctl_net_core").read_text()
        assert "/cpu0/topology/core_id " in (folder / "topology").read_text()
        assert json.loads((folder / "ip_addr.json").read_text())
    window = manifest_of(bundle)["window"]
    # Not within the recording: they take programs for every device.
    assert (
        max(max(one) for key, one in stamps["before"].items() if key != "realtime_ns")
        < window["start_ns"]
    )
    assert stamps["after"]["monotonic_ns"][0] > window["end_ns"]


def test_counters_of_the_snapshots(bundle: Path) -> None:
    for name in ("before", "after"):
        stamp = (bundle / name / "stamp").read_text().splitlines()
        named = {line.split()[0] for line in stamp}
        assert {"net_snmp", "net_dev", "loadavg", "ip_link.json", "daemons"} <= named
        # Where the kernel counts for it.
        assert ("schedstat" in named) == Path("/proc/schedstat").exists()
        assert {"monotonic_ns", "realtime_ns", "net_netstat"} <= named
        assert "Udp:" in (bundle / name / "net_snmp").read_text()


def test_a_daemons_time_and_memory(bundle: Path) -> None:
    assert manifest_of(bundle)["daemons"] == ["ksoftirqd/0"]
    *_, lines = samples(bundle, "daemons")[0]
    pid = lines[0].split()[0]
    assert f"{pid} stat {pid} (ksoftirqd/0) " in lines[0]
    assert any(re.fullmatch(rf"{pid} schedstat \d+ \d+ \d+", line) for line in lines)
    assert any(f"{pid} status Threads:" in line for line in lines)


@pytest.mark.measures
def test_the_victims_own_counters(bundle: Path) -> None:
    victim = manifest_of(bundle)["victim"]
    # The victim takes a shell here, and is its child.
    run: dict[str, list[int]] = {}
    for *_, lines in samples(bundle, "victim"):
        for pid, file, *words in map(str.split, lines):
            if file == "schedstat":
                run.setdefault(pid, []).append(int(words[0]))
    assert str(victim["pid"]) in run
    assert all(times == sorted(times) for times in run.values())
    assert 10**8 < max(max(times) for times in run.values()) < 2 * 10**9
    started, stopped = (bundle / "victim_stat").read_text().splitlines()
    assert started.split()[:3] == ["started", str(victim["start_ns"]), str(victim["pid"])]
    assert stopped.split()[:2] == ["ended", str(victim["end_ns"])]
    # Fields 16 and 17, cutime and cstime: what times(2) said.
    ticks = stopped.rpartition(") ")[2].split()[13:15]
    # Read at two times, and a tick more or less at the first.
    after = int(ticks[0]) / os.sysconf("SC_CLK_TCK") - victim["user_s"]
    assert after == pytest.approx(0, abs=0.011)


def test_the_load_has_a_folder_for_its_files_and_lasts_as_long_as_the_victim(bundle: Path) -> None:
    load, victim = manifest_of(bundle)["load"], manifest_of(bundle)["victim"]
    assert load["start_ns"] < victim["start_ns"] < victim["end_ns"] <= load["end_ns"]
    assert load["files"] == "files/"
    assert (bundle / "files" / "own file").read_text() == "of the load\n"


def test_sidecars(bundle: Path) -> None:
    host = json.loads((bundle / "mpstat.json").read_text())["sysstat"]["hosts"][0]
    assert {load["cpu"] for load in host["statistics"][0]["cpu-load"]} >= {"all", "0"}
    assert "Command" in (bundle / "pidstat.txt").read_text()
    names = [one["name"] for one in manifest_of(bundle)["companions"]]
    assert names[:3] == ["samples", "mpstat", "pidstat"]


def test_counters_at_intervals(bundle: Path) -> None:
    lines = [json.loads(line) for line in (bundle / "counters.jsonl").read_text().splitlines()]
    switches = [one for one in lines if one["event"] == "context-switches"]
    assert {one["cpu"] for one in switches} >= {"0"}
    assert len({one["interval"] for one in switches}) >= 2
    assert sum(float(one["counter-value"]) for one in switches) > 0
