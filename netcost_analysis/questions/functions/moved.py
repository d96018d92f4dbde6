# How many packets a device carried while samples were taken, and which device that is.

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import pandas as pd

from ..._native import CaptureError
from ...errors import AbsentError, ArgumentError
from ..devices.device_traffic import traffic_of
from .profile import Profile

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture

Direction = Literal["rx", "tx"]
# Of all packets that the devices carried: with less than that besides, a host talks to itself.
_HARDLY_ANY = 0.01


class Moved(NamedTuple):
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


def bundle_of(capture: "Capture") -> "Bundle":
    if capture.bundle is None:
        raise CaptureError(f"{capture.path} is no bundle: nothing says how many packets there were")
    return capture.bundle


def moved_while_sampled(
    profile: Profile, bundle: "Bundle", device: str | None, direction: Direction | None
) -> Moved:
    # From the reading before to that after the recorded time, where samples were taken throughout;
    # else of all readings that were taken while samples were. direction: the way that carried most
    # bytes unless given.
    check_direction(direction)
    times = profile.samples["time_ns"]
    if not len(times):
        raise CaptureError(f"no sample of {profile.event} was taken")
    first, last = int(times.min()), int(times.max())
    before, after = (side.reads.get("net_dev") for side in (bundle.before, bundle.after))
    if before and after and first <= before[0] < after[1] <= last:
        first, last = before[0], after[1]
    rows = traffic_of(bundle, whole=True, within=(first, last))
    names = list(dict.fromkeys(rows["device"]))
    if device is not None and device not in names:
        raise AbsentError(f"no device {device!r}; there are {', '.join(names)}")
    ways = (direction,) if direction else get_args(Direction)
    found = [moved for way in ways if (moved := _one_way(rows, device, way)) is not None]
    if not found:
        raise CaptureError(f"the counters of {device or 'every device'} went backwards")
    return max(found, key=lambda moved: moved.bytes)


def check_direction(direction: str | None) -> None:
    if direction not in (None, *get_args(Direction)):
        raise ArgumentError(f"direction={direction!r}: one of {', '.join(get_args(Direction))}")


def _one_way(rows: pd.DataFrame, device: str | None, direction: Direction) -> Moved | None:
    # None where its counters went backwards.
    packets, size = f"{direction}_packets", f"{direction}_bytes"
    rows = rows[rows[packets].notna() & rows[size].notna()]
    rows = rows.sort_values(packets, ascending=False, kind="stable")
    own = rows if device is None else rows[rows["device"] == device]
    if own.empty:
        return None
    whole = int(rows[packets].sum())
    row = _busiest(own, packets)
    others = rows.loc[(rows[packets] > 0) & (rows["device"] != row["device"]), "device"]
    return Moved(
        str(row["device"]),
        direction,
        int(row[packets]),
        int(row[size]),
        int(row["start_ns"]),
        int(row["end_ns"]),
        int(row[packets]) / whole if whole else float("nan"),
        tuple(others),
    )


def _busiest(rows: pd.DataFrame, packets: str) -> "pd.Series[Any]":
    # A host's own traffic, by lo, is meant where there is hardly any other.
    others = rows[rows["device"] != "lo"]
    few = int(others[packets].sum()) < _HARDLY_ANY * int(rows[packets].sum())
    return (rows if others.empty or few else others).iloc[0]
