"""Fetch and ask one capture, which gives its row of the fleet's dataset."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .._native import CaptureError, __version__
from ..capture.checksum import checksum_of_all
from ..display.tables import listed
from ..errors import is_refusal, line_of
from .sources import Source

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..capture.capture import Capture

# The kinds of error that an unchanged capture will raise again.
LASTING = ("refused", "bug")
_MAX_NS = 2**63 - 1
# A question's answer by name; None if the capture cannot answer it.
Ask = Callable[..., "Answer | None"]


@dataclass(frozen=True)
class Answered:
    """What a worker returns for a capture.

    row: the dataset's row; None if the capture has not changed, so its answers stay.
    """

    path: str
    row: dict[str, Any] | None = None

    @property
    def events(self) -> int:
        """The number of its events."""
        return (self.row and self.row.get("events")) or 0

    @property
    def error(self) -> str | None:
        """Why it could not be read, None if it could."""
        error: str | None = (self.row or {}).get("error")
        return error


def ask_capture(source: Source, known: str | None = None) -> Answered:
    """Ask a capture. Errors are not raised but returned in the row.

    known: its checksum when this version of netcost last asked it.
    """
    started = time.perf_counter_ns()
    checksum: dict[str, str] = {}
    try:
        with _fetched(source) as place:
            checksum["sha256"] = checksum_of_all(place)
            if checksum["sha256"] == known:
                return Answered(source.path)
            row = _row(place, source)
    except Exception as error:
        row = failed(source, *_classified(error, source))
    took_ns = time.perf_counter_ns() - started
    return Answered(source.path, row | checksum | {"took_ns": took_ns})


@contextmanager
def _fetched(source: Source) -> Iterator[Path]:
    # Yields a path to open: for a URL, a copy that is deleted when the block ends.
    if not source.is_url:
        place = Path(source.place)
        # Opening a FIFO could block forever.
        if place.stat() and not (place.is_file() or place.is_dir()):
            raise OSError(f"{place} is not a regular file")
        yield place
        return
    from fsspec.core import url_to_fs

    files, path = url_to_fs(source.place)
    # In the worker's own folder, which Dask removes even if the worker is killed.
    with TemporaryDirectory(prefix="netcost-fleet-", dir=_worker_folder()) as folder:
        # Keep the file's name: its suffix shows the compression.
        target = Path(folder) / (PurePosixPath(path).name or "capture")
        files.get(path, str(target), recursive=files.isdir(path))
        yield target


def _worker_folder() -> str | None:
    try:
        from distributed import get_worker

        return str(get_worker().local_directory)
    except (ImportError, ValueError):
        # Not in a worker.
        return None


def _classified(error: Exception, source: Source) -> tuple[str, str]:
    # The kind of an error, and its message with the capture's name as the user gave it.
    kind = "bug"
    if is_refusal(error):
        kind = "refused"
    elif isinstance(error, OSError):
        kind = "unreadable"
    elif isinstance(error, MemoryError):
        kind = "memory"
    return kind, line_of(error).replace(source.place, source.path)


def failed(source: Source, kind: str, line: str) -> dict[str, Any]:
    """The row of a capture without answers: the kind of error and its message."""
    return {**_of_source(source), "error_kind": kind, "error": line}


def _of_source(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "bytes": source.bytes,
        "modified": source.modified,
        "netcost": __version__,
        "answered_at": datetime.now(UTC),
    }


def _row(place: Path, source: Source) -> dict[str, Any]:
    from ..opening.opening import open_capture

    capture = open_capture(place)
    lacking: list[str] = []

    @cache
    def answer(name: str, **options: Any) -> "Answer | None":
        result = capture.ask(name, **options)
        if result.refusal is None:
            return result
        lacking.append(str(result.refusal).replace(str(place), source.path))
        return None

    recording = answer("recording")
    if recording is None:
        raise CaptureError(lacking[0])
    bundle = capture.bundle
    recorded_at, recorded_by = _when(capture, source)
    names = ("hostname", "arch", "format", "clock", "duration_ns", "lost_events", "state")
    return {
        **_of_source(source),
        **{name: recording[name] for name in (*names, "recorded_share", "owned_share")},
        "kernel": recording["kernel"] or (bundle.manifest.host.kernel if bundle else None),
        "recorded_at": recorded_at,
        "recorded_by": recorded_by,
        "cpus": len(recording["cpus"]),
        "events": recording["event_count"],
        "answers": [_sums(answer)],
        "devices": list(_devices(answer, capture)),
        "histograms": list(_histograms(answer)),
        "lacking": "; ".join(lacking) or None,
    }


def _when(capture: "Capture", source: Source) -> tuple[datetime | None, str | None]:
    # When it was recorded, and whether a stamp or the file's time says so.
    stamp = capture.bundle.before.stamp.get("realtime_ns") if capture.bundle else None
    if stamp:
        return datetime.fromtimestamp(stamp / 1e9, UTC), "stamp"
    modified = source.modified
    if modified.isdigit() and not source.is_url and 0 < int(modified) < _MAX_NS:
        return datetime.fromtimestamp(int(modified) / 1e9, UTC), "file"
    return None, None


def _sums(answer: Ask) -> dict[str, Any]:
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
    # Unknown if any part is unknown.
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
    # Drivers by (namespace, name), and by (None, name) if all namespaces agree on the driver.
    if capture.bundle is None:
        return {}
    from ..capture.interfaces import known_interfaces

    try:
        links = known_interfaces(capture.bundle)
    except CaptureError:
        return {}
    known = links[links["driver"].notna()]
    drivers: dict[tuple[str | None, str], str] = dict(
        zip(zip(known["namespace"], known["device"], strict=True), known["driver"], strict=True)
    )
    for name, same_name in known.groupby("device")["driver"]:
        if same_name.nunique() == 1:
            drivers[None, str(name)] = same_name.iloc[0]
    return drivers


def _histograms(answer: Ask) -> Iterator[dict[str, Any]]:
    if (sizes := answer("poll_sizes", by="device")) is not None:
        known = sizes.frame[sizes.frame["work"].notna()]
        sums = known.groupby(["device", "work"])[["polls", "ns"]].sum().reset_index()
        names = {"device": "of", "work": "low", "polls": "count"}
        rows = sums.rename(columns=names).assign(histogram="poll_packets", high=sums["work"])
        yield from listed(rows)
    if (lengths := answer("softirq_lengths")) is not None:
        ends = {"length_low_ns": "low", "length_high_ns": "high"}
        rows = lengths.frame.rename(columns={"action": "of", **ends, "softirqs": "count"})
        columns = ["of", "low", "high", "count", "ns"]
        yield from listed(rows[columns].assign(histogram="softirq_ns"))
