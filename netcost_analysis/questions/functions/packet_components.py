# What each packet cost, by component: the weight of samples over the packets moved meanwhile.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...stats.counts import count_interval
from ..devices.device_traffic import comparable, traffic_of
from ..samples.interrupts import HIDDEN
from ..samples.rules import IDLE
from ..samples.sampled import sampled
from .moved import Direction, Moved, moved_while_sampled
from .profile import Classified, Profile, classified, interrupts_off_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ...capture.bundle import Bundle
    from ...capture.capture import Capture


def _check(capture: "Capture") -> None:
    _require_clock(sampled(capture))
    if capture.bundle:
        traffic_of(capture.bundle)


def _require_clock(source: "Capture") -> None:
    if not comparable(source):
        raise CaptureError(
            f"the clock of the samples is {source.header['clock']}, that of the counters "
            "CLOCK_MONOTONIC: record with perf record -k CLOCK_MONOTONIC, as netcost-record does"
        )


@question(
    check=_check,
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
) -> Answer:
    """What each packet of a device cost, by component, with intervals of the sampling.

    A row per component, most samples first, idle left out; of "interrupts off" one per what they
    were off in. All samples between the first and the last reading of net/dev, whatever they were
    of, over the packets that the device counted between the same two: a packet of net/dev is one
    that the stack handles, with GRO, GSO or a veth up to 64 KiB. Intervals: of the count of samples
    (Poisson), none of the packets.

    device: that which carried most unless given, and is not lo where others carried 1 % of all
    packets. direction: the way that carried more bytes unless given. The other options are those of
    components(). Source: perf's samples, net/dev in before/, after/ and samples/, and
    questions/functions/components.toml.
    """
    _require_clock(sampled(capture))
    profile, classes = classified(capture, event, rules)
    moved = moved_while_sampled(profile, bundle, device, direction)
    taken = profile.within(cpu, moved.start_ns, moved.end_ns)
    frame = per_packet(profile, classes, taken, moved)
    # Idle is no component's cost, and a CPU is as busy as its samples outside it.
    samples, cpus = int(taken.sum()), profile.samples.loc[taken, "cpu"].nunique()
    busy = float(frame["samples"].sum() / samples * cpus) if samples else float("nan")
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
        busy_cores=busy,
        cores_per_gbit=float(busy / (rate or np.nan)),
        device_given=device is not None,
    )


def per_packet(
    profile: Profile, classes: Classified, taken: "NDArray[np.bool_]", moved: Moved
) -> pd.DataFrame:
    names, off = interrupts_off_in(profile, classes)
    rows = profile.samples.loc[taken]
    stack = rows["stack"].to_numpy()
    # Ties are in the order of the rules.
    keys = pd.DataFrame({"component": classes.of_stack[stack], "interrupts_off_in": off[stack]})
    keys["weight"] = rows["period"].fillna(1).to_numpy(dtype="i8")
    by = keys.groupby(["component", "interrupts_off_in"])["weight"].agg(["size", "sum"])
    frame = by.rename(columns={"size": "samples", "sum": "weight"}).reset_index()
    frame = frame.sort_values("samples", ascending=False, kind="stable")
    components = np.array(classes.components, dtype=object)
    frame["component"] = components[frame["component"]]
    frame["interrupts_off_in"] = np.array([*names, None], dtype=object)[frame["interrupts_off_in"]]
    frame = frame[frame["component"] != IDLE].reset_index(drop=True)
    frame["busy_share"] = frame["weight"] / (frame["weight"].sum() or np.nan)
    packets = moved.packets or np.nan
    low, high = count_interval(frame["samples"])
    # What a sample stands for, on average of the component's.
    each = (frame["weight"] / frame["samples"]).to_numpy(dtype=float)
    frame["weight_per_packet"] = frame["weight"] / packets
    frame["weight_per_packet_low"] = low * each / packets
    frame["weight_per_packet_high"] = high * each / packets
    frame["weight_per_kib"] = frame["weight"] / ((moved.bytes / 1024) or np.nan)
    frame["weight_unit"] = profile.unit
    return frame


def _title(answer: Answer) -> str:
    way = "received" if answer["direction"] == "rx" else "sent"
    return f"What a packet that {answer['device']} {way} cost, by component"


@packet_components.plot(title=_title, height=4.0)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import MOST, bars

    rows = answer.frame[:MOST]
    off = f"{HIDDEN}: " + rows["interrupts_off_in"].astype(object)
    scale, unit = (1e-3, "µs") if answer["is_timed"] else (1.0, answer["sampled_event"])
    bars(ax, rows, "weight_per_packet", scale, names=off.fillna(rows["component"]))
    ax.set_xlabel(f"{unit} a packet, with 95 % intervals of the sampling")
    ax.set_title(_title(answer))
