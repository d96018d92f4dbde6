"""Which recording this is, of what host."""

from typing import TYPE_CHECKING, Any

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.manifest import Load, Manifest, Victim
from ...capture.recorder import clock, recorder
from .summary import verdict

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


@question(rows=0)
def recording(timeline: "Timeline") -> Answer:
    """Which recording this is: by whom, of what host, how long, and how much of it is known.

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
        hostname=_text(info.get("hostname")),
        cpu_model=host.cpu_model or None,
        virtualization=host.virtualization or None,
        kernel=_text(info.get("kernel")),
        arch=_text(info.get("arch")),
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


def _text(value: Any) -> str | None:
    return str(value) if value else None
