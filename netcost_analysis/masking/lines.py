# Masks lines of perf script, trace-cmd report and ftrace: events, headers, frames of callchains.

import re

from .._native import field_kind
from .arguments import masked_arguments
from .free_text import FreeText
from .names import Names

# "prev_comm=a b prev_pid=": a name may contain anything before the pid's key.
_COMM = re.compile(r"(?P<key>\b(?:\w+_)?comm=)(?P<comm>.*?)(?P<end> (?:\w+_)?(?:pid|tid)=|$)")
# trace-cmd's plugins print "sleep:23213 [120] S ==> records:23134 [132]" and "comm:pid [prio]".
_OF_PLUGIN = re.compile(r"(?:task )?(?P<first>.+?):(?P<rest>-?\d+ \[-?\d+\].*)", re.DOTALL)
_ARROW = re.compile(r"(?P<state> \S+ ==> )(?P<comm>.+)(?P<end>:-?\d+ \[-?\d+\].*)")
_KEY = re.compile(
    r"(?<!\w)(?P<key>[A-Za-z_]\w*)(?P<sep>=|: ?)"
    r"(?P<value>\[[^\]]{0,200}\]|\([^)]{0,200}\)|\"[^\"]{0,200}\"|\S*)"
)
_NUMBER = re.compile(
    r"[\[({]*-?(?:0x[0-9A-Fa-f]+|[0-9A-Fa-f.,:/+-]*\d[0-9A-Fa-f.,:/+-]*[A-Za-z%]{0,3})[\])},;]*"
)
# Kernel constants.
_CONSTANT = re.compile(
    r"true|false|yes|no|on|off|(?:TCP|AF|IPPROTO|NETDEV|SKB|GFP|HRTIMER)_[A-Z0-9_|]+"
)
_FRAME = re.compile(r"^(?P<start>\s*[0-9a-f]+ )(?P<symbol>.*) \((?P<object>.*)\)\s*$")
_RECORD_COMM = re.compile(r"(?P<start>COMM(?: exec)?: )(?P<comm>.*)(?P<end>:-?\d+/-?\d+.*)")
_RECORD_MAP = re.compile(r"(?P<start>MMAP2? .*?\]: \S+ |CGROUP.*? )(?P<path>\S.*)")
_RECORD_NUMBERS = re.compile(
    r"(?:EXIT|FORK|LOST|LOST_SAMPLES|THROTTLE|UNTHROTTLE|SWITCH|SWITCH_CPU_WIDE|FINISHED_ROUND"
    r"|AUX|ITRACE_START|NAMESPACES|TEXT_POKE|KSYMBOL|BPF_EVENT|FINISHED_INIT)\b.*"
)
# Events whose text has only the kernel's own words.
_WHOLE = re.compile(
    r"(?:\w+:)?(?:softirq_(?:raise|entry|exit)|irq_handler_(?:entry|exit)|napi_poll|\w+_(?:entry|exit)"
    r"|function|funcgraph_\w+|kernel_stack|hrtimer_\w+|timer_\w+|cpu_idle|cpu_frequency|rcu_\w+)"
)
_EXPECTED = re.compile(
    r"(?:cpus=\d+|version = \d+|trace-cmd version [\w.]+|CPU \d+ is empty|\s*\S+: cpus=\d+)\s*"
)
_COMMENT_KEPT = re.compile(
    r"(?:os release|perf version|arch|nrcpus (?:online|avail)|cpudesc|cpuid|total memory|event"
    r"|clockid|time of (?:first|last) sample|sample duration|captured on|header version|data offset"
    r"|data size|feat offset|missing features|CPU_TOPOLOGY info.*|sibling.*|node\d.*|pmu mappings)"
)


