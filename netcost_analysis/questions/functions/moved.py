# How many packets a device carried while samples were taken, and which device that is.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from ..._native import CaptureError
from ...errors import AbsentError, ArgumentError
from ..devices.device_traffic import carried
from .profile import Profile

if TYPE_CHECKING:
    from ...capture.bundle import Bundle

Direction = Literal["rx", "tx"]
LOOPBACK = "lo"
# Of all packets that the devices carried: with less than that besides, a host talks to itself.
_HARDLY_ANY = 0.01


@dataclass(frozen=True)
class Moved:
    # What a device carried one way, from one reading of net/dev to another. share: of what all did.
    # others: of the other devices that carried any their names, that with most first.
    device: str
    direction: Direction
    packets: int
    bytes: int
    start_ns: int
    end_ns: int
    share: float
    others: tuple[str, ...]


def moved_while_sampled(
    one: Profile, bundle: "Bundle", device: str | None, direction: Direction | None
) -> Moved:
    # From the reading before to that after the recorded time, where samples were taken throughout;
    # else of all readings that were taken while samples were. direction: the way that carried most
    # bytes unless given.
    check_direction(direction)
    times = one.samples["time_ns"]
    if not len(times):
        raise CaptureError(f"no sample of {one.event} was taken")
    first, last = int(times.min()), int(times.max())
    before, after = (side.reads.get("net_dev") for side in (bundle.before, bundle.after))
    if before and after and first <= before[0] < after[1] <= last:
        first, last = before[0], after[1]
    rows = carried(bundle, whole=True, within=(first, last))
    names = list(dict.fromkeys(rows["device"]))
    if device is not None and device not in names:
        raise AbsentError(f"no device {device!r}; there are {', '.join(names)}")
    ways: tuple[Direction, ...] = (direction,) if direction else ("rx", "tx")
    found = [moved for way in ways if (moved := _one_way(rows, device, way)) is not None]
    if not found:
        raise CaptureError(f"the counters of {device or 'every device'} went backwards")
    return max(found, key=lambda moved: moved.bytes)


def check_direction(direction: str | None) -> None:
    if direction not in (None, "rx", "tx"):
        raise ArgumentError(f"direction={direction!r}: one of rx, tx")


def _one_way(rows: pd.DataFrame, device: str | None, direction: Direction) -> Moved | None:
    # None where its counters went backwards.
    packets, size = f"{direction}_packets", f"{direction}_bytes"
    rows = of_all = rows[rows[packets].notna() & rows[size].notna()]
    if device is not None:
        rows = rows[rows["device"] == device]
    if rows.empty:
        return None
    whole = int(of_all[packets].sum())
    row = _busiest(rows, packets)
    others = of_all[(of_all[packets] > 0) & (of_all["device"] != row["device"])]
    return Moved(
        str(row["device"]),
        direction,
        int(row[packets]),
        int(row[size]),
        int(row["start_ns"]),
        int(row["end_ns"]),
        int(row[packets]) / whole if whole else float("nan"),
        tuple(others.sort_values(packets, ascending=False, kind="stable")["device"]),
    )


def _busiest(rows: pd.DataFrame, packets: str) -> "pd.Series[Any]":
    # A host's own traffic, by lo, is meant where there is hardly any other.
    others = rows[rows["device"] != LOOPBACK]
    few = int(others[packets].sum()) < _HARDLY_ANY * int(rows[packets].sum())
    left = rows if others.empty or few else others
    return left.sort_values(packets, ascending=False, kind="stable").iloc[0]
