# netcost mask on a bundle, packed and not: texts and trace call everything by the same new names,
# and no old one is left.

import json
import re
import tarfile
from pathlib import Path

import pytest

from netcost_analysis import Bundle, CaptureError, open_capture
from netcost_analysis._native import first_bytes
from netcost_analysis.masking import mask
from netcost_analysis.masking.free_text import MASKED
from netcost_analysis.masking.texts import Texts
from netcost_analysis.questions.accounting import estimates
from support import packed_bundles as p
from support.host import write_files
from support.masking import files, found_in, ledger
from support.perfdata import Header, cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost

S = 1_000_000_000
OPENSSL = h.Task(500, "openssl")
SECRETS = [
    *(b"db1", b"example.org", b"openssl", b"/home/alice", b"192.168.7.17", b"192.168.7.255"),
    *(b"52:54:00:12:34:56", b"5054:ff:fe12:3456", b"shop-web", b"alices-tool", b"uplink to the"),
    *(b"12345678-1234", b"builder@", b"the user's own note", b"what it printed"),
    *(b"peer", b"example.net"),
]
IP_ADDR = [
    {
        "ifname": "eth0",
        "address": "52:54:00:12:34:56",
        "broadcast": "ff:ff:ff:ff:ff:ff",
        "ifalias": "uplink to the customer",
        "mtu": 1500,
        "addr_info": [
            {"local": "192.168.7.17", "prefixlen": 24, "broadcast": "192.168.7.255"},
            {"local": "fe80::5054:ff:fe12:3456", "prefixlen": 64},
        ],
    }
]
MPSTAT = {"sysstat": {"hosts": [{"nodename": "db1.example.org", "statistics": [{"cpu": "all"}]}]}}
IPERF = {
    "start": {
        "connected": [{"local_host": "192.168.7.17", "local_port": 5201}],
        "connecting_to": {"host": "peer.example.net", "port": 5201},
        "version": "iperf 3.12",
        "cookie": "x",
        "note": "uplink to the customer",
    }
}
PIDSTAT = """Linux 6.18.0 (db1.example.org) \t11/20/26 \t_x86_64_\t(2 CPU)

# Time        UID       PID    %usr %system   CPU  Command
13:42:18        0         2    0.00    0.00     1  kthreadd
13:42:18        0         3    0.00    0.00     1  rcu_exp_par_gp_kthread_worker/0
13:42:18     1000       500   99.00    0.00     0  openssl
13:42:18     1000       501    1.00    0.00     0  shop-web --port 80
"""
TEXTS = {
    "victim.txt": "Doing sha256 for 3s on 1024 size blocks: 4523369 sha256's in 2.41s\n"
    "what it printed besides\n",
    "load.txt": "Connecting to host peer.example.net, port 5201\n"
    "[  5] local 192.168.7.17 port 4711 connected to 192.168.7.18 port 5201\n"
    "[  5]   0.00-1.00   sec  1.00 GBytes  8.60 Gbits/sec    0   1.37 MBytes\n",
    "before/ip_link.txt": "2: eth0: <UP> mtu 1500\n    alias uplink to the customer\n",
    "recorder.txt": "[ perf record: Captured and wrote 1.7 MB /home/alice/x.data (9 samples) ]\n",
    "pidstat.txt": PIDSTAT,
    "mpstat.json": json.dumps(MPSTAT),
    "files/server.json": json.dumps(IPERF),
    "before/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1\n",
    "before/stamp": f"monotonic_ns {S}\n",
    "before/settings/hostname": "db1\ndb1.example.org\n",
    "before/settings/ip_addr.json": json.dumps(IP_ADDR),
    "before/settings/cmdline": "ro root=UUID=12345678-1234-1234-1234-123456789abc nohz_full=1 x\n",
    "before/settings/version": "Linux version 6.18.0 (builder@db1) (gcc 15) #1 SMP\n",
    "before/settings/sysctl_net_core": "net.core.netdev_budget = 300\n",
    "samples/victim": "500 stat 500 (openssl) R 1 1 1 0 -1 4194304 5\n"
    "501 stat 501 (a-name-of-sixteen-and-more) R 1 1 1 0 -1 4194304 5\n",
    "kernel_config": "CONFIG_HZ=250\n",
    "files/openssl.json": "{}",
    "files/net_dev": "@ 1 2 3\neth0: 1 2 3 4\n",
    "shop-web.log": "what it printed",
    "unknown-file": "openssl on 192.168.7.17\n",
    "core": "\0openssl\0",
}