# Where trace_printk was called: "ip_rcv+0x1c/0x40 [module]:", "0x00000001:".
_PLACE = re.compile(
    r"(?:[^\s+]+\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?|(?:0x)?[0-9a-f]{8,16}|\[<[0-9a-f]+>\] [\w.]+)"
    r"(?: \[[\w-]+\])?(?: <[0-9a-f]+>)?:(?!\S)"
)
# Words in the headings of ftrace and perf.
_HEADING = re.compile(
    r"tracer|nop|entries-in-buffer|entries-written|P|irqs-off(?:-or-bh-disabled|.BH-disabled)?|BH-disabled|need-resched"
    r"|hardirq|softirq|preempt-depth|preempt-lazy-depth|migrate-disable|delay|TASK-PID|TASK|PID"
    r"|TGID|CPU|TIMESTAMP|FUNCTION|DURATION|CALLS|REL|TIME|ABS|caller|cmd|pid|us|d|time|latency"
    r"|M|VP|KP|SP|HP|PREEMPT|preempt|desktop|server|LAZY|rt|PREEMPT_RT|function|function_graph|wakeup"
    r"|wakeup_rt|irqsoff|preemptoff|preemptirqsoff|blk|hwlat|osnoise|timerlat|buffer|started|on|end"
    r"|dynamic|samples|event|of|Samples|Event|count|approx|Overhead|ms|s|x"
)
_CLOCK = re.compile(r"clockid: \w+ \(\d+\)")
_LATENCY = re.compile(r"\w+ latency trace v[\d.]+ on [\w.+-]+")


