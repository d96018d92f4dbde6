# What all experiments of capture/lab have in common, and the ones that write one bundle.

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.lab import EXPERIMENTS, LAB, interrupted, namespaces, ran, require_lab
from support.kit.record import ended, manifest_of, shellcheck

pytestmark = pytest.mark.alone

# Of all that shellcheck can find: braces, quotes of numbers, defaults of case, statuses that a
# substitution hides, and names that what is sourced sets.
MATTERS_OF_STYLE = "SC2250,SC2248,SC2249,SC2292,SC2310,SC2311,SC2312,SC2154,SC2034"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_help_lists_every_option(name: str) -> None:
    done = ended([LAB / name, "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    script = (LAB / name).read_text()
    taken = re.findall(r"^takes_value='([^']*)'", script, re.M)
    assert taken
    for option in taken[0].split():
        assert f"--{option}" in done.stdout
    assert "--output" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stolen-time", "--protocol", "sctp"], "--protocol wants some of: udp tcp; not sctp"),
        (["datapath-sweep", "--paths", "bridge,hub"], "--paths wants some of"),
        (["datapath-sweep", "--rates", "1000,fast"], "--rates wants a whole number, not fast"),
        (["datapath-sweep", "--rates", ","], "--rates wants at least one value"),
        (["datapath-sweep", "--steering", "rps", "--paths", "xdp"], "does not work with xdp"),
        (["stolen-time", "--flows", "1,65"], "--flows wants 1 to 64, not 65"),
        (["stolen-time", "--trace", "0.0"], "--trace wants more than 0"),
        (["stolen-time", "--repeats", "0"], "--repeats wants 1 to 1000, not 0"),
        (["datapath-sweep", "--trace", "4", "--duration", "5"], "--trace wants at most 3, not 4"),
        (["datapath-sweep", "--repeat-rates", "7"], "--repeat-rates wants some of: 1000 10000"),
        (["local-regression", "--trace", "1.5"], "--trace wants at most 1, not 1.5"),
        (["local-regression", "--repeats", "1001"], "--repeats wants 0 to 1000, not 1001"),
        (["local-regression", "--repeats", "0", "--traced", "0"], "leave nothing to do"),
        (["local-regression", "--profile", "energy"], "no profile of tracepoints energy"),
        (["local-regression", "--tool", "trace-cmd"], "--tool perf or tracefs"),
        (["local-regression", "--defers", "-1"], "--defers wants a whole number"),
        (["local-regression", "--loops", "1"], "no such option: --loops"),
        (["io-sizes", "--tool", "trace-cmd"], "--tool is perf"),
        (["io-sizes", "--sizes", "0"], "--sizes wants 1 to 1048576, not 0"),
        (["quiet-interface", "--intervals", "0.5,no"], "--intervals wants seconds"),
        (["quiet-interface", "--intervals", "0.0"], "--intervals wants more than 0"),
        (["quiet-interface", "--bitrate"], "--bitrate needs a value"),
        (["hidden-cost", "--rates", "80000x65"], "--rates wants 1 to 64, not 65"),
        (["hidden-cost", "--rates", "0,1x2x3"], "--rates wants numbers, or RATExBURST, not 1x2x3"),
        (["nic-guest", "--kernels", "6.12,2.4"], "--kernels wants some of: 5.10 6.1 6.1-rt 6.12"),
        (["nic-guest", "--nic", "ne2000"], "--nic wants some of: virtio e1000e igb; not ne2000"),
        (["nic-guest", "--queues", "0"], "--queues wants 1 to 8, not 0"),
    ],
)
def test_bad_usage_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    name, *options = words
    done = ended([LAB / name, "-o", "x", *options], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_an_output_there_is_nothing_to_do(name: str) -> None:
    done = ended([LAB / name])
    assert (done.returncode, done.stderr) == (
        2,
        f"{name}: -o DIR is needed: where to write (--help says how)\n",
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_folder_that_is_there_is_not_written_to(name: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").touch()
    done = ended([LAB / name, "-o", tmp_path / "there"])
    assert done.returncode == 1
    assert "exists already" in done.stderr
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]


def test_the_scripts_are_clean() -> None:
    files = [path for path in sorted(LAB.rglob("*")) if path.is_file() and path.suffix != ".c"]
    assert {LAB / name for name in EXPERIMENTS} < set(files)
    done = ended([shellcheck(), "--enable=all", f"--exclude={MATTERS_OF_STYLE}", *files])
    assert done.stdout == ""


def blocks(path: Path) -> int:
    return int(path.read_text().split("size blocks: ")[1].split()[0])


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
