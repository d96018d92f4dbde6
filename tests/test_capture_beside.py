# What netcost-record writes beside the trace: settings, samples with their true intervals,
# sidecars, counters, samples of functions, daemons, and files of the load's own.

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from capture_support import (
    RECORD,
    ended,
    manifest_of,
    nothing_left,
    path_without,
    require_recorder,
    stub,
)
from conftest import missing, require_root_tracing, require_tool

from netcost_analysis import open_capture

SPACES = ("netcost-beside-a", "netcost-beside-b")
# A victim that runs for a second and a half, and says nothing.
VICTIM = "python3 -c 'import time\nwhile time.process_time() < 1.2: pass'"


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_recorder("tracefs")
    with nothing_left(tmp_path, "tracefs") as environment:
        yield environment


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
    require_recorder("tracefs")
    for name in ("mpstat", "pidstat", "perf", "ethtool"):
        require_tool(name)
    folder = tmp_path_factory.mktemp("beside")
    options = ["--tool", "tracefs", "--profile", "light,counters", "--interval", "0.3"]
    options += ["--daemon", "ksoftirqd/0", "--victim", VICTIM, "--victim-cpu", "0"]
    options += ["--netns", SPACES[0], "--netns", ".", "--netns", SPACES[1]]
    options += ["--load", 'echo of the load >"$NETCOST_FILES/own file"; sleep 60']
    with nothing_left(folder, "tracefs") as environment:
        done = ended([RECORD, "-o", folder / "b", *options], env=environment)
    assert done.returncode == 0, done.stderr
    return folder / "b"


def samples(bundle: Path, name: str) -> list[tuple[int, int, int, list[str]]]:
    """Number, begin and end of each, and its lines."""
    found: list[tuple[int, int, int, list[str]]] = []
    for line in (bundle / "samples" / name).read_text().splitlines():
        if head := re.fullmatch(r"@ (\d+) (\d+) (\d+)", line):
            found.append((int(head[1]), int(head[2]), int(head[3]), []))
        else:
            found[-1][3].append(line)
    assert found
    return found


def test_samples_say_when_they_were_read(bundle: Path) -> None:
    manifest = manifest_of(bundle)
    victim = manifest["victim"]
    for name in ("net_dev", "softnet_stat", "interrupts", "softirqs", "stat"):
        taken = samples(bundle, name)
        assert [number for number, *_ in taken] == list(range(1, len(taken) + 1))
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
    per_second = os.sysconf("SC_CLK_TCK")
    assert int(ticks[0]) / per_second == pytest.approx(victim["user_s"], abs=0.011)


def test_the_load_has_a_folder_for_its_files(bundle: Path) -> None:
    assert manifest_of(bundle)["load"]["files"] == "files/"
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


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_root_tracing()
    folder = tmp_path_factory.mktemp("functions")
    options = ["--profile", "functions", "--victim", VICTIM, "--cpus", "0", "--sidecars", "none"]
    with nothing_left(folder, "perf") as environment:
        done = ended([RECORD, "-o", folder / "b", *options], env=environment)
    assert done.returncode == 0, done.stderr
    return folder / "b"


def test_functions_are_sampled_with_their_callers(functions: Path) -> None:
    manifest = manifest_of(functions)
    assert (manifest["tool"], manifest["trace"]) == ("perf", "functions.perf.data")
    trace = functions / "functions.perf.data"
    assert " T " in (trace / "kcore_dir" / "kallsyms").read_text()[:100_000]
    done = subprocess.run(
        ["perf", "script", "-F", "comm,event,ip,sym", "-i", trace / "data"],
        capture_output=True,
        text=True,
    )
    event = manifest["samples_of_functions"]["event"]
    assert f"{event}:" in done.stdout
    assert done.stdout.count("python3") > 100
    other = {"cycles": "cpu-clock", "cpu-clock": "cycles"}[event]
    assert f"{other}:" not in done.stdout
    noted = any("sampled by cpu-clock" in note for note in manifest["notes"])
    assert noted == (event == "cpu-clock")
    # Which events there are, and none of a tracepoint: those would be no account.
    assert open_capture(functions).info["format"] == "perf.data"
    assert manifest["events"] == []


