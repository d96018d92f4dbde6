# What each packet cost, by component: the weight of samples over the packets moved meanwhile.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...stats.counts import count_interval
from ..devices.device_traffic import carried, comparable
from ..samples.parts import IDLE
from ..samples.sampled import chosen_event, sampled
from ..samples.summed import parted, summed
from .framed import framed
from .moved import Direction, Moved, moved_while_sampled
from .profile import Classified, Profile, classified, profile
from .profile_parts import parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture


class PacketComponents(NamedTuple):
    """Answer of `packet_components`.

    Attributes
    ----------
    packet_components : pandas.DataFrame
        A row per component that has samples, falling by samples, idle left out; of "interrupts off"
        one per interrupts_off_in: component, interrupts_off_in, samples, weight, busy_share,
        weight_per_packet, weight_per_packet_low, weight_per_packet_high, weight_per_kib,
        weight_unit.
    sampled_event : str
        The event that was sampled.
    is_timed : bool
        Whether a timer took the samples: weights are in ns.
    device : str
        The one whose packets are counted.
    direction : str
        "rx" or "tx".
    device_share : float
        Of the packets that all devices received or sent; NaN where that is none.
    other_devices : str
        Of the others that carried any their names, that with most first.
    packets : int
        That many it received or sent.
    packet_bytes : float
        Their mean size; NaN without any.
    gbit_per_s : float
        Their rate.
    busy_cores : float
        Share of samples outside idle, times CPUs: so many CPUs were busy.
    cores_per_gbit : float
        `busy_cores` over `gbit_per_s`; NaN where nothing was carried.
    """

    packet_components: pd.DataFrame
    sampled_event: str
    is_timed: bool
    device: str
    direction: str
    device_share: float
    other_devices: str
    packets: int
    packet_bytes: float
    gbit_per_s: float
    busy_cores: float
    cores_per_gbit: float


def _check(capture: "Capture") -> None:
    _require_clock(sampled(capture))
    if capture.bundle:
        carried(capture.bundle)


def _require_clock(source: "Capture") -> None:
    if not comparable(source):
        raise CaptureError(
            f"the clock of the samples is {source.header['clock']}, that of the counters "
            "CLOCK_MONOTONIC: record with perf record -k CLOCK_MONOTONIC, as netcost-record does"
        )


@question(
    check=_check,
    main="packet_components",
    columns=(
        *("component", "weight_per_packet", "weight_unit", "interrupts_off_in"),
        *("weight_per_packet_low", "weight_per_packet_high", "busy_share"),
    ),
    rows=30,
    may_be_0=("cpu",),
)
def packet_components(
    capture: "Capture",
    bundle: "Bundle",
    device: str | None = None,
    direction: Direction | None = None,
    cpu: int | None = None,
    event: str | None = None,
    rules: str | None = None,
) -> PacketComponents:
    """What each packet of a device cost, by component, with intervals of the sampling.

    - capture: With samples, of its own or beside it in its bundle.
    - bundle: Whose net/dev says how many packets there were.
    - device: Whose packets; that which carried most unless given, and is not lo where others
      carried 1 % of all packets.
    - direction: Those it received, or those it sent; the way that carried more bytes unless given.
    - cpu, event, rules: As components() takes them.

    A row per component, and what was carried.

    All samples between the first and the last reading of net/dev, whatever they were of, over the
    packets that the device counted between the same two: a packet of net/dev is one that the stack
    handles, with GRO, GSO or a veth up to 64 KiB. Intervals: of the count of samples (Poisson),
    none of the packets.

    Source: perf's samples, net/dev in before/, after/ and samples/, and
    questions/functions/components.toml.
    """
    source = sampled(capture)
    _require_clock(source)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    moved = moved_while_sampled(one, bundle, device, direction)
    taken = one.within(cpu, moved.start_ns, moved.end_ns)
    return per_packet(one, found, taken, moved)


def per_packet(
    one: Profile, classes: Classified, taken: "NDArray[np.bool_]", moved: Moved
) -> PacketComponents:
    parts = parts_of(one, classes, taken)
    found = summed(parts)
    rows = framed(parted(parts), ("component", "interrupts_off_in", "samples", "weight"))
    frame = rows[rows["component"] != IDLE].reset_index(drop=True)
    frame["busy_share"] = frame["weight"] / (frame["weight"].sum() or np.nan)
    packets = moved.packets or np.nan
    low, high = count_interval(frame["samples"])
    # What a sample stands for, on average of the component's.
    each = (frame["weight"] / frame["samples"]).to_numpy(dtype=float)
    frame["weight_per_packet"] = frame["weight"] / packets
    frame["weight_per_packet_low"] = low * each / packets
    frame["weight_per_packet_high"] = high * each / packets
    frame["weight_per_kib"] = frame["weight"] / ((moved.bytes / 1024) or np.nan)
    frame["weight_unit"] = "ns" if found.is_timed else found.sampled_event
    cpus = one.samples.loc[taken, "cpu"].nunique()
    busy = float(found.busy_samples / found.samples * cpus) if found.samples else float("nan")
    rate = moved.bytes * 8 / (moved.end_ns - moved.start_ns or np.nan)
    return PacketComponents(
        frame,
        found.sampled_event,
        found.is_timed,
        moved.device,
        moved.direction,
        moved.share,
        ", ".join(moved.others),
        moved.packets,
        float(moved.bytes / packets),
        float(rate),
        busy,
        float(busy / (rate or np.nan)),
    )


@packet_components.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    return {
        "largest": found.packet_components[:3].to_dict("records"),
        "sampled_event": found.sampled_event,
        "is_timed": found.is_timed,
        "device": found.device,
        "direction": found.direction,
        "device_share": found.device_share,
        "other_devices": found.other_devices,
        "was_given": answer.options.get("device") is not None,
        "packets": found.packets,
        "packet_bytes": found.packet_bytes,
        "gbit_per_s": found.gbit_per_s,
        "busy_cores": found.busy_cores,
        "cores_per_gbit": found.cores_per_gbit,
    }


def _title(answer: "Answer") -> str:
    found = answer.result
    way = "received" if found.direction == "rx" else "sent"
    return f"What a packet that {found.device} {way} cost, by component"


@packet_components.plot(title=_title, height=4.0)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import MOST, bars, label_of

    found = answer.result
    rows = found.packet_components[:MOST]
    scale = 1e-3 if found.is_timed else 1.0
    value, low, high = (
        scale * rows[f"weight_per_packet{end}"].to_numpy(dtype=float)
        for end in ("", "_low", "_high")
    )
    bars(
        ax,
        [label_of(row) for row in rows.to_dict("records")],
        rows["component"],
        value,
        (low, high),
    )
    unit = "µs" if found.is_timed else found.sampled_event
    ax.set_xlabel(f"{unit} a packet, with 95 % intervals of the sampling")
    ax.set_title(_title(answer))
