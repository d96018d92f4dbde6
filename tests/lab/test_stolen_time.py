# capture/lab/stolen-time: one command, a bundle in which openssl is robbed, and no trace of itself.

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kit.lab import nothing_of_the_lab_left, require_lab
from support.kit.record import LAB, ended, lasting_processes, manifest_of

pytestmark = pytest.mark.measures


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_lab("cc", "openssl")
    with nothing_of_the_lab_left(tmp_path) as environment:
        yield environment
    assert lasting_processes("udp-load") == []


def test_openssl_is_robbed(tmp_path: Path, temporary: dict[str, str]) -> None:
    bundle = tmp_path / "b"
    options = ["--pps", "60000", "--size", "200", "--flows", "2", "--duration", "1"]
    options += ["--tool", "perf"]
    done = ended([LAB, "-o", bundle, *options], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(bundle)
    assert any(note.endswith(f"{bundle} {' '.join(options)}") for note in manifest["notes"])
    assert manifest["victim"]["command"].startswith("openssl speed")

    sent, received = sorted((bundle / "load.txt").read_text().splitlines(), reverse=True)
    assert "200 bytes" in sent
    assert "2 flows" in sent
    assert int(sent.split()[1]) >= int(received.split()[1]) > 0.9 * int(sent.split()[1])

    def packets(name: str) -> int:
        lines = (bundle / name / "net_dev").read_text().splitlines()
        return next(int(line.split()[2]) for line in lines if "veth-rx:" in line)

    # The snapshots are of the receiver's namespace, and the load ran between them.
    assert packets("after") - packets("before") > 20000

    # RPS hands every packet to the victim's CPU, where the backlog polls it.
    cpu = manifest["victim"]["cpu"]
    polls = subprocess.run(
        ["perf", "script", "-F", "cpu,event,trace", "-i", bundle / "trace.perf.data"],
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    backlog = [line for line in polls if "napi_poll" in line and "(no_device)" in line]
    steered = [line for line in backlog if f"[{cpu:03}]" in line]
    assert len(steered) > 1000
    assert len(steered) > 0.95 * len(backlog)

    # The robbery itself: less work than alone, for the same second.
    loaded, alone = (
        int((bundle / name).read_text().split("size blocks: ")[1].split()[0])
        for name in ("victim.txt", "baseline/victim.txt")
    )
    assert loaded < 0.97 * alone
