# netcost-pack --mask: nothing is left that was to be masked, and what answers the questions stays.

import ipaddress
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from netcost_analysis.masking.names import Names
from support.host import require_tool, write_files
from support.kit.pack import (
    ADDRESSES,
    DOMAIN,
    HOST,
    MAC,
    MANIFEST,
    OTHER_MAC,
    PACK,
    SECRETS,
    masked,
    members,
    packed,
    refused,
)
from support.kit.record import busybox_alone, ended, stub
from support.outputs import OUTPUTS, SECRET_OUTPUTS, figures
from support.outputs import SECRETS as OUTPUT_SECRETS

AWKS = ["mawk", "gawk", "busybox awk"]
PEERS = ("127.0.0.1", "::1", "localhost", *ADDRESSES[2:4])


def with_awk(awk: str, folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """An environment whose awk is this one."""
    found = require_tool(awk.split()[0])
    script = f'exec {found} {" ".join(awk.split()[1:])} "$@"'
    return {**environment, "PATH": stub(folder / "bin", "awk", script)}


def test_no_name_is_left(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    held, names = masked(bundle, tmp_path, temporary)
    everything = "\n".join([*held, *held.values()])
    for secret in SECRETS:
        assert secret not in everything
    listed = (tmp_path / "out.netcost.tar.gz.masked.txt").read_text()
    assert "kind task" in listed
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


def test_busybox_will_do(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    folder = busybox_alone(tmp_path)
    archive = tmp_path / "out.netcost.tar.gz"
    command = [folder / "sh", PACK, bundle, "-o", archive, "--mask", "--trace", "omit"]
    done = ended(command, env={**temporary, "PATH": str(folder)})
    assert done.returncode == 0, done.stderr
    listed = subprocess.run(["tar", "tf", archive], capture_output=True, text=True).stdout.split()
    assert listed[:2] == ["bundle/SHA256SUMS", "bundle/manifest.json"]


def test_a_trace_is_not_packed_unmasked(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    refused(tmp_path, bundle, "--mask", says="trace.perf.data", env=temporary)
    # By what it holds, too.
    (bundle / "trace.perf.data").rename(bundle / "notes.txt")
    refused(tmp_path, bundle, "--mask", says="notes.txt", env=temporary)

    archive = packed(bundle, "--gzip", "--mask", "--trace", "keep", env=temporary)
    assert (bundle / "notes.txt").read_bytes() == members(archive)["name1.txt"]
    listed = archive.with_name(f"{archive.name}.masked.txt").read_text()
    assert "packed unmasked: name1.txt" in listed


def test_a_name_in_a_file_nobody_knows_stays_at_home(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    write_files(bundle, {"extra/diary": "fortress\n"})
    held, _ = masked(bundle, tmp_path, temporary)
    assert "extra/diary" not in held
    listed = (tmp_path / "out.netcost.tar.gz.masked.txt").read_text()
    # What it is called can be a secret as well; the map tells whoever has it.
    assert "name1/name2 left out" in listed
    assert "diary" not in listed


@pytest.mark.parametrize("awk", AWKS)
def test_peers_are_hosts(awk: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    netperf = (
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to "
        "web7.orchard.example () port 0 AF_INET\n"
    )
    late = "\n".join(["[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec"] * 2500)
    report = {"start": {"connecting_to": {"host": "www3.quarry.example", "port": 5201}}}
    write_files(
        bundle,
        {
            # Named in files that are masked before those that say whose names they are.
            "files/client.txt": "Accepted connection from harbour.eden.example, port 1\n",
            "before/settings/topology": "web7 web7.orchard.example Harbour harbour.eden.example "
            "www3 lagoon\n",
            "load.txt": f"Connecting to host harbour.eden.example., port 5999\n{netperf}{late}\n"
            "Connecting to host lagoon, port 5201\n",
            "files/iperf3.json": json.dumps(report),
        },
    )
    held, names = masked(bundle, tmp_path, with_awk(awk, tmp_path, temporary))
    everything = "\n".join(held.values())
    for secret in ("harbour", "Harbour", "eden", "web7", "orchard", "www3", "quarry", "lagoon"):
        assert secret not in everything
    harbour, web7, www3, lagoon = (
        names["host", one] for one in ("harbour", "web7", "www3", "lagoon")
    )
    assert (
        held["before/settings/topology"] == f"{web7} {web7} {harbour} {harbour} {www3} {lagoon}\n"
    )
    lines = held["load.txt"].splitlines()
    assert lines[0].startswith(f"Connecting to host {harbour}")
    assert lines[1] == netperf.strip().replace("web7.orchard.example", web7)
    assert lines[-1] == f"Connecting to host {lagoon}, port 5201"
    assert json.loads(held["files/iperf3.json"])["start"]["connecting_to"]["host"] == www3


@pytest.mark.parametrize(
    ("awk", "peer"),
    [
        pytest.param(awk, peer, marks=[pytest.mark.slow] * (AWKS[at % len(AWKS)] != awk))
        for at, peer in enumerate(PEERS)
        for awk in AWKS
    ],
)
def test_an_address_is_no_host(
    awk: str, peer: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    write_files(
        bundle,
        {
            "iperf3.json": json.dumps({"start": {"connecting_to": {"host": peer, "port": 1}}}),
            "files/iperf3.json": json.dumps({"connecting_to": {"host": peer, "port": 1}}, indent=1),
            "files/client.txt": f"Connecting to host {peer}, port 5201\n",
            "before/settings/queues": "127.0.0.1 127 0 198 2001 ::1 localhost\n",
            "before/interrupts": " 127:  0  198  2001  PCI-MSI eth0\n",
        },
    )
    held, names = masked(bundle, tmp_path, with_awk(awk, tmp_path, temporary))
    family = "ipv6" if ":" in peer else "ipv4"
    new = names.get((family, peer), peer)
    assert (new != peer) == (peer in ADDRESSES)
    assert json.loads(held["iperf3.json"])["start"]["connecting_to"]["host"] == new
    assert json.loads(held["files/iperf3.json"])["connecting_to"]["host"] == new
    assert held["files/client.txt"] == f"Connecting to host {new}, port 5201\n"
    assert held["before/settings/queues"] == "127.0.0.1 127 0 198 2001 ::1 localhost\n"
    assert held["before/interrupts"] == " 127:  0  198  2001  PCI-MSI eth0\n"
    assert {one for kind, one in names if kind == "host"} == {HOST, DOMAIN}


def test_a_map_of_addresses_as_hosts_is_mended(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    table = tmp_path / "out.mask-map.tsv"
    table.write_text("host\t127\thost1\nhost\t127.0.0.1\thost1\nhost\ttarkus7\thost2\n")
    write_files(bundle, {"before/settings/queues": "127.0.0.1 127 tarkus7\n"})
    table.chmod(0o600)
    held, _ = masked(bundle, tmp_path, temporary)
    assert held["before/settings/queues"] == "127.0.0.1 127 host2\n"


THREADS = (
    "13:36:42 0 18 1.00 rcu_exp_par_gp_kthread_worker/0\n13:36:42 0 18 1.00 rcu_preempt\n"
    "13:36:42 0 18 1.00 rcu_exp_gp_kthread_worker\n13:36:42 0 18 1.00 kworker/0:1H-kblockd\n"
    "13:36:42 0 18 1.00 ksoftirqd/1\n"
)
KEPT = {
    "files/net_dev": "@ 1 5 6\nInter-|   Receive\n  eth0: 1 2 3\n@ 2 7 8\n  eth0: 4 5 6\n",
    "files/stat": "@ 1 5 6\ncpu  1 2 3\ncpu0 1 2 3\nintr 7 0 0\nctxt 5\n",
    "files/softirqs": "@ 1 5 6\n   CPU0  CPU1\n NET_RX:  1  2\n",
    "files/interrupts": "@ 1 5 6\n   CPU0\n 24:  5  PCI-MSI 512-edge  eth0-rx-0\nLOC:  5  Timer\n",
    # Long names of kernel threads.
    "pidstat.txt": f"# Time UID PID %usr Command\n{THREADS}",
}
# What somebody called an interface, and where the kernel was built.
CHANGED = {
    "before/ip_link.txt": (
        "2: eth0: <UP> mtu 1500\n    alias to the vault\n",
        "2: eth0: <UP> mtu 1500\n    alias (masked)\n",
    ),
    "before/settings/version": (
        "Linux version 6.18.0 (greg@vault) (gcc 15) #1 SMP\n",
        "Linux version 6.18.0 (-) (gcc 15) #1 SMP\n",
    ),
}


@pytest.mark.parametrize("awk", AWKS)
def test_any_awk_keeps_what_is_no_name(
    awk: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    write_files(bundle, KEPT | {name: text for name, (text, _) in CHANGED.items()})
    write_files(bundle, {"files/stamp": f"@ 1 5 6 {DOMAIN} {ADDRESSES[0]}\n"})
    held, names = masked(bundle, tmp_path, with_awk(awk, tmp_path, temporary))
    left = {(name, one) for one in SECRETS for name, text in held.items() if one in text}
    assert left == set()
    assert KEPT.items() <= held.items()
    assert {name: text for name, (_, text) in CHANGED.items()}.items() <= held.items()
    assert names["host", HOST] in held["files/stamp"]
    listed = (tmp_path / "out.netcost.tar.gz.masked.txt").read_text().splitlines()
    of_files = [line for line in listed if "files/" in line and "files/server" not in line]
    assert not any("hidden" in line for line in of_files)


@pytest.mark.parametrize("awk", AWKS)
def test_benchmarks_keep_their_figures(
    awk: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    texts = {path.stem: path.read_bytes().decode() for path in OUTPUTS} | SECRET_OUTPUTS
    texts = {f"{name}/files/output": text for name, text in texts.items()}
    write_files(bundle, texts)
    held, names = masked(bundle, tmp_path, with_awk(awk, tmp_path, temporary))
    everything = "\n".join(held.values())
    assert [secret for secret in OUTPUT_SECRETS if secret in everything] == []
    # A name that the lab gives its steps stays.
    folders = {name: name.partition("/")[0] for name in texts}
    shown = {name: names.get(("name", one), one) for name, one in folders.items()}
    for name, text in texts.items():
        kept = [one for one in figures(text) if "hunter2" not in one.test]
        output = next(held[one] for one in held if one.startswith(f"{shown[name]}/"))
        assert figures(output) == kept
