# Experiments that are killed: within seconds nothing of them runs, the next one removes what they
# left, and the host is as it was.

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.kit.host_snapshot import lasting_differences, snapshot
from support.kit.lab import DEFER, LAB, guest, namespaces, require_lab
from support.kit.moments import Kill, Killer, none_runs
from support.kit.record import commands_with, ended, require_recorder, started

pytestmark = pytest.mark.alone

JOURNAL = Path("/run/netcost-lab.sysctls.journal")

# As short as they go.
SHORT = {
    "stolen-time": "--duration 1 --tool tracefs",
    "datapath-sweep": "--paths bridge,xdp --rates 3000 --destinations 1 --victims none --duration 1"
    " --tool tracefs",
    "local-regression": "--networks veth --protocols udp --steerings on --cpus two --repeats 1"
    " --traced 0",
    "io-sizes": "--protocols tcp --sizes 32768 --duration 1",
    "quiet-interface": "--duration 2 --tool tracefs",
    "hidden-cost": "--rates 5000 --repeats 1 --tool tracefs",
    "nic-guest": "--kernels 6.1 --duration 1",
}
# The others' tenth is in the slow lane, too.
ORDINARY_LAB = ("stolen-time", "nic-guest")
NEEDS = {
    "datapath-sweep": ["clang", "ethtool", "bridge"],
    "local-regression": ["iperf3", "pidstat"],
    "io-sizes": ["iperf3"],
    "quiet-interface": ["iperf3", "ethtool"],
}


def environment_of(name: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """With a TMPDIR of its own, and for nic-guest a program in QEMU's place; and its options."""
    require_lab("cc", "openssl", *NEEDS.get(name, []))
    words = SHORT[name].split()
    run = folder / "run"
    (run / "tmp").mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(run / "tmp")}
    if name == "nic-guest":
        kept = folder / "kept"
        kept.mkdir()
        environment |= guest(kept)
        words += ["--work", str(kept / "work")]
    return environment, words


