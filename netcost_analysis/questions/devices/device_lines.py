# Which interrupt line serves which device, and how that is known.

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.interfaces import buses, fitting
from ...capture.requires import unrecorded
from ...frames import plain_frame
from ...timeline.aggregates import Aggregate, Grouped, in_window
from ...timeline.group import KNOWN
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..longest_episodes import GAP_NS

_BY_THREADS_AND_STEM = ("wake-ups", "switches", "stem")
_EVENTS = ("napi:napi_poll", "irq:irq_handler_entry", "irq:irq_handler_exit")
_COLUMNS = ["irq", "name", "device", "known_by", "is_network", "interrupts", "raised", "polled"]


class Raised(NamedTuple):
    """Native's aggregate of softirqs by the line that raised them.

    behind_ns: without raises, a handler that ended no longer than this before a softirq raised it.
    """

    behind_ns: int


RAISED = Aggregate(lambda _: Raised(GAP_NS))
# An interrupt is counted where its handler was entered.
ENTERED = Grouped(
    "hardirqs",
    by=("irq", "name", "cpu"),
    where=in_window("entry_ns", context="hardirq", irq=KNOWN),
)


@question(
    inputs=(RAISED, ENTERED),
    columns=("irq", "name", "device", "known_by", "interrupts", "raised", "polled"),
    rows=0,
)
def device_lines(timeline: Timeline) -> Answer:
    """Which network device each interrupt line serves, and how that is known.

    A row per line that was seen, and per handler of a line that several drivers share. Source: the
    timeline's irqs, hardirqs, softirqs and polls; interface names from polls and from the bundle's
    net/dev, bus addresses from its ip_link.json and ethtool -i, and a line's text in
    /proc/interrupts.
    """
    lacking = unrecorded(timeline.capture, *_EVENTS)
    counts = timeline.capture.info["events"]
    return Answer(
        lines_of(timeline),
        unrecorded_events=list(lacking),
        silent_events=[one for one in _EVENTS if one not in lacking and not counts.get(one)],
    )


@once
def lines_of(timeline: Timeline) -> pd.DataFrame:
    counted = counted_interrupts(timeline)
    split = shared_lines(counted)
    lines = timeline.irqs[["irq", "name", "device", "is_network", "known_by"]]
    lines = lines.assign(name=lines["name"].astype(object).where(lines["name"].notna(), None))
    if split:
        # The ledger knows lines by number, and so nothing of the single handlers of a shared one.
        handlers = pd.DataFrame({"irq": split.values(), "name": [name for _, name in split]})
        handlers = handlers.assign(device=None, is_network="unknown", known_by=None)
        single = lines[~lines["irq"].isin([irq for irq, _ in split])]
        lines = pd.concat([single, handlers], ignore_index=True)
    raisers, polled = raised_by(timeline)
    bundle = timeline.capture.bundle
    labels: dict[str, str] = {}
    addresses: dict[str, str] = {}
    names = polled - {NO_DEVICE}
    if bundle is not None:
        labels = bundle.before.irq_labels
        names |= {str(name) for name in bundle.before.net_dev.index}
        # Without ip's files, as where they are damaged, no line is known by its bus address.
        with suppress(CaptureError):
            addresses = buses(bundle)
    table = mapped(lines, evidence(raisers, split), sorted(names - {"lo", ""}), labels, addresses)
    interrupts = numbered(counted, split).groupby("irq", as_index=False)["interrupts"].sum()
    table = table.merge(interrupts, on="irq", how="left")
    table["irq"] = table["irq"].replace({key: irq for (irq, _), key in split.items()})
    return table.sort_values("irq", kind="stable", ignore_index=True)[_COLUMNS]


def raised_by(timeline: Timeline) -> tuple[pd.DataFrame, set[str]]:
    # By irq, name and device (None without any): raised, the softirqs of the line, in each of its
    # rows, and polled; and all devices that were polled. A softirq is that of the line whose
    # handler ran on that CPU when it was raised.
    tables = {name: plain_frame(table) for name, table in RAISED(timeline).items()}
    raisers = tables["raised"].merge(tables["polled"], on=["irq", "name"], how="left")
    return raisers, set(tables["devices"]["device"])