class Lines:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._free_text = FreeText(names)
        # Events with hidden values, whose meaning is unknown.
        self.hidden: set[str] = set()

    def masked(self, kind: str, text: str) -> str:
        if kind in ("event", "record"):
            name, _, text = text.partition("\0")
            line = self._event(name, text) if kind == "event" else self._record(text)
        else:
            line = {"comment": self._comment, "frame": self._frame}.get(kind, self._other)(text)
        # The line must not get longer.
        size = len(text.encode("utf-8", "surrogateescape"))
        return line.encode("utf-8", "surrogateescape")[:size].decode("utf-8", "surrogateescape")

    def _task(self, name: str) -> str:
        return self._names.name("task", name)

    def _event(self, name: str, text: str) -> str:
        bare = name.rpartition(":")[2]
        if bare.startswith(("sched_", "task_")) or "comm=" in text:
            text = self._of_tasks(bare, text)
            if bare in ("sched_switch", "sched_wakeup", "sched_waking", "sched_wakeup_new"):
                return text
            return self._pairs(name, text, done={"comm"})
        if _WHOLE.fullmatch(name):
            return text
        place = _PLACE.match(text) if bare == "print" else None
        kept = place[0] if place else ""
        return kept + self._pairs(name, text[len(kept) :], done=set())

    def _of_tasks(self, bare: str, text: str) -> str:
        if "comm=" in text:
            return _COMM.sub(
                lambda match: match["key"] + self._task(match["comm"]) + match["end"], text
            )
        plugin = _OF_PLUGIN.fullmatch(text)
        if plugin is None:
            return text
        start = "task " if text.startswith("task ") else ""
        rest = _ARROW.sub(
            lambda match: match["state"] + self._arrow(match["comm"]) + match["end"], plugin["rest"]
        )
        return f"{start}{self._task(plugin['first'])}:{rest}"

    def _arrow(self, name: str) -> str:
        # Kernels before 2.6.33 print "task " here.
        start = "task " if name.startswith("task ") else ""
        return start + self._task(name.removeprefix("task "))

    def _pairs(self, event: str, text: str, done: set[str]) -> str:
        # In key=value, the key decides how to mask a value other than a number. Other words are
        # hidden.
        out, at = [], 0
        for match in _KEY.finditer(text):
            out.append(self._loose(event, text[at : match.start()]))
            out.append(match["key"] + match["sep"] + self._value(event, match, done))
            at = match.end()
        return "".join(out) + self._loose(event, text[at:])

    def _value(self, event: str, match: re.Match[str], done: set[str]) -> str:
        key, value = match["key"], match["value"]
        if not value or any(key == suffix or key.endswith("_" + suffix) for suffix in done):
            return value
        masked = self._free_text.masked(value)
        if masked != value or _is_number(value) or _is_address(value):
            return masked
        if _CONSTANT.fullmatch(value):
            return value
        what = field_kind(event, key, "text", 16)
        if what in ("task", "path"):
            return self._names.name(what, value)
        if what == "host":
            return self._names.host(value)
        if what == "keep" or (":" not in event and _is_plain(key)):
            return value
        self.hidden.add(event)
        return "-"

    def _loose(self, event: str, text: str) -> str:
        def word(match: re.Match[str]) -> str:
            masked = self._free_text.masked(match[0])
            if masked != match[0] or _is_number(match[0]) or not re.search(r"\w", match[0]):
                return masked
            self.hidden.add(event)
            return "-"

        return re.sub(r"\S+", word, text)

    def _record(self, text: str) -> str:
        body = text.removeprefix("PERF_RECORD_")
        start = text[: len(text) - len(body)]
        if match := _RECORD_COMM.fullmatch(body):
            return start + match["start"] + self._task(match["comm"]) + match["end"]
        if match := _RECORD_MAP.fullmatch(body):
            return start + match["start"] + self._names.name("path", match["path"])
        if _RECORD_NUMBERS.fullmatch(body):
            return text
        return start + body.partition(" ")[0]

    def _comment(self, line: str) -> str:
        body = line.lstrip("#").strip()
        key, colon, value = body.partition(" : ")
        if colon and not value.strip():
            return line
        if colon and key.strip() == "hostname":
            return line.replace(value, self._names.host(value.strip()))
        if colon and key.strip() == "cmdline":
            words = masked_arguments(self._names, _words(value))
            return line.replace(value, " ".join(words))
        if colon and not _COMMENT_KEPT.fullmatch(key.strip()):
            return line.partition(":")[0] + ":"
        if body.startswith("|") or re.match(r"(task|comm): ", body.lstrip("| ")):
            # From a latency trace: "| task: perf-123 (uid:0 nice:0 policy:0 rt_prio:0)".
            return re.sub(
                r"(task: )(.*)(-\d+ \()",
                lambda match: match[1] + self._task(match[2]) + match[3],
                line,
            )
        if _LATENCY.fullmatch(body) or _CLOCK.fullmatch(body):
            return line
        known = all(_HEADING.fullmatch(word) for word in re.findall(r"[A-Za-z][\w.-]*", body))
        return self._free_text.masked(line) if known or colon else "#"

    def _frame(self, line: str) -> str:
        match = _FRAME.match(line) if line.rstrip().endswith(")") else None
        if match is None:
            # ftrace stacks print " => function".
            return line if re.fullmatch(r"\s*=> [\w.+/ <>-]+", line) else "\t-"
        path = match["object"]
        masked = self._names.name("path", path)
        if masked == path or path.startswith("["):
            return line
        # Function names would identify the program.
        return f"{match['start']}[unknown] ({masked})"

    def _other(self, line: str) -> str:
        return line if _EXPECTED.fullmatch(line) else "(masked)"


def _words(line: str) -> list[str]:
    # perf prints no quotes, so a filter extends to the next option.
    words: list[str] = []
    in_filter = False
    for word in line.split():
        if in_filter and not word.startswith("-") and words[-1] != "--filter":
            words[-1] += f" {word}"
            continue
        in_filter = (in_filter and not word.startswith("-")) or word.startswith("--filter")
        words.append(word)
    return words


def _is_number(value: str) -> bool:
    # Numbers are shorter, and matching a long text is slow.
    return len(value) < 128 and _NUMBER.fullmatch(value) is not None


def _is_address(value: str) -> bool:
    return re.fullmatch(r"[\[(]?[0-9a-fA-F:.]+[\])]?", value) is not None


def _is_plain(key: str) -> bool:
    # Keys that kernel events use. Lines here do not name the event's subsystem.
    return key in ("dev", "name", "action", "reason", "function", "func", "workqueue", "protocol")
