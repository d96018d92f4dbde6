# netcost-pack from tests: a bundle full of names, and what an archive of it holds.

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from support.host import ROOT, write_files
from support.kit.record import ended

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


def make_bundle(tmp_path: Path) -> Path:
    """A bundle full of names, called quiet."""
    folder = tmp_path / "quiet"
    addresses = [{"address": MAC, "broadcast": "ff:ff:ff:ff:ff:ff", "ifalias": "to the vault"}]
    addresses += [{"local": one, "prefixlen": 20, "ifname": "eth0"} for one in ADDRESSES]
    write_files(
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


def members(archive: Path, first: str = "manifest.json", owners: bool = False) -> dict[str, bytes]:
    """What is in it, in order; checked against the sums in it."""
    if archive.suffix == ".zst":
        unpacked = archive.with_suffix("")
        subprocess.run(["zstd", "-q", "-d", "-f", archive, "-o", unpacked], check=True)
        archive = unpacked
    held = {}
    with tarfile.open(archive, errors="surrogateescape") as tar:
        for member in tar:
            assert member.isfile()
            owner = (member.uid, member.gid, member.uname, member.gname)
            assert owners or owner == (0, 0, "", "")
            file = tar.extractfile(member)
            held[member.name] = file.read()
    names = list(held)
    top = names[0].partition("/")[0]
    assert names[:2] == [f"{top}/SHA256SUMS", f"{top}/{first}"]
    lines = held[f"{top}/SHA256SUMS"].decode(errors="surrogateescape").splitlines()
    sums = {line[66:]: line[:64] for line in lines}
    files = {name.partition("/")[2]: data for name, data in held.items()}
    del files["SHA256SUMS"]
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return files


def packed(bundle: Path, *options: object, env: dict[str, str]) -> Path:
    done = ended([PACK, bundle, *options], env=env)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.partition(":")[0])


# In one line that says it (or each of several), with everything in the folder left as it was.
def refused(folder: Path, *words: object, says: str | tuple[str, ...], **options: Any) -> None:
    before = snapshot(folder)
    done = ended([PACK, *words], **options)
    assert done.returncode in (1, 2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert all(one in done.stderr for one in ((says,) if isinstance(says, str) else says))
    assert snapshot(folder) == before


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


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything below a folder: its mode, and what is in it or where it leads."""
    held = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        if path.is_symlink():
            what = f"leads to {path.readlink()}"
        elif path.is_file():
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            what = "other"
        held[str(path.relative_to(folder))] = (state.st_mode, what)
    return held


def make_experiment(folder: Path, names: tuple[str, ...] = ("acme 1", "base-1")) -> Path:
    """An experiment of bundles full of names."""
    folder.mkdir()
    for name in names:
        make_bundle(folder).rename(folder / name)
    rows = "".join(f"{name}\t{at}\tyes\tgreg\n" for at, name in enumerate(names, 1))
    told = {
        "netcost_experiment": 1,
        "experiment": "repeat",
        "command": "netcost-record --repeat 2 --load 'iperf3 -c tarkus7' -o /home/greg/e",
        "kernel": "6.18.0",
        "started": "2026-11-20T14:24:23Z",
        "ended": "2026-11-20T14:25:49Z",
        "victim_cpu": 1,
        "table": "steps.tsv",
        "notes": ["the rack by Greg's window"],
    }
    write_files(
        folder,
        {
            "steps.tsv": f"folder\trepeat\tload\twhere\n{rows}",
            "experiment.json": json.dumps(told, indent=1),
        },
    )
    return folder
