# What all experiments of capture/lab have in common, and the ones that write one bundle.

import csv
import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing, require_tool
from support.kit.lab import (
    DEFER,
    LAB,
    interrupted,
    lab,
    namespaces,
    nothing_of_the_lab_left,
    ran,
    require_lab,
)
from support.kit.record import ended, lasting_processes, manifest_of


def blocks(path: Path) -> int:
    return int(path.read_text().split("size blocks: ")[1].split()[0])


@pytest.mark.alone
@pytest.mark.measures
def test_the_top_rate_is_handed_over_to_ksoftirqd(tmp_path: Path) -> None:
    require_lab("cc", "openssl")
    bundle = ran("stolen-time", tmp_path, "--pps", "max", "--duration", "1")
    cpu = manifest_of(bundle)["victim"]["cpu"]
    slices = open_capture(bundle).timeline().slices
    thread = slices[slices["comm"] == f"ksoftirqd/{cpu}"]
    assert len(thread) > 10
    # It works on packets there, and the victim waits.
    assert (thread["out_ns"] - thread["in_ns"]).sum() > 50e6
    assert blocks(bundle / "victim.txt") < 0.9 * blocks(bundle / "baseline" / "victim.txt")


@pytest.mark.alone
@pytest.mark.slow
def test_a_stream_robs_as_well(tmp_path: Path) -> None:
    require_lab("iperf3", "openssl")
    bundle = ran("stolen-time", tmp_path, "--protocol", "tcp", "--flows", "2", "--duration", "1")
    load = (bundle / "load.txt").read_text()
    assert load.count("connected to 198.18.0.2") == 2
    sums = open_capture(bundle).timeline().sums()
    robbed = sums[(sums["comm"] == "openssl") & (sums["cost_class"] == "stolen")]
    assert robbed[robbed["is_network"] == "yes"]["ns"].sum() > 1e6


@pytest.mark.alone
@pytest.mark.measures
def test_an_interface_without_an_address_polls_what_the_other_gets(tmp_path: Path) -> None:
    require_lab("ethtool", "iperf3")
    # Not with perf: on some virtual machines it has no event of a CPU that idles (docs/capture.md).
    words = ["--duration", "3", "--intervals", "0.2,0.7,0.4", "--tool", "tracefs"]
    bundle = ran("quiet-interface", tmp_path, *words)
    polls = open_capture(bundle).timeline().polls
    packets = polls.groupby("device", observed=True)["work"].sum()
    # The frames of both directions: the hub gives it the answers as well.
    assert packets["quiet0"] >= packets["busy0"] > 1000
    assert packets["quiet0"] < 1.5 * packets["busy0"]

    heads = re.findall(r"^@ (\d+) (\d+) (\d+)$", (bundle / "files/net_dev").read_text(), re.M)
    assert [int(number) for number, _, _ in heads] == list(range(1, len(heads) + 1))
    starts = [int(start) for _, start, _ in heads]
    gaps = [(b - a) / 1e9 for a, b in itertools.pairwise(starts)]
    assert len(gaps) >= 4
    for gap, least in zip(gaps, [0.2, 0.7, 0.4] * 9, strict=False):
        assert gap >= least
    addresses = (bundle / "before/settings/ip_addr.json").read_text()
    assert addresses.count("198.18.0.") >= 1
    assert "quiet0" in addresses


@pytest.mark.alone
def test_an_interrupted_hub_leaves_nothing_nor_does_one_that_was_killed(tmp_path: Path) -> None:
    require_lab("ethtool", "iperf3")
    # No process has that number, so the experiment it would be of is gone.
    killed = "netcost-lab-99999999-hub"
    subprocess.run(["ip", "netns", "add", killed], check=True)
    interrupted("quiet-interface", tmp_path, "recording", "--duration", "30")
    assert killed not in namespaces()


# capture/lab/stolen-time: one command, a bundle in which openssl is robbed, and no trace of itself.


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_lab("cc", "openssl")
    with nothing_of_the_lab_left(tmp_path) as environment:
        yield environment
    assert lasting_processes("udp-load") == []


