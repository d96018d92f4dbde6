"""What the report says in words, every figure computed. All return HTML, names escaped."""

from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..capture.accounting import accounting
from ..capture.recorder import clock, recorder
from ..capture.requires import unrecorded
from ..coverage import coverage_words
from ..display.tables import between, share_between
from ..units import absent, duration, plural, ranges
from .completeness.unrecorded import note_of
from .completeness.words import verdict
from .stolen_time.headline import Headline, headline

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

count = plural

# Without these there is no interrupt time.
_INTERRUPTS = (
    *("irq:irq_handler_entry", "irq:irq_handler_exit"),
    *("irq:softirq_entry", "irq:softirq_exit"),
)


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


def answer(
    capture: "Capture",
    victim: str | None,
    row: "pd.Series[Any] | None",
    thieves: pd.DataFrame,
    window_ns: int,
) -> str:
    """The answer in a few sentences.

    row: of stolen(), the victim's. thieves: as by_thief returns it. Where interrupts were not
    recorded it says so: nothing seen is not nothing taken.
    """
    if victim is None or row is None:
        return "<p>No task was seen in this capture, so nobody lost CPU time to interrupts.</p>"
    unseen = unrecorded(capture, *_INTERRUPTS)
    if len(unseen) == len(_INTERRUPTS):
        return filled(
            "<p class='answer'>This capture <b>cannot say</b> what packet processing took from "
            "{victim}: no interrupt and no softirq was recorded.</p><p>What follows counts all of "
            "a task's time on CPU as its own. Add <code>-e {events}</code>.</p>",
            victim=victim,
            events=",".join(unseen),
        )
    head = headline(row, thieves)
    known = not absent(head.shares["on_cpu"])
    text = _taken(victim, row, bool(unseen), _devices(capture, head))
    text += _own(victim, row) + _also(victim, head)
    if unseen:
        text += filled(
            "<p>It took more than that, if anything: {events} {verb} not recorded.</p>",
            events=" and ".join(unseen),
            verb="was" if len(unseen) == 1 else "were",
        )
    if not known:
        return text + filled(
            "<p>Of how much is unknown: without sched:sched_switch nobody knows how long {victim} "
            "was on a CPU, so there are times here but no shares.</p>",
            victim=victim,
        )
    return text + filled(
        "<p>In a window of {window}, {victim} was on a CPU for {on_cpu}, and ran for {own} of "
        "it ({share}). Interrupts of every kind took {all}.{monitor}</p>",
        window=duration(window_ns),
        victim=victim,
        on_cpu=duration(row["on_cpu_ns"]),
        own=between(row["task_min_ns"], row["task_ns"]),
        share=share_between(head.shares["task_min"], head.shares["task"]),
        all=between(row["stolen_ns"], row["stolen_max_ns"]) or "none",
        monitor=_monitor(row["monitor_ns"], head),
    )


def _taken(victim: str, row: "pd.Series[Any]", partial: bool, devices: str) -> str:
    low, high = row["stolen_network_ns"], row["stolen_network_max_ns"]
    figure, rest = between(low, high) or "nothing", f" from {victim}"
    if high and not absent(row["stolen_network_share"]):
        rest = f" of {victim}'s time on CPU: {figure} of {duration(row['on_cpu_ns'])}"
        # Where both ends of the range print alike, so does their share.
        most = "stolen_network" if duration(low) == duration(high) else "stolen_network_max"
        figure = share_between(row["stolen_network_share"], row[f"{most}_share"])
    return filled(
        "<p class='answer'>Packet processing took <b>{figure}</b>{rest}{limit}.{devices}</p>",
        figure=figure,
        rest=rest,
        limit=", as far as it was recorded" if partial else "",
        devices=devices if high else "",
    )


def _own(victim: str, row: "pd.Series[Any]") -> str:
    if absent(row["stolen_own_ns"]) or not row["stolen_own_ns"]:
        return ""
    return filled(
        "<p class='answer'>Of that <b>{own}</b> was {victim}'s own traffic, as sockets or packets "
        "tell: an interrupt brought it (of a device, or of RPS or loopback), so it counts as "
        "stolen.</p>",
        own=between(row["stolen_own_ns"], row["stolen_own_max_ns"]),
        victim=victim,
    )


def _also(victim: str, head: Headline) -> str:
    told = (
        (
            head.waited_ns,
            "<p class='answer'>For another <b>{ns}</b> it waited, off CPU, while network work in "
            "kernel threads had its CPU.</p>",
        ),
        (
            head.unrecorded_ns,
            "<p>Up to {ns} of what it lost, to interrupts and softirqs of every kind, are some "
            "that the kernel counted and this recording does not have: the end of this page says "
            "how that is estimated.</p>",
        ),
        (
            head.unseen_ns,
            "<p>Up to {ns} more may have been {victim}'s time on a CPU: nobody is known to have "
            "had a CPU then, so what was taken of that nobody knows either.</p>",
        ),
    )
    return "".join(filled(text, ns=duration(ns), victim=victim) for ns, text in told if ns)


def _devices(capture: "Capture", head: Headline) -> str:
    if len(head.devices):
        listed = [f"{device} ({duration(ns)})" for device, ns in head.devices[:3].items()]
        if len(head.devices[3:]):
            listed.append(f"{len(head.devices[3:])} more")
        if len(listed) == 1:
            return f" The thief is {listed[0]}, in its interrupts and polls."
        thieves_are = f"{', '.join(listed[:-1])} and {listed[-1]}"
        return f" The thieves are {thieves_are}, in their interrupts and polls."
    if head.backlog_ns:
        return (
            f" No device can be named: {duration(head.backlog_ns)} of it went to polls of the "
            "backlog, which receive packet steering, veth and loopback use and the kernel calls "
            "(no_device)."
        )
    if unrecorded(capture, "napi:napi_poll"):
        return " No device can be named: napi:napi_poll, which names them, was not recorded."
    return " No device can be named: none was polled on top of it."


def _monitor(shown: Any, head: Headline) -> str:
    if head.undercharged_ns is None or head.overcharged_ns is None:
        return (
            " What a monitor would show is unknown, for the kernel's configuration was not recorded"
            " with the capture."
        )
    text = f" A monitor (utime + stime, as top reads them) shows {duration(shown)}"
    if not head.undercharged_ns and not head.overcharged_ns:
        return f"{text}, all of it."
    if head.overcharged_ns > 0:
        return f"{text}: {duration(head.overcharged_ns)} of that it did not run."
    return (
        f"{text}; the other {duration(head.undercharged_ns)} of its time on CPU are charged to "
        "nobody, as if it slept."
    )


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
