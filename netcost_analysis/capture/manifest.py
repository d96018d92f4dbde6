"""The typed contents of manifest.json and experiment.json; fields: docs/bundle.md.

Both are untrusted: a field of the wrong type counts as absent, and the others stay.
"""

import json
import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ..parsers.typed_json import Count

Seconds = Annotated[float, Meta(ge=0)]
# Numbers with a decimal comma and six decimals, which is invalid JSON: awk in an older
# netcost-record wrote them under such a locale. In a string the quotes would be escaped.
_COMMA = re.compile(
    r'("(user_s|system_s|wall_s|duration_s)":[ \t]*[0-9]{1,12}),([0-9]{6})(?=[ \t\r\n]*[,}])'
)


class Host(Struct, frozen=True):
    """The measured host. sysctls: the ones that limit packet processing."""

    kernel: str | None = None
    arch: str | None = None
    cpu_model: str | None = None
    virtualization: str | None = None
    clocksource: str | None = None
    sysctls: dict[str, Any] | None = None


class Load(Struct, frozen=True):
    """The load generator. output: the name of its file. start_ns, end_ns: when it ran."""

    command: str | None = None
    output: str | None = None
    start_ns: Count | None = None
    end_ns: Count | None = None


class Attached(Struct, frozen=True):
    """A service that was already running. start_ticks: when its process began, ticks since boot.

    cgroup: its path. container: the name it was given by. ended: whether it ended while watched.
    work: the command that prints how much work it has done.
    """

    to: Literal["process", "cgroup"]
    comm: str | None = None
    start_ticks: Count | None = None
    cgroup: str | None = None
    container: str | None = None
    ended: bool = False
    work: str | None = None


class Victim(Load, frozen=True):
    """The program whose loss was measured. cpu: the CPU it was pinned to.

    attached: None if netcost-record started it. work: the command that prints how much it did.
    """

    cpu: Count | None = None
    pid: Count | None = None
    user_s: Seconds | None = None
    system_s: Seconds | None = None
    wall_s: Annotated[float, Meta(gt=0)] | None = None
    attached: Attached | None = None
    work: str | None = None

    @property
    def asked_work(self) -> str | None:
        """The command of --work, for a started or an attached victim."""
        return self.work if self.attached is None else self.attached.work


class RecordedWindow(Struct, frozen=True):
    """When the recorder ran, on the trace's clock."""

    start_ns: Count | None = None
    end_ns: Count | None = None


class Calibration(Struct, frozen=True):
    """The folders of the victim's four runs."""

    idle: str | None = None
    idle_traced: str | None = None
    load: str | None = None
    load_traced: str | None = None


class Companion(Struct, frozen=True):
    """A tool that ran beside the recorder, from start_ns until it was told to stop at end_ns."""

    name: str
    output: str | None = None
    start_ns: Count | None = None
    end_ns: Count | None = None


class Compared(Struct, frozen=True):
    """A kernel counter compared with the events in the trace."""

    what: Literal["softirq", "irq", "vector", "packets", "switches"]
    name: str
    cpu: Count | None
    counted: Count
    recorded: Count
    recorded_inside: Count


class RecordedVerdict(Struct, frozen=True):
    """The recorder's verdict on missing events. rows: None if any row is invalid."""

    verdict: str
    state: Literal["complete", "incomplete", "unknown"]
    reason: str | None = None
    lost_events: Count | None = None
    rows: tuple[Compared, ...] | None = None


class Until(Struct, frozen=True):
    """A rolling recording: what it waited for, and what ended it (condition, signal, duration...).

    at_ns: when the wait was over. value, cpu: those that met the condition.
    """

    condition: str | None = None
    held: bool | None = None
    ended_by: str | None = None
    at_ns: Count | None = None
    value: float | None = None
    cpu: Count | None = None


class Manifest(Struct, frozen=True):
    """A bundle's manifest. asked: the time that --duration asked for, without a victim.

    baseline: the folder of the victim's run without the load. trace: None if recorded without one,
    "" if none is named. afterwards: the folder of a service's observation after the recording.
    """

    tool: str | None = None
    trace: str | None = ""
    cpus: str | None = None
    record_command: str | None = None
    lost_events: Count | None = None
    window: RecordedWindow = RecordedWindow()
    asked: RecordedWindow | None = None
    host: Host = Host()
    victim: Victim | None = None
    load: Load | None = None
    baseline: str | None = None
    afterwards: str | None = None
    calibration: Calibration | None = None
    completeness: RecordedVerdict | None = None
    until: Until | None = None
    companions: list[Companion] = []
    samples_of_functions: Load | None = None
    network_namespaces: list[str] = []
    notes: list[str] = []

    def companion(self, name: str) -> Companion:
        """The record of a tool that ran beside the recorder; an empty one if it did not run."""
        return {tool.name: tool for tool in self.companions}.get(name, Companion(name))


class Description(Struct, frozen=True):
    """experiment.json. victim_cpu: the CPU that processes the packets. table: the file of steps."""

    experiment: str | None = None
    command: str | None = None
    kernel: str | None = None
    started: str | None = None
    ended: str | None = None
    victim_cpu: Count | None = None
    table: str = "steps.tsv"
    notes: list[str] = []


def mended(text: str) -> tuple[Any, str | None]:
    """Parse a manifest, repairing decimal commas; returns it with a note of what was repaired.

    Raises ValueError or RecursionError if it is still not JSON.
    """
    try:
        return json.loads(text), None
    except ValueError:
        mended = _COMMA.sub(r"\1.\3", text)
        if mended == text:
            raise
        manifest = json.loads(mended)
    numbers = [(match[2], match[3]) for match in _COMMA.finditer(text)]
    names = ", ".join(dict.fromkeys(name for name, _ in numbers))
    note = f"decimal commas in {names} were read as points: the recorder's locale writes commas"
    # In those locales awk also dropped the fraction of a time written with a point.
    cut = list(dict.fromkeys(name for name, decimals in numbers if not int(decimals)))
    if cut:
        note += f"; {', '.join(cut)} may be up to a second more, because its decimals are gone"
    return manifest, note