def recovered(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = ended([LAB / "restore"], env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done


# What was whole when the signal came is the user's.
def remove_finished(output: Path) -> None:
    whole = (output / "manifest.json").exists() or (output / "experiment.json").exists()
    if whole and not (output / "unfinished").exists():
        shutil.rmtree(output)


@pytest.mark.parametrize(
    ("name", "tenth"),
    [
        pytest.param(name, n, marks=[pytest.mark.slow] * (n > 0 or name not in ORDINARY_LAB))
        for name in SHORT
        for n in range(10)
    ],
)
def test_an_experiment_that_is_killed_harms_nothing(name: str, tenth: int, tmp_path: Path) -> None:
    environment, words = environment_of(name, tmp_path)
    run = tmp_path / "run"
    killer = Killer(tmp_path / "killer", writes="/proc/sys", path=environment["PATH"])
    command = [LAB / name, "-o", run / "out", *words]
    # What an earlier one left is not this one's.
    ended([LAB / "restore"], env=environment)
    before = snapshot(run, whole=True)
    kills = killer.kills(command, tenth, env=environment)
    for place, kill in enumerate([None, *kills]):
        if kill is not None:
            killer.run(command, kill, env=environment)
            assert killer.missed <= len(kills) // 2
        assert none_runs(run, 10) == [], kill
        if place % 2:
            # What removes the rest may be killed as well.
            again = Kill("before rm 1", signal.SIGKILL)
            killer.run([LAB / "restore"], again, env=environment)
            killer.missed = 0
        recovered(environment)
        remove_finished(run / "out")
        assert lasting_differences(before, run, whole=True) == [], kill


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["tracefs", "trace-cmd"])
def test_a_recorder_ends_with_its_experiment(tool: str, tmp_path: Path) -> None:
    environment, _ = environment_of("stolen-time", tmp_path)
    require_recorder(tool)
    run = tmp_path / "run"
    buffer = tool == "trace-cmd"
    before = snapshot(run, buffer=buffer, whole=True)
    process = started(
        [LAB / "stolen-time", "-o", run / "out", "--duration", "9", "--tool", tool],
        env=environment,
        stderr=subprocess.PIPE,
    )
    for line in process.stderr:
        if "recording" in line:
            break
    process.kill()
    process.wait()
    process.stderr.close()
    assert none_runs(run, 10) == []
    # It had put back what it had changed, and left no bundle.
    assert [path.name for path in run.iterdir()] == ["tmp"]
    recovered(environment)
    assert lasting_differences(before, run, buffer=buffer, whole=True) == []


def regression(folder: Path, awaited: str = "repeat 1") -> tuple["subprocess.Popen[str]", Path]:
    """local-regression, once it has changed skb_defer_max."""
    if not DEFER.exists() or JOURNAL.exists():
        pytest.skip("no net.core.skb_defer_max to change here, or an experiment runs")
    environment, _ = environment_of("local-regression", folder)
    words = ["--networks", "veth", "--protocols", "udp", "--defers", "17", "--duration", "30"]
    process = started(
        [LAB / "local-regression", "-o", folder / "run" / "out", "--traced", "0", *words],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while DEFER.read_text() != "17\n" or "iperf3" not in running(folder / "run"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process, folder / "run"


def assert_ends(process: "subprocess.Popen[str]", folder: Path) -> None:
    """Killed, it leaves nothing that runs."""
    process.kill()
    process.wait()
    assert none_runs(folder, 10) == []


def running(folder: Path) -> str:
    return " ".join(none_runs(folder, 0))


def test_the_next_experiment_undoes_what_one_that_was_killed_left(tmp_path: Path) -> None:
    was = DEFER.read_text() if DEFER.exists() else ""
    host = snapshot(whole=True)
    process, folder = regression(tmp_path)
    assert_ends(process, folder)
    assert DEFER.read_text() == "17\n"
    assert (folder / "out" / "unfinished").exists()
    # Whichever comes next, and whatever its own end.
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    words = ["-o", tmp_path / "b", "--duration", "1", "--tool", "tracefs"]
    done = ended([LAB / "stolen-time", *words], env=environment)
    assert done.returncode == 0, done.stderr
    assert f"{DEFER} is {was.strip()}" in done.stderr
    assert f"(process {process.pid}: capture/lab/local-reg" in done.stderr
    assert DEFER.read_text() == was
    assert list(folder.iterdir()) == [folder / "tmp"]
    assert lasting_differences(host, whole=True) == []


def test_a_changed_value_is_not_taken_for_the_hosts(tmp_path: Path) -> None:
    was = DEFER.read_text() if DEFER.exists() else ""
    process, folder = regression(tmp_path)
    assert_ends(process, folder)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    words = ["--networks", "veth", "--protocols", "udp", "--steerings", "off", "--cpus", "two"]
    words += ["--repeats", "1", "--defers", "5", "--traced", "0"]
    done = ended([LAB / "local-regression", "-o", folder / "again", *words], env=environment)
    assert done.returncode == 0, done.stderr
    assert DEFER.read_text() == was


def test_processes_end_even_if_the_guard_was_killed_too(tmp_path: Path) -> None:
    host = snapshot(whole=True)
    process, folder = regression(tmp_path)
    guard = f"sh {LAB}/lib/guard.sh {folder}/"
    guards = [pid for pid, line in commands_with(str(folder)).items() if line.startswith(guard)]
    assert len(guards) == 1
    os.kill(guards[0], signal.SIGKILL)
    process.kill()
    process.wait()
    assert "iperf3" in running(folder)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    recovered(environment)
    assert none_runs(folder, 0) == []
    assert lasting_differences(host, whole=True) == []


def test_a_file_of_the_users_stays_where_an_experiment_was_killed(tmp_path: Path) -> None:
    process, folder = regression(tmp_path)
    (folder / "out" / "mine").write_text("kept")
    assert_ends(process, folder)
    done = recovered({**os.environ, "TMPDIR": str(folder / "tmp")})
    assert str(folder / "out") in done.stderr
    assert [path.name for path in (folder / "out").iterdir()] == ["mine"]
    # A folder that has the name of one, and not its mark, is not touched at all.
    process, folder = regression(tmp_path / "second")
    assert_ends(process, folder)
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()
    (folder / "out" / "steps.tsv").write_text("another's")
    recovered({**os.environ, "TMPDIR": str(folder / "tmp")})
    assert (folder / "out" / "steps.tsv").read_text() == "another's"


def test_of_several_at_the_same_time_one_removes_it(tmp_path: Path) -> None:
    require_lab()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    for number in (1, 2, 3):
        name = f"netcost-lab-{os.getpid()}-{number}-hub"
        state = Path(f"/run/netcost-lab/{os.getpid()}-{number}")
        state.mkdir(parents=True)
        (state / "made").write_text(f"boot\t{boot}namespace\t{name}\n")
        subprocess.run(["ip", "netns", "add", name], check=True)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    several = [
        started([LAB / "restore"], env=environment, stderr=subprocess.PIPE) for _ in range(4)
    ]
    said = [process.communicate(timeout=60)[1] for process in several]
    assert [process.returncode for process in several] == [0] * 4
    assert "".join(said).count("was killed") == 3
    assert "left behind" not in "".join(said)
    assert not list(Path("/run/netns").glob(f"netcost-lab-{os.getpid()}-*"))


def test_a_pid_that_is_used_again_does_not_keep_what_is_left(tmp_path: Path) -> None:
    require_lab()
    # This process is there, and did not begin then.
    name = f"netcost-lab-{os.getpid()}-1-hub"
    subprocess.run(["ip", "netns", "add", name], check=True)
    state = Path(f"/run/netcost-lab/{os.getpid()}-1")
    state.mkdir(parents=True)
    other = f"netcost-lab-{os.getpid()}-2-hub"
    subprocess.run(["ip", "netns", "add", other], check=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    (state / "made").write_text(f"boot\t{boot}namespace\t{name}\n")
    recovered({**os.environ, "TMPDIR": str(tmp_path)})
    assert not {name, other} & namespaces()
    assert not state.exists()
