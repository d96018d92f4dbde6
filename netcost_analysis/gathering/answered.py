"""One capture asked: what its row, and its rows in the other tables, say."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError, __version__
from ..errors import is_refusal, line_of
from .fetched import checksum, fetched
from .found import Found

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..capture.capture import Capture

# Of errors: what a capture that has not changed will say again.
LASTING = ("refused", "bug")
_MAX_NS = 2**63 - 1


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
        found = capture.ask(name, **options)
        if found.refusal is None:
            return found
        lacking.append(str(found.refusal).replace(str(place), one.path))
        return None

    about = answer("recording")
    if about is None:
        raise CaptureError(lacking[0])
    recording = about.parts
    recorded_at, recorded_by = _when(capture, one)
    identity = {
        "path": one.path,
        "hostname": recording["hostname"],
        "kernel": recording["kernel"] or _kernel(capture),
        "recorded_at": recorded_at,
    }
    yield "answers", [identity | _in_all(answer)]
    yield "devices", [identity | row for row in _devices(answer, capture)]
    yield "histograms", [identity | row for row in _histograms(answer)]
    about_it = {
        "recorded_by": recorded_by,
        "lacking": "; ".join(lacking) or None,
        "arch": recording["arch"],
        "format": recording["format"],
        "clock": recording["clock"],
        "cpus": len(recording["cpus"]),
        "duration_ns": recording["duration_ns"],
        "events": recording["event_count"],
        "lost_events": recording["lost_events"],
        "state": recording["state"],
        "recorded_share": recording["recorded_share"],
        "owned_share": recording["owned_share"],
    }
    yield "captures", [{**_identity(one), **identity, **about_it}]


def _kernel(capture: "Capture") -> str | None:
    return capture.bundle.manifest.host.kernel if capture.bundle else None


def _when(capture: "Capture", one: Found) -> tuple[datetime | None, str | None]:
    # When it was recorded, and who says so.
    stamp = capture.bundle.before.stamp.get("realtime_ns") if capture.bundle else None
    if stamp:
        return datetime.fromtimestamp(stamp / 1e9, UTC), "stamp"
    if one.modified.isdigit() and not one.is_url and 0 < int(one.modified) < _MAX_NS:
        return datetime.fromtimestamp(int(one.modified) / 1e9, UTC), "file"
    return None, None


def _in_all(answer: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if (cost := answer("network_cost")) is not None:
        found = cost.result
        row |= {name: getattr(found, name) for name in ("cpu_ns", "network_cpu_ns")}
        row["network_cpu_max_ns"] = found.network_cpu_max_ns
    if (stolen := answer("stolen")) is not None:
        victims = stolen.result.victims
        for name in ("on_cpu_ns", "stolen_network_ns", "stolen_network_max_ns"):
            row[name] = _sum(victims[name])
    if (lengths := answer("softirq_lengths")) is not None:
        net_rx = lengths.frame[lengths.frame["action"] == "NET_RX"]
        row |= {"net_rx": _sum(net_rx["softirqs"]), "net_rx_ns": _sum(net_rx["ns"])}
    if (squeezed := answer("squeezes")) is not None:
        by_cpu = squeezed.result.by_cpu
        for name in ("with_polls", "squeezes_low", "squeezes_high"):
            row[name] = _sum(by_cpu[name])
    return row


def _sum(values: Any) -> int | None:
    # Of an unknown part nobody knows the whole.
    return None if values.isna().any() else int(values.sum())


def _devices(answer: Any, capture: "Capture") -> Iterator[dict[str, Any]]:
    cost = answer("device_cost")
    if cost is None:
        return
    sizes = answer("poll_sizes", by="device")
    busy: dict[str, int] = {}
    if sizes is not None:
        with_packets = sizes.frame[(sizes.frame["work"] > 0).fillna(False).astype(bool)]
        busy = with_packets.groupby("device")["polls"].sum().astype(int).to_dict()
    drivers = _drivers(capture)
    names = (
        *("ns", "hardirq_ns", "poll_ns", "cut_poll_ns", "interrupts", "polls", "packets"),
        *("timed_packets", "rx_packets", "tx_packets"),
    )
    for row in cost.frame.to_dict("records"):
        device, namespace = str(row["device"]), _text(row["namespace"])
        yield {
            "namespace": namespace,
            "device": device,
            "driver": drivers.get((namespace, device)) or drivers.get((None, device)),
            **{name: _whole(row[name]) for name in names},
            "busy_polls": busy.get(device, 0) if sizes is not None else None,
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
    found: dict[tuple[str | None, str], str] = {
        (str(row["namespace"]), str(row["device"])): str(row["driver"])
        for row in known.to_dict("records")
    }
    for name, of in known.groupby("device")["driver"]:
        if of.nunique() == 1:
            found[None, str(name)] = str(of.iloc[0])
    return found


def _histograms(answer: Any) -> Iterator[dict[str, Any]]:
    if (sizes := answer("poll_sizes", by="device")) is not None:
        known = sizes.frame[sizes.frame["work"].notna()]
        of = known.groupby(["device", "work"])[["polls", "ns"]].sum().reset_index()
        for row in of.to_dict("records"):
            ends = {"low": int(row["work"]), "high": int(row["work"])}
            counts = {"count": int(row["polls"]), "ns": int(row["ns"])}
            yield {"histogram": "poll_packets", "of": str(row["device"]), **ends, **counts}
    if (lengths := answer("softirq_lengths")) is not None:
        for row in lengths.frame.to_dict("records"):
            ends = {"low": int(row["length_low_ns"]), "high": int(row["length_high_ns"])}
            counts = {"count": int(row["softirqs"]), "ns": int(row["ns"])}
            yield {"histogram": "softirq_ns", "of": str(row["action"]), **ends, **counts}


def _whole(value: Any) -> int | None:
    from ..units import absent

    return None if absent(value) else int(value)


def _text(value: Any) -> str | None:
    from ..units import absent

    return None if absent(value) else str(value)
