# What a mail says of the machine: from a bundle's texts, without what was not recorded.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.snapshots.machine import machine
from support.device_bundles import bundle, net_dev
from support.host import SAMPLES

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
    recorded = netcost.open_capture(SAMPLES / f"{name}.netcost.tar.zst").bundle
    assert recorded is not None
    found = machine(recorded)
    assert {"kernel", "CPU", "memory", "config", "sysctls"} <= set(found)
    assert any(one.startswith("NIC ") for one in found)
