# Names of files, folders, network namespaces and steps. Those that netcost-record and its lab give
# stay; all others are replaced. The rules are in docs/mask.md; capture/lib/mask-paths.awk has the
# same ones.

import re

from .free_text import FreeText
from .names import Names

_ENDING = re.compile(
    r"(?<=.)\.(netcost\.tar\.zst|netcost\.tar\.gz|perf\.data|dat|tracefs|jsonl|json|txt|log|csv"
    r"|tsv)\Z"
)
# Files with counters and settings of the kernel and the hardware.
COUNTERS = (
    r"stat|interrupts|softirqs|schedstat|net_dev|net_softnet_stat|softnet_stat|net_snmp6?|snmp6?"
    r"|net_netstat|loadavg|stamp|kernel_config|queues|irq_affinity|affinity|cpuinfo|topology"
    r"|cpufreq|governor|virtualization|clocksource|meminfo|vmstat|times|victim|victim_cgroup|work"
    r"|tasks|victim_stat|daemons|energy|ip_link|tc_qdisc|vulnerabilities|uptime|version|hugepages"
    r"|symbols"
)
# The same with folders, for any network namespace.
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
# The lab's names of the recordings of its steps.
_STEP = re.compile(rf"{_STEP_WORD}([-_]{_STEP_WORD})*")
_PACKED = re.compile(r"\.netcost\.tar\.(zst|gz)\Z")
_FOLDERS_OF_STATE = {"before", "after", "samples", "settings"}


class Paths:
    def __init__(self, names: Names, free_text: FreeText) -> None:
        self._names, self._free_text = names, free_text
        # Names of network devices are in every counter and event. They stay, and are listed.
        self.interfaces: dict[str, None] = {}

    def masked(self, path: str) -> str:
        # A path within a bundle or an experiment.
        parts, out = path.split("/"), []
        in_files = in_state = in_trace = False
        in_ethtool = 0
        for at, one in enumerate(parts):
            if in_trace or one in ("", "."):
                new = one
            elif in_ethtool:
                new = self._of_ethtool(one, in_ethtool)
                in_ethtool += 1
            elif in_files:
                own = OF_PROC.fullmatch(one) or _OF_PROGRAMS.fullmatch(one)
                new = one if own else self._called(one)
            elif in_state:
                new = self._state(one)
                in_ethtool = int(one == "ethtool" or one.startswith("ethtool."))
            else:
                new = self._of_bundle(one)
            in_files = in_files or one == "files"
            in_state = in_state or one in _FOLDERS_OF_STATE
            is_last = at == len(parts) - 1
            in_trace = in_trace or (one.endswith((".tracefs", ".perf.data")) and not is_last)
            out.append(self._free_text.masked(new))
        return "/".join(out)

    def reference(self, path: str) -> str:
        # A file or, with a trailing slash, a folder that the manifest names.
        bare = path.removesuffix("/")
        return path if bare == "." else self.masked(bare) + path[len(bare) :]

    def stamp(self, text: str) -> str:
        # "net_dev.NAMESPACE 1 2": when each file was read.
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
        for found in re.finditer(r"^ *([^ :|\n]+):", text, re.MULTILINE):
            self.interfaces.setdefault(found[1])

    def namespace(self, name: str) -> str:
        return name if name in (".", "") else self._free_text.masked(self._names.label(name))

    def _of_bundle(self, one: str) -> str:
        if _OWN.fullmatch(one) or _STEP.fullmatch(one):
            return one
        packed = _PACKED.search(one)
        if packed and _STEP.fullmatch(one[: packed.start()]):
            return one
        return self._called(one)

    def _of_ethtool(self, one: str, depth: int) -> str:
        if depth == 1:
            self.interfaces.setdefault(one)
            return one
        return one if _TOLD_BY_ETHTOOL.fullmatch(one) else self._called(one)

    def _state(self, one: str) -> str:
        stem = one.partition(".")[0]
        if not _STATE.fullmatch(stem):
            return self._called(one)
        space = one[len(stem) :]
        ending = ".json" if space.endswith(".json") else ".txt" if space.endswith(".txt") else ""
        space = space.removesuffix(ending)
        if space in ("", ".host"):
            return one
        return f"{stem}.{self._names.label(space[1:])}{ending}"

    def _called(self, one: str) -> str:
        found = _ENDING.search(one)
        ending = found[0] if found else ""
        return self._names.label(one.removesuffix(ending)) + ending