def written(folder: Path) -> Path:
    told = recording(
        cpu(
            0,
            *(h.SoftirqRaise(S, 3), h.SoftirqEntry(S + 100, 3), h.NapiPoll(S + 700, "eth0", 5)),
            *(h.SoftirqExit(S + 900, 3), h.Switch(S + 2000, h.Task(501, "shop-web"))),
            h.Switch(S + 3000, h.idle(0)),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
        header=Header("db1.example.org", cmdline=("perf", "record", "-a", "--", "alices-tool")),
    )
    manifest = {
        "netcost_bundle": 1,
        "tool": "perf",
        "trace": "trace.perf.data",
        "command": ["perf", "record", "-a", "-o", "/home/alice/x.data", "--", "alices-tool"],
        "record_command": "netcost-record -o /home/alice/x --victim 'openssl speed'",
        "cpus": "all",
        "host": {"kernel": "6.18.0", "sysctls": {"net.core.netdev_budget": 300}},
        "victim": {
            "command": "/usr/bin/openssl speed -evp sha256",
            "cpu": 0,
            "pid": 500,
            "user_s": 2.41,
            "wall_s": 3.0,
            "output": "victim.txt",
        },
        "load": {"command": "alices-tool --to 192.168.7.17", "output": None},
        "daemons": ["shop-web"],
        "baseline": "baseline/",
        "notes": ["the user's own note"],
    }
    folder.mkdir()
    told.write(folder / "trace.perf.data")
    idle = {"netcost_bundle": 1, "victim": {**manifest["victim"], "user_s": 3.0}}  # type: ignore[dict-item]
    texts = {
        **TEXTS,
        "manifest.json": json.dumps(manifest),
        "baseline/manifest.json": json.dumps(idle),
        "baseline/victim.txt": TEXTS["victim.txt"],
    }
    return write_files(folder, texts)


def packed(folder: Path, out: Path, how: str) -> Path:
    held = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder)}
    out.write_bytes(p.packed(p.tar(p.members(held, "db1-evening")), how))
    return out


def test_no_name_is_left(tmp_path: Path) -> None:
    source, target = written(tmp_path / "in"), tmp_path / "out"
    assert {secret for _, secret in found_in(source, SECRETS)} >= set(SECRETS)
    masked = mask(source, target)
    assert found_in(target, SECRETS) == []
    assert found_in(tmp_path / "out.masked.txt", SECRETS) == []
    # By their names in the map alone: who called a file so can be a secret too.
    assert sum(what.endswith("left out") for what in masked.changes) == 3
    assert masked.changes["name1 left out"] == masked.changes["name3.log left out"] == 1
    left_out = {"unknown-file", "core", "shop-web.log"}
    kept = {path.relative_to(source).as_posix() for path in files(source)} - left_out
    kept = {name.replace("files/openssl.", "files/name2.") for name in kept}
    assert {path.relative_to(target).as_posix() for path in files(target)} == kept


def test_it_answers_the_same(tmp_path: Path) -> None:
    source, target = written(tmp_path / "in"), tmp_path / "out"
    mask(source, target)
    assert ledger(source / "trace.perf.data") == ledger(target / "trace.perf.data")
    one, other = open_capture(source), open_capture(target)
    # The victim is found in the trace by its new name.
    assert one.bundle.victim_comm == "openssl"
    assert other.bundle.victim_comm in set(other.timeline().sums()["comm"])
    got, others = (estimates(each.bundle, each.timeline()).frame for each in (one, other))
    assert got["got_share"].tolist() == others["got_share"].tolist()
    assert other.bundle.before.stat.equals(one.bundle.before.stat)
    assert other.bundle.kernel_config == one.bundle.kernel_config
    assert other.bundle.manifest.host == one.bundle.manifest.host
    victim, masked = (each.bundle.manifest_json["victim"] for each in (one, other))
    assert masked == victim | {"command": masked["command"]}


# perf's own events are no names; what a user called one is.
def test_events_that_were_sampled_stay_but_for_names_in_them(tmp_path: Path) -> None:
    source, target = written(tmp_path / "in"), tmp_path / "out"
    manifest = json.loads((source / "manifest.json").read_text())
    others = ["instructions", "cache-misses", "cpu_core/cycles/", "cpu/event=1,name=alices-tool/"]
    sampled = {"output": "functions.perf.data", "event": "cycles", "other_events": others}
    (source / "manifest.json").write_text(json.dumps({**manifest, "samples_of_functions": sampled}))
    mask(source, target)
    said = json.loads((target / "manifest.json").read_text())["samples_of_functions"]
    assert said == {**sampled, "other_events": [*others[:3], MASKED]}


