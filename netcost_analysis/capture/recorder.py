# What depends on the recorder: its name, the clock, and what only perf records.

from typing import Any

from .._native import CaptureError

# The format in a sentence.
_KINDS = {
    "perf.data": "a perf.data",
    "trace.dat": "a trace.dat",
    "tracefs": "a copy of tracefs",
    "text": "a text",
}
_TOOLS = {"perf.data": "perf", "trace.dat": "trace-cmd", "tracefs": "tracefs"}
_UNITS = {"cycles": "cycles of unknown length", "order": "an order, no durations"}


def recorder(info: dict[str, Any]) -> str:
    # The tool that wrote the capture and its version. ftrace belongs to the kernel and has none.
    tool = _TOOLS.get(info["format"]) or str(info["mode"])
    if tool in ("tracefs", "ftrace"):
        return tool
    return f"{tool} {info.get('tool_version') or 'of unknown version'}"


def clock(info: dict[str, Any]) -> str:
    # The clock, with its unit or resolution if that is not 1 ns.
    if info["time_unit"] in _UNITS:
        return f"{info['clock']}, {_UNITS[info['time_unit']]}"
    if info["resolution_ns"] != 1:
        return f"{info['clock']}, in steps of {info['resolution_ns']:,} ns"
    return str(info["clock"]) or "unknown"


def is_perf(header: dict[str, Any]) -> bool:
    return bool(header["format"] == "perf.data")


def mappings(info: dict[str, Any]) -> int:
    # The number of MMAP and MMAP2 records.
    return int(info["records"].get("MMAP", 0)) + int(info["records"].get("MMAP2", 0))


def require_perf(header: dict[str, Any], what: str) -> None:
    # what: samples with addresses, mappings, ...
    if not is_perf(header):
        kind = _KINDS[header["format"]]
        raise CaptureError(f"{kind} has no {what}: only perf records them")


def has_samples(header: dict[str, Any]) -> bool:
    # No other recorder has addresses, and no other text than perf script's.
    return is_perf(header) or header["mode"] == "perf script"


def require_samples(header: dict[str, Any], name: str) -> None:
    if not has_samples(header):
        kind = _KINDS[header["format"]]
        raise CaptureError(f"{kind} has no samples with addresses: events({name!r}) has its events")
