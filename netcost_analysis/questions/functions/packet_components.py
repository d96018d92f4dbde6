# What each packet cost, by component: the weight of samples over the packets moved meanwhile.

from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...errors import AbsentError, ArgumentError
from ...stats.counts import count_interval
from ..completeness.completeness import has_readings_clock
from ..devices.device_traffic import traffic_of
from ..samples.rules import HIDDEN, IDLE
from ..samples.sampled import sampled
from .profile import Profile, classified

Direction = Literal["rx", "tx"]
# A host talks to itself where all devices but lo carried a smaller share of the packets.
_HARDLY_ANY = 0.01


def _check(capture: Capture) -> None:
    require_clock(sampled(capture))
    if capture.bundle:
        traffic_of(capture.bundle)


def require_clock(source: Capture) -> None:
    if not has_readings_clock(source):
        raise CaptureError(
            f"the samples' clock is {source.header['clock']}, the counters' is CLOCK_MONOTONIC: "
            "record with perf record -k CLOCK_MONOTONIC, as netcost-record does"
        )


@question(
    check=_check,
    columns=(
        *("component", "weight_per_packet", "weight_unit", "interrupts_off_in"),
        *("weight_per_packet_low", "weight_per_packet_high", "busy_share"),
    ),
    rows=30,
    allow_zero=("cpu",),
)
def packet_components(
    capture: Capture,
    bundle: Bundle,
    device: str | None = None,
    direction: Direction | None = None,
    cpu: int | None = None,
    event: str | None = None,
    rules: str | None = None,
) -> Answer:
    """What each packet of a device cost, by component, with sampling intervals.

    A row per component, most samples first, without idle; "interrupts off" has a row for each place
    in which they were off. A cost is all samples between the first and the last reading of net/dev,
    whatever they hit, over the packets that the device counted between the same two. A packet of
    net/dev is one that the stack handles; with GRO, GSO or a veth it has up to 64 KiB. Intervals:
    from the number of samples (Poisson), not from that of packets.

    device: by default the one that carried most, and not lo where others carried 1 % of all
    packets. direction: by default the one that carried more bytes. The other options are those of
    components(). Source: perf's samples, net/dev in before/, after/ and samples/, and
    questions/functions/components.toml.
    """
    require_clock(sampled(capture))
    profile = classified(capture, event, rules)
    moved = packets_while_sampled(profile, bundle, device, direction)
    rows = profile.within(cpu, moved.start_ns, moved.end_ns)
    keys = ["component", "interrupts_off_in"]
    by = rows.groupby(keys, observed=True, dropna=False)["weight"]
    frame = by.agg(samples="size", weight="sum").reset_index()
    # Ties are in the order of the rules.
    frame = frame[frame["component"] != IDLE].astype(dict.fromkeys(keys, object))
    frame = frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
    frame["busy_share"] = frame["weight"] / (frame["weight"].sum() or np.nan)
    packets = moved.packets or np.nan
    low, high = count_interval(frame["samples"])
    # What a sample stands for, on average in its component.
    each = (frame["weight"] / frame["samples"]).to_numpy(dtype=float)
    frame["weight_per_packet"] = frame["weight"] / packets
    frame["weight_per_packet_low"] = low * each / packets
    frame["weight_per_packet_high"] = high * each / packets
    frame["weight_per_kib"] = frame["weight"] / ((moved.bytes / 1024) or np.nan)
    frame["weight_unit"] = profile.unit
    # Idle is no component's cost, and a CPU is as busy as its samples outside it.
    busy = frame["samples"].sum() / len(rows) * rows["cpu"].nunique() if len(rows) else np.nan
    rate = moved.bytes * 8 / (moved.end_ns - moved.start_ns or np.nan)
    return Answer(
        packet_components=frame,
        sampled_event=profile.event,
        is_timed=profile.is_timed,
        device=moved.device,
        direction=moved.direction,
        device_share=moved.share,
        other_devices=", ".join(moved.others),
        packets=moved.packets,
        packet_bytes=float(moved.bytes / (moved.packets or np.nan)),
        gbit_per_s=float(rate),
        busy_cores=float(busy),
        cores_per_gbit=float(busy / (rate or np.nan)),
        device_given=device is not None,
    )


class Moved(NamedTuple):
    # Packets that a device carried one way, from one reading of net/dev to another. share: of those
    # of all devices. others: the names of the other devices that carried any, most first.
    device: str
    direction: Direction
    packets: int
    bytes: int
    start_ns: int
    end_ns: int
    share: float
    others: tuple[str, ...]


def bundle_of(capture: Capture) -> Bundle:
    if capture.bundle is None:
        raise CaptureError(f"{capture.path} is not a bundle, so the number of packets is unknown")
    return capture.bundle


def packets_while_sampled(
    profile: Profile, bundle: Bundle, device: str | None, direction: Direction | None
) -> Moved:
    # From the reading before the recorded time to that after it, where samples were taken
    # throughout; else over all readings that were taken while samples were.
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
    chosen = rows if device is None else rows[rows["device"] == device]
    # A host's own traffic, by lo, is meant where there is hardly any other.
    others = chosen[chosen["device"] != "lo"]
    if int(others[packets].sum()) >= _HARDLY_ANY * int(chosen[packets].sum()) and len(others):
        chosen = others
    if chosen.empty:
        return None
    whole, row = int(rows[packets].sum()), chosen.iloc[0]
    names = rows.loc[(rows[packets] > 0) & (rows["device"] != row["device"]), "device"]
    return Moved(
        str(row["device"]),
        direction,
        int(row[packets]),
        int(row[size]),
        int(row["start_ns"]),
        int(row["end_ns"]),
        int(row[packets]) / whole if whole else float("nan"),
        tuple(names),
    )


def _title(answer: Answer) -> str:
    way = "received" if answer["direction"] == "rx" else "sent"
    return f"Cost of a packet that {answer['device']} {way}, by component"


@packet_components.plot(title=_title, height=4.0)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import MOST, bars

    rows = answer.frame[:MOST]
    off = f"{HIDDEN}: " + rows["interrupts_off_in"].astype(object)
    scale, unit = (1e-3, "µs") if answer["is_timed"] else (1.0, answer["sampled_event"])
    label = f"{unit} per packet, with 95 % sampling intervals"
    bars(ax, rows, "weight_per_packet", label, scale, off.fillna(rows["component"]))
    ax.set_title(_title(answer))
