# One function per suspicion. Each takes an interface as a row (None for what is unknown) and yields
# flags; none fires on what is unknown.

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...units import duration, share
from ..words import count

Row = dict[str, Any]


class Flag(NamedTuple):
    """One suspicion.

    namespace, device; flag: its name; severity: "warning", "clue" or "note"; why: a sentence with
    the figures.
    """

    namespace: str | None
    device: str | None
    flag: str
    severity: str
    why: str


# Of one CPU: less is not worth a warning.
_WORTH_SHARE = 0.001
# Who sends fewer packets than this for each that it receives takes part in no connection.
_ANSWERS_SHARE = 0.001
ENOUGH_PACKETS = 100
# How near two counts are that are taken for counts of the same packets.
_ALIKE_SHARE = 0.005
# Losses of more than one packet in a thousand are no accident.
_LOSSES_SHARE = 0.001
# Switches, whose own address is nobody's business.
_SWITCHES = ("bridge", "bond", "team", "openvswitch", "vrf")
# Interfaces of a program, of a CAN bus, or for queueing: what they carry has no address here.
_UNADDRESSED = ("macvtap", "ipvtap", "ifb", "nlmon", "can", "vcan", "vxcan")
# On top of a device that may be another namespace's.
_STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec")
# Virtual routers' addresses (RFC 9568), which several networks may have alike.
_VRRP = ("00:00:5e:00:01:", "00:00:5e:00:02:")


def flagged(row: Row, flag: str, severity: str, why: str) -> Flag:
    return Flag(row["namespace"], row["device"], flag, severity, why)


def is_used_by(row: Row, rows: list[Row]) -> str | None:
    """Why an interface needs no address of its own, None where nothing says so."""
    if row.get("master"):
        return f"it is a port of {row['master']}"
    if row.get("link_kind") in _SWITCHES:
        return f"it is a {row['link_kind']}"
    if row.get("link_kind") in _UNADDRESSED:
        return f"it is a {row['link_kind']}"
    if row.get("has_xdp"):
        return "an XDP program is attached to it"
    upper = [other["device"] for other in rows if _is_on(other, row)]
    return f"{upper[0]} is on top of it" if upper else None


def _is_on(upper: Row, row: Row) -> bool:
    if upper["namespace"] == row["namespace"]:
        return bool(upper.get("lower") == row["device"])
    # Of another namespace's device ip has the number and no name.
    return (
        upper.get("link_kind") in _STACKED
        and upper.get("lower") is None
        and upper.get("lower_ifindex") is not None
        and upper.get("lower_ifindex") == row.get("ifindex")
    )


def number(row: Row, name: str) -> int:
    return int(row.get(name) or 0)


def _takes(row: Row) -> str | None:
    # What it does all the same, None for nothing.
    received, parts = number(row, "rx_packets"), []
    if number(row, "ns"):
        parts.append(
            f"its interrupts and polls took {duration(row['ns'])} of CPU time "
            f"({share(row['cpu_share'])} of a CPU)"
        )
    if received:
        per_s = f" ({_rate(row, received)})" if _rate(row, received) else ""
        parts.append(f"it received {count(received, 'packet')}{per_s}")
        if not number(row, "ns"):
            parts.append(
                "what they cost is not known, for another namespace has a device of that name"
                if row.get("has_namesake")
                else "what they cost is not known, for it was not polled by its name (backlog "
                "polls have no device)"
            )
    return " and ".join(parts) or None


def _rate(row: Row, count: int) -> str:
    start, end = row.get("start_ns"), row.get("end_ns")
    if start is None or end is None or end <= start:
        return ""
    return f"{count / ((end - start) / 1e9):,.0f} a second"


def _answers(row: Row) -> bool:
    return number(row, "tx_packets") >= max(1, _ANSWERS_SHARE * number(row, "rx_packets"))


def without_use(row: Row, rows: list[Row]) -> Iterator[Flag]:
    """It costs something and is down, or has no carrier, or no address."""
    takes = _takes(row)
    if takes is None:
        return
    unseen = not number(row, "ns") and number(row, "rx_packets") >= ENOUGH_PACKETS
    grave = (row.get("cpu_share") or 0) >= _WORTH_SHARE or unseen
    severity = "warning" if grave else "note"
    if row.get("up") is False:
        yield flagged(
            row, "down", severity, f"{row['device']} is administratively down, and {takes}"
        )
    elif row.get("carrier") is False:
        why = f"{row['device']} had no carrier before and after, and {takes}"
        yield flagged(row, "no-carrier", severity, why)
    elif row.get("addresses") == 0 and is_used_by(row, rows) is None:
        has = "no address"
        if row.get("link_local_addresses"):
            has = "no address but a link-local one, which it may have given itself"
        why = f"{row['device']} has {has}, is no port of a bridge or bond, and {takes}"
        if _answers(row):
            why += (
                f"; it sent {number(row, 'tx_packets'):,}, so it may forward for others (a routed "
                "container's interface needs no address)"
            )
            severity = "note"
        yield flagged(row, "no-address", severity, why)


