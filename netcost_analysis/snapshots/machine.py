"""Describes the machine that a bundle was recorded on, as in a mail about performance."""

import re
from typing import TYPE_CHECKING

from ..capture.interfaces import bundle_lines
from ..parsers.interfaces import parse_ethtool_driver, queue_settings
from ..parsers.settings import scaling
from ..units import plural

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# Kernel configuration that decides how CPU time is charged and when tasks are preempted.
_SWITCHES = (
    *("PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY", "PREEMPT", "PREEMPT_DYNAMIC"),
    *("PREEMPT_RT", "NO_HZ_IDLE", "NO_HZ_FULL", "IRQ_TIME_ACCOUNTING", "PARAVIRT_TIME_ACCOUNTING"),
    *("VIRT_CPU_ACCOUNTING_GEN", "IRQ_FORCED_THREADING", "PAGE_POOL_STATS", "DEBUG_NET"),
)
# Kernel arguments that move work between CPUs or change the cost of entering the kernel. Others may
# name disks and hosts, so they are not shown.
_ARGUMENTS = re.compile(
    r"(?:mitigations|isolcpus|nohz_full|nohz|rcu_nocbs|irqaffinity|idle|preempt|threadirqs"
    r"|intel_pstate|amd_pstate|processor\.max_cstate|intel_idle\.max_cstate|nosmt|tsc)(?:=\S*)?"
)
_OFFLOADS = {
    "rx-checksumming": "rx-csum",
    "tx-checksumming": "tx-csum",
    "tcp-segmentation-offload": "TSO",
    "generic-segmentation-offload": "GSO",
    "tx-udp-segmentation": "USO",
    "generic-receive-offload": "GRO",
    "rx-gro-hw": "GRO-HW",
    "large-receive-offload": "LRO",
    "rx-gro-list": "GRO-list",
    "rx-udp-gro-forwarding": "UDP-GRO",
    "receive-hashing": "rxhash",
    "ntuple-filters": "ntuple",
    "hw-tc-offload": "hw-tc",
}
_COALESCING = ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames")
# These drivers report a nominal speed.
_VIRTUAL = ("veth", "tun", "tap", "dummy", "virtio", "bridge")
# A device with less than this share of the busiest one's packets is not shown.
_CARRIES = 0.02
_MOST_DEVICES = 4
_SHORT = 24
_KIB_PER_GIB = 1 << 20
_VALUE = re.compile(r"^([\w -]+?):[ \t]*(\S.*)$", re.MULTILINE)


def machine(bundle: "Bundle") -> dict[str, str]:
    """What the bundle knows about its host, by name: processor, memory, clock, kernel, devices.

    Returns
    -------
    dict of str to str
        In the order of a mail, without what was not recorded.
    """
    host = bundle.manifest.host
    facts = {
        "kernel": " ".join(filter(None, (host.kernel, host.arch))),
        "CPU": ", ".join(filter(None, (host.cpu_model, _topology(bundle)))),
        "memory": _memory(bundle.text("before/settings/meminfo") or ""),
        "hypervisor": {"none": "", "unknown": ""}.get(
            host.virtualization or "", host.virtualization or ""
        ),
        "clock": _clock(bundle),
        "mitigations": _mitigations(bundle.text("before/settings/vulnerabilities") or ""),
        "config": _config(bundle.kernel_config),
        "command line": " ".join(
            word
            for word in (bundle.text("before/settings/cmdline") or "").split()
            if _ARGUMENTS.fullmatch(word)
        ),
        "sysctls": ", ".join(
            f"{name.removeprefix('net.core.')} {value}"
            for name, value in (host.sysctls or {}).items()
        ),
    }
    return {name: text for name, text in {**facts, **_devices(bundle)}.items() if text}


def _topology(bundle: "Bundle") -> str:
    files = dict(
        line.rpartition(" ")[::2]
        for line in (bundle.text("before/settings/topology") or "").splitlines()
    )
    ids: dict[str, dict[str, str]] = {}
    for path, value in files.items():
        if part := re.fullmatch(r".*/(cpu\d+)/topology/(\w+)_id", path):
            ids.setdefault(part[1], {})[part[2]] = value
    if not ids:
        return ""
    sockets = {cpu.get("physical_package") for cpu in ids.values()}
    cores = {(cpu.get("physical_package"), cpu.get("core")) for cpu in ids.values()}
    nodes = sum(1 for path in files if re.search(r"/node\d+/cpulist$", path))
    parts = [plural(len(ids), "CPU"), plural(len(sockets), "socket"), plural(len(cores), "core")]
    return ", ".join([*parts, *([plural(nodes, "NUMA node")] if nodes else [])])


def _memory(text: str) -> str:
    total = re.search(r"^MemTotal:\s+(\d{1,15}) kB", text, re.MULTILINE)
    return f"{int(total[1]) / _KIB_PER_GIB:.3g} GiB" if total else ""


def _clock(bundle: "Bundle") -> str:
    text = bundle.text("before/settings/cpufreq") or ""
    scaled, idle = scaling(text), re.search(r"cpuidle/current_(?:driver) (\S+)", text)
    parts = [f"governor {', '.join(scaled.governors)}"] if scaled.governors else []
    parts += [f"at most {scaled.limit_mhz:,.0f} MHz"] if scaled.limit_mhz else []
    parts += [f"idle by {idle[1]}"] if idle and idle[1] != "none" else []
    source = bundle.manifest.host.clocksource
    return ", ".join([*parts, *([f"clocksource {source}"] if source else [])])


