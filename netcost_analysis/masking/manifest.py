# The manifest of a bundle: what it says of the recording stays, what it says of the host's programs
# and files is masked.

import re
from typing import Any

from .arguments import masked_arguments, masked_command
from .names import Names, masked_cgroup
from .texts import MASKED, Texts

# Strings under these keys are netcost-record's own words, or the kernel's.
_OWN = {
    *("tool", "profile", "clock", "cpus", "events", "event", "other_events", "call_graph"),
    *("name", "kind", "program"),
}
# Files of the bundle, and folders with a slash behind them.
_REFERENCES = {
    *("output", "trace", "files", "baseline", "afterwards", "idle", "load", "idle_traced"),
    "load_traced",
}
_HOST = {
    *("kernel", "kernel_version", "arch", "virtualization", "cpus_online", "cpu_model"),
    *("preempt", "clocksource", "perf", "trace_cmd", "trace-cmd", "governor", "hz"),
}
# Of what the recorder found missing; its reason can end in a tool's own words.
_OF_COMPLETENESS = {"verdict", "state", "what", "name", "reason"}
_FOUND = re.compile(r"[\w .:;,%+()-]*")
_WORD = re.compile(r"[\w.:/,+ -]*")


def masked_manifest(names: Names, texts: Texts, manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: _value(names, texts, (key,), value) for key, value in manifest.items()}


def _value(names: Names, texts: Texts, path: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, dict):
        return {
            texts.words.masked(key): _value(names, texts, (*path, key), one)
            for key, one in value.items()
        }
    key = path[-1]
    if isinstance(value, list):
        if path == ("command",) and all(isinstance(word, str) for word in value):
            return masked_arguments(names, value)
        return [_value(names, texts, path, one) for one in value]
    if not isinstance(value, str) or not value:
        return value
    attached = key if path[:-1] == ("victim", "attached") else ""
    if key == "record_command":
        return value.split()[0].rpartition("/")[2] + " ..."
    if key == "command" or attached == "work":
        return masked_command(names, value)
    if key == "daemons" or attached == "comm":
        return names.name("task", value)
    if attached == "cgroup":
        return masked_cgroup(names, value)
    if attached == "container":
        return names.label(value)
    if key in _REFERENCES and not re.search(r"[ \t]", value):
        return texts.paths.reference(value)
    if (
        ((key in _OWN or attached == "to") and _WORD.fullmatch(value))
        or (path[0] == "completeness" and key in _OF_COMPLETENESS and _FOUND.fullmatch(value))
        or (path[0] == "host" and (key in _HOST or "sysctls" in path))
    ):
        return texts.words.masked(value)
    # Files of the bundle are called by them too.
    return texts.paths.namespace(value) if key == "network_namespaces" else MASKED
