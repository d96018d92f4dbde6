# netcost-pack --mask: nothing is left that was to be masked, and what answers the questions stays.

import ipaddress
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from capture_support import ended, stub
from pack_support import (
    ADDRESSES,
    DOMAIN,
    HOST,
    MAC,
    MANIFEST,
    OTHER_MAC,
    PACK,
    SECRETS,
    make_bundle,
    masked,
    members,
    packed,
    write,
)

from netcost_analysis.masking.names import Names


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make_bundle(tmp_path)


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []


def test_no_name_is_left(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    held, names = masked(bundle, tmp_path, temporary)
    everything = "\n".join([*held, *held.values()])
    for secret in SECRETS:
        assert secret not in everything
    listed = (tmp_path / "out.netcost.tar.gz.masked.txt").read_text()
    assert "names of kind task replaced" in listed
    assert not any(secret in listed for secret in SECRETS)

    # The same name by the same one, in every file and kind of text.
    host, task = names["host", HOST], names["task", "secretd"]
    assert names["host", DOMAIN] == host
    assert held["before/settings/hostname"] == f"{host}\n{host}\n"
    assert json.loads(held["mpstat.json"])["sysstat"]["hosts"][0]["nodename"] == host
    assert f"({host})" in held["pidstat.txt"]
    assert held["pidstat.txt"].splitlines()[-2].split()[-1] == task
    assert f"77 stat 77 ({task}) S 1" in held["samples/daemons"]
    assert f"({names['task', 'a (b) c']}) S 1 2" in held["samples/daemons"]
    manifest = json.loads(held["manifest.json"])
    assert manifest["victim"]["command"] == f"{task} ..."
    assert manifest["load"]["command"] == f"{names['task', 'iperf3']} ..."
    assert manifest["daemons"] == [task, "ksoftirqd/0"]
    assert manifest["notes"] == ["(masked)", MANIFEST["notes"][1]]
    assert manifest["record_command"] == "netcost-record ..."
    assert manifest["command"] == ["perf", "record", "-a", "-o", "x", "--", "x", "x"]
    assert manifest["events"] == MANIFEST["events"]

    # What answers the questions stays.
    assert "(ksoftirqd/0)" in held["samples/daemons"]
    assert held["before/net_dev"] == "  eth0: 1 2 3\n"
    assert held["victim.txt"].splitlines()[0].endswith("10 sha256's in 0.90s")
    assert "isolcpus=2" in held["before/settings/cmdline"]
    assert held["recorder.txt"] == "[ perf record: Captured and wrote 5.9 MB ]\n"


def test_subnets_keep_their_shape(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    held, names = masked(bundle, tmp_path, temporary)
    listed = json.loads(held["before/settings/ip_addr.json"])
    new = [one["local"] for one in listed if "local" in one]
    assert len(set(new) | set(ADDRESSES)) == 2 * len(ADDRESSES)

    def shared(one: str, other: str) -> int:
        """How many bits two addresses begin with alike."""
        first, second = ipaddress.ip_address(one), ipaddress.ip_address(other)
        return first.max_prefixlen - (int(first) ^ int(second)).bit_length()

    for one, other in ((0, 1), (0, 2), (3, 4)):
        assert shared(new[one], new[other]) == shared(ADDRESSES[one], ADDRESSES[other])
    assert listed[0]["address"] == names["mac", MAC] != names["mac", OTHER_MAC]
    assert listed[0]["broadcast"] == "ff:ff:ff:ff:ff:ff"
    assert names["mac", OTHER_MAC] in held["before/settings/ethtool/eth0/flow_rules"]
    assert [one.get("ifname") for one in listed[1:]] == ["eth0"] * len(ADDRESSES)


def test_a_map_is_taken_over(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    first, names = masked(bundle, tmp_path, temporary)
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(tmp_path / "out.mask-map.tsv", again)
    second, same = masked(bundle, again, temporary)
    assert second == first
    assert same == names


def test_netcost_mask_replaces_names_alike(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    _, names = masked(bundle, tmp_path, temporary)
    table = tmp_path / "out.mask-map.tsv"
    # Every bit of each address is decided by the others' prefixes and its own.
    for kind, one in [key for key in names if key[0] in ("ipv4", "ipv6")]:
        python = Names()
        python.load(table)
        del python.map[kind, one]
        assert python.address(one) == names[kind, one]
    python = Names()
    python.load(table)
    assert python.name("task", "secretd") == names["task", "secretd"]
    assert python.name("task", "another") not in names.values()


@pytest.mark.parametrize("awk", ["mawk", "gawk", "busybox awk"])
def test_any_awk_will_do(awk: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    found = shutil.which(awk.split()[0])
    if found is None:
        pytest.skip(f"{awk} is not installed")
    script = f'exec {found} {" ".join(awk.split()[1:])} "$@"'
    held, _ = masked(bundle, tmp_path, {**temporary, "PATH": stub(tmp_path / "bin", "awk", script)})
    assert not any(secret in text for secret in SECRETS for text in held.values())


def test_busybox_will_do(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    found = shutil.which("busybox")
    if found is None:
        pytest.skip("busybox is not installed")
    # Nothing else on the PATH: its shell, its tar, its awk, its gzip.
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in subprocess.run([found, "--list"], capture_output=True, text=True).stdout.split():
        (folder / name).symlink_to(found)
    archive = tmp_path / "out.netcost.tar.gz"
    command = [folder / "sh", PACK, bundle, "-o", archive, "--mask", "--trace", "omit"]
    done = ended(command, env={**temporary, "PATH": str(folder)})
    assert done.returncode == 0, done.stderr
    listed = subprocess.run(["tar", "tf", archive], capture_output=True, text=True).stdout.split()
    assert listed[:2] == ["quiet/SHA256SUMS", "quiet/manifest.json"]


def test_a_trace_is_not_packed_unmasked(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    done = ended([PACK, bundle, "--mask"], env=temporary)
    assert done.returncode == 1
    assert "trace.perf.data is a trace" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"quiet", "tmp"}
    # By what it holds, too.
    (bundle / "trace.perf.data").rename(bundle / "notes.txt")
    done = ended([PACK, bundle, "--mask"], env=temporary)
    assert (done.returncode, "notes.txt is a trace" in done.stderr) == (1, True)

    archive = packed(bundle, "--gzip", "--mask", "--trace", "keep", env=temporary)
    assert (bundle / "notes.txt").read_bytes() == members(archive)["notes.txt"]
    listed = archive.with_name(f"{archive.name}.masked.txt").read_text()
    assert "packed unmasked: notes.txt" in listed


def test_a_name_in_a_file_nobody_knows_stays_at_home(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    write(bundle, {"extra/diary": "fortress\n"})
    held, _ = masked(bundle, tmp_path, temporary)
    assert "extra/diary" not in held
    assert "extra/diary left out" in (tmp_path / "out.netcost.tar.gz.masked.txt").read_text()
