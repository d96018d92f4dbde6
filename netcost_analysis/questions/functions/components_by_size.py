# Where a packet's time goes over sizes of write and read, sending and receiving: document 001's
# picture.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.experiment import Experiment
from ..question import question
from .components import summed
from .packet_components import PacketComponents, moved_while_sampled, per_packet
from .profile import chosen_event, classified, profile, sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.capture import Capture
    from ..answer import Answer

SIZES = "io_bytes"
SIDES = {"transmit": "transmit_cpu", "receive": "receive_cpu"}
# How document 001 parts the work (G. Liao, L. Bhuyan, J. Parallel Distrib. Comput. 72 (2012)), and
# further groups of what is left.
GROUPS = {
    "driver": ("driver rx", "driver tx"),
    "copy": ("copy",),
    "buffer release": ("buffer release",),
    "allocation": ("allocation",),
    "protocol": ("TCP", "UDP", "IP and routing"),
    "socket and calls": ("socket", "poll and epoll", "system call entry", "file descriptors"),
    "softirq and interrupts": (
        *("NAPI and softirq", "GRO", "interrupt entry", "interrupts to other CPUs"),
        *("qdisc", "timers"),
    ),
    "interrupts off": ("interrupts off",),
    "application": ("application",),
}
OTHER = "other"
# Not on a packet's way: what else runs on the host, the recorder's own programs among it.
ASIDE = ("file system", "block devices", "memory management", "processes", "tracing")
# What it found to be the largest; and the share of driver and buffer release, besides the copy.
MAJOR = ("driver", "copy", "buffer release")
NICS = {"large_share": 0.46, "small_share": 0.54}


class ComponentsBySize(NamedTuple):
    """Answer of `components_by_size`.

    Attributes
    ----------
    by_size : pandas.DataFrame
        A row per step, side and component on a packet's way: protocol, io_bytes, io_side
        ("transmit" or "receive"), measured_cpu, component, component_group, samples, weight,
        path_share (of their weight), weight_per_packet, weight_per_packet_low,
        weight_per_packet_high, weight_per_kib.
    sides : pandas.DataFrame
        A row per step and side: protocol, io_bytes, io_side, measured_cpu, packets, packet_bytes,
        gbit_per_s, busy_cores, cores_per_gbit, largest_group and largest_share (of what is on a
        packet's way), major_share (driver, copy and buffer release, of the same), aside_share (of
        the busy weight, what is left out of by_size).
    sampled_event : str
        The event that was sampled.
    is_timed : bool
        Whether a timer took the samples: weights are in ns.
    """

    by_size: pd.DataFrame
    sides: pd.DataFrame
    sampled_event: str
    is_timed: bool


def _check(experiment: Experiment) -> None:
    columns = set(experiment.steps.columns)
    missing = {"bundle", SIZES, *SIDES.values()} - columns
    if missing:
        raise CaptureError(
            f"{experiment.path} has no steps over sizes of write and read (capture/lab/io-sizes): "
            f"its table lacks {', '.join(sorted(missing))}"
        )
    if not any(experiment.has(str(name)) for name in experiment.steps["bundle"]):
        raise CaptureError(f"{experiment.path} has none of its recordings")


@question(
    check=_check,
    main="by_size",
    main_columns=("io_bytes", "io_side", "component", "weight_per_packet", "path_share"),
    rows=60,
)
def components_by_size(
    experiment: Experiment, event: str | None = None, rules: str | None = None
) -> ComponentsBySize:
    """Where a packet's time goes, by component, over sizes of write and read.

    Parameters
    ----------
    experiment : Experiment
        Of capture/lab/io-sizes.
    event, rules
        As components() takes them.

    Returns
    -------
    ComponentsBySize
        A row per step, side and component, and one per step and side.

    Raises
    ------
    CaptureError
        For an experiment of other steps, and as packet_components() does.
    ArgumentError
        As components() does.

    Notes
    -----
    The sending CPU's samples and the receiving one's, each over the packets that the receiver's
    device took in meanwhile. Left out are idle and what is not on a packet's way: file systems,
    block devices, memory management of tasks, processes, and tracing. Intervals and packets as in
    packet_components(). Repeats at one size are rows of their own.

    Source: packet_components.
    """
    rows: list[pd.DataFrame] = []
    sides: list[dict[str, Any]] = []
    known: set[tuple[str, bool]] = set()
    for step in experiment.steps.to_dict("records"):
        if not experiment.has(str(step["bundle"])):
            continue
        capture = experiment.capture(str(step["bundle"]))
        for side, column in SIDES.items():
            cpu = int(step[column])
            found = _side(capture, cpu, event, rules)
            known.add((found.sampled_event, found.is_timed))
            protocol = step.get("protocol")
            keys: dict[str, Any] = {"protocol": None if protocol is None else str(protocol)}
            keys |= {"io_bytes": int(step[SIZES]), "io_side": side, "measured_cpu": cpu}
            frame, aside = _on_the_way(found.packet_components)
            rows.append(pd.concat([frame, pd.DataFrame(keys, index=frame.index)], axis=1))
            is_major = frame["component_group"].isin(MAJOR)
            by = frame.groupby("component_group")["path_share"].sum()
            shares = {
                "largest_group": str(by.idxmax()) if len(by) else None,
                "largest_share": by.max(),
                "major_share": float(frame.loc[is_major, "path_share"].sum()),
                "aside_share": aside,
            }
            sides.append(keys | _figures_of(found) | shares)
    if len(known) > 1:
        raise CaptureError(
            f"the steps of {experiment.path} were sampled by different events: choose one"
        )
    [(name, is_timed)] = known
    order = ["protocol", "io_bytes", "io_side", "measured_cpu"]
    whole = pd.concat(rows, ignore_index=True)
    whole = whole[[*order, *(one for one in whole.columns if one not in order)]]
    return ComponentsBySize(whole, pd.DataFrame(sides), name, is_timed)


