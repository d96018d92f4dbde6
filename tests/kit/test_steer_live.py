# netcost-steer on this host, with RPS of a veth.

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.host_snapshot import lasting_differences, snapshot
from support.kit.killed import killed, moment_of
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
        assert "applied in another network namespace" in done.stderr
        done = ended([*inside, STEER, "restore"])
        assert (done.returncode, done.stderr) == (0, "")
        assert int(ended([*inside, "cat", mask]).stdout, 16) == 3
        assert not state.exists()
        done = ended([*inside, STEER, "apply", "--device", "veth0", "--cpu", "1"])
        assert "has no interrupt of its own" in done.stderr
    finally:
        if state.exists():
            ended([*inside, STEER, "restore"])


@pytest.mark.parametrize("turn", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_killed_on_this_host_it_can_be_taken_back(namespace: str, turn: int) -> None:
    state = Path("/run/netcost-steer")
    if state.exists():
        pytest.skip("this host is steered already")
    inside = ["ip", "netns", "exec", namespace]
    mask = "/sys/class/net/veth0/queues/rx-0/rps_cpus"
    ended([*inside, "sh", "-c", f"echo 3 >{mask}"])
    before = snapshot()
    try:
        moment = moment_of(f"veth {turn}", 0.2)
        apply = [*inside, STEER, "apply", "--device", "veth0", "--yes"]
        killed(apply, moment, signal.SIGKILL)
        done = ended([*inside, STEER, "restore"])
        assert (done.returncode, done.stderr) == (0, ""), moment
        assert int(ended([*inside, "cat", mask]).stdout, 16) == 3, moment
    finally:
        if state.exists():
            ended([*inside, STEER, "restore"])
    assert lasting_differences(before) == [], moment
