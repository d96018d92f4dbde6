# To whom the kernel charges interrupts, by its configuration and by its counters; and what a mail
# says of the machine.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis import open_capture
from netcost_analysis.capture.accounting import accounting, measures_interrupts
from netcost_analysis.parsers.settings import parse_kernel_config
from netcost_analysis.questions.stolen import monitor_ends, stolen_from
from netcost_analysis.snapshots.machine import machine
from support.device_bundles import bundle, net_dev
from support.doctored import doctored
from support.host import SAMPLES
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import robbed

BUILT_IN = ("IRQ_TIME_ACCOUNTING", "TICK_CPU_ACCOUNTING")
# What is set in the configuration, the command line, the clocksource, and the regime.
REGIMES = [
    (("TICK_CPU_ACCOUNTING",), "", None, "tick"),
    (("VIRT_CPU_ACCOUNTING_GEN",), "", None, "virt_gen"),
    # rq_clock_task leaves interrupts out whichever of the two counts user and system time.
    (("VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING"), "", None, "irq_time"),
    (("VIRT_CPU_ACCOUNTING_NATIVE",), "", None, "virt_native"),
    ((), "", None, None),
    # Built in, it is off where the command line or the TSC says so.
    (BUILT_IN, "quiet tsc=noirqtime", "tsc", "tick"),
    (BUILT_IN, "tsc=unstable", "hpet", "tick"),
    (BUILT_IN, "tsc=reliable", "tsc", "irq_time"),
    (BUILT_IN, "", "kvm-clock", "irq_time"),
    (BUILT_IN, "", None, "irq_time"),
    (BUILT_IN, "", "hpet", None),
]


def configured(*names: str) -> dict[str, str]:
    return {f"CONFIG_{name}": "y" for name in names}


@pytest.mark.parametrize(("names", "command_line", "clocksource", "regime"), REGIMES)
def test_regime(
    names: tuple[str, ...], command_line: str, clocksource: str | None, regime: str | None
) -> None:
    found = accounting(configured(*names), command_line, clocksource)
    assert (found and found.regime) == regime
    # Only irq_time charges nobody; of virt_native vtime_flush gives interrupts to the task, too.
    charged = regime != "irq_time"
    assert found is None or found[1:] == (charged, charged, True)


# What the counters show goes before all of that, and stands for it where nothing was recorded.
@pytest.mark.parametrize(
    ("irq_ticks", "interrupts", "measures"),
    [
        (0, 100_000, False),
        (0, 99_999, None),
        (5, 10_000, True),
        (4, 10_000, None),
        (5, 10**7, None),
    ],
)
def test_the_counters_show_whether_interrupts_are_measured(
    irq_ticks: int, interrupts: int, measures: bool | None
) -> None:
    assert measures_interrupts(irq_ticks, interrupts) is measures
    found = accounting(configured(*BUILT_IN), "", "hpet", measures)
    assert (found and found.regime) == {True: "irq_time", False: "tick", None: None}[measures]
    assert (accounting({}, measures=measures) is not None) == (measures is False)


def test_an_option_that_is_off_does_not_count() -> None:
    text = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_X is not set\nCONFIG_IRQ_TIME_ACCOUNTING=n\n"
    found = accounting(parse_kernel_config(text + 'CONFIG_LOCALVERSION="-lab"\nnonsense\n'))
    assert found.regime == "tick"


@pytest.fixture
def built_in(tmp_path: Path) -> Path:
    path = doctored(tmp_path / "b")
    text = "".join(f"{name}=y\n" for name in configured(*BUILT_IN))
    (path / "kernel_config").write_text(text)
    return path


def test_a_bundle_knows_its_command_line(built_in: Path) -> None:
    assert regime(built_in) == "irq_time"
    (built_in / "before" / "settings").mkdir()
    (built_in / "before" / "settings" / "cmdline").write_text("root=/dev/vda tsc=noirqtime\n")
    assert regime(built_in) == "tick"


def test_the_bundles_counters_go_before_its_configuration(built_in: Path) -> None:
    for side, count in (("before", 0), ("after", 200_000)):
        (built_in / side / "stat").write_text("cpu0 1 0 1 1 0 0 9 0 0 0\n")
        (built_in / side / "interrupts").write_text(f"      CPU0\n LOC: {count} Local timer\n")
    assert regime(built_in) == "tick"
    (built_in / "after" / "stat").write_text("cpu0 1 0 1 1 0 20 9 0 0 0\n")
    assert regime(built_in) == "irq_time"


# Where nothing says it, from none to all of the interrupts are charged.
def test_of_an_unknown_kernel_a_monitors_figure_is_a_range(tmp_path: Path) -> None:
    path = doctored(tmp_path / "b")
    (path / "kernel_config").unlink(missing_ok=True)
    line = open_capture(path).timeline()
    row = stolen_from(line, "openssl").row
    taken = row["stolen_max_ns"] + row["synchronous_ns"]
    assert taken > 0
    assert monitor_ends(line, row) == (row["on_cpu_ns"] - taken, row["on_cpu_ns"])


def regime(path: Path) -> str | None:
    bundle = open_capture(path).bundle
    return bundle.accounting.regime if bundle and bundle.accounting else None


