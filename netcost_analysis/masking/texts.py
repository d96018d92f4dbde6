# A bundle's text files: each kind by its own rule; what none knows is left out.

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from .arguments import COMM_LENGTH, masked_command
from .names import Names, is_kept_task, masked_cgroup
from .paths import COUNTERS, OF_PROC, Paths
from .words import Words

MASKED = "(masked)"

_COUNTERS = re.compile(
    rf"({COUNTERS}|sysctl_net_core|sysctl|driver|features|coalesce|channels|rings?|statistics|pause"
    r"|link|[A-Za-z])(\..*)?"
)
_OUTPUTS = re.compile(r"(victim|load|recorder|mpstat|turbostat|netperf|iperf3?|perf)\S*\.txt")
_OUTPUT_LINES = re.compile(
    r"Doing [\w .-]+ (?:ops )?for \d+s on \d+ size blocks:.*"
    r"|CPUINFO: \w+=[\w:, ]*"
    r"|\+(?:DT|R|F|H|F\d):[\w:.+-]*|version: [\d.]+\w*|built on: [\w :]+|options: ?[\w(),: ]*"
    r"|The 'numbers' are in 1000s of bytes per second processed\.|type +\d.*|[\w-]+(?: +[\d.]+k)+"
    r"|sent \d+ datagrams .*|received \d+ datagrams.*"
    r"|\[ perf record: Woken up \d+ times to write data \]|CPU \d+: \d+ pages of \d+ bytes"
    r"|CPU: ?\d+|CPU\d+ data recorded at .*|Kernel buffer statistics:.*"
    r"|(?:entries|overrun|commit overrun|bytes|oldest event ts|now ts|dropped events|read events)"
    r": +[\d.]+|\s*\d+ bytes in size.*"
    r"|\[ *(?:ID|SUM|\d+)\].*|- - -[ -]*|-{5,}|iperf Done\.|iperf 3[\d.]*|Server listening on .*"
    r"|Connecting to host .*|Accepted connection from .*|MIGRATED [\w ]+ TEST from .*"
    r"|Recv +Send +Send.*|Socket +Socket +Message.*|Size +Size +Size.*|bytes +bytes +bytes.*"
    r"|[\d\s.,:%/*+-]+"
    r"|(?:Average:|\d\d:\d\d:\d\d)(?: [AP]M)?"
    r"(?:\s+(?:[\d.,-]+|all|CPU|NODE|%\w+|[A-Z_]+/s|intr/s))*"
)
_CAPTURED = re.compile(r"(\[ perf record: Captured and wrote [\d.]+ [KMG]B).*")
# "Linux 6.18.0 (name) 	11/20/26 	_x86_64_	(2 CPU)", above what mpstat and pidstat print.
_SYSSTAT = re.compile(r"(Linux \S+ \()([^)]+)(\).*)")
# "123 (openssl) R 1 ...": /proc/PID/stat, and what a sampler puts before it.
_PROCESS = re.compile(r"(?<![\w(])(\d+ \()(.*)(\) [A-Z] -?\d+ )")
_CGROUP = re.compile(r"^(\d+ cgroup )(/.*)")
# Whom iperf3 and netperf talk to.
_PEER = re.compile(
    r"Connecting to host ([^\s,]+),|TEST (?:from (\S+) \(.*?\) port \d+ AF_\w+ )?to (\S+) \("
)
_HOST_OF_JSON = re.compile(r'("(?:nodename|hostname|host)"\s*:\s*")([^"]+)(")')
_ALIAS = re.compile(r"^(\s*alias ).*")
# "(builder@host)" in the kernel's version.
_BUILDER = re.compile(r"\([\w.+-]+@[\w.+-]+\)")
_PREFLIGHT = re.compile(r"\s*[a-z ]+? +(ok|no|warning|warn|note|fails?|-)\b.*")
_FILE = re.compile(r"(?<![\w])/[^\s,;:)]+")
# Arguments of the kernel that decide accounting, power and interrupts.
_BOOT = re.compile(
    r"(nohz|nohz_full|rcu_nocbs|rcutree\.\w+|isolcpus|irqaffinity|mitigations|threadirqs|preempt|idle"
    r"|(intel_idle|processor|cpuidle|cpufreq|net|kvm[\w]*|transparent_hugepage)\.\w+|intel_pstate"
    r"|amd_pstate|tsc|clocksource|default_hugepagesz|hugepagesz|hugepages|iommu|intel_iommu"
    r"|amd_iommu|skew_tick|nosmt|maxcpus|nr_cpus|pti|spectre_v2|numa_balancing|ro|rw|quiet"
    r"|transparent_hugepage|nmi_watchdog|nosoftlockup|highres|lapic|nox2apic)(=.*)?"
)
_LONG = 1 << 14
_LONG_COUNTERS = re.compile(r"[\w./-]+:?[\d\s]+")
_HOST_KEYS = {"nodename", "hostname", "host", "uname", "nodename_full"}
_COMMAND_KEYS = {"command", "cmd", "cmdline", "comm", "task"}
_HIDDEN_KEYS = {
    *("alias", "ifalias", "cookie", "title", "comment", "description", "cwd", "user", "username"),
    "extra_data",
}
# Of a program that nobody knows: texts only where iperf3 has them.
_IPERF_KEYS = {
    *("version", "system_info", "time", "protocol", "host", "local_host", "remote_host"),
    *("congestion", "sender_tcp_congestion", "receiver_tcp_congestion", "congestion_used"),
    "accepted_connection",
}


