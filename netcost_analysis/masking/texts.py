# Masking rules for the text files of a bundle. A file without a rule is left out.

import json
import re
from collections.abc import Callable
from functools import partial

from .arguments import cut_comm, masked_command
from .free_text import MASKED, FreeText
from .names import Names, is_kept_task, masked_cgroup
from .outputs import masked_line, shown, with_json
from .paths import COUNTERS, OF_PROC, Paths

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
    r"|Connecting to host .*|Accepted connection from .*"
    r"|Recv +Send +Send.*|Socket +Socket +Message.*|Size +Size +Size.*|bytes +bytes +bytes.*"
    r"|[\d\s.,:%/*+-]+"
    r"|(?:Average:|\d\d:\d\d:\d\d)(?: [AP]M)?"
    r"(?:\s+(?:[\d.,-]+|all|CPU|NODE|%\w+|[A-Z_]+/s|intr/s))*"
)
_CAPTURED = re.compile(r"(\[ perf record: Captured and wrote [\d.]+ [KMG]B).*")
# "Linux 6.18.0 (name) 	11/20/26 	_x86_64_	(2 CPU)": the first line of mpstat and pidstat.
_SYSSTAT = re.compile(r"(Linux \S+ \()([^)]+)(\).*)")
# "123 (openssl) R 1 ...": /proc/PID/stat, which a sampler may prefix.
_PROCESS = re.compile(r"(?<![\w(])(\d+ \()(.*)(\) [A-Z] -?\d+ )")
_CGROUP = re.compile(r"^(\d+ cgroup )(/.*)")
# The peers that iperf3 and netperf name.
_PEER = re.compile(
    r"Connecting to host ([^\s,]+),|TEST (?:from (\S+) \(.*?\) port \d+ AF_\w+ )?to (\S+) \("
)
_HOST_OF_JSON = re.compile(r'("(?:nodename|hostname|host)"\s*:\s*")([^"]+)(")')
_ALIAS = re.compile(r"^(\s*alias ).*")
# "(builder@host)" in the kernel version.
_BUILDER = re.compile(r"\([\w.+-]+@[\w.+-]+\)")
_PREFLIGHT = re.compile(r"\s*[a-z ]+? +(ok|no|warning|warn|note|fails?|-)\b.*")
_FILE = re.compile(r"(?<![\w])/[^\s,;:)]+")
# Kernel parameters about accounting, power and interrupts.
_BOOT = re.compile(
    r"(nohz|nohz_full|rcu_nocbs|rcutree\.\w+|isolcpus|irqaffinity|mitigations|threadirqs|preempt|idle"
    r"|(intel_idle|processor|cpuidle|cpufreq|net|kvm[\w]*|transparent_hugepage)\.\w+|intel_pstate"
    r"|amd_pstate|tsc|clocksource|default_hugepagesz|hugepagesz|hugepages|iommu|intel_iommu"
    r"|amd_iommu|skew_tick|nosmt|maxcpus|nr_cpus|pti|spectre_v2|numa_balancing|ro|rw|quiet"
    r"|transparent_hugepage|nmi_watchdog|nosoftlockup|highres|lapic|nox2apic)(=.*)?"
)
_LONG = 1 << 14
# netperf's JSON has numbers as strings.
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,9})?")
_LONG_COUNTERS = re.compile(r"[\w./-]+:?[\d\s]+")
_HOST_KEYS = {"nodename", "hostname", "host", "uname", "nodename_full"}
_COMMAND_KEYS = {"command", "cmd", "cmdline", "comm", "task"}
_HIDDEN_KEYS = {
    *("alias", "ifalias", "cookie", "title", "comment", "description", "cwd", "user", "username"),
    "extra_data",
}
# In the JSON of an unknown program, only strings under these keys of iperf3, netperf and fio stay.
_PROGRAM_KEYS = {
    *(
        "fio version",
        "throughput_units",
        "version",
        "system_info",
        "time",
        "protocol",
        "host",
        "local_host",
        "remote_host",
    ),
    *("congestion", "sender_tcp_congestion", "receiver_tcp_congestion", "congestion_used"),
    "accepted_connection",
}


