# netcost info: what is in a capture.

import sys
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from ..capture.recorder import clock, is_perf, mappings, recorder
from ..units import duration, elapsed, plural, printable, ranges, share, were
from .options import (
    beside_options,
    capture_arguments,
    json_option,
    nothing_beside_experiment,
    opened,
    print_json,
)
from .table import say

_WIDTH = 89
# The version of this format is usual, and not shown.
_USUAL = ("perf.data", 2)
_WORDS = {4: "32-bit", 8: "64-bit"}
# trace-cmd record -e all describes more than a thousand events that never occurred.
_MAX_SILENT = 12


@click.command("info")
@capture_arguments
@beside_options
@json_option
def command(path: str, as_json: bool) -> None:
    """Say what is in a capture: host, clock, window, events, losses; the steps of an experiment."""
    from ..capture.packed import is_experiment_folder, is_packed_experiment
    from ..questions.completeness.summary import verdict

    if path != "-" and (is_experiment_folder(Path(path)) or is_packed_experiment(Path(path))):
        nothing_beside_experiment()
        _experiment(path, as_json)
        return
    capture = opened(path)
    info, completeness = capture.info, verdict(capture)
    if capture.refusal:
        # If other commands refuse this capture, there is no recorded share either.
        info = {**info, "recorded": None, "notes": [*info["notes"], capture.refusal]}
    if as_json:
        print_json(info | {"completeness": completeness and completeness._asdict()})
        return
    for key, value in _lines(info, completeness.verdict if completeness else None):
        say(f"{key:<10} {printable(value)}")


def _experiment(path: str, as_json: bool) -> None:
    from ..opening.experiment import open_experiment

    about = open_experiment(path).info
    if as_json:
        print_json(about)
        return
    lines = [
        ("path", f"{path} (experiment)"),
        *((key, about[key]) for key in ("experiment", "command", "kernel", "started", "ended")),
        (
            "steps",
            f"{len(about['steps'])}; netcost_analysis.open_experiment, --experiment open them",
        ),
    ]
    for step in about["steps"]:
        made = step["repeats"]
        repeats = f"; {plural(made, 'repeat')} without tracing" if made else ""
        lines.append(("", f"{step['name']}: {step['is']}{repeats}"))
    for key, value in lines:
        if value:
            say(f"{key:<10} {printable(str(value))}")
    for note in about["notes"]:
        say(f"{'note':<10} {printable(str(note))}")


def _lines(info: dict[str, Any], verdict: str | None) -> list[tuple[str, str]]:
    # verdict: None if there is nothing to compare with.
    cpus, recorded = info["cpus"], share(info["recorded"])
    lost = [plural(info["lost_events"], "event")]
    if info["lost_unplaced"]:
        lost.append(f"{info['lost_unplaced']:,} of them at an unknown place")
    if info["lost_unknown"]:
        lost.append(f"and an unknown number at {plural(info['lost_unknown'], 'place')}")
    lines = [
        ("path", info["path"] + (" (bundle)" if info["bundle"] else "")),
        ("format", _format(info)),
        ("recorder", recorder(info)),
        (
            "host",
            f"{info.get('hostname') or 'unknown'}, kernel {info.get('kernel') or 'unknown'}, "
            f"{info.get('arch') or 'unknown architecture'}",
        ),
        ("clock", clock(info)),
        (
            "cpus",
            f"{len(cpus)} with events: {ranges(cpus)}" if cpus else "no event has a CPU number",
        ),
        ("window", duration(info["duration_ns"])),
        ("lost", ", ".join(lost)),
        ("recorded", f"{recorded} of CPU time without loss" if recorded else "unknown"),
    ]
    if verdict:
        lines.append(("verdict", verdict))
    lines += _buffers(info) + _events(info)
    if taken := info["guest_samples"]:
        lines.append(("guests", f"{plural(taken, 'sample')} {were(taken)} taken inside a guest"))
    if symbols := _symbols(info):
        lines.append(("symbols", symbols))
    lines += [
        (
            "gap",
            f"CPU {gap['cpu']}, at {elapsed(info['start_ns'], gap['start_ns'])} for "
            f"{elapsed(gap['start_ns'], gap['end_ns'])}: "
            + (_lost(gap) if gap["lost"] else gap["why"]),
        )
        for gap in info["coverage"][:10]
    ]
    if len(info["coverage"]) > 10:
        lines.append(("", f"and {len(info['coverage'][10:]):,} more"))
    return lines + [("note", note) for note in info["notes"]]


