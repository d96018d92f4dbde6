# What files of /proc and /sys, sysctl, ethtool, tc, a shell's `time` and netcost-record's own texts
# say; and that such texts are taken apart in parsers/ alone.

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError, Snapshot, parse_schedstat, parse_task_stat
from netcost_analysis.parsers.interfaces import (
    address_counts,
    link_facts,
    links_of,
    parse_ethtool_driver,
    parse_ethtool_statistics,
    qdiscs,
)
from netcost_analysis.parsers.kallsyms import parse_kallsyms
from netcost_analysis.parsers.openssl import parse_shell_time
from netcost_analysis.parsers.proc_text import (
    cpu_mhz,
    parse_available_memory,
    parse_task_files,
    parse_victim_stat,
)
from netcost_analysis.parsers.recorder_texts import parse_preflight_cost
from netcost_analysis.parsers.settings import parse_sysctls, scaling, tickless_cpus
from support.host import ROOT

CPU = "/sys/devices/system/cpu/cpu"
SCALED = "".join(
    f"{CPU}{cpu}/cpufreq/scaling_{name} {value}\n"
    for cpu, limit in ((0, 3_000_000), (1, 2_000_000))
    for name, value in (("driver", "acpi"), ("governor", "powersave"), ("max_freq", limit))
)
STAT = f"7 (a) b) R {' '.join(map(str, range(4, 52)))}"
TASKS = "7 stat 7 (sh) S 1\n7 schedstat 500 20 3\n9 schedstat x 20 3\n11 Name:\tsh\n\n- 3\n"
# A parser, a text, what it says.
TEXTS: list[tuple[Callable[[str], Any], str, Any]] = [
    (
        cpu_mhz,
        "processor\t: 0\ncpu MHz\t\t: 2596.120\ncpu MHz\t\t: 800\n",
        [2596.12, 800],
    ),
    *(
        (cpu_mhz, text, [])
        for text in ("", "cpu MHz\t: fast\n", "cpu MHz\t: -1\n", "x cpu MHz: 1\n")
    ),
    (scaling, SCALED, (True, ("powersave",), 3_000.0)),
    (scaling, f"{CPU}idle/current_driver haltpoll\n", (False, (), None)),
    (scaling, f"{CPU}0/cpufreq/scaling_max_freq {'9' * 40}\n", (False, (), None)),
    (parse_available_memory, "MemFree: 1 kB\nMemAvailable:   22334455 kB\n", 22_334_455 * 1024),
    # Before 3.14 the kernel did not say.
    *(
        (parse_available_memory, text, None)
        for text in ("", "XMemAvailable: 1 kB\nMemFree: 1 kB\n")
    ),
    # bnxt_en and others begin a ring's counter with its number.
    (
        parse_ethtool_statistics,
        "NIC statistics:\n     rx0_drops: 3\n     [0]: rx: 4\n     name: many\n",
        {"rx0_drops": 3, "[0]: rx": 4},
    ),
    (
        parse_ethtool_driver,
        "driver: virtio_net\nfirmware-version: \nbus-info: 0000:00:03.0\n",
        {"driver": "virtio_net", "bus-info": "0000:00:03.0"},
    ),
    (parse_sysctls, "a=\tb = c \nnone\n", {"a": "b = c"}),
    (parse_task_files, TASKS, ({7, 9, 11}, {7: 500, 9: None})),
    (
        parse_preflight_cost,
        "tool  ok\ncost  ok  about 950 ns an event (3 runs)\n",
        (950, "3 runs"),
    ),
    (parse_preflight_cost, "cost  warn  unknown\n", None),
    *(
        (tickless_cpus, f"{CPU[:-4]}/isolated 1\n{CPU[:-4]}/nohz_full {listed}\n", cpus)
        for listed, cpus in (
            ("2-4,7", [2, 3, 4, 7]),
            ("(null)", []),
            # No kernel's: as long as its first range, however often that is repeated.
            (",".join(["0-9"] * 1000), list(range(10))),
        )
    ),
    *(
        (parse_shell_time, text, wanted)
        for text, wanted in (
            ("\nreal\t1m4.180s\nuser\t0m2.302s\nsys\t0m1.407s\n", (64.18, 2.302, 1.407)),
            ("real 4.18\nuser 2.30\nsys 1.40\n", (4.18, 2.3, 1.4)),
            ("sha256 67998.56k\nreal\t0m4,18s\nuser\t0m2,3s\nsys\t0m1,4s\n", (4.18, 2.3, 1.4)),
            # What ran before it was not it.
            ("real 1.0 user 1.0 sys 1.0\nreal 2.0 user 2.0 sys 2.0", (2.0, 2.0, 2.0)),
            ("real 4.18\nuser 2.30\n", None),
            ("real -4.18 user 2.3 sys 1.4", None),
            (f"real {'9' * 400}.0 user 2.3 sys 1.4", None),
            ("unreal 4.18 user 2.3 sys 1.4", None),
        )
    ),
]


