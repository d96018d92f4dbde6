"""Why the three estimates of what the victim got differ, computed; HTML as in story."""

from typing import TYPE_CHECKING

import pandas as pd

from .story import filled
from .units import duration, share

if TYPE_CHECKING:
    from .bundle import Bundle
    from .capture import Capture
    from .timeline import Timeline


def how_to_record(capture: "Capture") -> str:
    """What this bundle lacks for the three estimates, and how to record it; empty if nothing."""
    bundle = capture.bundle
    lacks = None
    if bundle is None:
        lacks = "This is a bare recording: neither a victim's output nor a baseline came with it."
    elif bundle.victim is None:
        lacks = "No victim was run beside this recording."
    elif not bundle.speed_runs and not bundle.victim.get("wall_s"):
        lacks = "The victim left no result in its output."
    elif bundle.baseline is None or not bundle.baseline.speed_runs:
        lacks = "There is no baseline: what the victim gets done without the load is unknown."
    if lacks is None:
        return ""
    cpu = (bundle.victim or {}).get("cpu") if bundle else None
    return filled(
        "<p class='missing'>{lacks} To have one, record with <code>capture/netcost-record -o DIR "
        "--baseline --victim 'openssl speed -seconds 5 -bytes 1024 -evp sha256' --victim-cpu {cpu}"
        "</code>: what a program that only computes gets done tells what CPU time it got.</p>",
        lacks=lacks,
        cpu=cpu if isinstance(cpu, int) else 0,
    )


def whose_text(bundle: "Bundle", victim: str | None, recorded: str | None) -> str:
    """Whose estimates these are, where a page is about another task; empty where it is not.

    victim: the page's. recorded: the bundle's own, whose output and baseline they need.
    """
    if victim == recorded:
        return ""
    return filled(
        "<p>These are of {recorded} (<code>{command}</code>), which was run beside this recording "
        "and whose work was counted; of {victim} nothing was.</p>",
        recorded=recorded or "the victim",
        command=str((bundle.victim or {}).get("command") or "unknown"),
        victim=victim or "others",
    )


def estimates_text(bundle: "Bundle", timeline: "Timeline", rows: pd.DataFrame) -> str:
    """Why the estimates differ.

    timeline: of the victim's run on its CPU. rows: as victim.estimates returns it.
    """
    got = {name: float(value) for name, value in rows["got_share"].items()}
    windows = _windows(bundle, timeline)
    return (
        windows
        + _ticks(bundle, got["ticks"], got["work"])
        + _gap(timeline, got["traced"], got["work"], same_run=not windows)
    )


def _windows(bundle: "Bundle", timeline: "Timeline") -> str:
    victim = bundle.victim or {}
    if isinstance(victim.get("start_ns"), int) and isinstance(victim.get("end_ns"), int):
        return ""
    wall = victim.get("wall_s")
    return filled(
        "<p>The bundle does not say when the victim started and ended. Traced is the whole trace, "
        "{trace}{run}: the estimates are of different stretches of one run, and part of what "
        "lies between them is that.</p>",
        trace=duration(timeline.duration_ns),
        run=f" of the victim's {wall:.3g} s" if isinstance(wall, int | float) else "",
    )


def _ticks(bundle: "Bundle", ticks: float, work: float) -> str:
    if ticks != ticks:
        return ""
    hertz = bundle.kernel_config.get("CONFIG_HZ", "")
    each = f", {1000 / int(hertz):.3g} ms," if hertz.isdigit() and int(hertz) else ""
    text = (
        "<p><b>Ticks</b> is user time by times(2). Unless the kernel measures interrupts "
        "(accounting, above), it samples: the whole tick{each} goes to whatever the timer "
        "happened to interrupt, and what runs between two ticks is not seen."
    )
    if work == work:
        points = 100 * abs(ticks - work)
        side = "more" if ticks > work else "less"
        text += f" Here it claims {points:.1f} points {side} than the work that was done."
    return filled(text + "</p>", each=each)


def _gap(timeline: "Timeline", traced: float, work: float, same_run: bool) -> str:
    if traced != traced or work != work:
        return ""
    points = 100 * (traced - work)
    if points <= 0:
        return (
            "<p>The <b>work</b> done is more than the <b>traced</b> time allows by "
            f"{-points:.1f} points: a baseline that was disturbed, or a window that holds more "
            "than the victim's run.</p>"
        )
    what_else = ": hidden cost" if same_run else ". What is not due to that is hidden cost"
    text = (
        f"<p><b>Work</b> is what counts: {share(1 - work)} of what the victim does undisturbed was "
        f"not done. <b>Traced</b> accounts for {share(1 - traced)}: then an interrupt or another "
        f"task had the CPU. The gap is {points:.1f} points"
    )
    if same_run:
        hidden_ns = round((traced - work) * timeline.duration_ns)
        irqs, what = _interruptions(timeline)
        each = f", {duration(hidden_ns / irqs)} for each of {irqs:,} {what}" if irqs else ""
        text += f" or {duration(hidden_ns)}{each}"
    return text + (
        f"{what_else}, which no pair of tracepoints brackets. Entry and exit of an interrupt, "
        "caches that it leaves cold, exits to a hypervisor and the tracing itself lie in it; this "
        "capture cannot tell them apart.</p>"
    )


def _interruptions(timeline: "Timeline") -> tuple[int, str]:
    # From the sums: the tables of a long run need not fit in memory. One that was interrupted
    # itself counts twice; those are few.
    sums = timeline.sums()
    tasks = sums[(sums["tid"] != 0).fillna(False).astype(bool)]
    by_context = tasks.groupby(tasks["context"].astype(object))["episodes"].sum()
    irqs, vectors = int(by_context.get("hardirq", 0)), int(by_context.get("vector", 0))
    if irqs + vectors:
        return irqs + vectors, "interrupts" if vectors else "hardirqs, timers and IPIs not counted"
    return int(by_context.get("softirq", 0)), "softirqs"
