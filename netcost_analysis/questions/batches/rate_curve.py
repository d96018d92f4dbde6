# How the CPU share of networking grows with the rate of packets, over an experiment.

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.form import each
from ...answers.question import question
from ...capture.requires import unrecorded
from ...errors import ArgumentError
from ...opening.experiment import Experiment
from ...stats.least_squares import line_by_sums
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..completeness.missing import MAX_MISSING, network_missing
from .curves import RATES, bend, condition, curves_of, named
from .poll_costs import MIN_POLLS, MIN_SPREAD, gathered
from .poll_sums import Gathered, work_is_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# So many curves have a picture at most.
_PICTURES = 4

# Columns of a table of steps by which its curves are told apart, where it has them.
_CURVES = (
    *("data_path", "path", "kernel", "steering", "destinations", "flows", "victim"),
    *("network", "protocol", "rps", "skb_defer_max"),
)
# Of polls with packets; outside_polls_ns and irq_ns are of all.
_LINE = ["polls", "packets", "poll_ns", "squares", "products"]
_SUMS = [*_LINE, "outside_polls_ns", "irq_ns", "empty_polls", "empty_ns", "again"]
NEEDS = ("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll")


def _require_polls(experiment: Experiment) -> None:
    # Raises CaptureError where no step's recording was told to record polls.
    if "bundle" not in experiment.steps:
        raise CaptureError(f"{experiment.path} has no recordings: its table has no column bundle")
    for name in map(str, experiment.steps["bundle"].drop_duplicates()):
        with suppress(CaptureError):
            if experiment.has(name) and not unrecorded(experiment.capture(name), *NEEDS):
                return
    raise _without_polls(experiment)


def _without_polls(experiment: Experiment) -> CaptureError:
    return CaptureError(
        f"no step of {experiment.path} was recorded with {', '.join(NEEDS)}: netcost-record "
        "--profile light records them"
    )


@question(
    check=_require_polls,
    columns=(
        "curve",
        "device",
        "rate_per_s",
        "batch_mean",
        "receive_share",
        "poll_share",
        "marginal_share",
    ),
)
def rate_curve(experiment: Experiment, curves: tuple[str, ...] | None = None) -> pd.DataFrame:
    """The CPU share of networking by packet rate, and what the cost of polls and packets predicts.

    - experiment: Recordings at several packet rates. Each step is measured on its victim's CPU
      while the victim ran; where it has none throughout, on the CPU that the experiment says works
      on the packets, else on all.
    - curves: The columns of the experiment's steps that tell its curves apart; None for those of
      the lab's experiments that are there.

    A row per step, by curve and rate: curve (values of `curves`), bundle, repeat_count (repeats at
    one offered rate are one step, of all their time), device (the one with most packets),
    rate_per_s and batch_mean (of it), polls_per_s (of all), repoll_share (of polls: their softirq
    polled the same device once more), receive_share (not by_rate's network_share, which is all of
    the network's time) with its parts poll_share, outside_polls_share and interrupt_share (of those
    CPUs' time), scheduled_share (what of it ran in kernel threads), expected_share, marginal_share,
    unbatched_share, packet_part_ns, poll_part_ns, share_growth, rate_growth, batch_growth (over the
    step before), flatness (1 where the share does not grow while the rate does, 0 where it grows as
    fast).

    expected_share is by the costs in the other steps of the curve (NaN where their batches are so
    much alike that poll_costs would refuse a line); unbatched_share likewise, had batches stayed as
    small as in the curve's slowest step; marginal_share is what of expected_share batches cannot
    lower. packet_part_ns and poll_part_ns are a packet's own cost through all devices, and that of
    the polls, softirq and interrupt around a batch of device. They, marginal_share and
    unbatched_share are NaN where the other steps' line would make a poll or a packet cost less than
    nothing.

    Source: each step's polls and sums, and the costs of poll_costs.
    """
    return _curve(experiment, curves).copy()


