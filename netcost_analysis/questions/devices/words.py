# What the notebook of devices says in words, every figure computed. All return HTML, names escaped.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...units import absent, duration, share
from ..words import count, filled
from .device_cost import by_load, disagreement, kinds_of, window_of
from .device_lines import has_polls

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def busy_devices(cost: pd.DataFrame | None, most: int = 3) -> list[str]:
    """The devices that took most time, without the backlog, and those that carried most.

    cost: as device_cost returns it, None where it could not be asked.
    """
    if cost is None:
        return []
    named = cost[cost["device"] != "(no_device)"]
    # Of namesakes in several namespaces the time is one, and nobody's traffic is beside it.
    named = named.drop_duplicates("device")
    order = by_load(named[named["device"] != "lo"])
    return [str(device) for device in order["device"][:most]]


def answer(
    cost: pd.DataFrame,
    flags: pd.DataFrame | None,
    without: str | None,
    named: bool = True,
    state: bool = True,
) -> str:
    """Which device costs most, and the gravest of what looks wrong.

    flags: as device_flags returns it, None where it could not be asked. without: why there is no
    traffic, None where there is. named: whether polls were recorded, which name devices. state:
    whether anything of the interfaces' state was.
    """
    timed = cost[(cost["device"] != "(no_device)") & (cost["ns"] > 0).fillna(False)]
    if not len(timed):
        text = _backlog(cost, named)
    else:
        first = timed.iloc[0]
        text = filled(
            "<p class='answer'><b>{device}</b> costs most: {ns} in {window}, <b>{part}</b> of a "
            "CPU{packets}.{rest}{backlog}</p>",
            device=first["device"],
            ns=duration(first["ns"]),
            window=duration(window_of(first)),
            part=share(first["cpu_share"]),
            packets=_packets(first),
            rest=_others(timed.iloc[1:4]),
            backlog=_beside(cost, first["ns"]),
        )
    unknown = filled("<p>What they carried is unknown: {why}.</p>", why=without)
    return f"{text}{_gravest(flags, state)}{unknown if without else ''}"


def _packets(row: "pd.Series[Any]") -> str:
    if absent(row["ns_per_work"]):
        return ""
    ns = duration(round(float(row["ns_per_work"])))
    return f", {ns} for each of {int(row['timed_packets']):,} packets received"


def _others(rows: pd.DataFrame) -> str:
    if not len(rows):
        return ""
    listed = ", ".join(
        f"{row['device']} {share(row['cpu_share'])}" for row in rows.to_dict("records")
    )
    return f" Then {listed}."


def _beside(cost: pd.DataFrame, most_ns: Any) -> str:
    # Somebody's time that no device can be charged with may be more than any device's.
    backlog = cost[(cost["device"] == "(no_device)") & (cost["ns"] > most_ns).fillna(False)]
    if not len(backlog):
        return ""
    row = backlog.iloc[0]
    return (
        f" Polls of the backlog, which no device can be charged with, took more: "
        f"{duration(row['ns'])} ({share(row['cpu_share'])})."
    )


def _backlog(cost: pd.DataFrame, named: bool) -> str:
    backlog = cost[(cost["device"] == "(no_device)") & (cost["ns"] > 0).fillna(False)]
    if not len(backlog) and not named:
        return (
            "<p class='answer'>No device can be named: napi:napi_poll, which names them, was not "
            "recorded.</p>"
        )
    if not len(backlog) and cost["ns"].isna().any():
        return (
            "<p class='answer'>Devices were polled, and <b>how long</b> is unknown: a poll's time "
            "begins with its softirq, and softirqs were not recorded.</p>"
            if (cost["polls"] > 0).fillna(False).any()
            else "<p class='answer'>No device was polled by its name.</p>"
        )
    if not len(backlog):
        return "<p class='answer'>No network device took any CPU time that was recorded.</p>"
    row = backlog.iloc[0]
    return filled(
        "<p class='answer'>No device can be named: all of it, {ns} ({part} of a CPU), went to "
        "polls of the backlog, which receive packet steering, veth and loopback use and the "
        "kernel calls (no_device).</p>",
        ns=duration(row["ns"]),
        part=share(row["cpu_share"]),
    )


def _gravest(flags: pd.DataFrame | None, state: bool) -> str:
    if flags is None:
        return ""
    grave = flags[(flags["severity"] == "warning") & flags["device"].notna()]
    if not len(grave) and not state:
        return (
            "<p>Whether anything looks wrong is unknown: nothing of the interfaces' state was "
            "recorded.</p>"
        )
    if not len(grave):
        return "<p>Nothing in what was recorded of the interfaces looks gravely wrong.</p>"
    why = str(grave.iloc[0]["why"])
    return filled("<p class='answer'>{why}.</p>", why=why)


