# What the recorded host says about its network interfaces: state, addresses, speed, hierarchy, and
# which interrupts are theirs.

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..parsers.interfaces import (
    Link,
    address_counts,
    link_facts,
    links_of,
    parse_ethtool_driver,
    parse_objects,
    queue_settings,
)

if TYPE_CHECKING:
    import pandas as pd

    from .bundle import Bundle

# Drivers without hardware report 10 Gbit/s, or whatever was configured (veth_get_link_ksettings,
# tun_default_link_ksettings, ethtool -s on virtio_net).
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
_LINE = re.compile(r"[0-9]{1,9}").fullmatch


def known_interfaces(bundle: "Bundle") -> "pd.DataFrame":
    """What is known about each interface of the recorded host; columns: columns.toml."""
    import pandas as pd

    frames = [
        _of_namespace(bundle, name, ending) for name, ending in bundle.network_namespaces.items()
    ]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else empty()


def empty() -> "pd.DataFrame":
    """An empty frame of interfaces."""
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
    """Merge an interface's facts from before and after; a fact that changed becomes None."""
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
            # No speed on one side and a speed on the other is a change, too.
            speeds = {side[name] for side in sides if name in side}
            row[name] = values[0] if len(speeds) == 1 else None
        else:
            row[name] = values[0] if all(value == values[0] for value in values) else None
    if _changed(sides, "carrier_changes"):
        # docker0 has no carrier before its first container starts, nor after its last one stops.
        row["carrier"] = None
    return row


def _changed(sides: list[dict[str, Any]], name: str) -> bool:
    return len({side[name] for side in sides if side.get(name) is not None}) > 1


def _grown(sides: list[dict[str, Any]]) -> int | None:
    # Growth needs the same device before and after: a new one counts from 0.
    if len(sides) < 2 or _changed(sides, "ifindex"):
        return None
    first, last = (side.get("otherhost_dropped") for side in sides)
    # ip prints it only above 0, so it is 0 if ip printed the counters next to it.
    if first is None and sides[0].get("has_every_counter"):
        first = 0
    if first is None or last is None or last < first:
        return None
    return int(last - first)


def _side(bundle: "Bundle", side: str, ending: str) -> dict[str, dict[str, Any]]:
    # The facts by device, from before/ or after/.
    facts: dict[str, dict[str, Any]] = {}
    for name in bundle_devices(bundle, side, ending):
        facts.setdefault(name, {})
    for name, link in links(bundle, side, ending).items():
        facts.setdefault(name, {}).update(link_facts(link))
    addressed = listed_objects(bundle, f"{side}/settings/ip_addr{ending}.json")
    for name, link in links_of(addressed).items():
        if counted := address_counts(link):
            facts.setdefault(name, {}).update(counted)
    settings = queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
    for name, fields in settings.items():
        # /sys may show another namespace, so skip interfaces that this one does not have.
        if name in facts:
            facts[name].update(fields)
    for name, fields in facts.items():
        fields["driver"] = driver_fields(bundle, side, ending, name).get("driver")
        nominal = fields.get("link_kind") in _NOMINAL or fields.get("driver") in _VIRTUAL_DRIVERS
        if fields.get("speed_bits_per_s") is not None:
            fields["speed_is_nominal"] = nominal
    return facts


def bundle_devices(bundle: "Bundle", side: str = "before", ending: str = "") -> list[str]:
    """The interfaces that a bundle's net/dev lists."""
    from ..parsers.host import Snapshot

    text = bundle.text(f"{side}/net_dev{ending}") or ""
    return list(Snapshot({"net_dev": text}).interfaces)


def listed_objects(bundle: "Bundle", *names: str) -> list[dict[str, Any]]:
    """The objects in the first of these JSON files of ip or tc that the bundle has."""
    for name in names:
        text = bundle.text(name)
        if text is not None:
            return parse_objects(text, f"{bundle.shown}/{name}")
    return []


def links(bundle: "Bundle", side: str, ending: str) -> dict[str, Link]:
    """A network namespace's interfaces by name, from `ip link`."""
    names = (f"{side}/ip_link{ending}.json", f"{side}/settings/ip_link{ending}.json")
    return links_of(listed_objects(bundle, *names))


def driver_fields(bundle: "Bundle", side: str, ending: str, device: str) -> dict[str, str]:
    """An interface's fields from `ethtool -i`: "driver", "bus-info"."""
    try:
        text = bundle.text(f"{side}/settings/ethtool{ending}/{device}/driver") or ""
    except CaptureError:
        # Only a forged file has a name like "../eth0".
        return {}
    return parse_ethtool_driver(text)


def buses(bundle: "Bundle") -> dict[str, str]:
    """The interface at each bus address ("virtio2", "0000:00:03.0"), over all network namespaces.

    Addresses that several interfaces share are left out.
    """
    by_address: dict[str, set[str]] = {}
    for ending in bundle.network_namespaces.values():
        for name, link in links(bundle, "before", ending).items():
            bus = driver_fields(bundle, "before", ending, name).get("bus-info")
            for address in filter(None, (link.parentdev, bus)):
                by_address.setdefault(address, set()).add(name)
    return {address: names.pop() for address, names in by_address.items() if len(names) == 1}


def device_names(bundle: "Bundle") -> list[tuple[str, int, int | None]]:
    """(name, devices with that name in all namespaces, upper bound on their NAPI instances).

    A veth has one instance per receive queue in use, a NIC up to one more per transmit queue. The
    bound for other kinds is unknown: None.
    """
    bounds: dict[str, list[int | None]] = {}
    try:
        for ending in bundle.network_namespaces.values():
            queues = queue_settings(bundle.text(f"before/settings/queues{ending}") or "")
            for name, link in links(bundle, "before", ending).items():
                per_queue = {"veth": 1, None: 2}.get(link.kind, 0)
                bound = per_queue * queues.get(name, {}).get("rx_queues", 0)
                bounds.setdefault(name, []).append(bound or None)
    except CaptureError:
        # A damaged file only costs what it would have contributed.
        return []
    return [
        (name, len(most), None if None in most else sum(map(int, filter(None, most))))
        for name, most in bounds.items()
    ]


def bundle_lines(bundle: "Bundle") -> dict[int, str]:
    """The interface of each IRQ number, as far as the bundle's /proc/interrupts shows it.

    A line names the interface, or else its bus address.
    """
    labels = {int(irq): label for irq, label in bundle.before.irq_labels.items() if _LINE(irq)}
    devices = [name for name in bundle.before.interfaces if name not in ("lo", "")]
    try:
        addresses = buses(bundle)
    except CaptureError:
        # Damaged output of ip only costs what it would have contributed.
        addresses = {}
    placed = {}
    for irq, label in labels.items():
        address = fitting(label, addresses)
        device = fitting(label, devices) or (addresses[address] if address else None)
        if device:
            placed[irq] = device
    return placed


def fitting(text: str, words: Iterable[str]) -> str | None:
    """The longest of the words that the text contains as a whole word, None for none.

    eth0 is a word of "i40e-eth0-TxRx-3", not of "eth01".
    """
    whole = (
        word
        for word in words
        if word in text and re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", text)
    )
    return max(whole, key=lambda word: (len(word), word), default=None)
