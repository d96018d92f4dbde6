# Texts about network interfaces: the JSON of iproute2's ip and tc, ethtool -S and -i, and the files
# of /sys/class/net, which netcost-record lists in settings/queues as "PATH VALUE".

import json
import re
from ipaddress import ip_address
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from .._native import CaptureError
from .typed_json import Count, struct_of

# A qdisc's counters that only grow, and its gauges.
QDISC_COUNTERS = ("drops", "overlimits", "requeues")
QDISC_LEVELS = ("backlog", "qlen")
# A tunnel's "address" is an IP address: 0.0.0.0 for every fallback device.
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,}")
Text = Annotated[str, Meta(min_length=1)]
_STATISTIC = re.compile(r"^[ \t]*(\S.{0,200}?): ([0-9]{1,18})$", re.MULTILINE)
_FIELD = re.compile(r"^([\w-]+): (.+)$", re.MULTILINE)
_QUEUES = re.compile(r"/sys/class/net/([^/\s]+)/(?:queues/(rx|tx)-\d{1,6}/)?(\w+) (.*)")


class _Kind(Struct, frozen=True):
    info_kind: Text | None = None


class _Received(Struct, frozen=True):
    otherhost: Count | None = None
    length_errors: Any = None


class _Sent(Struct, frozen=True):
    carrier_changes: Count | None = None


class _Counters(Struct, frozen=True):
    rx: _Received = _Received()
    tx: _Sent = _Sent()


class _Address(Struct, frozen=True):
    local: Text
    scope: str | None = None

    @property
    def is_link_local(self) -> bool:
        # Judged by the address, since any address may have been given the scope "link".
        try:
            return ip_address(self.local).is_link_local
        except ValueError:
            return self.scope == "link"


class Link(Struct, frozen=True):
    """One object of `ip -j link` or `ip -j addr`; absent fields are None."""

    ifname: Text | None = None
    ifindex: Count | None = None
    flags: list[str] | None = None
    promiscuity: Count | None = None
    linkinfo: _Kind = _Kind()
    address: str = ""
    parentdev: Text | None = None
    master: Text | None = None
    link: Text | None = None
    link_index: Count | None = None
    mtu: Count | None = None
    xdp: Any | UnsetType = UNSET
    stats64: _Counters = _Counters()
    addr_info: list[_Address] | None = None

    @property
    def kind(self) -> str | None:
        """The kind by ip's name, "veth", "bridge"; None for a NIC."""
        return self.linkinfo.info_kind


class _Qdisc(Struct, frozen=True):
    dev: str
    kind: str
    handle: Any = None
    root: bool = False
    drops: Count | None = None
    overlimits: Count | None = None
    requeues: Count | None = None
    backlog: Count | None = None
    qlen: Count | None = None


def parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    """The objects in the output of `ip -j` or `tc -j`; raises CaptureError with the file's name."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{name} is not JSON: {error}") from None
    if not isinstance(listed, list):
        raise CaptureError(f"{name} is not a list, as ip and tc print")
    return [fields for fields in listed if isinstance(fields, dict)]


def links_of(listed: list[dict[str, Any]]) -> dict[str, Link]:
    """The listed links by interface name."""
    links = (struct_of(Link, fields) or Link() for fields in listed)
    return {link.ifname: link for link in links if link.ifname}


def link_facts(link: Link) -> dict[str, Any]:
    """The facts in one object of `ip -d -s -s -j link`; absent ones are None."""
    flags, promiscuity = link.flags, link.promiscuity
    if promiscuity is None and flags is not None and "PROMISC" in flags:
        promiscuity = 1
    # A veth's "link" is its peer, whose traffic is not its own.
    is_veth = link.kind == "veth"
    return {
        "ifindex": link.ifindex,
        "link_kind": link.kind,
        "parent": link.parentdev,
        "master": link.master,
        "lower": None if is_veth else link.link,
        # Without a name it is in another namespace.
        "lower_ifindex": None if is_veth else link.link_index,
        "up": None if flags is None else "UP" in flags,
        "carrier": "LOWER_UP" in flags if flags and "UP" in flags else None,
        "mac": link.address if _MAC.fullmatch(link.address) else None,
        "promiscuity": promiscuity,
        "has_xdp": link.xdp is not UNSET,
        "mtu": link.mtu,
        # The kernel's rx_otherhost_dropped, by its name in iproute2 6.1 with -s -s.
        "otherhost_dropped": link.stats64.rx.otherhost,
        # With a single -s, ip prints only the sum of the errors.
        "has_every_counter": link.stats64.rx.length_errors is not None,
        "carrier_changes": link.stats64.tx.carrier_changes,
    }


def address_counts(link: Link) -> dict[str, int] | None:
    """The counts addresses and link_local_addresses of an `ip -j addr` object; None if unlisted."""
    if link.addr_info is None:
        return None
    local = sum(address.is_link_local for address in link.addr_info)
    return {"addresses": len(link.addr_info) - local, "link_local_addresses": local}


def qdiscs(listed: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, int | None]]:
    """The root and ingress qdiscs of `tc -s -j qdisc`: (device, kind, handle) to counters.

    A root includes the counts of the qdiscs below it.
    """
    known = (struct_of(_Qdisc, fields) for fields in listed)
    return {
        (qdisc.dev, qdisc.kind, str(qdisc.handle)): {
            name: getattr(qdisc, name) for name in (*QDISC_COUNTERS, *QDISC_LEVELS)
        }
        for qdisc in known
        if qdisc and (qdisc.root or qdisc.kind in ("ingress", "clsact"))
    }


def parse_ethtool_statistics(text: str) -> dict[str, int]:
    """The counters of `ethtool -S`: the driver's name to value."""
    return {name: int(value) for name, value in _STATISTIC.findall(text)}


def parse_ethtool_driver(text: str) -> dict[str, str]:
    """The fields of `ethtool -i`: "driver", "bus-info" and others to their values."""
    return dict(_FIELD.findall(text))


def queue_settings(text: str) -> dict[str, dict[str, Any]]:
    """master, rx_queues, rps, threaded and speed_bits_per_s of each device in settings/queues."""
    settings: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        match = _QUEUES.fullmatch(line)
        if match is None:
            continue
        name, direction, key, value = match.groups()
        fields = settings.setdefault(name, {})
        if direction == "rx" and key == "rps_cpus":
            fields["rx_queues"] = fields.get("rx_queues", 0) + 1
            steered = bool(re.search(r"[1-9a-f]", value))
            fields["rps"] = bool(fields.get("rps")) or steered
        elif direction is None and key == "threaded":
            fields["threaded"] = value == "1" if value in ("0", "1") else None
        elif direction is None and key == "master":
            fields["master"] = value
        elif direction is None and key == "speed":
            fields["speed_bits_per_s"] = _speed(value)
    return settings


def _speed(value: str) -> int | None:
    # From Mbit/s. SPEED_UNKNOWN is -1, which some kernels print unsigned.
    if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) == 0:
        return None
    return int(value) * 1_000_000
