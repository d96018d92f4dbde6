# Frames for another host on an interface of this kernel, counted by capture/lib and flagged.

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis.questions.devices import device_totals, interfaces
from support.device_bundles import bundle
from support.host import ROOT, missing, require_tool

pytestmark = pytest.mark.live

SENDER = """
import socket
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packets.bind(("va", 0))
header = bytes.fromhex("45000020000000004011") + bytes(2) + bytes([192, 0, 2, 9, 192, 0, 2, 8])
ethernet = bytes.fromhex("020000000009") + bytes.fromhex("020000000008") + b"\\x08\\x00"
for _ in range(250):
    packets.send(ethernet + header + bytes(12))
"""


@pytest.fixture
def namespace() -> Iterator[str]:
    # Told by its process from what a command under test leaves: another test looks meanwhile.
    ip, name = require_tool("ip"), f"netcost-test-{os.getpid()}"
    if subprocess.run([ip, "netns", "add", name], capture_output=True).returncode:
        missing("needs root to make a network namespace")
    try:
        for command in (
            "link add va type veth peer name vb",
            "link set va up",
            "link set vb up",
            "addr add 192.0.2.1/24 dev vb",
        ):
            subprocess.run([ip, "-n", name, *command.split()], check=True)
        yield name
    finally:
        subprocess.run([ip, "netns", "del", name], check=True)


def snapshot(namespace: str, folder: Path) -> None:
    folder.mkdir()
    library = str(ROOT / "capture" / "lib")
    inside = ["nsenter", f"--net=/run/netns/{namespace}"]
    stamp = ""
    for kind in ("counters", "devices"):
        command = [*inside, "sh", f"{library}/read-network.sh", library, kind, str(folder), ""]
        stamp += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (folder / "stamp").write_text(stamp)


def dropped(namespace: str) -> int:
    command = [require_tool("ip"), "-n", namespace, "-j", "-s", "-s", "link", "show", "vb"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)[0]["stats64"]["rx"].get("otherhost", 0))


def test_frames_for_another_host_are_counted(namespace: str, tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", {})
    snapshot(namespace, tmp_path / "b" / "before")
    inside = ["nsenter", f"--net=/run/netns/{namespace}", require_tool("python3"), "-c", SENDER]
    subprocess.run(inside, check=True)
    # A busy host leaves the last of them to ksoftirqd.
    deadline = time.monotonic() + 30
    while dropped(namespace) < 250 and time.monotonic() < deadline:
        time.sleep(0.1)
    snapshot(namespace, tmp_path / "b" / "after")
    known = interfaces(told).frame.set_index("device")
    assert known.loc["vb", "otherhost_dropped"] == 250
    carried = device_totals(told).frame.set_index("device")
    assert carried.loc["vb", "rx_packets"] >= 250
