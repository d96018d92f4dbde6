"""Which recording this is, of what host."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ...answers.question import question
from ...capture.manifest import Load, Manifest, Victim
from ...capture.recorder import clock, recorder
from .words import verdict

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


class Recording(NamedTuple):
    """A recording. Shares are 0 to 1; None where something is not known.

    path; bundled: with what netcost-record keeps beside it; format, recorder, clock; hostname,
    cpu_model, virtualization, kernel, arch: of the host; cpus: those with events, nr_cpus: of the
    host; duration_ns; event_count, lost_events; state: complete, incomplete or unknown, why: in
    words; recorded_share, owned_share; regime: how the kernel accounts for CPU time, charges: whom
    it charges with interrupts; victim, victim_cpu, load: of the
    bundle; note: the first of its maker, more_notes: whether there are others.
    """

    path: str
    bundled: bool
    format: str
    recorder: str
    clock: str
    hostname: str | None
    cpu_model: str | None
    virtualization: str | None
    kernel: str | None
    arch: str | None
    cpus: tuple[int, ...]
    nr_cpus: int | None
    duration_ns: int | None
    event_count: int
    lost_events: int
    state: str | None
    why: str | None
    recorded_share: float | None
    owned_share: float | None
    regime: str | None
    charges: str | None
    victim: str | None
    victim_cpu: int | None
    load: str | None
    note: str | None
    more_notes: bool


@question(rows=0)
def recording(timeline: "Timeline") -> Recording:
    """Which recording this is: by whom, of what host, how long, and how much of it is known.

    A field for each fact, None where it is not known; shares 0 to 1.

    Source: Capture.info, the bundle's manifest, its verdict, the timeline's coverages.
    """
    capture = timeline.capture
    info, bundle = capture.info, capture.bundle
    manifest = bundle.manifest if bundle else Manifest()
    host, notes = manifest.host, manifest.notes
    victim, load = manifest.victim or Victim(), manifest.load or Load()
    found = verdict(capture)
    regime = bundle.accounting if bundle else None
    return Recording(
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