@pytest.mark.measures
def test_openssl_is_robbed(tmp_path: Path, temporary: dict[str, str]) -> None:
    bundle = tmp_path / "b"
    options = ["--pps", "60000", "--size", "200", "--flows", "2", "--duration", "1"]
    options += ["--tool", "perf"]
    done = ended([LAB / "stolen-time", "-o", bundle, *options], env=temporary)
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
    assert blocks(bundle / "victim.txt") < 0.97 * blocks(bundle / "baseline" / "victim.txt")


# net.core.skb_defer_max on this host: what is freed where, and that a count which is stuck is made
# to begin anew, whatever ended the experiment that had stuck it.


COUNT = """
    workspace=$1 mark=''
    trickle_deferral 0 1 || { echo "$watch_frees_reason"; exit 1; }
    echo "$freed_by_reader $freed_by_allocator"
"""


@pytest.fixture
def limit() -> Iterator[str]:
    """The host's, which defers as it says before and after."""
    for tool in ("iperf3", "pidstat", "ip", "unshare"):
        require_tool(tool)
    if os.geteuid() != 0 or not os.access(DEFER, os.W_OK) or (os.cpu_count() or 0) < 2:
        missing("needs root, two CPUs and net.core.skb_defer_max")
    before = DEFER.read_text().strip()
    if int(before) <= 1:
        missing("needs a host that defers frees")
    yield before
    ended([LAB / "restore"])
    assert DEFER.read_text().strip() == before


def frees(folder: Path) -> tuple[int, int]:
    reader, allocator = map(int, lab(COUNT, folder).split())
    return reader, allocator


def is_deferred(folder: Path) -> bool:
    reader, allocator = frees(folder)
    assert reader + allocator >= 200
    return allocator > 4 * reader


@pytest.mark.live
@pytest.mark.alone
def test_a_step_shows_what_is_deferred(limit: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--networks", "loopback", "--protocols", "udp", "--steerings", "off,on", "--cpus"]
    command = [LAB / "local-regression", "-o", out, *words, "two", "--repeats", "1", "--traced"]
    done = ended([*command, "0", "--defers", "0,64", "--seed", "1"])
    assert done.returncode == 0, done.stderr
    with (out / "steps.tsv").open() as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    assert len(rows) == 4
    for row in rows:
        reader, allocator, handed = (
            int(row[f"control_{name}"])
            for name in ("freed_by_reader", "freed_by_allocator", "handed")
        )
        more, less = (allocator, reader) if row["skb_defer_max"] == "64" else (reader, allocator)
        assert more > 4 * less
        assert more + less >= 200
        assert (handed >= 100) == (row["rps"] == "on")
    assert DEFER.read_text().strip() == limit
    assert is_deferred(tmp_path)


# On a kernel that is mended there is nothing to be stuck.
@pytest.mark.live
@pytest.mark.alone
def test_what_a_killed_experiment_has_stuck_is_made_to_begin_anew(
    limit: str, tmp_path: Path
) -> None:
    script = f"""
        begin_state && set_sysctl {DEFER} 0
        workspace=$1
        trickle_deferral 0 1
        kill -KILL $$
    """
    with pytest.raises(subprocess.CalledProcessError):
        lab(script, tmp_path)
    assert DEFER.read_text().strip() == "0"
    done = ended([LAB / "restore"])
    assert done.returncode == 0, done.stderr
    assert DEFER.read_text().strip() == limit
    assert is_deferred(tmp_path)


@pytest.mark.live
@pytest.mark.alone
def test_a_host_that_defers_nothing_stays_so(limit: str, tmp_path: Path) -> None:
    try:
        DEFER.write_text("0")
        lab(f"begin_state && set_sysctl {DEFER} 64; restore_sysctls; undo_state $state $mark")
        assert DEFER.read_text().strip() == "0"
        assert not is_deferred(tmp_path)
    finally:
        DEFER.write_text(limit)
        lab("restore_deferral")
    assert is_deferred(tmp_path)
