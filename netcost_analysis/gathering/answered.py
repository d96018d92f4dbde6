"""One capture asked: what its row, and its rows in the other tables, say."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError, __version__
from ..display.tables import listed
from ..errors import is_refusal, line_of
from .fetched import checksum, fetched
from .found import Found

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..capture.capture import Capture

# Of errors: what a capture that has not changed will say again.
LASTING = ("refused", "bug")
_MAX_NS = 2**63 - 1
# Of a capture, by the name of a question; None where it has none.
Ask = Callable[..., "Answer | None"]


@dataclass(frozen=True)
class Answered:
    """What a worker returns of a capture.

    rows: by table; without any the capture is as it was, and its answers with it. events: how many
    it holds.
    """

    path: str
    rows: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    events: int = 0

    @property
    def error(self) -> str | None:
        """Why it could not be read; None where it could."""
        captures = self.rows.get("captures")
        error: str | None = captures[0].get("error") if captures else None
        return error


def answered(one: Found, known: str | None = None) -> Answered:
    """Ask a capture. Raises nothing: what is wrong with it is in its row.

    one: the capture. known: its checksum when it was asked last, by this netcost.
    """
    started = time.perf_counter_ns()
    said: dict[str, Any] = {}
    try:
        with fetched(one) as place:
            said["sha256"] = checksum(place)
            if said["sha256"] == known:
                return Answered(one.path)
            tables = dict(_tables(place, one))
    except Exception as error:
        tables = {"captures": [failed(one, *_sorted(error, one))]}
    row = tables["captures"][0]
    row |= said | {"took_ns": time.perf_counter_ns() - started}
    return Answered(one.path, tables, int(row.get("events") or 0))


def _sorted(error: Exception, one: Found) -> tuple[str, str]:
    # What kind of error it is, and its sentence, in which it is called as it was named.
    kind = "bug"
    if is_refusal(error):
        kind = "refused"
    elif isinstance(error, OSError):
        kind = "unreadable"
    elif isinstance(error, MemoryError):
        kind = "memory"
    return kind, line_of(error).replace(one.place, one.path)


def failed(one: Found, kind: str, line: str) -> dict[str, Any]:
    """The row of a capture that has no answers: kind of error and its sentence."""
    return {**_identity(one), "error_kind": kind, "error": line}


def _identity(one: Found) -> dict[str, Any]:
    return {
        "path": one.path,
        "bytes": one.bytes,
        "modified": one.modified,
        "netcost": __version__,
        "answered_at": datetime.now(UTC),
    }


def _tables(place: Path, one: Found) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    from ..opening.opening import open_capture

    capture = open_capture(place)
    lacking: list[str] = []

    @cache
    def answer(name: str, **options: Any) -> "Answer | None":
        given = capture.ask(name, **options)
        if given.refusal is None:
            return given
        lacking.append(str(given.refusal).replace(str(place), one.path))
        return None

    recording = answer("recording")
    if recording is None:
        raise CaptureError(lacking[0])
    bundle = capture.bundle
    recorded_at, recorded_by = _when(capture, one)
    identity = {
        "path": one.path,
        "hostname": recording["hostname"],
        "kernel": recording["kernel"] or (bundle.manifest.host.kernel if bundle else None),
        "recorded_at": recorded_at,
    }
    yield "answers", [identity | _in_all(answer)]
    yield "devices", [identity | row for row in _devices(answer, capture)]
    yield "histograms", [identity | row for row in _histograms(answer)]
    row = {**_identity(one), **identity, "recorded_by": recorded_by}
    row |= {"lacking": "; ".join(lacking) or None, "cpus": len(recording["cpus"])}
    names = ("arch", "format", "clock", "duration_ns", "lost_events", "state")
    row |= {name: recording[name] for name in (*names, "recorded_share", "owned_share")}
    yield "captures", [row | {"events": recording["event_count"]}]


def _when(capture: "Capture", one: Found) -> tuple[datetime | None, str | None]:
    # When it was recorded, and who says so.
    stamp = capture.bundle.before.stamp.get("realtime_ns") if capture.bundle else None
    if stamp:
        return datetime.fromtimestamp(stamp / 1e9, UTC), "stamp"
    if one.modified.isdigit() and not one.is_url and 0 < int(one.modified) < _MAX_NS:
        return datetime.fromtimestamp(int(one.modified) / 1e9, UTC), "file"
    return None, None


def _in_all(answer: Ask) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if (cost := answer("network_cost")) is not None:
        row |= {name: cost[name] for name in ("cpu_ns", "network_cpu_ns", "network_cpu_max_ns")}
    if (stolen := answer("stolen")) is not None:
        names = ("on_cpu_ns", "stolen_network_ns", "stolen_network_max_ns")
        row |= {name: _sum(stolen.frame[name]) for name in names}
    if (lengths := answer("softirq_lengths")) is not None:
        net_rx = lengths.frame[lengths.frame["action"] == "NET_RX"]
        row |= {"net_rx": _sum(net_rx["softirqs"]), "net_rx_ns": _sum(net_rx["ns"])}
    if (squeezed := answer("squeezes")) is not None:
        names = ("with_polls", "squeezes_low", "squeezes_high")
        row |= {name: _sum(squeezed["by_cpu"][name]) for name in names}
    return row


def _sum(values: Any) -> int | None:
    # Of an unknown part nobody knows the whole.
    return None if values.isna().any() else int(values.sum())


_OF_DEVICE = [
    *("namespace", "device", "ns", "hardirq_ns", "poll_ns", "cut_poll_ns", "interrupts", "polls"),
    *("packets", "timed_packets", "rx_packets", "tx_packets"),
]


def _devices(answer: Ask, capture: "Capture") -> Iterator[dict[str, Any]]:
    cost, sizes = answer("device_cost"), answer("poll_sizes", by="device")
    if cost is None:
        return
    busy: dict[Any, int] | None = None
    if sizes is not None:
        with_packets = sizes.frame[sizes.frame["work"].fillna(0) > 0]
        busy = with_packets.groupby("device")["polls"].sum().to_dict()
    drivers = _drivers(capture)
    for row in listed(cost.frame[_OF_DEVICE]):
        device, namespace = row["device"], row["namespace"]
        yield row | {
            "driver": drivers.get((namespace, device)) or drivers.get((None, device)),
            "busy_polls": None if busy is None else busy.get(device, 0),
        }


def _drivers(capture: "Capture") -> dict[tuple[str | None, str], str]:
    # By namespace and name; by name alone where all namespaces that have it have one driver.
    if capture.bundle is None:
        return {}
    from ..capture.links import known_interfaces

    try:
        links = known_interfaces(capture.bundle)
    except CaptureError:
        return {}
    known = links[links["driver"].notna()]
    drivers: dict[tuple[str | None, str], str] = dict(
        zip(zip(known["namespace"], known["device"], strict=True), known["driver"], strict=True)
    )
    for name, of in known.groupby("device")["driver"]:
        if of.nunique() == 1:
            drivers[None, str(name)] = of.iloc[0]
    return drivers


def _histograms(answer: Ask) -> Iterator[dict[str, Any]]:
    if (sizes := answer("poll_sizes", by="device")) is not None:
        known = sizes.frame[sizes.frame["work"].notna()]
        of = known.groupby(["device", "work"])[["polls", "ns"]].sum().reset_index()
        names = {"device": "of", "work": "low", "polls": "count"}
        rows = of.rename(columns=names).assign(histogram="poll_packets", high=of["work"])
        yield from listed(rows)
    if (lengths := answer("softirq_lengths")) is not None:
        ends = {"length_low_ns": "low", "length_high_ns": "high"}
        rows = lengths.frame.rename(columns={"action": "of", **ends, "softirqs": "count"})
        columns = ["of", "low", "high", "count", "ns"]
        yield from listed(rows[columns].assign(histogram="softirq_ns"))
