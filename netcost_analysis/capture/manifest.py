"""What netcost-record wrote of a recording, and an experiment of itself, read once into types.

They come from strangers: a field that is not of its type counts as absent, and the others stay.
Fields: docs/bundle.md.
"""

from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0)]
Kind = TypeVar("Kind", bound=Struct)


class Host(Struct, frozen=True):
    """The measured host. sysctls: those that limit packet processing."""

    kernel: str | None = None
    arch: str | None = None
    cpu_model: str | None = None
    virtualization: str | None = None
    clocksource: str | None = None
    sysctls: dict[str, Any] | None = None


class Load(Struct, frozen=True):
    """What made the load. output: the name of its file. start_ns, end_ns: when it ran."""

    command: str | None = None
    output: str | None = None
    start_ns: Count | None = None
    end_ns: Count | None = None


class Attached(Struct, frozen=True):
    """A service that ran already. start_ticks: when its process began, in ticks since boot.

    cgroup: its path. container: as it was named. ended: whether it ended while it was watched.
    work: the command that says how much it has done.
    """

    to: Literal["process", "cgroup"]
    comm: str | None = None
    start_ticks: Count | None = None
    cgroup: str | None = None
    container: str | None = None
    ended: bool = False
    work: str | None = None


class Victim(Load, frozen=True):
    """The program whose loss was measured. cpu: the one it was pinned to.

    attached: None for one that netcost-record started.
    """

    cpu: Count | None = None
    pid: Count | None = None
    user_s: Seconds | None = None
    system_s: Seconds | None = None
    wall_s: Annotated[float, Meta(gt=0)] | None = None
    attached: Attached | None = None


class Window(Struct, frozen=True):
    """From when until when the recorder ran, on the trace's clock."""

    start_ns: Count | None = None
    end_ns: Count | None = None


class Calibration(Struct, frozen=True):
    """The folders of the victim's four runs."""

    idle: str | None = None
    idle_traced: str | None = None
    load: str | None = None
    load_traced: str | None = None


class Companion(Struct, frozen=True):
    """A tool that ran beside the recorder, from start_ns until it was told to end, at end_ns."""

    name: str
    output: str | None = None
    start_ns: Count | None = None
    end_ns: Count | None = None


class Compared(Struct, frozen=True):
    """A counter against the events of the trace."""

    what: Literal["softirq", "irq", "vector", "packets", "switches"]
    name: str
    cpu: Count | None
    counted: Count
    recorded: Count
    recorded_inside: Count


class Verdict(Struct, frozen=True):
    """What the recorder found missing. rows: None where one of them is none."""

    verdict: str
    state: Literal["complete", "incomplete", "unknown"]
    reason: str | None = None
    lost_events: Count | None = None
    rows: tuple[Compared, ...] | None = None


class Until(Struct, frozen=True):
    """A rolling recording: what it waited for, and what ended it (condition, signal, duration...).

    at_ns: when the wait was over. value, cpu: of the condition.
    """

    condition: str | None = None
    held: bool | None = None
    ended_by: str | None = None
    at_ns: Count | None = None
    value: float | None = None
    cpu: Count | None = None


class Manifest(Struct, frozen=True):
    """A bundle's manifest. baseline: the folder of the victim's run without the load.

    afterwards: that of a look at a service behind the recording.
    """

    tool: str | None = None
    trace: str | None = None
    cpus: str | None = None
    record_command: str | None = None
    lost_events: Count | None = None
    window: Window = Window()
    host: Host = Host()
    victim: Victim | None = None
    load: Load | None = None
    baseline: str | None = None
    afterwards: str | None = None
    calibration: Calibration | None = None
    completeness: Verdict | None = None
    until: Until | None = None
    companions: list[Companion] = []
    network_namespaces: list[str] = []
    notes: list[str] = []


class Description(Struct, frozen=True):
    """What experiment.json says. victim_cpu: the one that works on the packets. table: of steps."""

    experiment: str | None = None
    command: str | None = None
    kernel: str | None = None
    started: str | None = None
    ended: str | None = None
    victim_cpu: Count | None = None
    table: str = "steps.tsv"
    notes: list[str] = []


def struct_of(kind: type[Kind], said: Any) -> Kind | None:
    """What an object of JSON says in the fields of a struct; None where one that it needs is not.

    Of a list the items stay that are of its type, of a tuple all or none.
    """
    if not isinstance(said, dict):
        return None
    found = {one.name: _fitting(one.type, said.get(one.name)) for one in fields(kind)}
    try:
        return kind(**{name: value for name, value in found.items() if value is not None})
    except TypeError:
        return None


def _fitting(kind: Any, value: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        kind = get_args(kind)[0]
    if get_origin(kind) is list and isinstance(value, list):
        [of] = get_args(kind)
        return [one for each in value if (one := _fitting(of, each)) is not None]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return struct_of(kind, value)
    try:
        return convert(value, kind)
    except ValidationError:
        return None
