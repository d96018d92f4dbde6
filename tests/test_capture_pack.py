# netcost-pack: one file with checksums, and nothing in it that was to be masked.

import hashlib
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from capture_support import ended, path_without, started, stub
from conftest import ROOT, missing, require_tool

from netcost_analysis.mask_names import Names

PACK = ROOT / "capture" / "netcost-pack"
HOST, DOMAIN = "tarkus7", "tarkus7.eden.example"
MAC, OTHER_MAC = "52:54:00:a7:3e:09", "52:54:00:a7:3e:0a"
# Two in a subnet of 20 bits, one beside it; one host by either family.
ADDRESSES = ("203.0.113.77", "203.0.120.9", "198.18.3.4", "2001:db8:77::a1", "2001:db8:77:1::a1")
MANIFEST = {
    "netcost_bundle": 1,
    "tool": "perf",
    "trace": "trace.perf.data",
    "profile": "stolen",
    "events": ["irq:softirq_entry"],
    "command": ["perf", "record", "-a", "-o", "/home/greg/b/trace.perf.data", "--", "sh", "x.sh"],
    "record_command": f"netcost-record -o /home/greg/b --load 'iperf3 -c {DOMAIN}'",
    "victim": {"command": "/opt/secretd/secretd --key hunter2", "cpu": 1, "output": "victim.txt"},
    "load": {"command": f"iperf3 -c {ADDRESSES[0]}", "output": "load.txt"},
    "daemons": ["secretd", "ksoftirqd/0"],
    "notes": ["the rack by Greg's window", "the victim was ended by the recorder after 5 s"],
}
SECRETS = (
    *(HOST, "tarkus", "eden", "greg", "Greg", "secretd", "hunter2", "fortress", "a7:3e:09"),
    *("a7:3e:0a", *ADDRESSES, "5d4b1a3e", "vault"),
)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "quiet"
    addresses = [{"address": MAC, "broadcast": "ff:ff:ff:ff:ff:ff", "ifalias": "to the vault"}]
    addresses += [{"local": one, "prefixlen": 20, "ifname": "eth0"} for one in ADDRESSES]
    write(
        folder,
        {
            "manifest.json": json.dumps(MANIFEST, indent=2),
            "victim.txt": "Doing sha256 for 1s on 64 size blocks: 10 sha256's in 0.90s\nhunter2!\n",
            "load.txt": f"Connecting to host {DOMAIN}, port 5201\nwords of greg's\n"
            f"[  5] local {ADDRESSES[0]} port 1 connected to {ADDRESSES[1]} port 2\n",
            "recorder.txt": "[ perf record: Captured and wrote 5.9 MB /home/greg/b/trace ]\n",
            "before/net_dev": "  eth0: 1 2 3\n",
            "before/settings/hostname": f"{HOST}\n{DOMAIN}\n",
            "before/settings/cmdline": "root=5d4b1a3e-0b2c-4d5e-8f90-1234567890ab isolcpus=2\n",
            "before/settings/ip_addr.json": json.dumps(addresses),
            "before/settings/ethtool/eth0/flow_rules": f"\tDest MAC addr: {OTHER_MAC} mask: x\n",
            "samples/daemons": "@ 1 5 6\n77 stat 77 (secretd) S 1 2 3\n"
            "78 stat 78 (a (b) c) S 1 2\n14 stat 14 (ksoftirqd/0) S 2 0 0\n",
            "mpstat.json": json.dumps({"sysstat": {"hosts": [{"nodename": HOST, "release": "6"}]}}),
            "pidstat.txt": f"Linux 6.18.0 ({HOST}) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
            "# Time UID PID %usr Command\n13:36:42 0 77 1.00 secretd\n13:36:42 0 78 1.0 a (b) c\n",
            "files/server": f"Accepted connection from {ADDRESSES[2]}, port 9\nfortress\n",
        },
    )
    (folder / "trace.perf.data").write_bytes(b"PERFILE2" + bytes(range(256)) * 40)
    return folder


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []


def members(archive: Path) -> dict[str, bytes]:
    """What is in it, in order; checked against the sums in it."""
    if archive.suffix == ".zst":
        unpacked = archive.with_suffix("")
        subprocess.run(["zstd", "-q", "-d", "-f", archive, "-o", unpacked], check=True)
        archive = unpacked
    held = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            assert member.isfile()
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
            file = tar.extractfile(member)
            assert file is not None
            held[member.name] = file.read()
    names = list(held)
    top = names[0].partition("/")[0]
    assert names[:2] == [f"{top}/SHA256SUMS", f"{top}/manifest.json"]
    lines = held[f"{top}/SHA256SUMS"].decode().splitlines()
    sums = {line[66:]: line[:64] for line in lines}
    files = {name.partition("/")[2]: data for name, data in held.items()}
    del files["SHA256SUMS"]
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return files