# Saturation asks for it too.
@once
def _curve(experiment: Experiment, curves: tuple[str, ...] | None) -> pd.DataFrame:
    _require_polls(experiment)
    steps = experiment.steps
    keys = [name for name in _CURVES if name in steps] if curves is None else list(curves)
    for name in keys:
        if name not in steps:
            raise ArgumentError(
                f"the steps have no column {name!r}; there are {', '.join(map(str, steps.columns))}"
            )
    rows, parts = [], []
    for step in steps.drop_duplicates("bundle").to_dict("records"):
        name = str(step["bundle"])
        if not experiment.has(name):
            continue
        try:
            timeline = _window(experiment, name)
            polled = None if timeline is None else gathered(timeline)
        except CaptureError:
            # Recorded without a trace, or with one that is no account of whole CPUs.
            continue
        if timeline is None or polled is None or not work_is_known(polled):
            continue
        known = [key for key in keys if steps[key].nunique() > 1]
        # What all steps have in common tells no curves apart.
        curve = ", ".join(named(key, step[key]) for key in known)
        rows.append(
            {
                "curve": curve or "all steps",
                "bundle": name,
                "cpu_ns": timeline.duration_ns * len(timeline.summary["cpus"]),
                "window_ns": timeline.duration_ns,
                "scheduled_ns": _scheduled(timeline),
            }
        )
        parts.append(summed(polled).assign(bundle=name))
    if not rows:
        raise _without_polls(experiment)
    return curve_from(*_of_repeats(steps, keys, pd.DataFrame(rows), pd.concat(parts)))


