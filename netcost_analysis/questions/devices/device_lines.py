# Which interrupt line serves which device, and how that is known.

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.naming import buses, fitting
from ...capture.requires import unrecorded
from ...timeline.aggregates import Grouped, in_window
from ...timeline.group import KNOWN
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import once
from .line_evidence import RAISED, raised_by

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline

_BY_THREADS_AND_STEM = ("wake-ups", "switches", "stem")
IRQ_EVENTS = ("irq:irq_handler_entry", "irq:irq_handler_exit")
POLL_EVENT = "napi:napi_poll"
# A handler that was entered before the window has its time in it, but is no interrupt of it.
ENTERED = Grouped(
    "hardirqs",
    by=("irq", "name", "cpu"),
    where=lambda timeline: {
        "context": "hardirq",
        "irq": KNOWN,
        **in_window("entry_ns")(timeline),
    },
)


@question(
    inputs=(RAISED, ENTERED),
    columns=("irq", "name", "device", "known_by", "interrupts", "raised", "polled"),
    rows=0,
)
def device_lines(timeline: "Timeline") -> pd.DataFrame:
    """Which network device each interrupt line serves, and how that is known.

    A row per line that was seen, and per handler of a line that several drivers share: irq, name,
    device (None for none), known_by ("polls", "wake-ups", "switches", "name", "bus", "stem", None),
    is_network, interrupts, raised (NET_RX softirqs first raised while its handler ran), polled
    (those of them in which the device was polled).

    Source: the timeline's irqs, hardirqs, softirqs and polls; names of interfaces from polls and
    from the bundle's net/dev, bus addresses from its ip_link.json and ethtool -i, and what
    /proc/interrupts says of a line.
    """
    return _lines(timeline).copy()


# Of one timeline several questions of a page ask it.
@once
def _lines(timeline: "Timeline") -> pd.DataFrame:
    found = raised_by(timeline)
    lines = timeline.irqs[["irq", "name", "device", "is_network", "known_by"]].copy()
    lines["name"] = lines["name"].astype(object).where(lines["name"].notna(), None)
    counted = counted_interrupts(timeline)
    split = shared_lines(counted)
    lines = pd.concat(
        [
            lines[~lines["irq"].isin([irq for irq, _ in split])],
            # The ledger knows lines by number: what it says of a shared one is said of all.
            *(
                pd.DataFrame(
                    {"irq": [key], "name": [name], "device": [None], "is_network": "unknown"}
                )
                for (_, name), key in split.items()
            ),
        ],
        ignore_index=True,
    )
    raisers = evidence(found.raisers, split)
    labels, addresses = _of_bundle(timeline)
    devices = _devices(timeline, found.devices)
    table = _by_most(mapped(lines, raisers, devices, labels, addresses), raisers)
    table = table.merge(
        numbered(counted, split).groupby("irq", as_index=False)["interrupts"].sum(),
        on="irq",
        how="left",
    )
    table["irq"] = table["irq"].replace({key: irq for (irq, _), key in split.items()})
    columns = ["irq", "name", "device", "known_by", "is_network", "interrupts", "raised", "polled"]
    return table.sort_values("irq", kind="stable", ignore_index=True)[columns]


@device_lines.figures
def _known(answer: "Answer") -> dict[str, Any]:
    # lines: those of devices, by rows; seen: of all; which events were not recorded, or, as silent,
    # were and did not happen.
    lines, counts = answer.frame, answer.capture.info["events"]
    of_devices = lines[lines["device"].notna()]
    named = of_devices["name"].where(of_devices["name"].notna(), "")
    interrupts = of_devices["interrupts"].fillna(0).astype("int64")
    figures: dict[str, Any] = {
        "lines": of_devices.assign(name=named, interrupts=interrupts).to_dict("records"),
        "seen": len(lines),
    }
    for name, events in (("polls", (POLL_EVENT,)), ("irqs", IRQ_EVENTS)):
        figures[f"{name}_unrecorded"] = list(unrecorded(answer.capture, *events))
        figures[f"{name}_silent"] = [event for event in events if not counts.get(event)]
    return figures


def shared_lines(counted: pd.DataFrame) -> dict[tuple[int, str], int]:
    # Handlers that share a line, (irq, name), each with a number of its own below 0. counted: as
    # counted_interrupts returns it.
    named = counted[["irq", "name"]].dropna().drop_duplicates()
    several = named[named["irq"].duplicated(keep=False)].sort_values(["irq", "name"])
    pairs = zip(several["irq"], several["name"], strict=True)
    return {(int(irq), str(name)): -place for place, (irq, name) in enumerate(pairs, 1)}


def numbered(rows: pd.DataFrame, split: Mapping[tuple[int, str], int]) -> pd.DataFrame:
    # Rows with irq and name, those of shared lines under the numbers that shared_lines gave.
    if not split:
        return rows
    frame = rows.copy()
    for (irq, name), key in split.items():
        frame.loc[(rows["irq"] == irq).fillna(False) & (rows["name"] == name), "irq"] = key
    return frame


