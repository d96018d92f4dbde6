# What all experiments of capture/lab have in common, and the ones that write one bundle.

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.lab import interrupted, namespaces, ran, require_lab
from support.kit.record import manifest_of

pytestmark = pytest.mark.alone


def blocks(path: Path) -> int:
    return int(path.read_text().split("size blocks: ")[1].split()[0])


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


@pytest.mark.slow
def test_a_stream_robs_as_well(tmp_path: Path) -> None:
    require_lab("iperf3", "openssl")
    bundle = ran("stolen-time", tmp_path, "--protocol", "tcp", "--flows", "2", "--duration", "1")
    load = (bundle / "load.txt").read_text()
    assert load.count("connected to 198.18.0.2") == 2
    sums = open_capture(bundle).timeline().sums()
    robbed = sums[(sums["comm"] == "openssl") & (sums["cost_class"] == "stolen")]
    assert robbed[robbed["is_network"] == "yes"]["ns"].sum() > 1e6


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


def test_an_interrupted_hub_leaves_nothing_nor_does_one_that_was_killed(tmp_path: Path) -> None:
    require_lab("ethtool", "iperf3")
    # No process has that number, so the experiment it would be of is gone.
    killed = "netcost-lab-99999999-hub"
    subprocess.run(["ip", "netns", "add", killed], check=True)
    interrupted("quiet-interface", tmp_path, "recording", "--duration", "30")
    assert killed not in namespaces()
