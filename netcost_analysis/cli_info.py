# netcost info: what is in a capture.

from textwrap import wrap
from typing import Any

import click

from .capture import open_capture
from .cli import json_option, path_argument, print_json
from .units import duration, printable, ranges, share


@click.command("info")
@path_argument
@json_option
def command(path: str, as_json: bool) -> None:
    """Say what is in a capture: host, clock, window, events, losses."""
    info = open_capture(path).info
    if as_json:
        print_json(info)
        return
    for key, value in _lines(info):
        click.echo(f"{key:<10} {printable(value)}")


def _lines(info: dict[str, Any]) -> list[tuple[str, str]]:
    cpus, covered = info["cpus"], share(info["covered"])
    lines = [
        ("path", info["path"] + (" (bundle)" if info["bundle"] else "")),
        (
            "format",
            f"{info['format']}, {info['mode']} mode{', compressed' if info['compressed'] else ''}"
            f"{'' if info['finished'] else ', unfinished'}",
        ),
        ("recorder", f"perf {info.get('tool_version') or 'of unknown version'}"),
        (
            "host",
            f"{info.get('hostname') or 'unknown'}, kernel {info.get('kernel') or 'unknown'}, "
            f"{info.get('arch') or 'unknown architecture'}",
        ),
        ("clock", info["clock"]),
        ("cpus", f"{len(cpus)} with events: {ranges(cpus)}" if cpus else "no event says its CPU"),
        ("window", duration(info["duration_ns"])),
        (
            "lost",
            f"{info['lost_events']:,} events"
            + (
                f", {info['lost_unplaced']:,} of them at an unknown place"
                if info["lost_unplaced"]
                else ""
            ),
        ),
        ("covered", f"{covered} of CPU time outside losses" if covered else "unknown"),
    ]
    counts = sorted(info["events"].items(), key=lambda item: (-item[1], item[0]))
    tracepoints = {event["name"] for event in info["event_attrs"] if event["tracepoint"]}
    silent = [name for name, count in counts if not count and name in tracepoints]
    counts = [(name, count) for name, count in counts if count]
    width = max((len(f"{count:,}") for _, count in counts), default=0)
    lines += [
        ("events" if i == 0 else "", f"{count:>{width},}  {name}")
        for i, (name, count) in enumerate(counts)
    ]
    if silent:
        text = wrap("none of " + ", ".join(silent), 89)
        lines += [("", line) for line in text]
    lines += [
        (
            "gap",
            f"CPU {gap['cpu']}, {duration(gap['end_ns'] - gap['start_ns'])}: {gap['why']}"
            + (f", {gap['lost']:,} events lost" if gap["lost"] else ""),
        )
        for gap in info["coverage"][:10]
    ]
    if len(info["coverage"]) > 10:
        lines.append(("", f"and {len(info['coverage']) - 10:,} gaps more"))
    return lines + [("note", note) for note in info["notes"]]
