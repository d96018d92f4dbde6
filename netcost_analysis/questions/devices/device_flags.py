# Interfaces that look wrong: each suspicion with the figures that it rests on.

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.links import empty, known_interfaces
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import once
from .checks import Flag, for_others, no_replies, promiscuous, same_mac, unlisted, without_use
from .checks_load import dropped, full, saturated, softnet, uneven
from .device_cost import device_cost, why_no_traffic
from .device_saturation import device_saturation
from .device_time import INPUTS
from .device_traffic import carried, comparable
from .parts import ALL

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline

COLUMNS = ["namespace", "device", "flag", "severity", "why"]
_SEVERITIES = ["warning", "clue", "note"]
# Alike flags that are shown in full.
_MAX_ALIKE = 4
# One more is shown as well.
_ALIKE_AT_ONCE = _MAX_ALIKE + 1


# Packets that each NAPI instance received.
QUEUES: Grouped = Grouped(
    "polls",
    by=("device", "napi"),
    sums=("work",),
    where={"work": (1, None), "device": KNOWN, "napi": KNOWN},
)


class Facts(NamedTuple):
    # What is known of a host's interfaces. rows: a row per interface that is known or took time,
    # columns of interfaces() and of device_cost(), and peak_share, the highest utilisation of an
    # interval, all_rx_packets and all_tx_packets, those of the whole recording, which its drops are
    # of. saturation: as device_saturation() returns it. queues: of QUEUES. listed:
    # whether the bundle says which interfaces there are.

    rows: pd.DataFrame
    saturation: pd.DataFrame
    queues: pd.DataFrame
    listed: bool


@question(
    inputs=(*INPUTS, ALL, QUEUES),
    columns=("device", "flag", "severity", "why", "namespace"),
    rows=0,
)
def device_flags(timeline: "Timeline") -> pd.DataFrame:
    """What looks wrong about the network interfaces, and why.

    A row per suspicion, the gravest first, among those the device that took most: namespace, device
    (None for what concerns a CPU), flag, severity ("warning": CPU time or packets are lost; "clue":
    points to something wrong, and may have an honest reason; "note": worth knowing), why (a
    sentence with its figures).

    What was not recorded raises no suspicion: without a bundle only queues are compared. lo is
    never suspected, and a port of a bridge or bond needs no address. Source: interfaces,
    device_cost, device_saturation and polls.
    """
    return suspicions(gathered(timeline))


# Of one timeline several questions of a page ask it.
@once
def gathered(timeline: "Timeline") -> Facts:
    # Everything that flags are raised from.
    bundle = timeline.capture.bundle
    cost = device_cost(timeline)
    known, saturation, peaks, whole = empty(), pd.DataFrame(), pd.DataFrame(), None
    if bundle is not None:
        known = known_interfaces(bundle)
        with suppress(CaptureError):
            saturation = device_saturation(bundle)
        with suppress(CaptureError):
            peaks, whole = carried(bundle), carried(bundle, whole=True)
    return Facts(
        rows=described(known, cost, peaks, whole, comparable(timeline.capture)),
        saturation=saturation,
        queues=pd.DataFrame() if timeline.missing["polls"] else QUEUES(timeline).frame,
        listed=len(known) > 0,
    )


def not_recorded(timeline: "Timeline") -> list[str]:
    # What of the interfaces was not recorded, so that nothing about it can look wrong: of state,
    # addresses, traffic.
    bundle = timeline.capture.bundle
    known = known_interfaces(bundle) if bundle is not None else empty()
    found = []
    if not known["up"].notna().any():
        found.append("state")
    if not known["addresses"].notna().any():
        found.append("addresses")
    if why_no_traffic(timeline) is not None:
        found.append("traffic")
    return found


@device_flags.totals
def _totals(answer: "Answer") -> dict[str, list[str]]:
    return {"not_recorded": not_recorded(answer.timeline)}


@device_flags.figures
def _words(answer: "Answer") -> dict[str, Any]:
    flags = answer.frame
    return {
        "kinds": listed(flags),
        "severities": [one for one in _SEVERITIES if (flags["severity"] == one).any()],
        "not_recorded": answer.parts["not_recorded"],
    }


def listed(flags: pd.DataFrame) -> list[dict[str, Any]]:
    # Flags of one severity and kind together: flag, severity, whys (of the first), and of the
    # others how many (more) and which devices.
    kinds = []
    for severity, flag in flags[["severity", "flag"]].drop_duplicates().to_numpy():
        alike = flags[(flags["severity"] == severity) & (flags["flag"] == flag)]
        shown = len(alike) if len(alike) <= _ALIKE_AT_ONCE else _MAX_ALIKE
        others = alike[shown:]
        kinds.append(
            {
                "flag": flag,
                "severity": severity,
                "whys": list(alike["why"][:shown]),
                "more": len(others),
                "devices": list(map(str, others["device"].dropna())),
            }
        )
    return kinds


