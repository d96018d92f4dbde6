# What the recorded host says of its network interfaces: their state, addresses, speed, place.

from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..parsers.interface_texts import parse_ethtool_driver, queue_settings
from ..parsers.iproute import Link, address_counts, link_facts, links_of, parse_objects

if TYPE_CHECKING:
    import pandas as pd

    from .bundle import Bundle

# Drivers without hardware below them say 10 Gbit/s, or what they were told to say
# (veth_get_link_ksettings, tun_default_link_ksettings, ethtool -s of virtio_net).
_NOMINAL = ("veth", "tun", "tap", "dummy", "ifb", "virtio")
_VIRTUAL_DRIVERS = ("veth", "tun", "virtio_net", "vmxnet3", "dummy")
_GREATER_COUNTS = ("promiscuity", "addresses", "link_local_addresses")
_TYPES: dict[str, Any] = {
    "namespace": object,
    "device": object,
    "ifindex": "Int64",
    "link_kind": object,
    "driver": object,
    "parent": object,
    "master": object,
    "lower": object,
    "lower_ifindex": "Int64",
    "up": "boolean",
    "carrier": "boolean",
    "mac": object,
    "addresses": "Int64",
    "link_local_addresses": "Int64",
    "promiscuity": "Int64",
    "has_xdp": "boolean",
    "mtu": "Int64",
    "rx_queues": "Int64",
    "rps": "boolean",
    "threaded": "boolean",
    "speed_bits_per_s": "Int64",
    "speed_is_nominal": "boolean",
    "otherhost_dropped": "Int64",
}


def known_interfaces(bundle: "Bundle") -> "pd.DataFrame":
    """What is known of each interface of the recorded host; columns.toml."""
    frames = [
        _of_namespace(bundle, name, ending) for name, ending in bundle.network_namespaces.items()
    ]
    some = [one for one in frames if len(one)]
    import pandas as pd

    return pd.concat(some, ignore_index=True) if some else empty()


def empty() -> "pd.DataFrame":
    """A frame of interfaces without any."""
    import pandas as pd

    return pd.DataFrame(columns=list(_TYPES)).astype(dict(_TYPES))


def _of_namespace(bundle: "Bundle", namespace: str, ending: str) -> "pd.DataFrame":
    import pandas as pd

    sides = [_side(bundle, side, ending) for side in ("before", "after")]
    names = list(dict.fromkeys(name for side in sides for name in side))
    rows = [
        merged([side[name] for side in sides if name in side])
        | {"namespace": namespace, "device": name}
        for name in names
    ]
    frame = pd.DataFrame(rows, columns=list(_TYPES)).astype(object)
    frame = frame.where(frame.notna(), None)
    return frame.astype(dict(_TYPES))


def merged(sides: list[dict[str, Any]]) -> dict[str, Any]:
    """One interface's facts before and after as one: what changed is not known."""
    row: dict[str, Any] = {}
    for name in list(_TYPES)[2:]:
        values = [side[name] for side in sides if side.get(name) is not None]
        if not values:
            row[name] = None
        elif name in _GREATER_COUNTS:
            row[name] = max(values)
        elif name == "otherhost_dropped":
            row[name] = _grown(sides)
        elif name == "speed_bits_per_s" and any(name in side for side in sides):
            # A link that had no speed once, and one at another time, changed.
            said = {side[name] for side in sides if name in side}
            row[name] = values[0] if len(said) == 1 else None
        else:
            row[name] = values[0] if all(value == values[0] for value in values) else None
    if _changed(sides, "carrier_changes"):
        # docker0 has no carrier before its first container and none after its last.
        row["carrier"] = None
    return row


def _changed(sides: list[dict[str, Any]], name: str) -> bool:
    return len({side[name] for side in sides if side.get(name) is not None}) > 1


def _grown(sides: list[dict[str, Any]]) -> int | None:
    # Of one device, that was there before and after: a new one counts from 0.
    if len(sides) < 2 or _changed(sides, "ifindex"):
        return None
    first, last = (side.get("otherhost_dropped") for side in sides)
    # ip prints it only above 0, so none is 0 where it printed the counters beside it.
    if first is None and sides[0].get("has_every_counter"):
        first = 0
    if first is None or last is None or last < first:
        return None
    return int(last - first)


def _side(bundle: "Bundle", side: str, ending: str) -> dict[str, dict[str, Any]]:
    # Of before/ or after/: device to what is known of it.
    found: dict[str, dict[str, Any]] = {}
    for name in bundle_devices(bundle, side, ending):
        found.setdefault(name, {})
    for name, link in links(bundle, side, ending).items():
        found.setdefault(name, {}).update(link_facts(link))
    addressed = listed_objects(bundle, f"{side}/settings/ip_addr{ending}.json")
    for name, link in links_of(addressed).items():
        if counted := address_counts(link):
            found.setdefault(name, {}).update(counted)
    settings = queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
    for name, fields in settings.items():
        # Of a namespace that has no such interface: /sys is not always the namespace's own.
        if name in found:
            found[name].update(fields)
    for name, fields in found.items():
        fields["driver"] = driver_fields(bundle, side, ending, name).get("driver")
        nominal = fields.get("link_kind") in _NOMINAL or fields.get("driver") in _VIRTUAL_DRIVERS
        if fields.get("speed_bits_per_s") is not None:
            fields["speed_is_nominal"] = nominal
    return found


def bundle_devices(bundle: "Bundle", side: str = "before", ending: str = "") -> list[str]:
    """The interfaces that a bundle's net/dev lists."""
    from ..parsers.host import Snapshot

    text = bundle.text(f"{side}/net_dev{ending}") or ""
    return list(Snapshot({"net_dev": text}).interfaces)


def listed_objects(bundle: "Bundle", *names: str) -> list[dict[str, Any]]:
    """The objects of the first of these files of ip's or tc's JSON that the bundle has."""
    for name in names:
        text = bundle.text(name)
        if text is not None:
            return parse_objects(text, f"{bundle.shown}/{name}")
    return []


def links(bundle: "Bundle", side: str, ending: str) -> dict[str, Link]:
    """What `ip link` said of a network namespace's interfaces, by name."""
    names = (f"{side}/ip_link{ending}.json", f"{side}/settings/ip_link{ending}.json")
    return links_of(listed_objects(bundle, *names))


def driver_fields(bundle: "Bundle", side: str, ending: str, device: str) -> dict[str, str]:
    """What `ethtool -i` said of an interface: "driver", "bus-info"."""
    try:
        text = bundle.text(f"{side}/settings/ethtool{ending}/{device}/driver") or ""
    except CaptureError:
        # "../eth0" is a name that only a forged file has.
        return {}
    return parse_ethtool_driver(text)
