# A function per suspicion: takes an interface as a row and yields flags. What is unknown (None)
# raises none.

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...display.templates import as_text, render

Row = dict[str, Any]
_WHY = Path(__file__).with_name("device_flags_why.md")


class Flag(NamedTuple):
    # One suspicion. figures: its evidence, by the names in device_flags_why.md.
    namespace: str | None
    device: str | None
    flag: str
    severity: str
    figures: dict[str, Any]

    @property
    def why(self) -> str:
        # A sentence with the figures, as plain text.
        known = {"device": self.device, "flag": self.flag, **self.figures}
        return as_text(render(_WHY, known))


# The share of a CPU from which on a cost is worth a warning.
_WORTH_SHARE = 0.001
# An interface that sends fewer packets than this, per packet received, has no connection.
_ANSWERS_SHARE = 0.001
ENOUGH_PACKETS = 100
# Two counts that differ by less may be of the same packets.
_ALIKE_SHARE = 0.005
# The share of packets from which on drops are worth a warning.
_DROPS_SHARE = 0.001
# Switches need no address.
_SWITCHES = ("bridge", "bond", "team", "openvswitch", "vrf")
# Interfaces of a program, of a CAN bus, or for queueing have no address either.
_UNADDRESSED = ("macvtap", "ipvtap", "ifb", "nlmon", "can", "vcan", "vxcan")
# These may be on top of a device in another namespace.
_STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec")
# Virtual routers' addresses (RFC 9568), which may occur in several networks.
_VRRP = ("00:00:5e:00:01:", "00:00:5e:00:02:")


def flagged(row: Row, flag: str, severity: str, **figures: Any) -> Flag:
    return Flag(row["namespace"], row["device"], flag, severity, figures)


def is_used(row: Row, rows: list[Row]) -> bool:
    # Whether an interface is known to need no address.
    return bool(
        row.get("master")
        or row.get("link_kind") in (*_SWITCHES, *_UNADDRESSED)
        or row.get("has_xdp")
        or any(_is_on(other, row) for other in rows)
    )


def _is_on(upper: Row, row: Row) -> bool:
    if upper["namespace"] == row["namespace"]:
        return bool(upper.get("lower") == row["device"])
    # ip shows a device of another namespace by number alone.
    return (
        upper.get("link_kind") in _STACKED
        and upper.get("lower") is None
        and upper.get("lower_ifindex") is not None
        and upper.get("lower_ifindex") == row.get("ifindex")
    )


def number(row: Row, name: str) -> int:
    return int(row.get(name) or 0)


def _answers(row: Row) -> bool:
    return number(row, "tx_packets") >= max(1, _ANSWERS_SHARE * number(row, "rx_packets"))


def without_use(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # It costs something and is down, or has no carrier, or no address.
    received, ns = number(row, "rx_packets"), number(row, "ns")
    if not received and not ns:
        return
    start_ns, end_ns = row.get("start_ns"), row.get("end_ns")
    span_ns = end_ns - start_ns if start_ns is not None and end_ns is not None else 0
    cost: dict[str, Any] = {
        "ns": ns,
        "cpu_share": row.get("cpu_share"),
        "rx_packets": received,
        "rx_packets_per_s": received / span_ns * 1e9 if span_ns > 0 else None,
        "has_namesake": bool(row.get("has_namesake")),
    }
    unpolled = not ns and received >= ENOUGH_PACKETS
    severe = (row.get("cpu_share") or 0) >= _WORTH_SHARE or unpolled
    severity = "warning" if severe else "note"
    if row.get("up") is False:
        yield flagged(row, "down", severity, **cost)
    elif row.get("carrier") is False:
        yield flagged(row, "no-carrier", severity, **cost)
    elif row.get("addresses") == 0 and not is_used(row, rows):
        forwards = _answers(row)
        cost["link_local"] = bool(row.get("link_local_addresses"))
        cost["tx_packets"] = number(row, "tx_packets") if forwards else 0
        yield flagged(row, "no-address", "note" if forwards else severity, **cost)


def no_replies(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # It receives and does not send.
    received = row.get("rx_packets")
    if received is None or row.get("tx_packets") is None or received < ENOUGH_PACKETS:
        return
    # Some drivers count elsewhere what an XDP program sends.
    if row.get("master") or row.get("has_xdp") or row.get("link_kind") == "nlmon" or _answers(row):
        return
    neighbours = {
        other["device"]: number(other, "rx_packets") + number(other, "tx_packets")
        for other in rows
        if other is not row
        and other["namespace"] == row["namespace"]
        and number(other, "tx_packets") >= ENOUGH_PACKETS
    }
    alike = [
        {"device": device, "packets": both}
        for device, both in neighbours.items()
        if abs(both - received) <= _ALIKE_SHARE * received
    ]
    figures = {"rx_packets": received, "tx_packets": row["tx_packets"], "alike": alike}
    yield flagged(row, "no-replies", "clue", **figures)


def for_others(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # IP dropped frames that were addressed to another host.
    if dropped := number(row, "otherhost_dropped"):
        received = number(row, "all_rx_packets")
        severity, share = severity_of(dropped, received)
        figures = {"dropped": dropped, "rx_packets": received, "dropped_share": share}
        yield flagged(row, "not-for-us", severity, **figures)


def severity_of(dropped: int, packets: int) -> tuple[str, float | None]:
    # Of so many drops; and the share that they are of all packets.
    share = dropped / packets if packets else None
    return "note" if share is not None and share < _DROPS_SHARE else "warning", share


def promiscuous(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # It receives frames for others, and is no port of a bridge or the like.
    if number(row, "promiscuity") and not is_used(row, rows):
        yield flagged(row, "promiscuous", "clue", promiscuity=number(row, "promiscuity"))


def unlisted(row: Row) -> Iterator[Flag]:
    # It was polled, and is in no recorded namespace.
    if row.get("is_listed") or (row.get("cpu_share") or 0) < _WORTH_SHARE:
        return
    yield flagged(row, "unlisted", "note", ns=row["ns"], cpu_share=row["cpu_share"])


def same_mac(rows: list[Row]) -> Iterator[Flag]:
    # Two interfaces of a namespace have one hardware address and nothing to do with each other.
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
        # VLANs of one device, which keep its address, count once.
        below = {row.get("lower") or row["device"]: row for row in alone}
        if len(below) < 2 or mac.startswith(_VRRP):
            continue
        alone = sorted(below.values(), key=lambda row: str(row["device"]))
        # An interface that sees frames for another most likely does not answer them.
        silent = [row for row in alone if number(row, "rx_packets") and not _answers(row)]
        both = all(number(row, "rx_packets") for row in alone)
        severity = "warning" if silent and both else "clue"
        figures = {"devices": [row["device"] for row in alone], "mac": mac}
        yield flagged((silent or alone)[0], "same-mac", severity, **figures)
