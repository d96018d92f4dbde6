# Masks command lines. The recorder's keeps the options that say what was recorded and how.

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from .names import Names

# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15
_RECORDERS = {"perf", "trace-cmd", "netcost-record", "tracefs"}
_SUBCOMMANDS = {"record", "stat", "trace", "sched", "kwork", "lock", "script", "report", "stream"}
# Options whose argument names something on the host.
_HIDDEN_WORDS = (
    "-o --output -u --uid -G --cgroup -w -t --tid -B --vmlinux --control --input --debuginfod-urls "
    "--setup-filter"
)
_HIDDEN = frozenset(_HIDDEN_WORDS.split())
_EVENTS = frozenset(("-e", "--event"))
_FILTERS = frozenset(("--filter", "-f"))
# Options whose argument is a number, a list of CPUs or processes, or a word of _VALUE.
_PLAIN_WORDS = (
    "-c --count -F --freq -m --mmap-pages -k --clockid -C --cpu -p --pid -P -b --call-graph -j "
    "--branch-filter -s -D --delay -I --interval-print -M -l -r --realtime --max-size -z "
    "--compression --compression-level --user-regs --intr-regs --switch-output --date -E "
    "--file-version --tsc2nsec --poll --threads --affinity --mmap-flush --synth --aio-sample "
    "--num-thread-synthesize --proc-map-timeout --user-callchains --switch-max-files "
    "--tail-synthesize"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
_VALUE = re.compile(
    r"[+~-]?[\d.,:-]+[kKmMgGBs%]?|0x[0-9A-Fa-f]+|max|all|no|task|mmap|cgroup|cpu|core|package|numa|sys|node"
    r"|(?:CLOCK_)?(?:mono|boot|tai|real|local|global|counter|uptime|perf|MONO|BOOT|TAI|REAL)\w*"
    r"|x86-tsc|(?:fp|dwarf|lbr|any|ind|cond|call|stack|save|u|k|hv)\w*(?:,\w+)*|zstd|zlib|none"
)
# Flags bundled with an option that takes an argument: "-agF 99".
_TOGETHER = re.compile(r"-[aqvgdTsnNBAiRbSzW]+[eFcmkCpjrDP]")
_QUOTED = re.compile(r"([\"'])(.*?)\1")
_COMPARED = re.compile(r"((?:\w*comm|filename)\s*(?:==|!=|~)\s*)([^\s\"'&|)]+)")


def masked_command(names: Names, line: str) -> str:
    # The first word names the task.
    words = line.split()
    if not words:
        return line
    name = names.name("task", _comm(words[0]))
    return f"{name} ..." if len(words) > 1 else name


def _comm(word: str) -> str:
    return cut_comm(PurePosixPath(word).name or word)


def cut_comm(name: str) -> str:
    # Truncate as the kernel does.
    return name.encode("utf-8", "surrogateescape")[:_COMM_LENGTH].decode("utf-8", "surrogateescape")


def masked_arguments(names: Names, words: Sequence[str]) -> list[str]:
    # For a recorder's command line. No word may get longer.
    if not words:
        return []
    if words[:2] == ["taskset", "-c"] and len(words) > 2 and _VALUE.fullmatch(words[2]):
        return [*words[:3], *masked_arguments(names, words[3:])]
    program = PurePosixPath(words[0]).name
    if program not in _RECORDERS:
        return [names.name("task", _comm(words[0])), *(_hidden(argument) for argument in words[1:])]
    out, at = [program], 1
    takes = _EVENTS | _FILTERS | _PLAIN | _HIDDEN
    while at < len(words):
        word = words[at]
        at += 1
        option, equals, value = word.partition("=")
        if word == "--":
            out += [word, *(_hidden(argument) for argument in words[at:])]
            break
        if not word.startswith("-"):
            # The first word outside options begins the workload.
            if at == 2 and word in _SUBCOMMANDS:
                out.append(word)
                continue
            out += [_hidden(argument) for argument in words[at - 1 :]]
            break
        if equals and option.startswith("--"):
            out.append(f"{option}={_value(names, option, value)}"[: len(word)])
        elif option in takes or _TOGETHER.fullmatch(word):
            out.append(word)
            if at < len(words) and not (words[at].startswith("-") and words[at] != "-"):
                out.append(_value(names, word if option in takes else f"-{word[-1]}", words[at]))
                at += 1
        elif re.fullmatch(r"-[a-zA-Z].+", word) and word[:2] in takes and word[1] != "-":
            out.append(word[:2] + _value(names, word[:2], word[2:]))
        else:
            out.append(option)
    return out


def _value(names: Names, option: str, value: str) -> str:
    if option in _EVENTS:
        return value
    if option in _FILTERS:
        return _filter(names, value)
    return value if option in _PLAIN and _VALUE.fullmatch(value) else _hidden(value)


def _filter(names: Names, value: str) -> str:
    # Names in a filter are task names: "comm == openssl".
    value = _QUOTED.sub(lambda match: match[1] + names.name("task", match[2]) + match[1], value)
    return _COMPARED.sub(lambda match: match[1] + names.name("task", match[2]), value)


def _hidden(word: str) -> str:
    # The result must not look like an option.
    return "x" * min(1, len(word))
