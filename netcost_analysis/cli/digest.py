# netcost digest: a recording, an experiment or a fleet on one screen, to paste or pass on.

import sys
from collections.abc import Iterator
from textwrap import shorten
from typing import TYPE_CHECKING

import click

from ..coverage import coverage_words
from ..display.tables import between, lines_of, share_between
from ..units import duration, plural, printable, ranges, share
from .options import beside_options, capture_arguments, json_option, opened, opened_many
from .table import width

if TYPE_CHECKING:
    from ..report.digest import Certainty, Digest
    from ..report.digest_findings import Finding

_WIDEST = 100
_NOTES, _NAMES, _THIEVES = 1, 2, 2
# Commands and notes come from strangers and are cut to this length.
_LONG = 150


@click.command(
    "digest", short_help="One screen to paste or hand on: what was recorded, who lost what to whom."
)
@capture_arguments
@beside_options
@json_option
def command(path: str, as_json: bool) -> None:
    """Show on one screen what a recording, an experiment or a fleet says.

    What it is, how sure the figures are, who lost what to whom, the five findings that matter most,
    each with its question, and what cannot be told.
    """
    from ..opening.experiment import Experiment
    from ..report.digest import encoded, of_experiment, of_fleet, of_recording

    many = opened_many(path)
    if many is None:
        made = of_recording(opened(path))
    else:
        made = of_experiment(many) if isinstance(many, Experiment) else of_fleet(many)
    if as_json:
        print(encoded(made).decode())
        return
    room = min(width(), _WIDEST) if sys.stdout.isatty() else _WIDEST
    for title, lines in _sections(made):
        head = "\n".join(lines_of(title, room, "  "))
        print(click.style(head, bold=True) if sys.stdout.isatty() else head)
        for line in lines:
            print("\n".join(lines_of(printable(line), room, "    ")))


def _sections(of: "Digest") -> Iterator[tuple[str, list[str]]]:
    yield f"netcost digest {of.netcost_digest}: {printable(of.path)} ({of.kind})", list(_what(of))
    if of.certainty is not None:
        yield "How sure", list(_sure(of.certainty))
    if of.kind == "recording":
        during = of.window.during if of.window else ""
        yield f"Who lost what to whom {during}".strip(), list(_lost(of)) or ["  unknown: see below"]
    if of.findings:
        title = "What matters most (netcost ask NAME PATH has the rest)"
        yield title, [f"  {item.question}{_of(item)}: {item.says}" for item in of.findings]
    if of.untold:
        yield "What cannot be told", list(_untold(of))


def _what(of: "Digest") -> Iterator[str]:
    if info := of.recording:
        kernel = f"kernel {info.kernel or 'unknown'}"
        host = (info.hostname, kernel, info.arch, info.cpu_model, info.virtualization)
        yield f"  host: {', '.join(filter(None, host))}"
        cpus = f"CPUs {ranges(info.cpus)}" if info.cpus else "no CPU named"
        cpus += f" of {info.nr_cpus}" if info.nr_cpus else ""
        lasted = f"{plural(info.events, 'event')} in {duration(info.duration_ns)}"
        yield f"  recorded: {lasted}, {cpus}, by {info.recorder}"
        if info.victim:
            on_cpu = "" if info.victim_cpu is None else f", on CPU {info.victim_cpu}"
            yield f"  victim: {_cut(info.victim)}{on_cpu}"
        if info.load:
            yield f"  load: {_cut(info.load)}"
        return
    if made := of.experiment:
        kernel = f"kernel {made.kernel}" if made.kernel else ""
        about = filter(None, (plural(made.steps, "recording"), kernel, made.started))
        yield f"  {made.experiment or 'steps'}: {', '.join(about)}"
        if made.command:
            yield f"  made by: {_cut(made.command)}"
        if made.labels:
            differ = (f"{name} ({', '.join(values)})" for name, values in made.labels.items())
            yield f"  its steps differ by {'; '.join(differ)}"
    yield from (f"  {_cut(line)}" for line in of.summary[:2])


def _sure(of: "Certainty") -> Iterator[str]:
    state = {"complete": "complete: it has every event that its host counted", "incomplete": of.why}
    yield f"  {state.get(of.state or '') or f'unknown whether events are missing: {of.why}'}"
    lost = f"{plural(of.lost_events, 'event')} lost"
    if of.recorded_share is not None:
        lost += f"; CPU time is {coverage_words(of.recorded_share, of.owned_share)}"
    yield f"  {lost}"
    if of.accounting:
        yield f"  accounting {of.accounting}: {of.charges}"
    if of.tracing:
        yield f"  {of.tracing}"
    yield from (f"  note: {_cut(note)}" for note in of.notes[:_NOTES])
    if more := of.notes[_NOTES:]:
        yield f"  {plural(len(more), 'more note')}: netcost ask caveats"


def _lost(of: "Digest") -> Iterator[str]:
    yield from (f"  {line}" for line in of.summary)
    for loss in of.losses:
        lost = between(loss.stolen_ns, loss.stolen_max_ns)
        of_cpu = "" if loss.on_cpu_ns is None else f" of {duration(loss.on_cpu_ns)} on CPU"
        shares = share_between(loss.stolen_share, loss.stolen_max_share)
        of_cpu += f", {shares}" if shares else ""
        thieves = (f"{by.thief} {between(by.ns, by.max_ns)}" for by in loss.thieves[:_THIEVES])
        yield f"  {loss.victim} lost {lost}{of_cpu} ({', '.join(thieves)})"


def _of(finding: "Finding") -> str:
    return "" if finding.share is None else f" ({share(finding.share)} of {finding.share_of})"


_LACKS = {
    "events": "not recorded",
    "samples": "no samples of functions",
    "bundle": "nothing kept beside the trace",
    "victim": "no victim",
    "files": "not measured",
    "ledger": "owners of CPU time unknown",
    "unseen": "nothing of it was seen",
}


def _untold(of: "Digest") -> Iterator[str]:
    from ..report.digest_findings import CERTAINTY, sentences

    lacking = []
    for lack in of.untold:
        if lack.lacks == CERTAINTY:
            yield f"  {lack.questions[0]}: {sentences(lack.why)}"
        elif not lack.questions:
            yield f"  {lack.why}"
        else:
            named, more = ", ".join(lack.questions[:_NAMES]), len(lack.questions[_NAMES:])
            lacks = _LACKS.get(lack.lacks, lack.lacks)
            lacking.append(f"{named}{f' and {more} more' if more else ''} ({lacks})")
    if lacking:
        yield f"  without an answer: {'; '.join(lacking)}"
    if of.next_command:
        yield f"  to answer these, record: {of.next_command}"


def _cut(text: str) -> str:
    return shorten(text, _LONG, placeholder=" ...")
