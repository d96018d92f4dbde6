# Masks names of files, folders, network namespaces and steps. Names that netcost-record and its lab
# give stay; all others are replaced. docs/mask.md has the rules, and capture/lib/mask-paths.awk
# implements the same ones.

import re

from .free_text import FreeText
from .names import Names

_ENDING = re.compile(
    r"(?<=.)\.(netcost\.tar\.zst|netcost\.tar\.gz|perf\.data|dat|tracefs|jsonl|json|txt|log|csv"
    r"|tsv)\Z"
)
# Files with counters and settings of kernel and hardware.
COUNTERS = (
    r"stat|interrupts|softirqs|schedstat|net_dev|net_softnet_stat|softnet_stat|net_snmp6?|snmp6?"
    r"|net_netstat|loadavg|stamp|kernel_config|queues|irq_affinity|affinity|cpuinfo|topology"
    r"|cpufreq|governor|virtualization|clocksource|meminfo|vmstat|times|victim|victim_cgroup|work"
    r"|tasks|victim_stat|daemons|energy|ip_link|tc_qdisc|vulnerabilities|uptime|version|hugepages"
    r"|symbols"
)
# The same and folders, for any network namespace.
_STATE = re.compile(
    rf"{COUNTERS}|sysctl(_[a-z_]+)?|ip_addr|ip_route|hostname|cmdline|ethtool|settings|before|after"
    r"|samples|cut"
)
_TOLD_BY_ETHTOOL = re.compile(
    r"driver|features|coalesce|channels|rings|statistics|flow_rules|pause|link"
)
# Files that a victim or a load may copy into its own folder.
OF_PROC = re.compile(
    r"stat|interrupts|softirqs|schedstat|net_dev|softnet_stat|net_softnet_stat|stamp"
)
_OF_PROGRAMS = re.compile(r"(server|client|iperf3|sockperf|netperf)(\.(json|txt))?")
_OWN = re.compile(
    r"manifest\.json|experiment\.json|steps\.tsv|SHA256SUMS"
    r"|(victim|load|recorder|preflight|summary|turbostat|mpstat|pidstat|netperf|iperf3|sockperf|host|server|client)"
    r"\.txt|(mpstat|pidstat|iperf3|perf_stat|counters|energy)\.jsonl?|kernel_config|victim_stat"
    r"|owner|uname"
    r"|(trace|samples|functions)\.(perf\.data|dat|tracefs|txt)|baseline|afterwards|calibration|idle"
    r"|idle-traced|load|load-traced|files|before|after|samples|settings|repeats|bundle|experiment"
)
_STEP_WORD = (
    r"(([0-9]+\.)*[0-9]+(x[0-9]+)?|bridge|route|ovs|openvswitch|xdp|nic|wire|threaded|softirq"
    r"|to[0-9]+|pinned|free|none|max|pps|loopback|veth|udp|tcp|defer[0-9]+|rpso(n|ff)|(one|two)cpu|iperf3|sockperf"
    r"|flows[0-9]*|repeat[0-9]*|run|base|load|idle|with|without|a|b)"
)
# The lab's names for the recordings of its steps.
_STEP = re.compile(rf"{_STEP_WORD}([-_]{_STEP_WORD})*")
_PACKED = re.compile(r"\.netcost\.tar\.(zst|gz)\Z")
_FOLDERS_OF_STATE = {"before", "after", "samples", "settings"}


class Paths:
    def __init__(self, names: Names, free_text: FreeText) -> None:
        self._names, self._free_text = names, free_text
        # Names of network devices are in every counter and event, so they stay and are listed.
        self.interfaces: dict[str, None] = {}

    def masked(self, path: str) -> str:
        # path is relative to a bundle or an experiment.
        parts, out = path.split("/"), []
        in_files = in_state = in_trace = False
        in_ethtool = 0
        for at, part in enumerate(parts):
            if in_trace or part in ("", "."):
                new = part
            elif in_ethtool:
                new = self._of_ethtool(part, in_ethtool)
                in_ethtool += 1
            elif in_files:
                is_known = OF_PROC.fullmatch(part) or _OF_PROGRAMS.fullmatch(part)
                new = part if is_known else self._called(part)
            elif in_state:
                new = self._state(part)
                in_ethtool = int(part == "ethtool" or part.startswith("ethtool."))
            else:
                new = self._of_bundle(part)
            in_files = in_files or part == "files"
            in_state = in_state or part in _FOLDERS_OF_STATE
            is_last = at == len(parts) - 1
            in_trace = in_trace or (part.endswith((".tracefs", ".perf.data")) and not is_last)
            out.append(self._free_text.masked(new))
        return "/".join(out)

    def reference(self, path: str) -> str:
        # path is a file or, with a trailing slash, a folder that the manifest names.
        bare = path.removesuffix("/")
        return path if bare == "." else self.masked(bare) + path[len(bare) :]

    def stamp(self, text: str) -> str:
        # Lines such as "net_dev.NAMESPACE 1 2" say when each file was read.
        out = []
        for line in text.split("\n"):
            name, space, rest = line.partition(" ")
            if "." in name or "/" in name:
                name = self.masked(f"before/{name}").removeprefix("before/")
                out.append(name + space + self._free_text.masked(rest))
            else:
                out.append(self._free_text.masked(line))
        return "\n".join(out)

    def find_interfaces(self, text: str) -> None:
        for match in re.finditer(r"^ *([^ :|\n]+):", text, re.MULTILINE):
            self.interfaces.setdefault(match[1])

    def namespace(self, name: str) -> str:
        return name if name in (".", "") else self._free_text.masked(self._names.label(name))

    def _of_bundle(self, name: str) -> str:
        if _OWN.fullmatch(name) or _STEP.fullmatch(name):
            return name
        packed = _PACKED.search(name)
        if packed and _STEP.fullmatch(name[: packed.start()]):
            return name
        return self._called(name)

    def _of_ethtool(self, name: str, depth: int) -> str:
        if depth == 1:
            self.interfaces.setdefault(name)
            return name
        return name if _TOLD_BY_ETHTOOL.fullmatch(name) else self._called(name)

    def _state(self, name: str) -> str:
        stem = name.partition(".")[0]
        if not _STATE.fullmatch(stem):
            return self._called(name)
        space = name[len(stem) :]
        ending = ".json" if space.endswith(".json") else ".txt" if space.endswith(".txt") else ""
        space = space.removesuffix(ending)
        if space in ("", ".host"):
            return name
        return f"{stem}.{self._names.label(space[1:])}{ending}"

    def _called(self, name: str) -> str:
        match = _ENDING.search(name)
        ending = match[0] if match else ""
        return self._names.label(name.removesuffix(ending)) + ending
