# Where a packet's time goes over sizes of write and read, sending and receiving, as Liao and Bhuyan
# (2012) drew it.

from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...opening.experiment import Experiment
from ...stats.counts import count_interval
from ..samples.rules import HIDDEN, MAJOR, NIC, group_of, is_aside, is_interrupt
from .packet_components import bundle_of, packet_components

_SIDES = {"transmit": "transmit_cpu", "receive": "receive_cpu"}
KEYS = ["protocol", "io_bytes", "io_side", "measured_cpu"]
_OF_CPU = ("device", "packets", "packet_bytes", "gbit_per_s", "busy_cores", "cores_per_gbit")
# By column groups of components: their share of what is on a packet's way.
_SHARES: dict[str, tuple[str, ...]] = {
    "driver_share": ("driver",),
    "release_share": ("buffer release",),
    "copy_share": ("copy",),
    "driver_release_share": NIC,
    "major_share": MAJOR,
    "protocol_share": ("protocol",),
    "off_share": (HIDDEN,),
}


def check(experiment: Experiment) -> None:
    missing = {"bundle", "io_bytes", *_SIDES.values()} - set(experiment.steps.columns)
    if missing:
        raise CaptureError(
            f"{experiment.path} has no steps over sizes of write and read (capture/lab/io-sizes): "
            f"its table lacks {', '.join(sorted(missing))}"
        )
    if not any(experiment.has(str(name)) for name in experiment.steps["bundle"]):
        raise CaptureError(f"{experiment.path} has lost its recordings: none of them is there")


@question(
    check=check,
    main="sides",
    columns=(
        *("protocol", "io_bytes", "io_side", "component", "weight_per_packet", "weight_unit"),
        *("interrupts_off_in", "driver_share", "copy_share", "release_share"),
        *("driver_release_share", "major_share", "protocol_share", "off_share", "largest_group"),
    ),
    rows=60,
)
def components_by_size(
    experiment: Experiment, event: str | None = None, rules: str | None = None
) -> Answer:
    """Where a packet's time goes, by component, over sizes of write and read.

    A row per step of capture/lab/io-sizes and side, and in `by_size` one per component of these.
    Repeats at one size are rows of their own. The samples are those of the sending and of the
    receiving CPU, each over the packets that the receiver's device received in that time.

    Idle time and what is not on a packet's path are left out: file systems, block devices, memory
    management of tasks, processes and tracing, and interrupts off in these. `aside_share` is their
    share of the busy weight. Source: packet_components.
    """
    by_size: list[pd.DataFrame] = []
    sides: list[dict[str, Any]] = []
    sampled: set[tuple[str, bool]] = set()
    for step in experiment.steps.to_dict("records"):
        # One of size 0 has no stream: it is there for the energy.
        if not (step["io_bytes"] > 0 and experiment.has(str(step["bundle"]))):
            continue
        capture = experiment.capture(str(step["bundle"]))
        bundle, protocol = bundle_of(capture), step.get("protocol")
        for side, column in _SIDES.items():
            cpu = int(step[column])
            of_cpu = packet_components(
                capture, bundle, direction="rx", cpu=cpu, event=event, rules=rules
            )
            sampled.add((of_cpu["sampled_event"], of_cpu["is_timed"]))
            keys = dict(zip(KEYS, (protocol, int(step["io_bytes"]), side, cpu), strict=True))
            frame, together = _on_the_way(of_cpu)
            by_size.append(pd.concat([pd.DataFrame(keys, index=frame.index), frame], axis=1))
            sides.append(keys | {name: of_cpu[name] for name in _OF_CPU} | together)
    if len(sampled) > 1:
        raise CaptureError(
            f"the steps of {experiment.path} were sampled by different events: choose one"
        )
    [(sampled_event, is_timed)] = sampled
    frame = pd.DataFrame(sides)
    by = frame.groupby(["protocol", "io_side"], dropna=False, sort=False)["io_bytes"]
    is_end = frame["io_bytes"].eq(by.transform("min")) | frame["io_bytes"].eq(by.transform("max"))
    return Answer(
        by_size=pd.concat(by_size, ignore_index=True),
        sides=frame,
        sampled_event=sampled_event,
        is_timed=is_timed,
        ends=frame[is_end],
    )


def _on_the_way(of_cpu: Answer) -> tuple[pd.DataFrame, dict[str, Any]]:
    # Components on a packet's way, with their group and their share; and what they come to.
    rows = of_cpu["packet_components"]
    aside = is_aside(rows)
    frame = rows[~aside].drop(columns="busy_share")
    frame.insert(1, "component_group", frame["component"].map(group_of))
    frame.insert(5, "path_share", frame["weight"] / (frame["weight"].sum() or np.nan))
    packets = of_cpu["packets"] or np.nan
    samples, weight = frame["samples"].sum(), frame["weight"].sum()
    low, high = (float(end) for end in count_interval(samples))
    each = weight / samples / packets if samples else np.nan
    by = frame.groupby("component_group")["path_share"].sum()
    behind = frame["interrupts_off_in"].map(is_interrupt).astype(bool)
    return frame, {
        "weight_per_packet": weight / packets,
        "weight_per_packet_low": low * each,
        "weight_per_packet_high": high * each,
        "weight_per_kib": float(frame["weight_per_kib"].sum()),
        "weight_unit": "ns" if of_cpu["is_timed"] else of_cpu["sampled_event"],
        **{name: float(by.reindex(groups).sum()) for name, groups in _SHARES.items()},
        "off_interrupt_share": float(frame.loc[behind, "path_share"].sum()),
        "application_share": float(by.get("application", 0)),
        "largest_group": str(by.idxmax()) if len(by) else None,
        "largest_share": by.max(),
        "aside_share": float(rows.loc[aside, "busy_share"].sum()),
    }


def _panels(answer: Answer, name: str, values: tuple[str, ...]) -> list[dict[str, str | None]]:
    protocols = dict.fromkeys(answer["sides"]["protocol"])
    return [{"protocol": protocol, name: value} for protocol in protocols for value in values]


def _title(_: Answer, protocol: str | None, io_side: str) -> str:
    where = f"{protocol.upper()}: where" if protocol else "Where"
    return f"{where} the {io_side} CPU's time goes, by bytes of each write and read"


@components_by_size.plot(
    title=_title, height=4.0, panels=lambda answer: _panels(answer, "io_side", tuple(_SIDES))
)
def _plot(ax: Axes, answer: Answer, protocol: str | None = None, io_side: str = "receive") -> None:
    from .plots import shares_by_size

    shares_by_size(ax, _of_protocol(answer["by_size"], protocol), io_side)
    ax.set_title(_title(answer, protocol, io_side))


def _cost_title(_: Answer, protocol: str | None, per: str) -> str:
    what = f"{protocol.upper()}: what" if protocol else "What"
    return f"{what} a {per} costs the transmitting and the receiving CPU"


@components_by_size.plot(
    "cost",
    title=_cost_title,
    height=3.6,
    panels=lambda answer: _panels(answer, "per", ("packet", "KiB")),
)
def _plot_cost(ax: Axes, answer: Answer, protocol: str | None = None, per: str = "packet") -> None:
    from .plots import cost_by_size

    by_size, sides = (_of_protocol(answer[name], protocol) for name in ("by_size", "sides"))
    cost_by_size(ax, by_size, sides, per)
    ax.set_title(_cost_title(answer, protocol, per))


def _of_protocol(rows: pd.DataFrame, protocol: str | None) -> pd.DataFrame:
    # All rows where the experiment names no protocol.
    return rows[rows["protocol"].isna() if protocol is None else rows["protocol"] == protocol]
