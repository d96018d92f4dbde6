"""What the report says in words, every figure computed. All return HTML, names escaped."""

from html import escape
from typing import TYPE_CHECKING, Any

from ..capture.accounting import accounting
from ..capture.recorder import clock, recorder
from ..capture.requires import unrecorded
from ..coverage import coverage_words
from ..units import absent, duration, plural, ranges
from .completeness.unrecorded import note_of
from .completeness.words import verdict

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

count = plural


def filled(template: str, **values: Any) -> str:
    """A template of HTML with values in it, escaped: names in a capture come from strangers."""
    return template.format_map({name: escape(str(value)) for name, value in values.items()})


def facts(capture: "Capture", timeline: "Timeline") -> str:
    """Which capture this is, as a table."""
    info, bundle = capture.info, capture.bundle
    host = bundle.manifest.get("host") if bundle else None
    host = host if isinstance(host, dict) else {}
    regime = accounting(bundle.kernel_config) if bundle else None
    said = verdict(capture)
    recorded = f"{info['format']} by {recorder(info)}"
    lines = {
        "capture": f"{info['path']}{' (bundle)' if bundle else ''}, {recorded}",
        "host": _joined(info.get("hostname"), host.get("cpu_model"), host.get("virtualization")),
        "kernel": _joined(info.get("kernel"), info.get("arch")),
        "CPUs": _joined(
            f"{ranges(info['cpus'])} with events",
            f"{info['nr_cpus']} in the host" if info.get("nr_cpus") else None,
        ),
        "window": f"{duration(info['duration_ns'])}, clock: {clock(info)}",
        "events": f"{capture.event_count:,}, {info['lost_events']:,} lost",
        "verdict": said.verdict if said else "",
        "coverage": coverage_words(timeline.recorded, timeline.owned),
        "accounting": regime.text if regime else "unknown: no kernel configuration was recorded",
    }
    if bundle and bundle.victim:
        lines["victim"] = _joined(bundle.victim.get("command"), _pinned(bundle.victim))
    if bundle and bundle.load:
        lines["load"] = str(bundle.load.get("command"))
    notes = bundle.manifest.get("notes") if bundle else None
    if isinstance(notes, list) and notes:
        # The first is what a reader must know before anything else.
        lines["note"] = f"{notes[0]}{' (more at the end)' if len(notes) > 1 else ''}"
    rows = "".join(
        f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in lines.items() if text
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _joined(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)


def _pinned(victim: dict[str, Any]) -> str | None:
    return f"on CPU {victim['cpu']}" if isinstance(victim.get("cpu"), int) else None


def missing(capture: "Capture", *names: str) -> str | None:
    """Why there is nothing to draw: which events were not recorded, or never happened.

    names: tracepoints, all of which are needed. None where each of them occurs.
    """
    counts = capture.info["events"]
    unseen = unrecorded(capture, *names)
    if unseen:
        listed = " and ".join(unseen)
        verb = "was" if len(unseen) == 1 else "were"
        return filled(
            "<p class='missing'>Not in this capture: {listed} {verb} not recorded. Add "
            "<code>-e {events}</code>.</p>",
            listed=listed,
            verb=verb,
            events=",".join(unseen),
        )
    silent = [name for name in names if not counts.get(name)]
    if silent:
        return filled(
            "<p class='missing'>Nothing to show: {listed} {verb} recorded, and did not happen.</p>",
            listed=" and ".join(silent),
            verb="was" if len(silent) == 1 else "were",
        )
    return None


def caveats(capture: "Capture", timeline: "Timeline") -> str:
    """What a reader has to know before using the figures."""
    info = capture.info
    lines = [*timeline.notes, *(note for note in info["notes"] if note not in timeline.notes)]
    lines += missed(capture, timeline)
    if info["lost_events"]:
        lines.append(
            f"{info['lost_events']:,} events were lost; what happened then is unknown, not idle"
        )
    return _list(lines) + _recorder(capture)


def missed(capture: "Capture", timeline: "Timeline") -> list[str]:
    """What follows from the recording's verdict; empty where it is complete, or bare."""
    said = verdict(capture)
    if said is None or said.state == "complete":
        return []
    if said.state == "unknown":
        return [f"whether events are missing without a word is unknown: {said.reason}"]
    return [
        f"the recording {said.verdict}: counts and times of these are lower bounds (netcost ask "
        "completeness has each count)",
        *note_of(timeline),
    ]


def _list(lines: list[Any]) -> str:
    return "<ul>" + "".join(f"<li>{escape(str(line))}</li>" for line in lines) + "</ul>"


def _recorder(capture: "Capture") -> str:
    # What the bundle's maker has to say, and the command to record another.
    manifest = capture.bundle.manifest if capture.bundle else {}
    notes = manifest.get("notes")
    text = f"<p>The recorder's own notes:</p>{_list(notes)}" if isinstance(notes, list) else ""
    command = manifest.get("record_command") or " ".join(capture.info.get("cmdline") or ())
    if command:
        text += filled("<p>Recorded with</p><pre>{command}</pre>", command=command)
    return text


def known(ns: Any) -> int | None:
    """A masked integer as int, None where it is NA."""
    return None if absent(ns) else int(ns)