@pytest.mark.parametrize(
    ("parse", "text", "wanted"), TEXTS, ids=[parse.__name__ for parse, *_ in TEXTS]
)
def test_what_a_text_says(parse: Callable[[str], Any], text: str, wanted: Any) -> None:
    assert parse(text) == wanted


def test_sysctls_and_memory_of_a_host() -> None:
    manifest = json.loads((ROOT / "sample-data/nic-stolen-time/manifest.json").read_text())
    sysctls = manifest["host"]["sysctls"]
    text = "".join(f"{name} = {value}\n" for name, value in sysctls.items())
    assert parse_sysctls(text) == {name: str(value) for name, value in sysctls.items()}
    assert (parse_available_memory(Path("/proc/meminfo").read_text()) or 0) > 1 << 20


def test_tc() -> None:
    assert qdiscs([{"dev": 3, "kind": "fq", "root": True}, {"dev": "a", "kind": "fq"}]) == {}
    counted = {"drops": 1, "backlog": -1, "qlen": True}
    for place in ({"root": True}, {"kind": "ingress"}):
        shown = {"dev": "a", "kind": "fq", "handle": "8001:"} | counted | place
        [(key, fields)] = qdiscs([shown]).items()
        assert key == ("a", shown["kind"], "8001:")
        unknown = dict.fromkeys(("overlimits", "requeues", "backlog", "qlen"))
        assert fields == {"drops": 1} | unknown


# Of a stranger's ip each field stands for itself.
def test_ip() -> None:
    link = {
        "ifname": "a",
        "ifindex": 3,
        "flags": ["UP", 7, "PROMISC"],
        "mtu": -1,
        "link": "b",
        "linkinfo": {"info_kind": "vlan"},
        "address": "10.0.0.1",
        "master": "",
        "xdp": None,
        "stats64": {"rx": {"otherhost": 5}, "tx": [3]},
        "promiscuity": "many",
        "addr_info": [{"local": "fe80::1"}, {"local": "192.0.2.1", "scope": "link"}, {}, 3],
    }
    said = links_of([link, {"ifname": 3}, {}])
    assert list(said) == ["a"]
    facts = {key: value for key, value in link_facts(said["a"]).items() if value is not None}
    assert facts == {
        "ifindex": 3,
        "link_kind": "vlan",
        "lower": "b",
        "up": True,
        "carrier": False,
        "promiscuity": 1,
        "has_xdp": True,
        "otherhost_dropped": 5,
        "has_every_counter": False,
    }
    assert address_counts(said["a"]) == {"addresses": 1, "link_local_addresses": 1}


SCHEDSTAT = """\
version 17
timestamp 4295229999
cpu0 0 0 10 4 6 5 3000000000 400000000 77
domain0 SMT 00000003 0 0 0
cpu1 1 0 20 8 12 10 18446744073709551615 0 1
"""


def test_schedstat() -> None:
    told = parse_schedstat(SCHEDSTAT)
    names = ["sched_count", "sched_goidle", "ttwu_count", "ttwu_local", "run_ns", "wait_ns"]
    assert told.loc[0, names].tolist() == [10, 4, 6, 5, 3_000_000_000, 400_000_000]
    assert told.loc[1, "run_ns"] == 2**64 - 1
    assert len(parse_schedstat("")) == 0
    with pytest.raises(CaptureError, match="version 14: "):
        parse_schedstat(SCHEDSTAT.replace("17", "14", 1))


def test_a_tasks_stat() -> None:
    line = Path("/proc/self/stat").read_text()
    own = parse_task_stat(line)
    assert own.pid == int(line.split()[0])
    name = "a) R (b c"
    assert parse_task_stat(line.replace(own.comm, name, 1)) == own._replace(comm=name)
    for bad in ("", "1 (x", "1 (x) R 1 2 3", "x (y) " + "1 " * 50):
        with pytest.raises(CaptureError, match="/proc/PID/stat"):
            parse_task_stat(bad)
    stats = parse_victim_stat(f"began 5 {STAT}\nended 6 7 (sh) R 4\n")
    assert {when: (one.comm, one.user_ticks) for when, one in stats.items()} == {
        "began": ("a) b", 14)
    }


def test_kallsyms() -> None:
    text = "ffffffff81000000 T _text\nffffffffc0000000 t tcp_probe\t[tcp_probe]\n0 A fixed\n"
    none = "\n \nffffffff81000000 T\nxyz T name\n-1 T name\n1ffffffffffffffff T name\n10 TT name\n"
    made = parse_kallsyms(none + text)
    assert made["address"].tolist() == [0xFFFFFFFF81000000, 0xFFFFFFFFC0000000, 0]
    assert made["type"].tolist() == ["T", "t", "A"]
    assert made["name"].tolist() == ["_text", "tcp_probe", "fixed"]
    assert made["module"].astype(object).fillna("").tolist() == ["", "tcp_probe", ""]
    assert (
        parse_kallsyms("").dtypes.astype(str)["address"] == str(made["address"].dtype) == "uint64"
    )


