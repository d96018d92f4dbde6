# Where a packet's time goes over sizes of write and read, sending and receiving: document 001's
# picture.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...opening.experiment import Experiment
from ...stats.counts import count_interval
from ..samples.interrupts import HIDDEN, is_interrupt
from ..samples.sampled import chosen_event, sampled
from .groups import MAJOR, NIC, group_of, is_aside
from .moved import moved_while_sampled
from .packet_components import PacketComponents, per_packet
from .profile import classified, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture

SIZES = "io_bytes"
SIDES = {"transmit": "transmit_cpu", "receive": "receive_cpu"}
# The share of driver and buffer release, besides the copy, that document 001 found.
NICS = {"large_share": 0.46, "small_share": 0.54}


class ComponentsBySize(NamedTuple):
    """Answer of `components_by_size`.

    Attributes
    ----------
    by_size : pandas.DataFrame
        A row per step, side and component on a packet's way, of interrupts off one per
        interrupts_off_in: protocol, io_bytes, io_side ("transmit" or "receive"), measured_cpu,
        component, component_group, interrupts_off_in, samples, weight, path_share (of their
        weight), weight_per_packet, weight_per_packet_low, weight_per_packet_high, weight_per_kib,
        weight_unit.
    sides : pandas.DataFrame
        A row per step and side: protocol, io_bytes, io_side, measured_cpu, device, packets,
        packet_bytes, gbit_per_s, busy_cores, cores_per_gbit; of what is on a packet's way together
        weight_per_packet, weight_per_packet_low, weight_per_packet_high, weight_per_kib,
        weight_unit, and the shares driver_share, release_share, copy_share, driver_release_share,
        major_share (driver, copy and buffer release), protocol_share, off_share (interrupts off),
        off_interrupt_share (of these behind an interrupt), application_share, largest_group,
        largest_share; aside_share (of the busy weight, what is left out of by_size).
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
    main="sides",
    columns=(
        *("protocol", "io_bytes", "io_side", "component", "weight_per_packet", "weight_unit"),
        *(
            "interrupts_off_in",
            "driver_share",
            "copy_share",
            "release_share",
            "driver_release_share",
            "major_share",
            "protocol_share",
        ),
        *("off_share", "largest_group"),
    ),
    rows=60,
)
def components_by_size(
    experiment: Experiment, event: str | None = None, rules: str | None = None
) -> ComponentsBySize:
    """Where a packet's time goes, by component, over sizes of write and read.

    - experiment: Of capture/lab/io-sizes.
    - event, rules: As components() takes them.

    A row per step, side and component, and one per step and side.

    The sending CPU's samples and the receiving one's, each over the packets that the receiver's
    device took in meanwhile. Left out are idle and what is not on a packet's way: file systems,
    block devices, memory management of tasks, processes, and tracing, and interrupts off in these.
    Intervals and packets as in packet_components(). Repeats at one size are rows of their own.

    Source: packet_components.
    """
    rows: list[pd.DataFrame] = []
    sides: list[dict[str, Any]] = []
    known: set[tuple[str, bool]] = set()
    for step in experiment.steps.to_dict("records"):
        # One of size 0 has no stream: it is there for the energy.
        if not (step[SIZES] > 0 and experiment.has(str(step["bundle"]))):
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
            shares = {**_together(frame, found), "aside_share": aside}
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
    return per_packet(one, found, one.within(cpu, moved.start_ns, moved.end_ns), moved)


def _on_the_way(rows: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    # Components on a packet's way, with their group and their share; and the share of all others.
    aside = is_aside(rows)
    frame = rows[~aside].drop(columns="busy_share")
    frame.insert(1, "component_group", frame["component"].map(group_of))
    frame.insert(5, "path_share", frame["weight"] / (frame["weight"].sum() or np.nan))
    return frame, float(rows.loc[aside, "busy_share"].sum())


def _together(frame: pd.DataFrame, found: PacketComponents) -> dict[str, Any]:
    # Of all that is on a packet's way: what it costs, and shares of it.
    packets = found.packets or np.nan
    samples, weight = frame["samples"].sum(), frame["weight"].sum()
    low, high = (float(end) for end in count_interval(samples))
    each = weight / samples / packets if samples else np.nan
    by = frame.groupby("component_group")["path_share"].sum()
    behind = frame["interrupts_off_in"].map(is_interrupt).astype(bool)

    def share(*names: str) -> float:
        return float(by.reindex(names).sum())

    return {
        "weight_per_packet": weight / packets,
        "weight_per_packet_low": low * each,
        "weight_per_packet_high": high * each,
        "weight_per_kib": float(frame["weight_per_kib"].sum()),
        "weight_unit": "ns" if found.is_timed else found.sampled_event,
        "driver_share": share("driver"),
        "release_share": share("buffer release"),
        "copy_share": share("copy"),
        "driver_release_share": share(*NIC),
        "major_share": share(*MAJOR),
        "protocol_share": share("protocol"),
        "off_share": share(HIDDEN),
        "off_interrupt_share": float(frame.loc[behind, "path_share"].sum()),
        "application_share": share("application"),
        "largest_group": str(by.idxmax()) if len(by) else None,
        "largest_share": by.max(),
    }


def _figures_of(found: PacketComponents) -> dict[str, Any]:
    names = ("device", "packets", "packet_bytes", "gbit_per_s", "busy_cores", "cores_per_gbit")
    return {name: getattr(found, name) for name in names}


@components_by_size.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    # The smallest and the largest size of each protocol and side.
    sides = answer.result.sides
    by = sides.groupby(["protocol", "io_side"], dropna=False, sort=False)["io_bytes"]
    is_end = (sides["io_bytes"] == by.transform("min")) | (sides["io_bytes"] == by.transform("max"))
    return {"ends": sides[is_end]}


@components_by_size.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    ends = answer.parts["ends"].to_dict("records")
    return {"is_timed": answer.result.is_timed, "ends": ends, "nics": NICS}


def _panels(answer: "Answer") -> list[dict[str, str | None]]:
    protocols = dict.fromkeys(answer.result.sides["protocol"])
    return [{"protocol": one, "io_side": side} for one in protocols for side in SIDES]


def _title(_: "Answer", protocol: str | None, io_side: str) -> str:
    of = f"{protocol.upper()}: where" if protocol else "Where"
    return f"{of} the {io_side} CPU's time goes, by bytes of each write and read"


@components_by_size.plot(title=_title, height=4.0, panels=_panels)
def _plot(
    ax: "Axes",
    answer: "Answer",
    protocol: str | None = None,
    io_side: str = "receive",
) -> None:
    from .plots import shares_by_size

    shares_by_size(ax, of_protocol(answer.result.by_size, protocol), io_side)
    ax.set_title(_title(answer, protocol, io_side))


def _costs(answer: "Answer") -> list[dict[str, str | None]]:
    protocols = dict.fromkeys(answer.result.sides["protocol"])
    return [{"protocol": one, "per": per} for one in protocols for per in ("packet", "KiB")]


def _cost_title(_: "Answer", protocol: str | None, per: str) -> str:
    of = f"{protocol.upper()}: what" if protocol else "What"
    return f"{of} a {per} costs the transmitting and the receiving CPU"


@components_by_size.plot("cost", title=_cost_title, height=3.6, panels=_costs)
def _plot_cost(
    ax: "Axes",
    answer: "Answer",
    protocol: str | None = None,
    per: str = "packet",
) -> None:
    from .plots import cost_by_size

    found = answer.result
    rows, sides = (of_protocol(one, protocol) for one in (found.by_size, found.sides))
    cost_by_size(ax, rows, sides, per)
    ax.set_title(_cost_title(answer, protocol, per))


def of_protocol(rows: pd.DataFrame, protocol: str | None) -> pd.DataFrame:
    # Of an experiment that names none all rows.
    return rows[rows["protocol"].isna() if protocol is None else rows["protocol"] == protocol]