def packed(bundle: Path, *options: object, env: dict[str, str]) -> Path:
    done = ended([PACK, bundle, *options], env=env)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.partition(":")[0])


@pytest.mark.parametrize("suffix", ["zst", "gz"])
def test_all_of_a_bundle_is_in_one_file(
    suffix: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    require_tool("zstd")
    archive = tmp_path / f"out.netcost.tar.{suffix}"
    assert packed(bundle, "-o", archive, env=temporary) == archive
    held = members(archive)
    paths = [path for path in bundle.rglob("*") if path.is_file()]
    assert held == {str(path.relative_to(bundle)): path.read_bytes() for path in paths}
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("quiet", "tmp", "out.netcost.tar", archive.name)
    }


def test_without_zstd_it_is_gzip(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    bare = {**temporary, "PATH": path_without(tmp_path / "bin", "zstd")}
    archive = packed(bundle, env=bare)
    assert archive == tmp_path / "quiet.netcost.tar.gz"
    assert members(archive)


def masked(
    bundle: Path, folder: Path, env: dict[str, str], *options: str
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    archive = folder / "out.netcost.tar.gz"
    packed(bundle, "-o", archive, "--mask", "--trace", "omit", *options, env=env)
    table = folder / "out.mask-map.tsv"
    assert table.stat().st_mode & 0o777 == 0o600
    lines = [line.split("\t") for line in table.read_text().splitlines()]
    held = {name: data.decode() for name, data in members(archive).items()}
    return held, {(kind, one): other for kind, one, other in lines}


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


def test_bundles_that_are_none(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    def refused(*options: object) -> str:
        done = ended([PACK, *options], env=temporary, cwd=tmp_path)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    assert "which bundle" in refused()
    assert "is no folder" in refused(tmp_path / "none")
    assert "has no manifest.json" in refused(tmp_path)
    assert "one bundle at a time" in refused(bundle, bundle)
    assert "--trace wants" in refused(bundle, "--trace", "maybe")
    assert "--map needs" in refused(bundle, "--map", "x")
    assert "ends in .tar.zst or .tar.gz" in refused(bundle, "-o", "x.zip")
    assert "no folder" in refused(bundle, "-o", tmp_path / "no" / "x.tar.gz")
    (tmp_path / "there.tar.gz").write_text("mine")
    assert "exists already" in refused(bundle, "-o", tmp_path / "there.tar.gz")
    assert (tmp_path / "there.tar.gz").read_text() == "mine"
    (tmp_path / "bad.tsv").write_text("no map\n")
    said = refused(bundle, "--mask", "--trace", "omit", "--map", tmp_path / "bad.tsv")
    assert "is no map of names" in said
    (bundle / "way-out").symlink_to("/etc/passwd")
    assert "is a link" in refused(bundle)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"quiet", "tmp", "there.tar.gz", "bad.tsv"}


def test_a_file_that_changes_is_found_out(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    require_tool("gzip")
    change = f'echo more >>{bundle}/load.txt; exec {require_tool("gzip")} "$@"'
    path = stub(tmp_path / "bin", "gzip", f'case "$*" in *-6*) {change} ;; esac\n{change[22:]}')
    done = ended([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    assert done.returncode == 1
    assert {one.name for one in tmp_path.iterdir()} == {"quiet", "tmp", "bin"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(
    number: signal.Signals, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    path = stub(tmp_path / "bin", "gzip", "sleep 60")
    process = started([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    lock = tmp_path / "quiet.netcost.tar.gz.lock"
    while not (tmp_path / "quiet.netcost.tar.gz.partial").exists():
        assert process.poll() is None
        time.sleep(0.05)
    # A second one is told who is at work.
    done = ended([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    assert done.returncode == 1
    assert f"process {process.pid}, since" in done.stderr
    assert lock.is_dir()
    os.killpg(process.pid, number)
    assert process.wait(timeout=30) == 128 + number
    assert {one.name for one in tmp_path.iterdir()} == {"quiet", "tmp", "bin"}


def test_a_full_disk_leaves_nothing(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    (bundle / "trace.perf.data").write_bytes(b"PERFILE2" + os.urandom(400_000))
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "full", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        missing("cannot mount a small disk here")
    try:
        done = ended([PACK, bundle, "-o", disk / "x.tar.gz"], env=temporary)
        assert done.returncode == 1
        assert "is there room" in done.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_help_lists_every_option() -> None:
    done = ended([PACK, "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--output", "--gzip", "--mask", "--map", "--trace"):
        assert option in done.stdout
