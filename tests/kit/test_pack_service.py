# netcost-pack --mask of what --attach, --work and --until leave: nothing names a host, a user, a
# container or a command, and what answers the questions stays.

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.pack import masked, packed
from support.kit.record import Recorder, manifest_of, require_recorder, stub
from support.kit.service import cgroup, service

pytestmark = pytest.mark.live

ID = f"{os.getpid():012x}" + "decade" * 8 + "abcd"
QUICK = ("--sidecars", "none", "--interval", "0.2", "--tool", "tracefs", "--profile", "light")


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Where it runs that is called vaultbox, and the command that says what its secretd did."""
    require_recorder("tracefs")
    folder = tmp_path_factory.mktemp("service")
    with service(folder, 1, "secretd") as one, cgroup(f"docker-{ID}.scope", one.pid):
        stub(folder / "bin", "docker", f'[ "$4" = vaultbox ] || exit 1; echo {one.pid}')
        yield folder, f": hunter2@vault.example; {one.work}"


def secrets(folder: Path) -> tuple[str, ...]:
    names = ("secretd", "vaultbox", "hunter2", "vault.example", ID, ID[:12], "docker-", str(folder))
    host = socket.gethostname()
    # One such as "vm" may be part of any word.
    return (*names, host) if len(host) > 5 else names


def recorded(folder: Path, *options: str) -> Path:
    bundle = folder / "b"
    subprocess.run(["rm", "-rf", bundle], check=True)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    attach = ("--attach", "container:vaultbox")
    Recorder(folder, dict(os.environ))(*QUICK, *attach, *options, path=path)
    return bundle


def none_left(bundle: Path, folder: Path, told: tuple[str, ...]) -> dict[str, str]:
    everything = "\n".join(
        path.read_text(errors="replace") for path in bundle.rglob("*") if path.is_file()
    )
    # What is not there cannot be left.
    assert all(one in everything for one in ("secretd", "vaultbox", "hunter2", ID))
    held, _ = masked(bundle, folder, dict(os.environ))
    for name, text in held.items():
        for one in told:
            assert one not in text, (one, name)
            assert one not in name
    listed = (folder / "out.netcost.tar.gz.masked.txt").read_text()
    assert not any(one in listed for one in told)
    return held


def test_a_service_its_container_and_its_work(container: tuple[Path, str], tmp_path: Path) -> None:
    folder, work = container
    bundle = recorded(folder, "--duration", "0.5", "--work", work)
    held = none_left(bundle, tmp_path, secrets(folder))
    was, manifest = manifest_of(bundle), json.loads(held["manifest.json"])
    victim, of = manifest["victim"], manifest["victim"]["attached"]
    assert victim["command"].endswith(" ...")
    assert of["work"].endswith(" ...")
    assert None not in (of["comm"], of["container"])
    assert of["cgroup"].startswith("/")
    # What it did, and when, is no name.
    for name in ("before/work", "after/work", "samples/work", "before/stamp"):
        assert held[name] == (bundle / name).read_text()
    assert of["start_ticks"] == was["victim"]["attached"]["start_ticks"]
    assert f"{of['comm']})" in held["before/victim"]
    assert held["samples/victim_cgroup"] == (bundle / "samples" / "victim_cgroup").read_text()
    for name in ("baseline/manifest.json", "afterwards/manifest.json"):
        assert json.loads(held[name])["victim"]["attached"] == {**of, "ended": False}


def test_what_it_waited_for(container: tuple[Path, str], tmp_path: Path) -> None:
    folder, work = container
    bundle = recorded(
        folder, "--until", f"test $({work}) -gt 1", "--after", "0.1", "--buffer", "64"
    )
    held = none_left(bundle, tmp_path, secrets(folder))
    was, manifest = manifest_of(bundle), json.loads(held["manifest.json"])
    assert manifest["until"] == {**was["until"], "command": manifest["until"]["command"]}
    assert manifest["until"]["command"].endswith(" ...")
    # Its notes have no name in them, and are kept.
    assert manifest["notes"] == was["notes"]
    assert len(was["notes"]) >= 2
    # And the whole, with its trace, is read as before.
    archive = packed(bundle, "-o", tmp_path / "whole.tar.gz", env=dict(os.environ))
    told = open_capture(bundle).info["coverage"]
    assert {row["why"] for row in told} == {"overwritten"}
    assert open_capture(archive).info["coverage"] == told