class Texts:
    def __init__(self, names: Names) -> None:
        self._names = names
        self.words = Words(names)
        self.paths = Paths(names, self.words)

    def rule(self, path: str) -> Callable[[str], str] | None:
        # How the file of this path in a bundle is masked; None where nobody knows.
        name = path.rpartition("/")[2]
        if name == "hostname":
            return self._host
        if name == "cmdline":
            return self._boot
        is_own = "/files/" in f"/{path}"
        if name.endswith((".json", ".jsonl")):
            return partial(self._json, known=_IPERF_KEYS) if is_own else self._json
        if name.startswith("pidstat"):
            return self._pidstat
        if name == "stamp" and not is_own and "samples/" not in path:
            return self.paths.stamp
        if name == "preflight.txt":
            return self._preflight
        if name == "summary.txt":
            return self._summary
        if _OUTPUTS.fullmatch(name) or (is_own and not OF_PROC.fullmatch(name)):
            return self._output
        return self._counters if _COUNTERS.fullmatch(name) or "ethtool/" in path else None

    def find_hosts(self, path: str, text: str) -> None:
        # Learns what the host is called, before anything is masked.
        if path.rpartition("/")[2] == "hostname" and text.strip():
            self._names.host(text.split()[0])
        for found in (*_SYSSTAT.finditer(text[:4096]), *_HOST_OF_JSON.finditer(text[: 1 << 20])):
            self._names.host(found[2])
        if path.rpartition("/")[2].startswith("net_dev"):
            self.paths.find_interfaces(text)
        # Others' names, where an output's known lines have them.
        for found in _PEER.finditer(text[: 1 << 20]):
            for name in filter(None, found.groups()):
                self._names.host(name)
        for found in re.finditer(r'"system_info"\s*:\s*"Linux (\S+)', text[:65536]):
            self._names.host(found[1])

    @staticmethod
    def _bounded(text: str) -> str:
        # Long lines are counters, or nobody's: patterns take long to tell.
        def line(one: str) -> str:
            return one if len(one) <= _LONG or _LONG_COUNTERS.fullmatch(one) else MASKED

        return text if len(text) <= _LONG else "\n".join(map(line, text.split("\n")))

    def _host(self, text: str) -> str:
        return "".join(f"{self._names.host(word)}\n" for word in text.split())

    def _boot(self, text: str) -> str:
        def word(one: str) -> str:
            name, equals, _ = one.partition("=")
            return one if _BOOT.fullmatch(one) else f"{name}=-" if equals and name else "-"

        return " ".join(map(word, text.split())) + "\n"

    def _task(self, name: str) -> str:
        # Kernel threads are shown with more of their names than a trace has.
        if is_kept_task(name):
            return name
        cut = name.encode("utf-8", "surrogateescape")[:COMM_LENGTH]
        return self._names.name("task", cut.decode("utf-8", "surrogateescape"))

    def _counters(self, text: str) -> str:
        def process(found: re.Match[str]) -> str:
            return found[1] + self._task(found[2]) + found[3]

        def cgroup(found: re.Match[str]) -> str:
            return found[1] + masked_cgroup(self._names, found[2])

        out = []
        for one in self._bounded(text).split("\n"):
            if len(one) <= _LONG:
                one = _ALIAS.sub(rf"\1{MASKED}", _BUILDER.sub("(-)", one))
                one = _CGROUP.sub(cgroup, _PROCESS.sub(process, one))
                one = self.words.masked(one)
            out.append(one)
        return "\n".join(out)

    def _summary(self, text: str) -> str:
        # Its lines of victim and load are commands.
        def line(one: str) -> str:
            if one.startswith(("victim ", "load ")):
                return f"{one[:11]}-"
            return self.words.masked(_FILE.sub("-", one))

        return "\n".join(map(line, self._bounded(text).split("\n")))

    def _preflight(self, text: str) -> str:
        def line(one: str) -> str:
            if one.strip() and not _PREFLIGHT.fullmatch(one):
                return MASKED
            return self.words.masked(_FILE.sub("-", one))

        return "\n".join(map(line, text.split("\n")))

    def _pidstat(self, text: str) -> str:
        out, columns = [], 0
        for line in self._bounded(text).split("\n"):
            fields = line.split()
            if fields and fields[-1] == "Command":
                # A header's "#" is no column, and its time of day has "AM" where the lines' has.
                columns = len([field for field in fields if field != "#"])
                out.append(line)
            elif found := _SYSSTAT.fullmatch(line):
                out.append(found[1] + self._names.host(found[2]) + found[3])
            elif columns and len(fields) >= columns:
                rest = line.split(None, columns - 1)[-1]
                mark = "|__" if rest.startswith("|__") else ""
                name = self._task(rest.removeprefix("|__").strip())
                out.append(line[: line.rindex(rest)] + mark + name)
            else:
                out.append(line if not fields else MASKED)
        return "\n".join(out)

    def _output(self, text: str) -> str:
        def line(one: str) -> str:
            if found := _CAPTURED.fullmatch(one):
                return found[1] + " ]"
            if found := _SYSSTAT.fullmatch(one):
                return found[1] + self._names.host(found[2]) + found[3]
            if not one.strip() or _OUTPUT_LINES.fullmatch(one.strip()):
                return self.words.masked(one)
            return MASKED

        return "\n".join(map(line, self._bounded(text).split("\n")))

    def _json(self, text: str, known: set[str] | None = None) -> str:
        try:
            return json.dumps(self._value("", json.loads(text), known), indent=2) + "\n"
        except (ValueError, RecursionError):
            lines = [line for line in text.split("\n") if line.strip()]
        out = []
        for line in lines:
            # One object a line, with commas between them where perf stat is interrupted.
            try:
                out.append(json.dumps(self._value("", json.loads(line.strip().rstrip(",")), known)))
            except (ValueError, RecursionError):
                out.append(json.dumps(MASKED))
        return "".join(f"{line}\n" for line in out)

    def _value(self, key: str, value: Any, known: set[str] | None) -> Any:
        if isinstance(value, dict):
            return {
                self.words.masked(name): self._value(name, one, known)
                for name, one in value.items()
            }
        if isinstance(value, list):
            return [self._value(key, one, known) for one in value]
        if not isinstance(value, str):
            return value
        masked = self.words.masked(value)
        low = key.lower()
        if value and (low in _HIDDEN_KEYS or (known is not None and low not in known)):
            return MASKED
        if low in _COMMAND_KEYS:
            return masked_command(self._names, value)
        return self._names.host(value) if low in _HOST_KEYS and masked == value else masked