def matrix_text(rows: pd.DataFrame, timeline: "Timeline") -> str:
    """What of the time no device can be charged with."""
    if not len(rows):
        return "<p>No device took any time.</p>"
    by_kind = kinds_of(rows, timeline.duration_ns)
    parts = []
    if "backlog" in by_kind.index:
        took = _of(by_kind.loc[["backlog"]].iloc[0])
        parts.append(f"polls of the backlog, which have no device, took {took}")
    if "softirq" in by_kind.index:
        where = "outside their polls" if has_polls(timeline) else "in their polls and outside"
        took = _of(by_kind.loc[["softirq"]].iloc[0])
        parts.append(f"what network softirqs did {where} took {took}")
    listed = "; ".join(parts)
    text = filled("<p>{a}{b}.</p>", a=listed[:1].upper(), b=listed[1:]) if parts else ""
    unknown = timeline.unknown_cpu_share
    if unknown is not None and unknown > 0.001:
        text += filled(
            "<p>{share} of CPU time has no known owner; the times are lower bounds.</p>",
            share=share(unknown),
        )
    return text


def _of(row: "pd.Series[Any]") -> str:
    return f"{duration(row['ns'])} ({share(row['cpu_share']) or 'an unknown share'} of a CPU)"


def lines_text(lines: pd.DataFrame) -> str:
    """How each device's interrupt lines are known."""
    of_devices = lines[lines["device"].notna()]
    if not len(of_devices):
        if not len(lines):
            return "<p>No interrupt of a device was recorded.</p>"
        return (
            "<p>No interrupt line led to a poll of a network device: virtual interfaces have no "
            "interrupts of their own.</p>"
        )
    return "".join(_line(row) for _, row in of_devices.iterrows())


def _line(row: "pd.Series[Any]") -> str:
    how = {
        "polls": _led(int(row["raised"]), int(row["polled"])),
        "wake-ups": "its handler wakes the NAPI thread that polls it",
        "switches": "the NAPI thread that polls it runs next after its handler",
        "stem": "its other lines are known, and this one has their name",
        "name": "it is named for it",
        "bus": "it has its bus address",
    }[row["known_by"]]
    return filled(
        "<p>irq {irq} <b>{name}</b> serves {device}: {how}; {interrupts}.</p>",
        irq=row["irq"],
        name=row["name"] or "",
        device=row["device"],
        how=how,
        interrupts=count(0 if absent(row["interrupts"]) else int(row["interrupts"]), "interrupt"),
    )


def _led(raised: int, polled: int) -> str:
    if not raised:
        return "NET_RX softirqs that it raised, and others before it, polled it"
    if raised == polled > 1:
        return f"each of the {raised:,} NET_RX softirqs that it raised polled it"
    return f"of {count(raised, 'NET_RX softirq')} that it raised, {polled:,} polled it"


# What the table of prices shows, with headings.
PRICES = {
    "device": "device",
    "took_ns": "CPU time",
    "cpu_share": "of a CPU",
    "interrupts_per_s": "irq/s",
    "packets": "polled",
    "rx_packets": "received",
    "tx_packets": "sent",
    "rx_packet_bytes": "bytes each",
    "ns_per_work": "ns/polled",
    "ns_per_packet": "ns/packet",
}


def price_list(cost: pd.DataFrame) -> pd.DataFrame:
    """device_cost's rows for reading: the columns of PRICES."""
    return cost.assign(took_ns=cost["ns"])[list(PRICES)]


def cost_text(cost: pd.DataFrame) -> str:
    """How far the packets that were counted are those whose time is known."""
    both = cost[cost["work_share"].notna()]
    text = "".join(
        filled(
            "<p><b>{device}</b>: polls handled {work} packets, net/dev counted {received} received"
            "{exact}{partly}.</p>",
            device=row["device"],
            work=f"{int(row['packets']):,}",
            received=f"{int(row['rx_packets']):,}",
            exact=_agreement(row),
            partly=""
            if not absent(row["ns_per_packet"]) or absent(row["ns_per_work"])
            else "; what a packet costs is told of the polled ones alone",
        )
        for _, row in both.iterrows()
    )
    if (cost["device"] == "(no_device)").any():
        text += (
            "<p>The backlog's packets are no frames: one may be a large packet of many frames that "
            "TSO left whole or GRO put together.</p>"
        )
    unknown = cost[cost["ns"].isna() & ~(cost["polls"] > 0).fillna(False)]["device"]
    named = ", ".join(str(device) for device in unknown if device != "lo")
    if named:
        text += filled(
            "<p>What packets of {named} cost is not known: they were not polled by name, so their "
            "time is in the backlog's polls or in system calls.</p>",
            named=named,
        )
    return text


def _agreement(row: "pd.Series[Any]") -> str:
    off, explained = disagreement(row)
    if not off:
        return ", the same"
    within = ", which its readings' own time explains" if explained else ""
    return f", {abs(off):,} {'fewer' if off > 0 else 'more'}{within}"


def saturation_text(saturation: pd.DataFrame) -> str:
    """Which counters of full queues grew, of which layers."""
    layers = ", ".join(dict.fromkeys(saturation["layer"]))
    grown = saturation[(saturation["count"] > 0).fillna(False)]
    if not len(grown):
        return filled("<p>No counter of full queues grew ({layers}).</p>", layers=layers)
    return filled("<p>Looked at: {layers}. What grew:</p>", layers=layers)