def _by_most(lines: pd.DataFrame, raisers: pd.DataFrame) -> pd.DataFrame:
    # A handler on a shared line that is not named for its device: what most of its softirqs polled.
    most = raisers[raisers["polled"] * 2 > raisers["raised"]].sort_values("polled", kind="stable")
    for irq, device, polled in zip(most["irq"], most["device"], most["polled"], strict=True):
        row = (lines["irq"] == irq) & (irq < 0) & lines["device"].isna() & (device != NO_DEVICE)
        lines.loc[row, ["device", "known_by", "polled", "is_network"]] = [
            device, "polls", polled, "yes",
        ]  # fmt: skip
    return lines


def _of_bundle(timeline: "Timeline") -> tuple[dict[str, str], dict[str, str]]:
    bundle = timeline.capture.bundle
    if bundle is None:
        return {}, {}
    labels = bundle.before.irq_labels
    try:
        return labels, buses(bundle)
    except CaptureError:
        # Damaged files of ip's take from this question only what they could have added.
        return labels, {}


def mapped(
    lines: pd.DataFrame,
    raisers: pd.DataFrame,
    devices: Iterable[str],
    labels: Mapping[str, str] | None = None,
    addresses: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    # Lines with device and known_by, from what their interrupts led to and from their names. lines:
    # irq, name, device, is_network and, if there, known_by (as the ledger has them). raisers: as
    # evidence returns it. devices: the names of interfaces. labels: what /proc/interrupts says of a
    # line, by its number. addresses: interfaces by bus address. Polls go before names, which are
    # only what a driver says.
    frame = lines.copy()
    counts = raisers.set_index(["irq", "device"])["polled"].to_dict()
    raised = raisers.groupby("irq")["raised"].max().to_dict()
    rows = []
    ways = frame.get("known_by", pd.Series(None, index=frame.index, dtype=object))
    seen = zip(frame["irq"], frame["name"], frame["device"], ways, strict=True)
    for irq, name, device, way in seen:
        label = f"{name or ''} {(labels or {}).get(str(irq), '')}"
        named, address = fitting(label, devices), fitting(label, addresses or {})
        if isinstance(device, str) and way in _BY_THREADS_AND_STEM:
            known_by = way
        elif isinstance(device, str) and way != "bundle":
            # The ledger counts every raise, this evidence the first one of each softirq.
            by_name = not counts.get((irq, device)) and fitting(str(name), [device])
            known_by = "name" if by_name else "polls"
        elif named is not None:
            device, known_by = named, "name"
        elif address is not None:
            device, known_by = (addresses or {})[address], "bus"
        else:
            device = device if isinstance(device, str) else None
            known_by = "name" if device else None
        rows.append((device, known_by, raised.get(irq, 0), counts.get((irq, device), 0)))
    found = pd.DataFrame(
        rows, columns=["device", "known_by", "raised", "polled"], index=frame.index
    )
    found = found.astype(
        {"device": object, "known_by": object, "raised": "int64", "polled": "int64"}
    )
    frame[found.columns] = found.where(found.notna(), None)
    frame["is_network"] = frame["is_network"].astype(object)
    # The ledger goes by polls: of a line whose packets are sent it sees none.
    frame.loc[frame["known_by"].isin(["name", "bus"]), "is_network"] = "yes"
    return frame


def _devices(timeline: "Timeline", polled: set[str]) -> list[str]:
    # The names of interfaces: those that were polled, and those of the bundle's net/dev.
    names = polled - {NO_DEVICE}
    bundle = timeline.capture.bundle
    if bundle is not None:
        names |= {str(name) for name in bundle.before.net_dev.index}
    return sorted(names - {"lo", ""})


def evidence(raisers: pd.DataFrame, split: Mapping[tuple[int, str], int]) -> pd.DataFrame:
    # What the NET_RX softirqs polled that each line raised. raisers: of Evidence. split: as
    # shared_lines returns it. Returns a row per (irq, device): raised, the NET_RX softirqs that the
    # line raised, and polled, those of them in which the device was polled.
    rows = numbered(raisers, split)
    raised = rows.drop_duplicates(["irq", "name"]).groupby("irq")["raised"].sum()
    pairs = rows[rows["device"].notna()].groupby(["irq", "device"])["polled"].sum()
    table = raised.reset_index().merge(pairs.reset_index(), on="irq", how="left")
    return table.fillna({"polled": 0}).astype({"polled": "int64"})


def counted_interrupts(timeline: "Timeline") -> pd.DataFrame:
    # How often each line's handlers were entered in the window: irq, name, cpu, interrupts.
    return ENTERED(timeline).frame.rename(columns={"hardirqs": "interrupts"})