def counted_interrupts(timeline: Timeline) -> pd.DataFrame:
    # How often each line's handlers were entered in the window: irq, name, cpu, interrupts.
    return ENTERED(timeline).frame.rename(columns={"hardirqs": "interrupts"})


def shared_lines(counted: pd.DataFrame) -> dict[tuple[int, str], int]:
    # A number below 0 for each handler that shares a line, by (irq, name). counted: rows with both.
    named = counted[["irq", "name"]].dropna().drop_duplicates()
    several = named[named["irq"].duplicated(keep=False)].sort_values(["irq", "name"])
    pairs = zip(several["irq"], several["name"], strict=True)
    return {(int(irq), str(name)): -place for place, (irq, name) in enumerate(pairs, 1)}


def numbered(rows: pd.DataFrame, split: Mapping[tuple[int, str], int]) -> pd.DataFrame:
    # Rows with irq and name, where handlers that share a line have the numbers of shared_lines.
    if not split:
        return rows
    frame = rows.copy()
    for (irq, name), key in split.items():
        frame.loc[(rows["irq"] == irq).fillna(False) & (rows["name"] == name), "irq"] = key
    return frame


def evidence(raisers: pd.DataFrame, split: Mapping[tuple[int, str], int]) -> pd.DataFrame:
    # By irq and device: raised, the NET_RX softirqs that the line raised, and polled, those of them
    # in which the device was polled. raisers: of raised_by.
    rows = numbered(raisers, split)
    raised = rows.drop_duplicates(["irq", "name"]).groupby("irq")["raised"].sum()
    pairs = rows[rows["device"].notna()].groupby(["irq", "device"])["polled"].sum()
    table = raised.reset_index().merge(pairs.reset_index(), on="irq", how="left")
    return table.fillna({"polled": 0}).astype({"polled": "int64"})


def mapped(
    lines: pd.DataFrame,
    raisers: pd.DataFrame,
    devices: Iterable[str],
    labels: Mapping[str, str],
    addresses: Mapping[str, str],
) -> pd.DataFrame:
    # Lines with device and known_by, from their polls, else from their names, which are only what a
    # driver says. lines: device, is_network and known_by of the ledger. raisers: of evidence.
    # devices: names of interfaces. labels: what /proc/interrupts says of a line, by its number.
    # addresses: interfaces by bus address.
    counts = raisers.set_index(["irq", "device"])["polled"].to_dict()
    raised = raisers.groupby("irq")["raised"].max().to_dict()
    # The device of a handler on a shared line that is not named for it: the one that most of its
    # softirqs polled.
    most = raisers[(raisers["irq"] < 0) & (raisers["polled"] * 2 > raisers["raised"])]
    most = most[most["device"] != NO_DEVICE].sort_values("polled", kind="stable")
    polled_most = most.drop_duplicates("irq").set_index("irq")["device"].to_dict()
    rows = []
    columns = ["irq", "name", "device", "is_network", "known_by"]
    for irq, name, device, is_network, known_by in lines[columns].itertuples(False, None):
        label = f"{name or ''} {labels.get(str(irq), '')}"
        named, address = fitting(label, devices), fitting(label, addresses)
        in_ledger = isinstance(device, str)
        if in_ledger and known_by != "bundle":
            # The ledger counts every raise, this evidence the first one of each softirq.
            if known_by not in _BY_THREADS_AND_STEM:
                by_name = not counts.get((irq, device)) and fitting(str(name), [device])
                known_by = "name" if by_name else "polls"
        elif named is not None:
            device, known_by = named, "name"
        elif address is not None:
            device, known_by = addresses[address], "bus"
        elif in_ledger:
            known_by = "name"
        else:
            device = polled_most.get(irq)
            known_by = "polls" if device else None
        # The ledger goes by polls, which a line that only sends does not have.
        if known_by in ("name", "bus") or (device and not in_ledger):
            is_network = "yes"
        polled = counts.get((irq, device), 0)
        rows.append((irq, name, device, known_by, is_network, raised.get(irq, 0), polled))
    types = {"irq": lines["irq"].dtype, "raised": "int64", "polled": "int64"}
    found = [name for name in _COLUMNS if name != "interrupts"]
    return pd.DataFrame(rows, columns=found, dtype=object).astype(types)
