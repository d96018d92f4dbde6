# What ip and tc of iproute2 print as JSON.

import json
import re
from ipaddress import ip_address
from typing import Any

from .._native import CaptureError

# Counters of a queueing discipline that grow, and those that go up and down.
QDISC_COUNTERS = ("drops", "overlimits", "requeues")
QDISC_LEVELS = ("backlog", "qlen")
_MAX_COUNT = 1 << 63
# A tunnel's "address" is of IP: 0.0.0.0 of every fallback device.
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,}")


def parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    """The objects that `ip -j` or `tc -j` listed; raises CaptureError, with the file's name."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{name} is no JSON: {error}") from None
    if not isinstance(listed, list):
        raise CaptureError(f"{name} is no list, which ip and tc print")
    return [one for one in listed if isinstance(one, dict)]


def text_of(value: Any) -> str | None:
    """A text of somebody's JSON that says something, None for anything else."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """A count of somebody's JSON: an integer from 0 that 63 bits hold, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MAX_COUNT else None


def _part(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def link_facts(link: dict[str, Any]) -> dict[str, Any]:
    """What one object of `ip -d -s -s -j link` says, None for what it does not."""
    listed = link.get("flags")
    flags = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else None
    promiscuity = whole(link.get("promiscuity"))
    if promiscuity is None and flags is not None and "PROMISC" in flags:
        promiscuity = 1
    kind, mac = text_of(_part(link, "linkinfo", "info_kind")), text_of(link.get("address"))
    return {
        "ifindex": whole(link.get("ifindex")),
        "link_kind": kind,
        "parent": text_of(link.get("parentdev")),
        "master": text_of(link.get("master")),
        # A veth's "link" is its peer, whose traffic is not its own.
        "lower": None if kind == "veth" else text_of(link.get("link")),
        # Without a name it is another namespace's.
        "lower_ifindex": None if kind == "veth" else whole(link.get("link_index")),
        "up": None if flags is None else "UP" in flags,
        "carrier": None if flags is None or "UP" not in flags else "LOWER_UP" in flags,
        "mac": mac if mac and _MAC.fullmatch(mac) else None,
        "promiscuity": promiscuity,
        "has_xdp": "xdp" in link,
        "mtu": whole(link.get("mtu")),
        # The kernel's rx_otherhost_dropped, as iproute2 (6.1) calls it with -s -s.
        "otherhost_dropped": whole(_part(link, "stats64", "rx", "otherhost")),
        # -s alone prints the sum of the errors only.
        "has_every_counter": _part(link, "stats64", "rx", "length_errors") is not None,
        "carrier_changes": whole(_part(link, "stats64", "tx", "carrier_changes")),
    }


def address_counts(link: dict[str, Any]) -> dict[str, int] | None:
    """Of an object of `ip -j addr` its addresses and link_local_addresses; None without a list."""
    listed = link.get("addr_info")
    if not isinstance(listed, list):
        return None
    found = [one for one in listed if isinstance(one, dict) and one.get("local")]
    local = sum(map(_is_link_local, found))
    return {"addresses": len(found) - local, "link_local_addresses": local}


def _is_link_local(address: dict[str, Any]) -> bool:
    # By the address: any address may be given the scope "link".
    try:
        return ip_address(str(address["local"])).is_link_local
    except ValueError:
        return bool(address.get("scope") == "link")


def qdiscs(listed: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, int | None]]:
    """Of `tc -s -j qdisc` those at the root and at ingress: (device, kind, handle) to counters.

    What those below the root count the root counts as well.
    """
    return {
        (one["dev"], one["kind"], str(one.get("handle"))): {
            name: whole(one.get(name)) for name in (*QDISC_COUNTERS, *QDISC_LEVELS)
        }
        for one in listed
        if isinstance(one.get("dev"), str)
        and isinstance(one.get("kind"), str)
        and (one.get("root") is True or one["kind"] in ("ingress", "clsact"))
    }
