"""The digest of a recording, an experiment or a fleet, for one screen and as JSON.

Nothing is computed here: each figure and sentence is selected from an answer.
docs/digest.schema.json is generated from these types.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from .._native import CaptureError, __version__
from ..capture.recorder import recorder
from ..comparison.run_set import RunSet
from ..comparison.run_sources import runs_of
from ..display.export import checked_json
from ..display.tables import label, listed, plain
from ..errors import ArgumentError
from ..progress import each
from .digest_findings import (
    ASKED,
    ASKING,
    Finding,
    Untold,
    comparing,
    is_of_timeline,
    knows,
    of_many,
    of_one,
    told,
    unanswered,
    undecided,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..answers.answer import Answer
    from ..capture.capture import Capture
    from ..fleet import Fleet
    from ..opening.experiment import Experiment
    from ..timeline.timeline import Timeline

FORMAT = 1
# The numbers of victims and thieves shown.
_VICTIMS, _THIEVES = 3, 3
_SHARES = ("recorded_share", "owned_share")
_ALONE = "no question about an experiment has an answer here: netcost digest takes each recording"
_OF_STOLEN = ("on_cpu_ns", "stolen_ns", "stolen_max_ns", "stolen_share", "stolen_max_share")


class Recording(Struct, kw_only=True):
    """What was recorded: fields of `netcost info --json` and of `recording`."""

    recorder: str
    bundle: bool
    hostname: str | None
    kernel: str | None
    arch: str | None
    cpu_model: str | None = None
    virtualization: str | None = None
    cpus: list[int]
    nr_cpus: int | None
    duration_ns: int | None
    events: int
    victim: str | None = None
    victim_cpu: int | None = None
    load: str | None = None


class Window(Struct, kw_only=True):
    """The part that the figures cover. during: whose run it is; empty for all of the recording."""

    during: str
    duration_ns: int


class Steps(Struct, kw_only=True):
    """An experiment: fields of `netcost info --json`. steps: their number.

    labels: what its steps differ by, and the values of each, for `netcost compare --where`.
    """

    experiment: str | None
    command: str | None
    kernel: str | None
    started: str | None
    steps: int
    labels: dict[str, list[str]] = {}


class Certainty(Struct, kw_only=True):
    """How sure the figures are: fields of `caveats` and `coverages`.

    state: whether the recording has everything that the kernel counted; null if nothing says. why:
    what it lacks, or why that is unknown. accounting, charges: how the kernel accounts for time in
    interrupts and whom it charges, which decides what a monitor shows; null without the kernel's
    configuration. tracing: what `network_overhead` says.
    """

    state: Literal["complete", "incomplete", "unknown"] | None
    why: str | None
    recorded_share: float | None
    owned_share: float | None
    lost_events: int
    accounting: str | None
    charges: str | None
    tracing: str | None
    notes: list[str]


class Thief(Struct, kw_only=True):
    """What a thief took from a victim, at least (ns) and at most (max_ns): a cell of `ledger`."""

    thief: str
    ns: int
    max_ns: int


class Loss(Struct, kw_only=True):
    """A row of `stolen`, with its largest thieves. Shares are of on_cpu_ns."""

    victim: str
    on_cpu_ns: int | None
    stolen_ns: int
    stolen_max_ns: int
    stolen_share: float | None
    stolen_max_share: float | None
    thieves: list[Thief]


class Digest(Struct, kw_only=True):
    """A digest. Fields may be added; those listed keep their meaning.

    Times are in ns, shares are fractions, null is unknown. summary: the result in sentences.
    losses: the tasks that lost most. findings: at most five, chosen by the rule in docs/cli.md.
    untold: what cannot be told, and why. next_command: records what is missing.
    """

    netcost_digest: int = FORMAT
    netcost: str
    path: str
    kind: Literal["recording", "experiment", "fleet"]
    recording: Recording | None = None
    experiment: Steps | None = None
    window: Window | None = None
    certainty: Certainty | None = None
    victim: str | None = None
    summary: list[str]
    losses: list[Loss] = []
    findings: list[Finding]
    untold: list[Untold]
    next_command: str | None = None


def encoded(digest: Digest) -> bytes:
    """The digest as JSON, checked against its types."""
    return checked_json(msgspec.to_builtins(digest), Digest)


def of_recording(capture: "Capture") -> Digest:
    """The digest of a recording: of its victim's run, else its load's, else all of it."""
    timeline = _timeline(capture)
    answers = {
        name: (timeline if timeline is not None and is_of_timeline(name) else capture).ask(name)
        for name in each(ASKING, ASKED)
    }
    ask = answers.__getitem__
    lacking, headline = ask("unanswered"), ask("headline")
    known = headline.refusal is None
    window = None
    if timeline is not None:
        window = Window(during=timeline.window.during, duration_ns=timeline.duration_ns)
    return Digest(
        netcost=__version__,
        path=str(capture.info["path"]),
        kind="recording",
        recording=_recording(capture, ask),
        window=window,
        certainty=_certainty(capture, ask),
        victim=headline["victim"] if known else None,
        # Drop the last line, about coverage: certainty has that.
        summary=list(headline.parts.get("lines", ())[:-1] or [told(headline)]) if known else [],
        losses=list(_losses(ask)) if known else [],
        findings=of_one(ask),
        untold=[*undecided(ask), *unanswered(ask)],
        next_command=lacking["next_command"] if known and len(lacking.frame) else None,
    )


def _timeline(capture: "Capture") -> "Timeline | None":
    try:
        timeline = capture.timeline(window="auto")
        _ = timeline.summary
    except CaptureError:
        return None
    timeline.ask.prepare(*ASKED)
    return timeline


def of_experiment(experiment: "Experiment") -> Digest:
    """The digest of an experiment: what its steps say together."""
    info = experiment.info
    about = {name: info[name] for name in ("experiment", "command", "kernel", "started")}
    findings = of_many("experiment", experiment.ask)
    labels = _labels(experiment)
    how = f"; {comparing(info['path'], labels)} compares two sides" if labels else ""
    alone = Untold(questions=[], lacks="experiment", why=_ALONE + how)
    return Digest(
        netcost=__version__,
        path=str(info["path"]),
        kind="experiment",
        experiment=Steps(steps=len(info["steps"]), labels=labels, **about),
        summary=[str(note) for note in info["notes"]],
        findings=findings,
        untold=[] if findings else [alone],
    )


def _labels(experiment: "Experiment") -> dict[str, list[str]]:
    try:
        # No recording is opened: what steps differ by is in their table.
        every = RunSet(runs_of(experiment, lambda _: False)).labels
    except ArgumentError:
        return {}

    # Numbers come in their order, before words.
    key = lambda one: (not one.isdigit(), len(one) * one.isdigit(), one)  # noqa: E731
    return {name: sorted(of, key=key) for name, of in every.items() if len(of) > 1}


def of_fleet(fleet: "Fleet") -> Digest:
    """The digest of a fleet: what its captures say together."""
    unreadable = fleet.ask("unreadable")
    lacking = [Untold(questions=["unreadable"], lacks="files", why=told(unreadable))]
    return Digest(
        netcost=__version__,
        path=str(fleet.path),
        kind="fleet",
        summary=[told(fleet.ask("fleet_captures"))],
        findings=of_many("fleet", fleet.ask),
        untold=lacking if len(unreadable.frame) else [],
    )


def _recording(capture: "Capture", ask: "Callable[[str], Answer]") -> Recording:
    info, described = capture.info, ask("recording")
    more: dict[str, Any] = {}
    if described.refusal is None:
        names = ("cpu_model", "virtualization", "victim", "victim_cpu", "load")
        more = {name: described[name] for name in names if described[name] != "unknown"}
    return Recording(
        recorder=recorder(info),
        bundle=info["bundle"],
        hostname=info.get("hostname"),
        kernel=info.get("kernel"),
        arch=info.get("arch"),
        cpus=list(info["cpus"]),
        nr_cpus=info.get("nr_cpus"),
        duration_ns=info["duration_ns"],
        events=capture.event_count,
        **more,
    )


def _certainty(capture: "Capture", ask: "Callable[[str], Answer]") -> Certainty:
    info, complete, tracing = capture.info, ask("completeness"), ask("network_overhead")
    cover, notes, about = ask("coverages"), ask("caveats"), ask("recording")
    charged = {} if about.refusal else {"accounting": about["regime"], "charges": about["charges"]}
    known = {} if cover.refusal else {name: plain(cover[name]) for name in _SHARES}
    return Certainty(
        state=complete["state"],
        why=complete["why"] or None,
        lost_events=info["lost_events"],
        tracing=told(tracing) if knows(tracing, "cost_share") else None,
        notes=list(info["notes"] if notes.refusal else notes["notes"]),
        **({"accounting": None, "charges": None} | charged),
        **(dict.fromkeys(_SHARES) | known),
    )


def _losses(ask: "Callable[[str], Answer]") -> Iterator[Loss]:
    # The tasks that lost most, in the ledger's order.
    victims, ledger = ask("stolen")["victims"], ask("ledger")
    least, most = ledger["ns"], ledger["max_ns"]
    for name in least.index[:_VICTIMS]:
        [row] = listed(victims.loc[[name]])
        if not row["stolen_max_ns"]:
            continue
        surely = least.loc[name].to_dict()
        # Order thieves by their minimum, so that a certain loss precedes a possibly larger one.
        cells = [
            Thief(thief=str(thief), ns=int(surely.get(thief, 0)), max_ns=int(ns))
            for thief, ns in most.loc[name].items()
            if ns
        ]
        thieves = sorted(cells, key=lambda thief: (-thief.ns, -thief.max_ns))[:_THIEVES]
        lost = {field: row[field] for field in _OF_STOLEN}
        yield Loss(victim=label(name), thieves=thieves, **lost)
