# A container, made of a network namespace and a cgroup: who it is, its interfaces' counters, its
# tasks.

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netcost_analysis import mask, open_capture
from netcost_analysis.errors import AbsentError
from netcost_analysis.timeline.task_groups import cgroups_of, container
from support.kit.record import RECORD, Recorder, ended, manifest_of, require_recorder, stub
from support.kit.service import cgroup, service
from support.run_cli import Netcost

pytestmark = pytest.mark.live

ID = f"{os.getpid():012x}" + "c0ffee" * 8 + "abcd"
OTHER = "f" + ID[1:]
QUICK = ("--duration", "0.5", "--sidecars", "none", "--interval", "0.2", "--tool", "tracefs")


@contextmanager
def network(name: str) -> Iterator[str]:
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        inside = ["ip", "-n", name]
        pair = ["link", "add", "inner0", "type", "veth", "peer", "name", "inner1"]
        subprocess.run([*inside, *pair], check=True)
        subprocess.run([*inside, "link", "set", "inner0", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    require_recorder("tracefs")
    folder = tmp_path_factory.mktemp("container")
    with (
        network(f"nc{os.getpid()}") as name,
        service(folder, 1, "app", ["ip", "netns", "exec", name]) as one,
        cgroup(f"docker-{ID}.scope", one.pid, *one.children()),
    ):
        path = stub(folder / "bin", "docker", f'[ "$4" = web ] || exit 1; echo {one.pid}')
        options = ["--attach", "container:web", "--work", one.work]
        Recorder(folder, dict(os.environ))(*QUICK, *options, path=path)
        yield folder / "b", one.pid


def test_its_cgroup_is_the_victim(recorded: tuple[Path, int]) -> None:
    bundle, pid = recorded
    of = manifest_of(bundle)["victim"]["attached"]
    assert (of["to"], of["container"]) == ("cgroup", "web")
    assert of["cgroup"] == f"/docker-{ID}.scope"
    capture = open_capture(bundle)
    assert capture.timeline().victim == f"cgroup:/docker-{ID}.scope"
    assert cgroups_of(capture)[pid] == of["cgroup"]


def test_its_interfaces_are_counted(recorded: tuple[Path, int]) -> None:
    bundle, pid = recorded
    assert manifest_of(bundle)["network_namespaces"] == [".", f"pid-{pid}"]
    for name in ("before", "after", "samples"):
        assert "inner0" in (bundle / name / f"net_dev.pid-{pid}").read_text()
        assert "inner0" not in (bundle / name / "net_dev").read_text()
    # What takes programs, and what /sys shows of that namespace.
    assert "inner0" in (bundle / "before" / f"ip_link.pid-{pid}.json").read_text()
    assert "/net/inner0/" in (bundle / "before" / "settings" / f"queues.pid-{pid}").read_text()


def test_victims_by_container(recorded: tuple[Path, int], netcost: Netcost) -> None:
    bundle, _ = recorded
    capture = open_capture(bundle)
    own = sum(
        row.ns
        for row in capture.timeline().owned_by("tid")
        if row.of_task and row.comm.startswith("app")
    )
    for name in ("container:web", f"container:{ID[:12]}", f"cgroup:/docker-{ID}.scope"):
        words = ("--victim", name, "--window", "trace", "--json")
        told = netcost("stolen", str(bundle), *words).json
        assert told["victims"][0]["on_cpu_ns"] == own
    frame = capture.ask.stolen_time.cgroups().frame.set_index("cgroup")
    assert int(frame["on_cpu_ns"][f"/docker-{ID}.scope"]) == own
    everyone = capture.ask.stolen_time.stolen().frame
    assert int(frame["on_cpu_ns"].sum()) == int(everyone["on_cpu_ns"].sum())
    assert container(capture, f"docker-{ID}.scope") == f"/docker-{ID}.scope"
    with pytest.raises(AbsentError, match="container 'other'"):
        container(capture, "other")
    with pytest.raises(AbsentError, match="cgroup '/none'"):
        capture.ask.stolen_time.thieves(victim="cgroup:/none")


def test_no_name_of_it_is_left_when_masked(recorded: tuple[Path, int], tmp_path: Path) -> None:
    bundle, pid = recorded
    mask(bundle, tmp_path / "m")
    for path in (tmp_path / "m").rglob("*"):
        if path.is_file() and ".tracefs" not in str(path):
            text = path.read_text(errors="replace")
            assert ID not in text
            assert "docker" not in text or path.name == "net_dev"
    masked = open_capture(tmp_path / "m")
    [path] = {one for one in cgroups_of(masked).values() if one == cgroups_of(masked)[pid]}
    assert path == manifest_of(tmp_path / "m")["victim"]["attached"]["cgroup"]


def test_without_its_program_it_is_found_by_its_identity(
    tmp_path: Path, recorder: Recorder
) -> None:
    with service(tmp_path, 1) as one, cgroup(f"docker-{OTHER}.scope", one.pid):
        recorder(*QUICK, "--attach", f"container:{OTHER[:12]}")
    assert manifest_of(tmp_path / "b")["victim"]["attached"]["cgroup"] == f"/docker-{OTHER}.scope"


# Root of a container that has no capability: what tracefs takes is a root's own files.
def test_root_without_capabilities_records_with_tracefs(tmp_path: Path) -> None:
    require_recorder("tracefs")
    known = subprocess.run(["capsh", "--print"], capture_output=True, text=True).stdout
    [line] = [line for line in known.splitlines() if line.startswith("Bounding set =")]
    drop = line.removeprefix("Bounding set =")
    with service(tmp_path, 1) as one:
        words = f"{RECORD} -o {tmp_path / 'b'} {' '.join(QUICK)} --attach {one.pid}"
        done = ended(["capsh", f"--drop={drop}", "--", "-c", words])
    assert done.returncode == 0, done.stderr
    assert "verdict: " in done.stdout
