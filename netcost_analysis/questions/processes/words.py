"""What the report says of processes, every figure computed. All return HTML, names escaped."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...capture.requires import unrecorded
from ...units import absent, duration, share
from ..words import count, filled
from .context import softirqs_of
from .ends import pace_of
from .owners import by_packet_share, owned
from .recorded import RECEIVED, WOKEN

if TYPE_CHECKING:
    from ...capture.capture import Capture

_HOW = {
    "raiser": "that raised the softirq on its own send or receive path",
    "packet": "that sent or received the packet",
    "socket": "on whose socket data was announced",
    "wake-up": "that the softirq woke",
}
# Of the network's softirq time: above it what would tell more is named.
_MUCH_UNKNOWN = 0.05


def context_text(rows: pd.DataFrame, span_ns: int) -> str:
    """In whose context softirqs ran. rows: softirq_time(). span_ns: CPUs times window."""
    found = softirqs_of(rows, span_ns)
    if not found.ns:
        return "<p class='missing'>No softirq ran in the window.</p>"
    text = filled(
        "<p>Softirqs had {whole} of all CPU time, {share}; those of the network {ns} of it.",
        whole=duration(found.ns),
        share=share(found.cpu_share),
        ns=share(found.network_share) or "nothing",
    )
    if found.most_ns:
        tid = found.most_tid
        who = "an unknown task" if tid is None else f"{found.most_comm} ({tid})" if tid else ""
        text += filled(
            " Most of the network's, {own} or {part}, ran in the time of {who}.",
            own=duration(found.most_ns),
            part=share(found.most_share),
            who=who or "idle CPUs",
        )
    return f"{text}</p>"


def owners_text(capture: "Capture", owners: pd.DataFrame) -> str:
    """How it is known whose traffic it was, and how much is not. owners: traffic_owners()."""
    found = owned(owners)
    if not found.ns:
        return ""
    parts = [
        f"{share(found.known_by_share[how])} belongs to the task {what}"
        for how, what in _HOW.items()
        if found.known_by_share.get(how)
    ]
    unknown = found.known_by_share.get("unknown", 0)
    text = f"<p>Of the network's softirq time {'; '.join(parts) or 'nobody is known as owner'}"
    if unknown:
        text += f"; of {share(unknown)} it is not known whose it was"
    text += ".</p>"
    if unknown > _MUCH_UNKNOWN:
        text += _more(capture)
    if len(found.foreign):
        row = found.foreign.iloc[0]
        text += filled(
            "<p>{ns} ran in the time of a task that it was not for; most of that, {most}, was for "
            "{owner} and ran in the time of {comm}.</p>",
            ns=duration(found.foreign_ns),
            most=duration(row["ns"]),
            owner=row["owner_comm"],
            comm=row["comm"],
        )
    return text


def pairs_text(capture: "Capture", pairs: pd.DataFrame) -> str:
    """What the table of both ends counts. pairs: traffic_pairs()."""
    if not len(pairs):
        return ""
    text = (
        "<p>Both ends of the traffic, where both are known. The sender raised the softirq, or "
        "queued the packet. "
    )
    if unrecorded(capture, RECEIVED[0]):
        return text + (
            "Single packets were not recorded, so a unit is a softirq, and its receiver is the "
            "task that it woke, or on whose socket it announced data. Softirqs that did neither "
            "are not in this table, so it says who talks to whom, and not how much.</p>"
        )
    return text + filled(
        "A unit is a packet. Of {part} the packet itself, followed to the task that took it, tells "
        "the receiver (<i>by packet share</i>); of the others the socket does, or a wake-up.</p>",
        part=share(by_packet_share(pairs)) or "none",
    )


def _more(capture: "Capture") -> str:
    lacking = unrecorded(capture, RECEIVED[0], WOKEN[0])
    if not lacking:
        return (
            "<p>Packets were followed; those of unknown owner were merged, forwarded, or for a "
            "task that never slept for want of them.</p>"
        )
    profile = "anatomy" if RECEIVED[0] in lacking else "migration"
    return filled(
        "<p class='missing'>{events} would tell more: <code>netcost-record --profile "
        "{profile}</code>.</p>",
        events=" and ".join(lacking),
        profile=profile,
    )


def ends_text(frame: pd.DataFrame) -> str:
    """What client and server had of the CPUs. frame: client_and_server()."""
    client, server = (row for _, row in frame.iterrows())
    text = "<p>" + " ".join(_end(row) for row in (client, server)) + "</p>"
    if not absent(client["sent_packets"]):
        text += filled(
            "<p>{packets} went from client to server{bytes}. For each, network softirqs took "
            "{each} in the client's context and {other} in the server's.</p>",
            packets=count(int(client["sent_packets"]), "packet"),
            bytes=f" ({int(client['sent_bytes']):,} bytes)" if _known(client["sent_bytes"]) else "",
            each=_each(client["softirq_ns_per_packet"]),
            other=_each(server["softirq_ns_per_packet"]),
        )
    elif _known(client["sent_bytes"]):
        text += filled(
            "<p>{bytes} bytes went from client to server. For each, network softirqs took "
            "{each} ns in the client's context and {other} ns in the server's.</p>",
            bytes=f"{int(client['sent_bytes']):,}",
            each=f"{client['softirq_ns_per_byte']:.3g}",
            other=f"{server['softirq_ns_per_byte']:.3g}",
        )
    return f"{text}{_limits(client, server)}"


def _each(ns: float) -> str:
    # Shared over many packets, it can be less than a nanosecond.
    return duration(ns) if absent(ns) or not 0 < ns < 100 else f"{ns:.3g} ns"


def _known(value: Any) -> bool:
    return not absent(value)


def _end(row: "pd.Series[Any]") -> str:
    tid = "" if absent(row["tid"]) else f" ({int(row['tid'])})"
    return filled(
        "The <b>{side}</b>, {comm}{tid}, was on a CPU for {on_cpu}; network softirqs had {ns} of "
        "that, {share}. It waited {wait} for a CPU and slept {asleep}.",
        side=row["side"],
        comm=row["comm"],
        tid=tid,
        on_cpu=duration(row["on_cpu_ns"]),
        ns=duration(row["network_softirq_ns"]),
        share=share(row["network_softirq_share"]) or "nothing",
        wait=duration(row["waited_ns"]),
        asleep=duration(row["asleep_ns"]),
    )


def _limits(client: "pd.Series[Any]", server: "pd.Series[Any]") -> str:
    # Only who has no time to spare limits the throughput.
    texts = [
        filled(
            "The {side} hardly ever slept: it sets the pace. A tenth more softirq time in its "
            "context would make its work {longer} longer, and the throughput {less} less.",
            side=row["side"],
            longer=share(pace.longer_share) or "no",
            less=share(pace.less_share) or "no",
        )
        for row in (client, server)
        if (pace := pace_of(row)) is not None
    ]
    if not texts:
        return (
            "<p>Both slept at times: neither lacked CPU time all along, so softirq time alone does "
            "not set the pace.</p>"
            if _known(client["asleep_ns"]) and _known(server["asleep_ns"])
            else ""
        )
    return f"<p>{' '.join(texts)}</p>"


def switches_text(rows: pd.DataFrame, tids: list[int]) -> str:
    """How often tasks left a CPU. rows: context_switches(). tids: of whom to speak."""
    if not len(rows):
        return "<p class='missing'>No task was switched out in the window.</p>"
    chosen = rows[rows["tid"].isin(tids).to_numpy(dtype=bool)] if tids else rows[:2]
    chosen = (chosen if len(chosen) else rows[:2]).drop_duplicates("tid")
    return "".join(
        filled(
            "<p>{comm} ({tid}) left a CPU {switches}: {voluntary} because it had nothing to do, "
            "{involuntary} while it could have gone on.</p>",
            comm=row["comm"],
            tid=row["tid"],
            switches=count(int(row["switches"]), "time"),
            voluntary=f"{row['voluntary']:,}",
            involuntary=f"{row['involuntary']:,}",
        )
        for _, row in chosen[: max(len(tids), 2)].iterrows()
    )
