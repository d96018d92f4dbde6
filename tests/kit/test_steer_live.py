# netcost-steer on this host, with RPS of a veth.

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.host_snapshot import lasting_differences, snapshot
from support.kit.moments import Killer, every_tenth
from support.kit.record import ended
from support.kit.steer_host import STEER

pytestmark = pytest.mark.alone


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
