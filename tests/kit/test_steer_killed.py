# netcost-steer, ended at any moment: restore puts all back, whatever was changed by then; and what
# it does not own is not removed.

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.host_snapshot import differences, lasting_differences, snapshot, within
from support.kit.moments import Killer, every_tenth, none_runs
from support.kit.record import ended
from support.kit.steer_host import MAC, STEER, Host

APPLY = ["apply", "--device", "eth0", "--mac", MAC, "--queue", "2", "--cpu", "5", "--ntuple"]
APPLY += ["--qdisc", "noqueue", "--yes"]


@every_tenth
def test_killed_it_leaves_nothing_that_restore_does_not_put_back(
    host: Host, tmp_path: Path, tenth: int
) -> None:
    environment = host.environment()
    killer = Killer(tmp_path / "killer", writes=str(host.root), path=environment["PATH"])
    before = within(host.root)
    apply, restore = ["sh", STEER, *APPLY], ["sh", STEER, "restore"]
    kills = killer.kills(apply, tenth, env=environment)
    again = killer.kills(restore, tenth, env=environment)
    assert differences(before, within(host.root)) == []
    for place, kill in enumerate(kills):
        killer.run(apply, kill, env=environment)
        assert none_runs(host.root, 10) == []
        # All or nothing, and by itself. What is last to be changed says which.
        all_of_it = host.read("proc/sys/net/core/default_qdisc") == "noqueue"
        if kill.number != signal.SIGKILL and not all_of_it:
            assert differences(before, within(host.root)) == [], kill
        if place % 2:
            host.steer(*APPLY)
            killer.run(restore, again[place % len(again)], env=environment)
            assert none_runs(host.root, 10) == []
        host.steered("restore")
        assert differences(before, within(host.root)) == [], kill


def test_what_is_not_its_own_stays(host: Host) -> None:
    environment = host.environment()
    host.steer(*APPLY)
    state = host.root / "run" / "netcost-steer"
    (state / "mine").write_text("kept")
    done = host.steer("restore")
    assert done.returncode == 0
    assert f"left behind: {state}" in done.stderr
    assert [path.name for path in state.iterdir()] == ["mine"]
    # Folders of processes that live, and what only looks like one's.
    temporary = Path(environment["TMPDIR"])
    began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
    stay = [f"netcost-steer.{os.getpid()}-{began}", "netcost-steer.12-x", "netcost-steer.1-2-3"]
    for name in [*stay, "netcost-steer.99999999-1"]:
        (temporary / name).mkdir()
        (temporary / name / "file").touch()
    host.steer("status")
    assert {path.name for path in temporary.iterdir()} == set(stay)


def test_a_line_that_is_cut_short_is_nothing_that_was_changed(host: Host) -> None:
    before = host.settings()
    host.steer(*APPLY)
    journal = host.root / "run" / "netcost-steer" / "journal"
    # As a full disk cuts it: 0 of the 0-7 that is there.
    affinity = host.root / "proc/irq/151/smp_affinity_list"
    with journal.open("a") as lines:
        lines.write(f"write\t{affinity}\t0")
    host.steered("restore")
    assert host.settings() == before


def test_a_journal_of_an_older_one_is_understood(host: Host) -> None:
    before = host.settings()
    host.steer(*APPLY)
    state = host.root / "run" / "netcost-steer"
    (state / "journal").write_text((state / "journal").read_text().replace("\t.\n", "\n"))
    owner = (state / "owner").read_text().splitlines(keepends=True)
    (state / "owner").write_text("".join(owner[:3]))
    host.steered("restore")
    assert host.settings() == before


def test_a_pid_that_is_used_again_is_not_taken_for_whoever_applies(host: Host) -> None:
    before = host.settings()
    host.steer(*APPLY)
    owner = host.root / "run" / "netcost-steer" / "owner"
    lines = owner.read_text().splitlines()
    began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
    owner.write_text("\n".join([*lines[:3], f"{os.getpid()} {began}"]) + "\n")
    done = host.steer("restore")
    assert done.returncode == 1
    assert f"process {os.getpid()}" in done.stderr
    owner.write_text("\n".join([*lines[:3], f"{os.getpid()} 1"]) + "\n")
    assert host.steer("restore").returncode == 0
    assert host.settings() == before


