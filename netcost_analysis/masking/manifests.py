# Masks manifest.json, experiment.json and the table of an experiment's steps. What the recorder and
# the kernel wrote stays; names of programs and files of the host are masked.
# capture/lib/mask-paths.awk has the same rules for experiments.

import json
import re
from functools import partial
from typing import Any

from .._native import CaptureError
from .arguments import masked_arguments, masked_command
from .free_text import MASKED
from .names import masked_cgroup
from .texts import Texts

# Strings under these keys are words of netcost-record or the kernel.
_OWN = {
    *("tool", "profile", "clock", "cpus", "events", "event", "other_events", "call_graph"),
    *("name", "kind", "program"),
}
# Keys that name files of the bundle, or folders with a trailing slash.
_REFERENCES = {
    *("output", "trace", "files", "baseline", "afterwards", "idle", "load", "idle_traced"),
    "load_traced",
}
_HOST = {
    *("kernel", "kernel_version", "arch", "virtualization", "cpus_online", "cpu_model"),
    *("preempt", "clocksource", "perf", "trace_cmd", "trace-cmd", "governor", "hz"),
}
# Keys of the recorder's list of what is missing. A reason may quote a tool.
_OF_COMPLETENESS = {"verdict", "state", "what", "name", "reason"}
_FOUND = re.compile(r"[\w .:;,%+()-]*")
_WORD = re.compile(r"[\w.:/,+ -]*")
_PROGRAMS = {
    *("netcost-record", "repeat", "datapath-sweep", "guest", "hidden-cost", "io-sizes"),
    *("local-regression", "nic-guest", "quiet-interface", "stolen-time"),
}
_OF_EXPERIMENT = {"kernel", "started", "ended", "arch", "tool", "profile"}
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# The kit's verdict on what is missing from a recording.
_VERDICT = re.compile(r"[A-Za-z0-9_ .:;,%+()-]*")
_CELL = re.compile(
    r"|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?(x[0-9]+)?|yes|no|on|off|max|none|all|one|two|bridge"
    r"|route|ovs|openvswitch|xdp|nic|virtio|wire|threaded|softirq|pinned|free|loopback|veth|udp|tcp"
    r"|base|load|idle|nan|a|b|[0-9]+-[0-9]+-[0-9]+T[0-9:]+Z"
)


def masked_manifest(texts: Texts, manifest: dict[str, Any]) -> str:
    masked = {}
    for key, value in manifest.items():
        if (
            key == "command"
            and isinstance(value, list)
            and all(isinstance(word, str) for word in value)
        ):
            masked[key] = masked_arguments(texts.names, value)
        else:
            masked[key] = texts.free_text.masked_json(
                value, partial(_text_of_manifest, texts), (key,)
            )
    return json.dumps(masked, indent=2) + "\n"


def _text_of_manifest(texts: Texts, path: tuple[str, ...], value: str) -> str:
    key = path[-1]
    attached = key if path[:-1] == ("victim", "attached") else ""
    if key == "record_command":
        return next(iter(value.split()), "").rpartition("/")[2] + " ..."
    if key == "command" or attached == "work" or path == ("victim", "work"):
        return masked_command(texts.names, value)
    if key == "daemons" or attached == "comm":
        return texts.names.name("task", value)
    if attached == "cgroup":
        return masked_cgroup(texts.names, value)
    if attached == "container":
        return texts.names.label(value)
    if key in _REFERENCES and not re.search(r"[ \t]", value):
        return texts.paths.reference(value)
    if (
        ((key in _OWN or attached == "to") and _WORD.fullmatch(value))
        or (path[0] == "completeness" and key in _OF_COMPLETENESS and _FOUND.fullmatch(value))
        or (path[0] == "host" and (key in _HOST or "sysctls" in path))
    ):
        return texts.free_text.masked(value)
    # Files of the bundle are named after namespaces, so those get the same replacement.
    return texts.paths.namespace(value) if key == "network_namespaces" else MASKED


def masked_experiment(texts: Texts, text: str) -> str:
    try:
        experiment = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"experiment.json is not JSON: {error}") from None
    masked = texts.free_text.masked_json(experiment, partial(_text_of_experiment, texts))
    return json.dumps(masked, indent=2) + "\n"


def _text_of_experiment(texts: Texts, path: tuple[str, ...], value: str) -> str:
    key = path[-1].lower() if path else ""
    if key == "command":
        program = (value.split() or [""])[0].rpartition("/")[2]
        return (program if program in _PROGRAMS else MASKED) + " ..."
    if key in ("victim", "load", "base"):
        return masked_command(texts.names, value)
    if key == "experiment" and value in _PROGRAMS:
        return value
    if key == "table":
        return texts.paths.masked(value)
    return texts.free_text.masked(value) if key in _OF_EXPERIMENT else MASKED


def masked_steps(texts: Texts, text: str) -> str:
    header, *lines = text.split("\n")
    columns = header.split("\t")
    named = (
        texts.free_text.masked(name) if _COLUMN.fullmatch(name) else MASKED for name in columns
    )
    rows = ["\t".join(named)]
    for line in lines:
        cells = line.split("\t") if line else []
        names = [*columns, *[""] * len(cells)]
        rows.append("\t".join(_cell(texts, *pair) for pair in zip(names, cells, strict=False)))
    return "\n".join(rows)


def _cell(texts: Texts, column: str, cell: str) -> str:
    if column in ("bundle", "folder"):
        return texts.paths.masked(cell)
    if column == "kernel" or (column == "completeness" and _VERDICT.fullmatch(cell)):
        return texts.free_text.masked(cell)
    return cell if _CELL.fullmatch(cell) else MASKED