def test_nothing_but_what_runs_beside(tmp_path: Path, temporary: dict[str, str]) -> None:
    options = ["--profile", "none", "--duration", "0.4", "--interval", "0.1"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    assert (manifest["tool"], manifest["trace"], manifest["clock"]) == (None, None, None)
    assert len(samples(tmp_path / "b", "stat")) >= 3


# Programs and counters that this host may not have, as they are documented.

# Of perf 6.1, with an event that counts for a package, cut at both ends.
JOULES = (
    '{"interval" : 0.500, "counter-value" : "21.10", "unit" : "Joules", '
    '"event" : "power/energy-pkg/", "event-runtime" : 500, "pcnt-running" : 100.00}'
)


def test_turbostat_is_told_to_finish(tmp_path: Path, temporary: dict[str, str]) -> None:
    # SIGINT is ignored in what a shell starts in the background, and a shell cannot undo that.
    script = tmp_path / "turbostat.py"
    script.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('12.5 2400 61', flush=True), sys.exit()))\n"
        "print('Busy% Bzy_MHz PkgWatt', flush=True)\n"
        "while 'num_iterations' not in ' '.join(sys.argv): time.sleep(0.1)\n"
    )
    path = stub(tmp_path / "bin", "turbostat", f'exec python3 {script} "$@"')
    options = ["--profile", "none", "--duration", "0.5", "--sidecars", "turbostat"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env={**temporary, "PATH": path})
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "b" / "turbostat.txt").read_text().splitlines()
    assert said == ["Busy% Bzy_MHz PkgWatt", "12.5 2400 61"]


def perf_with_energy(folder: Path) -> str:
    script = f"""case "$*" in
*"-e power/energy-pkg/ -- true") exit 0 ;;
*"-e power/"*"-- true") echo "event syntax error: no such event" >&2; exit 129 ;;
"stat -h") echo "-j, --json-output" ;;
*"-I "*" --log-fd 1"*) echo '{JOULES}'; sleep 1 ;;
*) exit 1 ;;
esac"""
    return stub(folder, "perf", script)