@pytest.mark.parametrize(
    ("shell", "name", "places"),
    [
        *(("sh", name, [""]) for name in ("it's", "-dash", "a\tb", "ünï")),
        *(("sh", name, ["", "whole"]) for name in ("a b", "a\nb")),
        ("busybox", "*", ["", "whole"]),
    ],
)
def test_any_name_of_the_temporary_folder_works_or_is_refused(
    host: Host, shell: str, name: str, places: list[str]
) -> None:
    require_tool(shell)
    words = [shell, "ash"] if shell == "busybox" else [shell]
    beside = host.root / "beside"
    beside.mkdir()
    (beside / "b").touch()
    (host.root / name).mkdir()
    before = within(host.root)
    for place in places:
        folder = str(host.root / name) if place else name
        environment = {**host.environment(), "TMPDIR": folder}
        done = ended([*words, STEER, *APPLY], env=environment, cwd=host.root)
        if "\n" in name or "\t" in name:
            assert done.returncode == 2
            assert len(done.stderr.splitlines()) == 1
            continue
        assert (done.returncode, done.stderr) == (0, "")
        done = ended([*words, STEER, "restore"], env=environment, cwd=host.root)
        assert (done.returncode, done.stderr) == (0, "")
    (host.root / "tmp").rmdir()
    assert differences(before, within(host.root)) == []


# netcost-steer on this host, with RPS of a veth.


@pytest.fixture
def namespace() -> Iterator[str]:
    require_tool("ip")
    name = f"netcost-test-steer-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        missing(f"needs to make network namespaces: {made.stderr.strip()}")
    link = "link add name veth0 type veth peer name veth1"
    subprocess.run(["ip", "-n", name, *link.split()], check=True)
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.alone
def test_rps_of_a_veth_goes_off_and_comes_back(namespace: str) -> None:
    state = Path("/run/netcost-steer")
    if state.exists():
        pytest.skip("this host is steered already")
    mask = "/sys/class/net/veth0/queues/rx-0/rps_cpus"
    inside = ["ip", "netns", "exec", namespace]
    ended([*inside, "sh", "-c", f"echo 3 >{mask}"])
    try:
        done = ended([*inside, STEER, "apply", "--device", "veth0", "--yes"])
        assert (done.returncode, done.stderr) == (0, "")
        assert int(ended([*inside, "cat", mask]).stdout, 16) == 0
        done = ended([STEER, "restore"])
        assert done.returncode == 1
        assert "network namespace" in done.stderr
        done = ended([*inside, STEER, "restore"])
        assert (done.returncode, done.stderr) == (0, "")
        assert int(ended([*inside, "cat", mask]).stdout, 16) == 3
        assert not state.exists()
        done = ended([*inside, STEER, "apply", "--device", "veth0", "--cpu", "1"])
        assert done.returncode == 1
        assert "interrupt" in done.stderr
    finally:
        if state.exists():
            ended([*inside, STEER, "restore"])


@pytest.mark.alone
@every_tenth
def test_killed_on_this_host_it_can_be_taken_back(
    namespace: str, tmp_path: Path, tenth: int
) -> None:
    state = Path("/run/netcost-steer")
    if state.exists():
        pytest.skip("this host is steered already")
    inside = ["ip", "netns", "exec", namespace]
    mask = "/sys/class/net/veth0/queues/rx-0/rps_cpus"
    ended([*inside, "sh", "-c", f"echo 3 >{mask}"])
    killer = Killer(tmp_path / "killer", writes="/")
    before = snapshot(whole=True)
    apply = [*inside, STEER, "apply", "--device", "veth0", "--yes"]
    try:
        for kill in [None, *killer.kills(apply, tenth)]:
            if kill is not None:
                killer.run(apply, kill)
            done = ended([*inside, STEER, "restore"])
            assert (done.returncode, done.stderr) == (0, ""), kill
            assert int(ended([*inside, "cat", mask]).stdout, 16) == 3, kill
    finally:
        if state.exists():
            ended([*inside, STEER, "restore"])
    assert lasting_differences(before, whole=True) == []