# Interrupts that no event shows are in what is charged, as far as the figure knows.
@pytest.mark.parametrize(
    ("option", "vectors", "is_most"),
    [("IRQ_TIME", False, True), ("IRQ_TIME", True, False), ("TICK_CPU", False, False)],
)
def test_what_was_not_recorded_makes_a_monitors_figure_an_upper_end(
    tmp_path: Path, option: str, vectors: bool, is_most: bool, netcost: Netcost
) -> None:
    path = doctored(tmp_path / "b")
    formats = tuple(one for one in t.FORMATS if vectors or one.system != "irq_vectors")
    told = recording(robbed(), known=(robbed().first_task,), formats=formats)
    told.write(path / "trace.perf.data")
    (path / "kernel_config").write_text(f"CONFIG_{option}_ACCOUNTING=y\n")
    line = open_capture(path).timeline()
    row = stolen_from(line, "openssl").row
    assert monitor_ends(line, row) == (0 if is_most else row["monitor_ns"], row["monitor_ns"])
    rows = netcost("stolen", str(path)).out.splitlines()
    assert ("≤" in next(one for one in rows if one.startswith("openssl "))) == is_most


# What a mail says of the machine: from a bundle's texts, without what was not recorded.


TOPOLOGY = "".join(
    f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}_id {value}\n"
    for cpu in range(4)
    for name, value in (("physical_package", cpu // 2), ("core", 0), ("die", 0))
) + "".join(f"/sys/devices/system/node/node{node}/cpulist 0-1\n" for node in range(2))
FILES = {
    "before/settings/topology": TOPOLOGY,
    "before/settings/meminfo": "MemTotal:       16777216 kB\nMemFree: 1 kB\n",
    "before/settings/cmdline": "root=/dev/sda1 mitigations=off password=secret isolcpus=2,3\n",
    "before/settings/vulnerabilities": (
        "/sys/devices/system/cpu/vulnerabilities/mds Not affected\n"
        "/sys/devices/system/cpu/vulnerabilities/spectre_v2 Mitigation: Retpolines; IBPB\n"
        "/sys/devices/system/cpu/vulnerabilities/retbleed Vulnerable\n"
    ),
    "before/settings/cpufreq": (
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor performance\n"
    ),
    "before/settings/ethtool/eth0/driver": (
        "driver: ice\nversion: 6.12\nfirmware-version: 4.40 0x1\n"
    ),
    "before/settings/ethtool/eth0/coalesce": (
        "Adaptive RX: on  TX: off\nrx-usecs: 50\nrx-frames: n/a\n"
    ),
    "before/settings/ethtool/eth0/channels": (
        "Channel parameters for eth0:\nPre-set maximums:\nCombined:\t64\n"
        "Current hardware settings:\nRX:\t\tn/a\nCombined:\t8\n"
    ),
    "before/settings/ethtool/eth0/features": "generic-receive-offload: on\nrx-gro-hw: off\n",
    "before/settings/queues": "/sys/class/net/eth0/speed 25000\n/sys/class/net/eth0/mtu 9000\n",
    "before/interrupts": "     CPU0 CPU1\n 24: 0 0 PCI-MSI 1-edge ice-eth0-TxRx-0\n",
    "before/settings/irq_affinity": "/proc/irq/24/effective_affinity_list 3\n",
    "before/net_dev": net_dev(eth0=(0, 0, 0, 0), eth1=(0, 0, 0, 0)),
    "after/net_dev": net_dev(eth0=(10**6, 10**4, 0, 0), eth1=(60, 1, 0, 0)),
    "kernel_config": "CONFIG_HZ=1000\nCONFIG_PREEMPT=y\nCONFIG_IRQ_TIME_ACCOUNTING=n\n",
}


def test_the_machine_is_what_the_bundle_says(tmp_path: Path) -> None:
    host = {"kernel": "6.12.0", "arch": "x86_64", "cpu_model": "EPYC", "virtualization": "none"}
    manifest = {"netcost_bundle": 1, "trace": None, "host": host}
    found = machine(bundle(tmp_path / "b", {**FILES, "manifest.json": manifest}))
    assert found["kernel"] == "6.12.0 x86_64"
    assert found["CPU"] == "EPYC, 4 CPUs, 2 sockets, 2 cores, 2 NUMA nodes"
    assert found["memory"] == "16 GiB"
    assert "hypervisor" not in found
    assert found["clock"] == "governor performance"
    assert found["mitigations"] == "mitigated: spectre_v2 (Retpolines); vulnerable: retbleed"
    assert found["config"] == "HZ=1000, PREEMPT, no IRQ_TIME_ACCOUNTING"
    # Of the command line only what prices an entry or moves work.
    assert found["command line"] == "mitigations=off isolcpus=2,3"
    said = found["NIC eth0"].split("; ")
    assert said[0] == "ice 6.12"
    assert {
        *("firmware 4.40 0x1", "speed 25 Gbit/s", "mtu 9000", "queues 8 combined"),
        *("interrupts 1 on CPU 3", "coalescing rx-usecs 50, adaptive", "offloads GRO"),
    } <= set(said)
    # A device that hardly had a packet is not the load's.
    assert "NIC eth1" not in found


def test_nothing_is_said_of_nothing(tmp_path: Path) -> None:
    assert machine(bundle(tmp_path / "b", {})) == {}


@pytest.mark.parametrize("name", ["flows/tcp-flows1-1", "nic-guest/6.12-nic-1-flows"])
def test_a_recorded_machine_is_described(name: str) -> None:
    found = machine(netcost.open_capture(SAMPLES / f"{name}.netcost.tar.zst").bundle)
    assert {"kernel", "CPU", "memory", "config", "sysctls"} <= set(found)
    assert any(one.startswith("NIC ") for one in found)