class Texts:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.free_text = FreeText(names)
        self.paths = Paths(names, self.free_text)

    def rule(self, path: str) -> Callable[[str], str] | None:
        name = path.rpartition("/")[2]
        if name == "hostname":
            return self._host
        if name == "cmdline":
            return self._boot
        is_own = "/files/" in f"/{path}"
        if name.endswith((".json", ".jsonl")):
            return partial(self._json, known=_PROGRAM_KEYS) if is_own else self._json
        if name.startswith("pidstat"):
            return self._pidstat
        if name == "stamp" and not is_own and "samples/" not in path:
            return self.paths.stamp
        if name == "preflight.txt":
            return self._preflight
        if name == "summary.txt":
            return self._summary
        is_work = name == "work" and "samples/" not in path
        if is_work or _OUTPUTS.fullmatch(name) or (is_own and not OF_PROC.fullmatch(name)):
            return self._output
        return self._counters if _COUNTERS.fullmatch(name) or "ethtool/" in path else None

    def find_hosts(self, path: str, text: str) -> None:
        # Learn host names before masking anything.
        if path.rpartition("/")[2] == "hostname" and text.strip():
            self.names.host(text.split()[0])
        for match in (*_SYSSTAT.finditer(text[:4096]), *_HOST_OF_JSON.finditer(text[: 1 << 20])):
            self.names.host(match[2])
        if path.rpartition("/")[2].startswith("net_dev"):
            self.paths.find_interfaces(text)
        # Known lines of outputs name peers.
        for match in _PEER.finditer(text[: 1 << 20]):
            for name in filter(None, match.groups()):
                self.names.host(name)
        for match in re.finditer(r'"system_info"\s*:\s*"Linux (\S+)', text[:65536]):
            self.names.host(match[1])

    @staticmethod
    def _by_line(text: str, masked: Callable[[str], str]) -> str:
        # Matching a long line would be slow: it is hidden unless it has only counters.
        def bounded(line: str) -> str:
            is_known = len(line) <= _LONG or _LONG_COUNTERS.fullmatch(line)
            return masked(line) if is_known else MASKED

        return "\n".join(map(bounded, text.split("\n")))

    def _host(self, text: str) -> str:
        return "".join(f"{self.names.host(word)}\n" for word in text.split())

    def _boot(self, text: str) -> str:
        def argument(word: str) -> str:
            name, equals, _ = word.partition("=")
            return word if _BOOT.fullmatch(word) else f"{name}=-" if equals and name else "-"

        return " ".join(map(argument, text.split())) + "\n"

    def _task(self, name: str) -> str:
        # /proc shows kernel threads under longer names than a trace.
        return name if is_kept_task(name) else self.names.name("task", cut_comm(name))

    def _counters(self, text: str) -> str:
        def line(line: str) -> str:
            if len(line) > _LONG:
                return line
            line = _ALIAS.sub(rf"\1{MASKED}", _BUILDER.sub("(-)", line))
            line = _PROCESS.sub(lambda match: match[1] + self._task(match[2]) + match[3], line)
            line = _CGROUP.sub(lambda match: match[1] + masked_cgroup(self.names, match[2]), line)
            return self.free_text.masked(line)

        return self._by_line(text, line)

    def _summary(self, text: str) -> str:
        # The lines of victim and load have commands.
        def line(line: str) -> str:
            if line.startswith(("victim ", "load ")):
                return f"{line[:11]}-"
            return self.free_text.masked(_FILE.sub("-", line))

        return self._by_line(text, line)

    def _preflight(self, text: str) -> str:
        def line(line: str) -> str:
            if line.strip() and not _PREFLIGHT.fullmatch(line):
                return MASKED
            return self.free_text.masked(_FILE.sub("-", line))

        return self._by_line(text, line)

    def _pidstat(self, text: str) -> str:
        columns = 0

        def line(line: str) -> str:
            nonlocal columns
            fields = line.split()
            if fields and fields[-1] == "Command":
                # The "#" of a header is no column. "AM" and "PM" are in headers and lines alike.
                columns = len([field for field in fields if field != "#"])
                return line
            if match := _SYSSTAT.fullmatch(line):
                return match[1] + self.names.host(match[2]) + match[3]
            if not columns or len(fields) < columns:
                return MASKED if fields else line
            rest = line.split(None, columns - 1)[-1]
            mark = "|__" if rest.startswith("|__") else ""
            return line[: line.rindex(rest)] + mark + self._task(rest.removeprefix("|__").strip())

        return self._by_line(text, line)

    def _output(self, text: str) -> str:
        of_json = partial(self._json, known=_PROGRAM_KEYS)
        return "".join(with_json(text, self._output_lines, of_json))

    def _output_lines(self, text: str) -> str:
        def line(line: str) -> str:
            line = shown(line)
            if match := _CAPTURED.fullmatch(line):
                return match[1] + " ]"
            if match := _SYSSTAT.fullmatch(line):
                return match[1] + self.names.host(match[2]) + match[3]
            is_known = not line.strip() or _OUTPUT_LINES.fullmatch(line.strip())
            kept = line if is_known else masked_line(line)
            return MASKED if kept is None else self.free_text.masked(kept)

        return self._by_line(text, line)

    def _json(self, text: str, known: set[str] | None = None) -> str:
        def value(path: tuple[str, ...], text: str) -> str:
            key, masked = path[-1].lower() if path else "", self.free_text.masked(text)
            is_number = _NUMBER.fullmatch(text) is not None
            if key in _HIDDEN_KEYS or not (known is None or key in known or is_number):
                return MASKED
            if key in _COMMAND_KEYS:
                return masked_command(self.names, text)
            return self.names.host(text) if key in _HOST_KEYS and masked == text else masked

        def document(text: str, indent: int | None = None) -> str:
            return json.dumps(self.free_text.masked_json(json.loads(text), value), indent=indent)

        try:
            return document(text, 2) + "\n"
        except (ValueError, RecursionError):
            pass
        lines: list[str] = []
        for line in filter(str.strip, text.split("\n")):
            # One object per line. An interrupted perf stat leaves commas between them.
            try:
                lines.append(document(line.strip().rstrip(",")))
            except (ValueError, RecursionError):
                lines.append(json.dumps(MASKED))
        return "".join(f"{line}\n" for line in lines)