def _of_repeats(
    steps: pd.DataFrame, keys: list[str], rows: pd.DataFrame, parts: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    # Repeats at one rate are one step of the curve, called by the first of them.
    alike = [*keys, *(name for name in RATES if name in steps)]
    names = {name: name for name in rows["bundle"]}
    if "repeat" in steps and len(alike) > len(keys):
        known = steps.drop_duplicates("bundle").set_index("bundle").loc[list(names), alike]
        known = known.astype("string").fillna("")
        names = dict(known.assign(bundle=known.index).groupby(alike)["bundle"].transform("first"))
    rows = rows.assign(bundle=rows["bundle"].map(names), repeat_count=1)
    counted = ["cpu_ns", "window_ns", "scheduled_ns", "repeat_count"]
    rows = rows.groupby(["curve", "bundle"], sort=False)[counted].sum().reset_index()
    parts = parts.assign(bundle=parts["bundle"].map(names))
    return rows, parts.groupby(["bundle", "device"], sort=False)[_SUMS].sum().reset_index()


def _window(experiment: Experiment, name: str) -> Timeline | None:
    capture = experiment.capture(name)
    cpu = experiment.experiment.victim_cpu
    if unrecorded(capture, *NEEDS) or network_missing(capture, cpu) > MAX_MISSING:
        return None
    has_victim = capture.bundle is not None and capture.bundle.victim is not None
    cpus = None if cpu is None else [cpu]
    timeline = capture.victim_timeline() if has_victim else capture.timeline(cpus=cpus)
    return timeline if timeline.duration_ns > 0 else None


def _scheduled(timeline: Timeline) -> int:
    sums = timeline.sums()
    inside = sums["context"].isin(["poll", "softirq"]) & (sums["cost_class"] == "scheduled")
    return int(sums.loc[inside & (sums["is_network"] == "yes"), "ns"].sum())


def summed(work: Gathered) -> pd.DataFrame:
    # By device: the sums that a line and the shares follow from. Polls without a begin have no
    # time.
    sizes = work.sizes[work.sizes["known"] > 0].reset_index()
    full = (sizes["work"] > 0).astype("int64")
    packets = sizes["work"] * sizes["known"]
    columns = sizes[["device"]].assign(
        polls=full * sizes["known"],
        packets=packets,
        poll_ns=full * sizes["known_ns"],
        squares=sizes["work"] * packets,
        products=sizes["work"] * sizes["known_ns"],
        empty_polls=(1 - full) * sizes["known"],
        empty_ns=(1 - full) * sizes["known_ns"],
    )
    table = columns.groupby("device").sum().astype("float64")
    around = work.around.groupby(level="device").sum().reindex(table.index, fill_value=0)
    table["outside_polls_ns"] = around["known_outside_polls_ns"]
    own = work.lines.groupby("device")["irq_ns"].sum().reindex(table.index, fill_value=0)
    table["irq_ns"] = around["known_irq_ns"] + own.astype("float64")
    table["again"] = around["again"].astype("float64")
    return table[_SUMS].reset_index()


def curve_from(steps: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
    # rate_curve() of steps (curve, bundle, cpu_ns, window_ns, scheduled_ns, repeat_count) and
    # summed() by bundle.
    rows = sums.merge(steps, on="bundle")
    rows["rate"] = rows["packets"] / (rows["window_ns"] / 1e9)
    table = steps.set_index("bundle")
    groups = rows.groupby("bundle")
    first = rows.sort_values("packets", ascending=False, kind="stable").groupby("bundle").first()
    table["device"] = first["device"]
    table["rate_per_s"] = first["rate"]
    table["batch_mean"] = first["packets"] / first["polls"].where(first["polls"] > 0)
    sums = groups[_SUMS].sum()
    table["polls_per_s"] = (sums["polls"] + sums["empty_polls"]) / (table["window_ns"] / 1e9)
    table["repoll_share"] = sums["again"] / (sums["polls"] + sums["empty_polls"])
    table["poll_share"] = (sums["poll_ns"] + sums["empty_ns"]) / table["cpu_ns"]
    table["outside_polls_share"] = sums["outside_polls_ns"] / table["cpu_ns"]
    table["interrupt_share"] = sums["irq_ns"] / table["cpu_ns"]
    table["receive_share"] = table[list(_PARTS)].sum(axis=1)
    table["scheduled_share"] = table["scheduled_ns"] / table["cpu_ns"]
    table = table.reset_index().sort_values(["curve", "rate_per_s"], kind="stable")
    table = table.reset_index(drop=True)
    predictions = {name: [float("nan")] * len(table) for name in _PREDICTED}
    for _, curve in table.groupby("curve"):
        slowest = rows[rows["bundle"] == curve["bundle"].iloc[0]].set_index("device")
        least = slowest["packets"] / slowest["polls"]
        for place, bundle in zip(curve.index, curve["bundle"], strict=True):
            others = rows[rows["bundle"].isin(set(curve["bundle"]) - {bundle})]
            own = rows[rows["bundle"] == bundle]
            for name, value in predicted(own, others, least).items():
                predictions[name][place] = value
    table = table.assign(**predictions)
    groups = table.groupby("curve")
    for name, of in (("share", "receive_share"), ("rate", "rate_per_s"), ("batch", "batch_mean")):
        table[f"{name}_growth"] = table[of] / groups[of].shift()
    with np.errstate(divide="ignore", invalid="ignore"):
        table["flatness"] = 1 - np.log(table["share_growth"]) / np.log(table["rate_growth"])
    table["flatness"] = table["flatness"].where(table["rate_growth"] > 1.05)
    columns = (
        "curve",
        "bundle",
        "repeat_count",
        "device",
        "rate_per_s",
        "batch_mean",
        "polls_per_s",
        "repoll_share",
    )
    more = (
        "receive_share",
        "poll_share",
        "outside_polls_share",
        "interrupt_share",
        "scheduled_share",
        *_PREDICTED,
    )
    last = ("share_growth", "rate_growth", "batch_growth", "flatness")
    return table[[*columns, *more, *last]]


_PARTS = ("poll_share", "outside_polls_share", "interrupt_share")
_PREDICTED = (
    *("expected_share", "marginal_share", "unbatched_share"),
    *("packet_part_ns", "poll_part_ns"),
)


def predicted(
    own: pd.DataFrame, others: pd.DataFrame, least: "pd.Series[float]"
) -> dict[str, float]:
    # The share of one step by the costs of others, device by device: rate x (marginal + (irq + core
    # + fixed) / batch). NaN where the others' polls of one of its devices are too few or too
    # much alike for a line.
    cpu_ns = float(own["cpu_ns"].iloc[0])
    # Per packet and poll of the device with most packets: each packet may pass several devices.
    main = own.loc[own["packets"] == own["packets"].max()].head(1).to_dict("records")[0]
    total = dict.fromkeys(_PREDICTED, 0.0)
    for step in own.to_dict("records"):
        known = others[others["device"] == step["device"]]
        sums = known[_SUMS].sum()
        below = sums["polls"] * sums["squares"] - sums["packets"] ** 2
        # The root of below over the packets is the spread of the batches.
        too_alike = sums["polls"] < MIN_POLLS or below <= (MIN_SPREAD * sums["packets"]) ** 2
        if too_alike or not cpu_ns:
            return {name: float("nan") for name in _PREDICTED}
        fixed, marginal = line_by_sums(sums[_LINE].to_numpy("float64"))
        around = (sums["outside_polls_ns"] + sums["irq_ns"]) / (sums["polls"] + sums["empty_polls"])
        per_poll = fixed + around
        smallest = float(least.get(step["device"], np.nan))
        packets_ns = marginal * step["packets"]
        empty_ns = around * step["empty_polls"]
        if sums["empty_polls"]:
            empty_ns += sums["empty_ns"] / sums["empty_polls"] * step["empty_polls"]
        total["expected_share"] += (packets_ns + per_poll * step["polls"] + empty_ns) / cpu_ns
        total["marginal_share"] += packets_ns / cpu_ns
        total["packet_part_ns"] += packets_ns / main["packets"]
        total["poll_part_ns"] += per_poll * step["polls"] / main["polls"]
        polls = step["packets"] / smallest if smallest else np.nan
        total["unbatched_share"] += (packets_ns + per_poll * polls + empty_ns) / cpu_ns
    if total["packet_part_ns"] < 0 or total["poll_part_ns"] < 0:
        # The others' scatter outweighs what batches save: what they cost together is still told.
        apart = ("packet_part_ns", "poll_part_ns", "marginal_share", "unbatched_share")
        total |= dict.fromkeys(apart, float("nan"))
    return total


@rate_curve.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # bend: why curves bend; document_002: that document's flat part beside them; each None where it
    # cannot be told. curves: each with its steps. pictures: how many curves have one unasked.
    found = bend(answer.frame)
    return {
        "bend": found,
        "document_002": condition(found.steps) if found else None,
        "curves": curves_of(answer.frame),
        "pictures": len(_drawn(answer)),
    }


@rate_curve.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    experiment: Experiment = answer.sources["Experiment"]
    return {
        "name": experiment.path.name,
        **{key: getattr(experiment.experiment, key) for key in ("command", "kernel", "started")},
        "condition": answer.parts["document_002"],
        **{name: answer.parts[name] for name in ("bend", "curves", "pictures")},
    }


def _drawn(answer: "Answer") -> list[dict[str, Any]]:
    # The curves that have a picture: from the first to the last, for neighbours are most alike.
    panels = list(each("curve")(answer))
    places = np.linspace(0, len(panels) - 1, min(len(panels), _PICTURES)).round().astype(int)
    return [panels[place] for place in places]


@rate_curve.plot(
    title=lambda _, curve: f"CPU share by packet rate: {curve}",
    height=2.8,
    panels=_drawn,
    choices=each("curve"),
)
def _share(ax: "Axes", answer: "Answer", curve: str) -> None:
    from .plots_costs import share_by_rate

    share_by_rate(ax, answer.frame[answer.frame["curve"] == curve])
    ax.set_title(curve, pad=24)


@rate_curve.plot("batches", title="Packets per poll by packet rate", height=2.6)
def _batches(ax: "Axes", answer: "Answer") -> None:
    from .plots_costs import batch_by_rate

    batch_by_rate(ax, answer.frame)