def _lost(gap: dict[str, Any]) -> str:
    events = gap["lost"]
    verb = "overwritten" if gap["why"] == "overwritten" else "lost"
    return f"{plural(events, 'event')} {were(events)} {verb}"


def _buffers(info: dict[str, Any]) -> list[tuple[str, str]]:
    # Only if there is a choice.
    if len(info["buffers"]) < 2:
        return []
    lines = [
        f"{buffer['name'] or 'the top buffer'}: {plural(buffer['cpus'], 'CPU')}, "
        f"{plural(buffer['bytes'], 'byte')}, "
        f"clock {buffer['clock']}{' (read here)' if buffer['name'] == info['buffer'] else ''}"
        for buffer in info["buffers"]
    ]
    return [("" if i else "buffers", line) for i, line in enumerate(lines)]


def _format(info: dict[str, Any]) -> str:
    # Little-endian and 64-bit are usual, and not shown.
    usual = (info["format"], info["version"]) == _USUAL or not info["version"]
    parts = [info["format"] + ("" if usual else f" version {info['version']}")]
    parts.append(f"of {info['mode']}" if info["format"] == "text" else f"{info['mode']} mode")
    if info["byte_order"] != "little":
        parts.append(f"{info['byte_order']}-endian")
    if info["word_bytes"] not in (8, None):
        parts.append(_WORDS.get(info["word_bytes"], f"{info['word_bytes']}-byte words"))
    if info["compressed"]:
        parts.append("compressed")
    if info["wrapped"]:
        parts.append(f"inside {info['wrapped']}")
    if not info["finished"]:
        parts.append("unfinished")
    return ", ".join(parts)


def _events(info: dict[str, Any]) -> list[tuple[str, str]]:
    counts = sorted(sorted(info["events"].items()), key=lambda item: item[1], reverse=True)
    attrs = {event["name"]: event for event in info["event_attrs"]}
    # perf adds dummy events to carry its own records, and ftrace's own events are always described:
    # the user asked for neither.
    unasked = "dummy" if is_perf(info) else "ftrace:"
    silent = [
        name
        for name, number in counts
        if not number and name in attrs and not name.startswith(unasked)
    ]
    counts = [(name, number) for name, number in counts if number]
    digits = max((len(f"{number:,}") for _, number in counts), default=0)
    lines = [f"{number:>{digits},}  {name}{_how(attrs.get(name))}" for name, number in counts]
    if silent:
        more = len(silent[_MAX_SILENT:])
        named = silent if more < 2 else [*silent[:_MAX_SILENT], f"{more:,} more (--json has all)"]
        text = f"none of {', '.join(named)}"
        # A terminal wraps the text itself.
        lines.extend([text] if sys.stdout.isatty() else wrap(text, _WIDTH))
    return [("" if i else "events", line) for i, line in enumerate(lines)]


def _how(event: dict[str, Any] | None) -> str:
    # How an event was sampled. Empty for a tracepoint with every occurrence recorded.
    parts = []
    if event and event["frequency"]:
        parts.append(f"{event['frequency']:,} Hz")
    elif event and event["period"] and not (event["tracepoint"] and event["period"] == 1):
        parts.append(f"period {event['period']:,}")
    if event and event["has_callchain"]:
        parts.append("callchains")
    return f" ({', '.join(parts)})" if parts else ""


def _symbols(info: dict[str, Any]) -> str:
    # What names the addresses in samples.
    records = info["records"]
    counted = ((mappings(info), "mapping"), (records.get("KSYMBOL", 0), "kernel symbol"))
    parts = [plural(number, name) for number, name in counted if number]
    if info["kallsyms"]:
        parts.append("kallsyms")
    return ", ".join(parts)
