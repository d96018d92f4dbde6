"""Which recording this is, how much of it is known, and what made the figures."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..._native import CaptureError, __version__
from ...answers.question import Answer, question
from ...capture.capture import Capture
from ...capture.checksum import checksum, checksum_of_all
from ...capture.manifest import Load, Manifest, Victim
from ...capture.recorder import clock, recorder
from ...coverage import lost_of_cpus
from ...timeline.aggregates import Grouped, in_window
from ...timeline.reading import bounds_of
from ...timeline.timeline import Timeline
from .summary import verdict
from .unrecorded import note_of

if TYPE_CHECKING:
    from ...opening.experiment import Experiment

_LIBRARIES = ("pandas", "numpy", "scipy", "matplotlib")


@question(rows=0)
def recording(timeline: Timeline) -> Answer:
    """What this recording is: its recorder, host and length, and how much of it is known.

    Source: Capture.info, the bundle's manifest, its verdict, the timeline's coverages.
    """
    capture = timeline.capture
    info, bundle = capture.info, capture.bundle
    manifest = bundle.manifest if bundle else Manifest()
    host, notes = manifest.host, manifest.notes
    victim, load = manifest.victim or Victim(), manifest.load or Load()
    found = verdict(capture)
    regime = bundle.accounting if bundle else None
    return Answer(
        path=info["path"],
        bundled=info["bundle"],
        format=info["format"],
        recorder=recorder(info),
        clock=clock(info),
        hostname=info.get("hostname") or None,
        cpu_model=host.cpu_model or None,
        virtualization=host.virtualization or None,
        kernel=info.get("kernel") or None,
        arch=info.get("arch") or None,
        cpus=tuple(info["cpus"]),
        nr_cpus=info.get("nr_cpus"),
        duration_ns=info["duration_ns"],
        event_count=capture.event_count,
        lost_events=info["lost_events"],
        state=found.state if found else None,
        why=found.why if found else None,
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        regime=regime.regime if regime else None,
        charges=regime.charges if regime else None,
        victim=victim.command or None,
        victim_cpu=victim.cpu,
        load=load.command or None,
        note=notes[0] if notes else None,
        more_notes=len(notes) > 1,
    )


@question(rows=0)
def caveats(timeline: Timeline) -> Answer:
    """What to know before using the figures: what is missing, doubtful or estimated.

    notes are the notes of the timeline and the capture, and what the kernel counted but no event
    shows. Source: the notes of ledger, capture and recorder, and the recording's verdict.
    """
    capture = timeline.capture
    manifest = capture.bundle.manifest if capture.bundle else Manifest()
    found = verdict(capture)
    notes = [*timeline.notes, *capture.info["notes"]]
    if found is not None and found.state == "incomplete":
        notes += note_of(timeline)
    command = manifest.record_command or " ".join(capture.info.get("cmdline") or ())
    return Answer(
        notes=tuple(dict.fromkeys(notes)),
        state=found.state if found else None,
        why=found.why if found else None,
        lost_events=capture.info["lost_events"],
        recorder_notes=tuple(manifest.notes),
        record_command=command or None,
    )


@question(rows=0)
def provenance(capture: Capture, experiment: "Experiment | None" = None) -> Answer:
    """Which recording and which versions the figures come from, with a checksum.

    sha256 is that of the file, or of a folder's recording. Standard input has none, and neither has
    a recording that is itself a folder. For an experiment's folder it is the checksum of what
    sha256sum prints for its files, in order of their names. Source: the capture's files, and the
    installed versions.
    """
    return Answer(
        path=capture.path,
        sha256=checksum(capture),
        experiment=str(experiment.path) if experiment else None,
        experiment_sha256=checksum_of_all(experiment.path) if experiment else None,
        **made_with(),
    )


def made_with() -> dict[str, Any]:
    """The versions of netcost, of Python, and of the libraries that figures rest on."""
    from importlib.metadata import version

    python = ".".join(map(str, sys.version_info[:3]))
    libraries = tuple(f"{name} {version(name)}" for name in _LIBRARIES)
    return {"netcost": __version__, "python": python, "libraries": libraries}


_POLLS = Grouped(
    "polls", by=("cpu", "is_timed"), sums=("work",), known=("work",), where=in_window("end_ns")
)


@question(inputs=(_POLLS,))
def coverages(timeline: Timeline) -> Answer:
    """How much of the timeline was recorded and has an owner, and how many packets were timed.

    A share of nothing is None. Gaps that overlap count once. Source: the losses of Capture.info,
    the timeline's sums, its polls.
    """
    import pandas as pd

    cpus = [int(cpu) for cpu in timeline.summary["cpus"]]
    lost = lost_of_cpus(cpus, timeline.capture.info["coverage"], bounds_of(timeline).span)
    frame = pd.DataFrame(index=pd.Index(cpus, name="cpu"))
    frame["window_ns"] = timeline.duration_ns
    frame["lost_ns"] = pd.Series(lost, dtype="int64").reindex(cpus, fill_value=0)
    sums = timeline.sums()
    unknown = sums[sums["context"] == "unknown"].groupby("cpu")["ns"].sum()
    frame["unowned_ns"] = unknown.reindex(cpus, fill_value=0)
    polls = _POLLS(timeline).frame.copy()
    polls["timed_packets"] = polls["packets"] * polls["is_timed"]
    counts = polls.groupby("cpu")[["packets", "timed_packets"]].sum().reindex(cpus, fill_value=0)
    if not polls["work_known"].any():
        counts = counts.mask(counts.notna())
    frame = frame.join(counts)
    polled = int(frame["packets"].sum())
    return Answer(
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        timed_share=int(frame["timed_packets"].sum()) / polled if polled else None,
        of_cpus=frame,
    )


def of_answer(answer: Answer) -> dict[str, Any] | None:
    """coverages() of what an answer is of, by name; None where no timeline was asked.

    None of a timeline without a ledger as well.
    """
    with suppress(CaptureError):
        if "Timeline" in answer.sources:
            return coverages(answer.sources["Timeline"]).parts
    return None