def test_energy_where_it_is_counted(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = perf_with_energy(tmp_path / "bin")
    options = ["--profile", "energy", "--duration", "0.5", "--interval", "0.5"]
    done = ended(
        [RECORD, "-o", tmp_path / "b", *options, "--sidecars", "none"],
        env={**temporary, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "b" / "energy.jsonl").read_text())["unit"] == "Joules"
    notes = manifest_of(tmp_path / "b")["notes"]
    assert any(
        note.startswith("profile energy, not on this host: power/energy-cores/") for note in notes
    )


def test_energy_where_it_is_not(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = stub(tmp_path / "bin", "perf", "exit 129")
    env = {**temporary, "PATH": path}
    done = ended([RECORD, "-o", tmp_path / "b", "--profile", "energy"], env=env)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "this host counts nothing of profile energy" in done.stderr
    # Beside another profile it is a note.
    options = ["--profile", "light,energy", "--tool", "tracefs", "--duration", "0.3"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=env)
    assert done.returncode == 0, done.stderr
    assert any("profile energy, not on" in note for note in manifest_of(tmp_path / "b")["notes"])


def test_a_sidecar_that_fails_is_noted(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = stub(tmp_path / "bin", "mpstat", "echo no such counter >&2; exit 3")
    options = ["--profile", "none", "--duration", "0.5", "--sidecars", "mpstat"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env={**temporary, "PATH": path})
    assert done.returncode == 0, done.stderr
    notes = manifest_of(tmp_path / "b")["notes"]
    assert notes == ["mpstat ended early with exit status 3, saying: no such counter"]


def test_without_the_programs_there_is_a_bundle(tmp_path: Path, temporary: dict[str, str]) -> None:
    names = ("mpstat", "pidstat", "ethtool", "ip", "tc", "perf", "trace-cmd", "turbostat")
    env = {**temporary, "PATH": path_without(tmp_path / "bin", *names)}
    done = ended([RECORD, "-o", tmp_path / "b", "--duration", "0.3"], env=env)
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in manifest_of(tmp_path / "b")["companions"]] == ["samples"]
    assert not list((tmp_path / "b").rglob("ethtool*"))
    done = ended([RECORD, "-o", tmp_path / "c", "--sidecars", "mpstat"], env=env)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "mpstat is not installed, and asked for" in done.stderr


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--daemon", "no-such-daemon"], 1, "no process is called no-such-daemon"),
        (["--sidecars", "top"], 2, "--sidecars wants"),
        (["--sidecars", "none,mpstat"], 2, "--sidecars wants"),
        (["--interval", "often"], 2, "--interval wants"),
        (["--interval", "1.2.3"], 2, "--interval wants"),
        (["--profile", "stolen,anatomie"], 2, "no profile anatomie"),
        (["--min-free", "a lot"], 2, "--min-free wants"),
        (["--calibrate"], 2, "need a --victim"),
    ],
)
def test_mistakes_are_one_line(
    options: list[str], status: int, said: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    assert (done.returncode, len(done.stderr.splitlines())) == (status, 1)
    assert said in done.stderr


def test_every_profile_is_recorded(tmp_path: Path, temporary: dict[str, str]) -> None:
    options = ["--profile", "anatomy,migration", "--tool", "tracefs", "--duration", "0.3"]
    done = ended([RECORD, "-o", tmp_path / "b", *options, "--sidecars", "none"], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest: dict[str, Any] = manifest_of(tmp_path / "b")
    assert manifest["profile"] == "anatomy,migration"
    events = manifest["events"]
    assert len(events) == len(set(events))
    assert {"net:netif_receive_skb", "skb:consume_skb", "sched:sched_migrate_task"} <= set(events)
    info = open_capture(tmp_path / "b").info
    assert info["format"] == "tracefs"


def test_shells_of_small_hosts(tmp_path: Path, temporary: dict[str, str]) -> None:
    found = shutil.which("busybox")
    if found is None:
        pytest.skip("busybox is not installed")
    # Its ash, awk, dd, setsid and taskset, and nothing else.
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in subprocess.run([found, "--list"], capture_output=True, text=True).stdout.split():
        (folder / name).symlink_to(found)
    env = {**temporary, "PATH": str(folder)}
    options = ["--duration", "0.5", "--interval", "0.2", "--victim", "sleep 0.4", "--baseline"]
    done = ended([folder / "sh", RECORD, "-o", tmp_path / "b", *options], env=env)
    assert done.returncode == 0, done.stderr
    assert manifest_of(tmp_path / "b")["tool"] == "tracefs"
    assert len(samples(tmp_path / "b", "stat")) >= 2


def test_energy_is_sampled_where_the_machine_counts_it(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        missing("needs a mount namespace of its own")
    # As Documentation/power/powercap has it, in files of one's own.
    script = tmp_path / "counted"
    script.write_text(
        "mount -t tmpfs none /sys/class && zone=/sys/class/powercap/intel-rapl:0 || exit\n"
        "mkdir -p $zone && echo package-0 >$zone/name && echo 5500 >$zone/energy_uj\n"
        "echo 262143328850 >$zone/max_energy_range_uj\n"
        f'exec "{RECORD}" -o "{tmp_path}/b" --profile none,energy --duration 0.3 --interval 0.1\n'
    )
    path = perf_with_energy(tmp_path / "bin")
    done = ended(["unshare", "-m", "sh", script], env={**temporary, "PATH": path})
    assert done.returncode == 0, done.stderr
    *_, lines = samples(tmp_path / "b", "energy")[0]
    assert lines == ["intel-rapl:0 package-0 5500 262143328850"]