def test_texts_and_trace_say_the_same_names(tmp_path: Path) -> None:
    source, target = written(tmp_path / "in"), tmp_path / "out"
    mask(source, target)
    victim = Bundle(target).victim_comm
    sums = open_capture(target).timeline().sums()
    [other] = set(sums["comm"].dropna()) - {victim, "swapper/0"}
    assert f"({victim}) R" in (target / "samples/victim").read_text()
    lines = (target / "pidstat.txt").read_text().splitlines()
    assert lines[0].startswith("Linux 6.18.0 (h1)")
    shown = [line.split()[-1] for line in lines[3:7]]
    assert shown[:3] == ["kthreadd", "rcu_exp_par_gp_kthread_worker/0", victim]
    assert Bundle(target).manifest_json["daemons"] == [other]
    [interface] = json.loads((target / "before/settings/ip_addr.json").read_text())
    address, link_local = (one["local"] for one in interface["addr_info"])
    [server] = json.loads((target / "files/server.json").read_text())["start"]["connected"]
    assert server["local_host"] == address
    start = json.loads((target / "files/server.json").read_text())["start"]
    assert start["version"] == "iperf 3.12"
    assert start["connecting_to"] == {"host": "h2", "port": 5201}
    assert (target / "files/net_dev").read_text().splitlines()[1].startswith("eth0: ")
    assert interface["addr_info"][0]["broadcast"] == address.rpartition(".")[0] + ".255"
    assert address.startswith("192.168.")
    assert link_local.startswith("fe80::")
    assert interface["address"] == "02:00:00:00:00:01"
    assert open_capture(target).header["hostname"] == "h1"
    told = (target / "before/settings/cmdline").read_text()
    assert told.split() == ["ro", "root=-", "nohz_full=1", "-"]


@pytest.mark.parametrize("how", ["zstd", "gzip", "none"])
def test_a_packed_one_stays_packed(tmp_path: Path, netcost: Netcost, how: str) -> None:
    source = packed(written(tmp_path / "in"), tmp_path / "db1.netcost.tar.zst", how)
    target = tmp_path / "for-you.netcost.tar.zst"
    done = netcost("mask", str(source), str(target))
    assert (done.code, done.err) == (0, "")
    assert found_in(target, SECRETS) == []
    assert netcost("info", str(target), "--json").json["hostname"] == "h1"
    plain = tmp_path / "out"
    mask(tmp_path / "in", plain)
    assert ledger(Path(Bundle(target).trace)) == ledger(plain / "trace.perf.data")
    # Nothing of the maker's is in the archive either.
    archived = tmp_path / "plain.tar"
    archived.write_bytes(first_bytes(str(target), 64 << 20))
    with tarfile.open(archived) as archive:
        members = archive.getmembers()
    assert members[0].name == "bundle/SHA256SUMS"
    assert {(one.uname, one.gname, one.uid, one.mtime) for one in members} == {("", "", 0, 0)}


def test_a_map_joins_two_bundles_of_one_host(tmp_path: Path, netcost: Netcost) -> None:
    source, kept = written(tmp_path / "in"), tmp_path / "kept.tsv"
    # As netcost-pack --mask leaves it.
    kept.write_text(
        "host\tdb1\thost1\nhost\tdb1.example.org\thost1\ntask\topenssl\ttask9\n"
        "ipv4\t192.168.7.17\t192.168.99.17\n"
    )
    for target in ("one", "two"):
        done = netcost("mask", str(source), str(tmp_path / target), "--map", str(kept))
        assert done.code == 0, done.err
    for one, other in zip(files(tmp_path / "one"), files(tmp_path / "two"), strict=True):
        assert one.read_bytes() == other.read_bytes(), one
    assert Bundle(tmp_path / "one").victim_comm == "task9"
    assert "192.168.99.17" in (tmp_path / "one/before/settings/ip_addr.json").read_text()
    assert re.search(r"^mac\t52:54:00:12:34:56\t02:00:00:00:00:01$", kept.read_text(), re.MULTILINE)


@pytest.mark.parametrize("kind", ["trace", "texts"])
def test_a_bundle_that_leads_out_of_itself(tmp_path: Path, kind: str) -> None:
    source, target = written(tmp_path / "in"), tmp_path / "out"
    outside = tmp_path / "outside"
    outside.write_text("openssl")
    if kind == "trace":
        (source / "trace.perf.data").unlink()
        (source / "trace.perf.data").symlink_to(outside)
        with pytest.raises(CaptureError, match="outside the bundle"):
            mask(source, target)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "outside"]
        return
    (source / "before" / "loadavg").symlink_to(outside)
    assert mask(source, target).changes["before/loadavg left out"] == 1
    assert not (target / "before" / "loadavg").exists()


def test_what_a_rule_leaves_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = written(tmp_path / "in")
    monkeypatch.setattr(Texts, "_counters", lambda _, text: text)
    with pytest.raises(CaptureError, match="settings/version: host names"):
        mask(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