def _mitigations(text: str) -> str:
    by_state: dict[str, list[str]] = {"mitigated": [], "vulnerable": []}
    for line in text.splitlines():
        path, _, status = line.partition(" ")
        state = {"Mitigation": "mitigated", "Vulnerable": "vulnerable"}.get(
            re.split("[:;]", status)[0]
        )
        if state is not None:
            how = re.match(r"Mitigation: ([^;]+)", status)
            name = path.rpartition("/")[2]
            # A longer text adds nothing to the name.
            short = how[1].strip() if how and len(how[1]) <= _SHORT else ""
            by_state[state].append(f"{name} ({short})" if short else name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in by_state.items() if names)


def _config(config: dict[str, str]) -> str:
    parts = [f"HZ={config['CONFIG_HZ']}"] if "CONFIG_HZ" in config else []
    parts += [switch for switch in _SWITCHES if config.get(f"CONFIG_{switch}") == "y"]
    without = "IRQ_TIME_ACCOUNTING"
    parts += [f"no {without}"] if config.get(f"CONFIG_{without}") == "n" else []
    return ", ".join(parts)


def _devices(bundle: "Bundle") -> dict[str, str]:
    # The devices that carried packets, busiest first; lo has no settings worth showing.
    packets = {
        name: sum(bundle.after.interfaces.get(name, counts)[at] - counts[at] for at in (1, 9))
        for name, counts in bundle.before.interfaces.items()
        if len(counts) > 9 and len(bundle.after.interfaces.get(name, counts)) > 9
    }
    most = max(packets.values(), default=0)
    order = sorted(packets, key=lambda name: -packets[name])
    carry = [name for name in order if name != "lo" and packets[name] > _CARRIES * most]
    devices = {f"NIC {name}": _device(bundle, name) for name in carry[:_MOST_DEVICES]}
    left = carry[_MOST_DEVICES:]
    return devices | ({"more NICs": ", ".join(left)} if left else {})


def _device(bundle: "Bundle", name: str) -> str:
    def ethtool(file: str) -> str:
        return bundle.text(f"before/settings/ethtool/{name}/{file}") or ""

    driver = parse_ethtool_driver(ethtool("driver"))
    settings = bundle.text("before/settings/queues") or ""
    queues = queue_settings(settings).get(name, {})
    mtu = re.search(rf"^/sys/class/net/{re.escape(name)}/mtu (\d{{1,9}})$", settings, re.MULTILINE)
    is_virtual = driver.get("driver", "").startswith(_VIRTUAL)
    speed = None if is_virtual else queues.get("speed_bits_per_s")
    current = dict(_VALUE.findall(ethtool("channels").rpartition("Current hardware settings:")[2]))
    rings = dict(_VALUE.findall(ethtool("rings").rpartition("Current hardware settings:")[2]))
    coalesce = dict(_VALUE.findall(ethtool("coalesce")))
    features = dict(_VALUE.findall(ethtool("features")))
    on = [short for long, short in _OFFLOADS.items() if features.get(long, "").startswith("on")]
    waits = [f"{key} {coalesce[key]}" for key in _COALESCING if _is_known(coalesce.get(key))]
    channels = [
        f"{current[key]} {key.lower()}"
        for key in ("Combined", "RX", "TX")
        if _is_known(current.get(key))
    ]
    parts = {
        "": " ".join(filter(None, (driver.get("driver"), driver.get("version")))),
        "firmware": driver.get("firmware-version", ""),
        "speed": f"{speed / 1e9:g} Gbit/s" if speed else "",
        "mtu": mtu[1] if mtu else "",
        "queues": " and ".join(channels) or str(queues.get("rx_queues") or ""),
        "interrupts": _interrupts(bundle, name),
        "rings": "/".join(rings[key] for key in ("RX", "TX") if _is_known(rings.get(key))),
        "coalescing": ", ".join(
            [*waits, *(["adaptive"] if "on" in coalesce.get("Adaptive RX", "") else [])]
        ),
        "offloads": " ".join(on),
        "RPS": "on" if queues.get("rps") else "",
        "NAPI": "threaded" if queues.get("threaded") else "",
    }
    return "; ".join(f"{name} {text}".strip() for name, text in parts.items() if text)


def _is_known(value: str | None) -> bool:
    return bool(value) and value not in ("n/a", "0")


def _interrupts(bundle: "Bundle", name: str) -> str:
    # The CPUs that its interrupts are routed to: "2 on CPU 0, 2 on CPU 1".
    affinity = dict(
        re.findall(
            r"^/proc/irq/(\d{1,9})/effective_affinity_list ([\d,-]+)$",
            bundle.text("before/settings/irq_affinity") or "",
            re.MULTILINE,
        )
    )
    lines = [str(line) for line, device in bundle_lines(bundle).items() if device == name]
    cpus = [affinity[line] for line in lines if line in affinity]
    return ", ".join(f"{cpus.count(cpu)} on CPU {cpu}" for cpu in sorted(set(cpus)))