def described(
    known: pd.DataFrame,
    cost: pd.DataFrame,
    traffic: pd.DataFrame,
    whole: pd.DataFrame | None = None,
    placed: bool = True,
) -> pd.DataFrame:
    # Interfaces with their cost, a row each, those that only the trace names included. traffic,
    # whole: as carried returns it by interval, and of the whole recording. placed: whether the
    # trace's clock says what of it is the timeline's; if not, the whole is what there is.
    shared = [name for name in cost.columns if name in known.columns and name not in _KEYS]
    # Where nothing was counted a device's namespace is not known, but for the only one that has it.
    only = known.drop_duplicates("device", keep=False).set_index("device")["namespace"]
    cost = cost.assign(namespace=cost["namespace"].fillna(cost["device"].map(only)))
    frame = known.merge(cost.drop(columns=shared), on=_KEYS, how="outer")
    peak = _peaks(traffic)
    frame["peak_share"] = [
        peak.get(pair, float("nan"))
        for pair in zip(frame["namespace"], frame["device"], strict=True)
    ]
    frame = _with_whole(frame, whole, placed)
    # "eth0 (1)" is one of those that are called eth0.
    names = frame["device"].astype(str).str.replace(r" \(\d+\)$", "", regex=True)
    frame["is_listed"] = names.isin(known["device"])
    return frame


_KEYS = ["namespace", "device"]


def _with_whole(frame: pd.DataFrame, whole: pd.DataFrame | None, placed: bool) -> pd.DataFrame:
    names = ["rx_packets", "tx_packets"]
    # A poll does not say of which namespace its device is, so there is no cost of such a one.
    named = frame["namespace"].notna()
    frame["has_namesake"] = frame["device"].where(named).duplicated(keep=False) & named
    if whole is None:
        frame["all_rx_packets"] = frame["all_tx_packets"] = pd.NA
        return frame
    totals = whole[[*_KEYS, *names]].rename(columns={name: f"all_{name}" for name in names})
    frame = frame.merge(totals, on=_KEYS, how="left")
    unplaced = frame["rx_packets"].isna() & (frame["has_namesake"] | (not placed))
    for name in names:
        frame[name] = frame[name].mask(unplaced, frame[f"all_{name}"])
    for name in ("start_ns", "end_ns"):
        frame[name] = frame[name].astype("Int64").mask(unplaced)
    return frame


def _peaks(traffic: pd.DataFrame) -> dict[tuple[str, str], float]:
    # Of intervals that are long beside what their readings took.
    if not len(traffic):
        return {}
    sure = traffic[traffic["interval_error_ns"] * 10 <= traffic["interval_ns"]]
    shares = sure.dropna(subset=["utilisation_share"]).groupby(_KEYS)["utilisation_share"].max()
    pairs = zip(*(shares.index.get_level_values(key) for key in _KEYS), strict=True)
    return dict(zip(pairs, map(float, shares), strict=True))


def suspicions(facts: Facts) -> pd.DataFrame:
    # The flags that these facts raise, the gravest first.
    found = [[getattr(flag, name) for name in COLUMNS] for flag in _each(facts)]
    flags = pd.DataFrame(found, columns=COLUMNS).astype(object)
    weights = _weights(facts.rows)
    pairs = zip(flags["namespace"], flags["device"], strict=True)
    # Within a severity who costs most, then who carried most.
    flags["order"] = flags["severity"].map(_SEVERITIES.index)
    flags[["ns", "packets"]] = [weights.get(pair, (0.0, 0.0)) for pair in pairs] or None
    flags = flags.sort_values(
        ["order", "ns", "packets"],
        ascending=[True, False, False],
        kind="stable",
        ignore_index=True,
    )
    shown = flags[COLUMNS]
    return shown.where(shown.notna(), None)


def _weights(rows: pd.DataFrame) -> dict[tuple[Any, Any], tuple[float, float]]:
    return {
        (None if pd.isna(row["namespace"]) else row["namespace"], row["device"]): (
            _figure(row, "ns"),
            _figure(row, "rx_packets") + _figure(row, "tx_packets"),
        )
        for row in rows.to_dict("records")
    }


def _figure(row: dict[Any, Any], name: str) -> float:
    value = row.get(name)
    return 0.0 if value is None or pd.isna(value) else float(value)


def _each(facts: Facts) -> Iterator[Flag]:
    rows: list[dict[str, Any]] = [
        {str(key): None if pd.isna(value) else value for key, value in row.items()}
        for row in facts.rows.to_dict("records")
    ]
    # Bringing packets back to where they came from is what lo is for.
    rows = [row for row in rows if row["device"] not in ("lo", NO_DEVICE)]
    for row in rows:
        for check in (without_use, no_replies, for_others, promiscuous, saturated):
            yield from check(row, rows)
        yield from dropped(row, facts.saturation)
        yield from full(row, facts.saturation)
        yield from uneven(row, facts.queues)
        if facts.listed:
            yield from unlisted(row)
    yield from same_mac(rows)
    yield from softnet(facts.saturation)