def no_replies(row: Row, rows: list[Row]) -> Iterator[Flag]:
    """It receives and does not send."""
    received = row.get("rx_packets")
    if received is None or row.get("tx_packets") is None or received < ENOUGH_PACKETS:
        return
    # What an XDP program sends, some drivers count elsewhere.
    if row.get("master") or row.get("has_xdp") or row.get("link_kind") == "nlmon" or _answers(row):
        return
    sent = f"{row['tx_packets']:,}" if row["tx_packets"] else "none"
    seen = "".join(
        f"; {other['device']} received and sent {both:,} in all, so it seems to see all of that, "
        "as on a hub"
        for other in rows
        if other is not row
        and (both := number(other, "rx_packets") + number(other, "tx_packets"))
        and other["namespace"] == row["namespace"]
        and number(other, "tx_packets") >= ENOUGH_PACKETS
        and abs(both - received) <= _ALIKE_SHARE * received
    )
    yield flagged(
        row,
        "no-replies",
        "clue",
        f"{row['device']} received {received:,} packets and sent {sent}, as who takes part in no "
        f"connection (a one-way stream, or a capture port, looks the same){seen}",
    )


def for_others(row: Row, rows: list[Row]) -> Iterator[Flag]:
    """IP dropped frames that were addressed to another host."""
    dropped = number(row, "otherhost_dropped")
    if not dropped:
        return
    received = number(row, "all_rx_packets")
    part = f", {share(dropped / received)} of the {received:,} it received" if received else ""
    many = not received or dropped >= _LOSSES_SHARE * received
    yield flagged(
        row,
        "not-for-us",
        "warning" if many else "note",
        f"{row['device']} received {count(dropped, 'packet')} that were addressed to another "
        f"host{part}; IP dropped them (rx_otherhost_dropped) after driver, NAPI and GRO had "
        "worked for them",
    )


def promiscuous(row: Row, rows: list[Row]) -> Iterator[Flag]:
    """It takes frames whoever they are for, and no bridge or the like makes it."""
    if not number(row, "promiscuity") or is_used_by(row, rows) is not None:
        return
    yield flagged(
        row,
        "promiscuous",
        "clue",
        f"{row['device']} is promiscuous ({count(int(row['promiscuity']), 'user')} asked for it): "
        "it takes frames that are for others, as a packet capture has it do",
    )


def unlisted(row: Row) -> Iterator[Flag]:
    """It was polled, and is in no recorded namespace."""
    if row.get("is_listed") or (row.get("cpu_share") or 0) < _WORTH_SHARE:
        return
    yield flagged(
        row,
        "unlisted",
        "note",
        f"{row['device']} took {duration(row['ns'])} ({share(row['cpu_share'])} of a CPU) and is "
        "in no namespace that was looked at: --netns names more",
    )


def same_mac(rows: list[Row]) -> Iterator[Flag]:
    """Two interfaces of a namespace have one hardware address and nothing to do with each other."""
    by_mac: dict[tuple[Any, str], list[Row]] = {}
    for row in rows:
        mac = row.get("mac")
        if isinstance(mac, str) and mac.strip("0:"):
            by_mac.setdefault((row["namespace"], mac), []).append(row)
    for (_, mac), sharing in by_mac.items():
        names = {row["device"] for row in sharing}
        # A bridge has the address of a port, a VLAN that of its device, a bond's ports its own.
        alone = [
            row
            for row in sharing
            if not row.get("master")
            and row.get("lower") not in names
            and not any(_is_on(other, row) for other in rows)
            and not any(other.get("master") == row["device"] for other in sharing)
        ]
        # Of VLANs of one device, which keep the address that it had, one counts.
        below = {row.get("lower") or row["device"]: row for row in alone}
        if len(below) < 2 or mac.startswith(_VRRP):
            continue
        alone = sorted(below.values(), key=lambda row: str(row["device"]))
        # Who sees frames of another has most likely nothing to say to them.
        deaf = [row for row in alone if number(row, "rx_packets") and not _answers(row)]
        both = all(number(row, "rx_packets") for row in alone)
        listed = " and ".join(str(row["device"]) for row in alone)
        yield flagged(
            (deaf or alone)[0],
            "same-mac",
            "warning" if deaf and both else "clue",
            f"{listed} have one hardware address, {mac}: on a hub, or where their switch floods, "
            f"each frame for one reaches {'both' if len(alone) == 2 else 'all'}",
        )