def _side(capture: "Capture", cpu: int, event: str | None, rules: str | None) -> PacketComponents:
    source = sampled(capture)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    if capture.bundle is None:
        raise CaptureError(f"{capture.path} is no bundle: nothing says how many packets there were")
    moved = moved_while_sampled(one, capture.bundle, None, "rx")
    taken = one.within(cpu, moved.start_ns, moved.end_ns)
    return per_packet(one, summed(one, found, taken), taken, moved)


def _on_the_way(rows: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    # Components on a packet's way, with their group and their share; and the share of all others.
    is_aside = rows["component"].isin(ASIDE)
    frame = rows[~is_aside].drop(columns="busy_share")
    frame.insert(1, "component_group", frame["component"].map(group_of))
    frame.insert(4, "path_share", frame["weight"] / (frame["weight"].sum() or np.nan))
    return frame, float(rows.loc[is_aside, "busy_share"].sum())


def _figures_of(found: PacketComponents) -> dict[str, Any]:
    names = ("packets", "packet_bytes", "gbit_per_s", "busy_cores", "cores_per_gbit")
    return {name: getattr(found, name) for name in names}


def group_of(component: str) -> str:
    # What a component is drawn as.
    return next((name for name, of in GROUPS.items() if component in of), OTHER)


@components_by_size.totals
def _totals(answer: "Answer[ComponentsBySize]") -> dict[str, pd.DataFrame]:
    # The smallest and the largest size of each protocol and side.
    sides = answer.result.sides
    by = sides.groupby(["protocol", "io_side"], dropna=False, sort=False)["io_bytes"]
    is_end = (sides["io_bytes"] == by.transform("min")) | (sides["io_bytes"] == by.transform("max"))
    return {"ends": sides[is_end]}


@components_by_size.figures
def _figures(answer: "Answer[ComponentsBySize]") -> dict[str, Any]:
    ends = answer.parts["ends"].to_dict("records")
    return {"is_timed": answer.result.is_timed, "ends": ends, "nics": NICS}


def _of(rows: pd.DataFrame, protocol: str | None, side: str) -> "pd.Series[bool]":
    same = rows["protocol"].isna() if protocol is None else rows["protocol"] == protocol
    return same & (rows["io_side"] == side)


def _panels(answer: "Answer[ComponentsBySize]") -> list[dict[str, str | None]]:
    protocols = dict.fromkeys(answer.result.sides["protocol"])
    return [{"protocol": one, "io_side": side} for one in protocols for side in SIDES]


def _title(_: "Answer[ComponentsBySize]", protocol: str | None, io_side: str) -> str:
    of = f"{protocol.upper()}: where" if protocol else "Where"
    return f"{of} the {io_side} CPU's time goes, by bytes of each write and read"


@components_by_size.plot(title=_title, height=4.0, panels=_panels)
def _plot(
    ax: "Axes",
    answer: "Answer[ComponentsBySize]",
    protocol: str | None = None,
    io_side: str = "receive",
) -> None:
    from ...plots.palette import COMPONENT_GROUPS, ink_on

    rows = answer.result.by_size
    by = rows[_of(rows, protocol, io_side)].pivot_table(
        index="io_bytes", columns="component_group", values="path_share", aggfunc="sum"
    )
    # Repeats at one size are one bar.
    by = by.div(by.sum(axis=1), axis=0).fillna(0)
    below = np.zeros(len(by))
    for name in (name for name in (*GROUPS, OTHER) if name in by):
        colour = COMPONENT_GROUPS[name]
        share = 100 * by[name].to_numpy()
        bars = ax.bar(range(len(by)), share, bottom=below, color=colour, label=name, width=0.7)
        texts = [f"{height:.0f}" if height >= 4 else "" for height in share]
        ax.bar_label(bars, texts, label_type="center", fontsize=8, color=ink_on(colour))
        below += share
    ax.set_xticks(range(len(by)), [f"{size:,}" for size in by.index])
    ax.set_xlabel("bytes of each write and read")
    ax.set_ylabel("share of its work on packets (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), reverse=True, fontsize=8)