INTERRUPTS = """\
            CPU0       CPU2
  26:        120         7   PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 LOC:      90000     80000   Local timer interrupts
 ERR:          0
"""
SOFTIRQS = "     CPU0       CPU2\n   HI:      1       0\n  NET_RX:     500        600\n"
CPU_TIMES = """\
cpu  300 0 100 5000 0 0 40 0 0 0
cpu0 100 0 50 2500 0 0 30 0 0 0
cpu2 200 0 50 2500 0 0 10 0 0 0
intr 12345
"""
NET_DEV = """\
Inter-|   Receive                          |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
  eth0:12345 678 0 3 0 0 0 0 99 9 0 0 0 0 0 0
"""
# Linux 6.12: 15 columns, the CPU in the thirteenth; CPU 1 is offline.
SOFTNET = """\
000001f4 00000001 00000002 0 0 0 0 0 0 00000010 00000000 00000000 00000000 0 0
00000258 00000000 00000000 0 0 0 0 0 0 00000020 00000000 00000000 00000002 0 0
"""
STAMP = "monotonic_ns 1000\nrealtime_ns 1795158611521339740\nstat 1010 1020\n"


def snapshot(**texts: str) -> Snapshot:
    return Snapshot(texts)


def test_interrupts_and_softirqs_by_line_and_cpu_number() -> None:
    found = snapshot(interrupts=INTERRUPTS, softirqs=SOFTIRQS)
    assert found.interrupts.loc["26"].to_dict() == {0: 120, 2: 7}
    assert found.interrupts.index.tolist() == ["26", "LOC"]
    assert found.irq_labels["26"] == "PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0"
    after = snapshot(softirqs=SOFTIRQS.replace("500", "750"))
    assert (after.softirqs - found.softirqs).loc["NET_RX"].to_dict() == {0: 250, 2: 0}


def test_stat_and_net_dev() -> None:
    found = snapshot(stat=CPU_TIMES, net_dev=NET_DEV, stamp=STAMP)
    # No row for the whole machine.
    assert found.stat["softirq"].to_dict() == {0: 30, 2: 10}
    old = "\n".join(" ".join(line.split()[:8]) for line in CPU_TIMES.splitlines())
    assert list(snapshot(stat=old).stat.columns)[-1] == "softirq"
    assert found.net_dev.index.tolist() == ["lo", "eth0"]
    counts = found.net_dev.loc["eth0", ["rx_bytes", "rx_drop", "tx_packets"]]
    assert counts.tolist() == [12345, 3, 9]
    assert found.stamp == {"monotonic_ns": 1000, "realtime_ns": 1795158611521339740}
    assert found.reads == {"stat": (1010, 1020)}


def test_softnet_stat() -> None:
    softnet = snapshot(net_softnet_stat=SOFTNET).softnet_stat
    assert softnet.index.tolist() == [0, 2]
    assert softnet.loc[0, ["processed", "time_squeeze", "received_rps"]].tolist() == [500, 2, 16]
    # A line that is cut is left out, wherever: its last words may be those of the CPU.
    first, second = SOFTNET.splitlines()
    for width in range(1, len(second.split())):
        text = f"{first}\n{' '.join(second.split()[:width])}"
        assert snapshot(net_softnet_stat=text).softnet_stat.index.tolist() == [0]


def test_softnet_stat_before_cpus_were_named() -> None:
    short = "\n".join(" ".join(line.split()[:11]) for line in SOFTNET.splitlines())
    # By either file that has the CPUs that are online.
    for beside in ({"stat": "cpu0 1 2\ncpu2 3 4\n"}, {"interrupts": "CPU0 CPU2\n 1: 0 0 x\n"}):
        told = snapshot(net_softnet_stat=short, **beside).softnet_stat
        assert told["processed"].to_dict() == {0: 500, 2: 600}
    # Where none has, or as many: of whichever CPUs.
    for beside in ({}, {"stat": "cpu0 1 2\n"}):
        told = snapshot(net_softnet_stat=short, **beside).softnet_stat
        assert (told.index.isna().tolist(), told["processed"].tolist()) == ([True], [1100])


def test_what_was_not_recorded_is_empty() -> None:
    nothing = snapshot()
    tables = (nothing.stat, nothing.interrupts, nothing.softirqs, nothing.net_dev)
    assert all(frame.empty for frame in (*tables, nothing.softnet_stat))
    assert nothing.stamp == {}


PACKAGE = Path(netcost.__file__).parent
# What takes a text of several lines, or JSON, apart.
APART = {"splitlines", "MULTILINE", "raw_decode", "JSONDecoder"}


def _apart(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if name in APART:
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {name}"  # type: ignore[attr-defined]


def test_texts_are_taken_apart_in_parsers_alone() -> None:
    topics = list(PACKAGE.glob("questions/*/*.py"))
    paths = [*topics, *PACKAGE.glob("capture/*.py"), *PACKAGE.glob("timeline/*.py")]
    assert [found for path in paths for found in _apart(path)] == []
    # It finds what there is.
    assert {Path(one).parts[0] for path in PACKAGE.glob("parsers/*.py") for one in _apart(path)}
    assert not [path.name for path in topics if "json.load" in path.read_text()]
