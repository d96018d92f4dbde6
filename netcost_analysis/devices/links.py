# What the recorded host says of its network interfaces: their state, addresses, speed, place.

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from .._native import CaptureError

if TYPE_CHECKING:
    from ..bundle import Bundle

# Drivers without hardware below them say 10 Gbit/s, or what they were told to say
# (veth_get_link_ksettings, tun_default_link_ksettings, ethtool -s of virtio_net).
_NOMINAL = ("veth", "tun", "tap", "dummy", "ifb", "virtio")
_QUEUES = re.compile(r"/sys/class/net/([^/\s]+)/(?:queues/(rx|tx)-\d{1,6}/)?(\w+) (.*)")
_MOST_COUNT = 1 << 63
_TYPES: dict[str, Any] = {
    "namespace": object,
    "device": object,
    "link_kind": object,
    "driver": object,
    "parent": object,
    "master": object,
    "lower": object,
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


def interfaces(bundle: "Bundle") -> pd.DataFrame:
    """What is known of each network interface of the recorded host, before and after recording.

    Returns a row per (namespace, device): link_kind (NA for hardware), driver, parent, master,
    lower, up, carrier, mac, addresses, link_local_addresses, promiscuity, has_xdp, mtu, rx_queues,
    rps, threaded, speed_bits_per_s, speed_is_nominal, otherhost_dropped. A state that changed while
    recording is NA, as is what was not recorded; promiscuity and addresses are the greater of
    both. Raises CaptureError where the bundle has neither net/dev nor ip's output, or the latter is
    no JSON. Sources: before/ and after/ of ip_link.json, settings/ip_addr.json, settings/queues,
    settings/ethtool/DEVICE/driver, net_dev.
    """
    found = known_interfaces(bundle)
    if not len(found):
        raise CaptureError(
            "the bundle says nothing of its host's network interfaces: netcost-record keeps "
            "net/dev and ip's output in before/ and after/"
        )
    return found


def known_interfaces(bundle: "Bundle") -> pd.DataFrame:
    """As interfaces() returns them, without rows where the bundle says nothing of any."""
    frames = [
        _of_namespace(bundle, name, ending) for name, ending in bundle.network_namespaces.items()
    ]
    some = [one for one in frames if len(one)]
    return pd.concat(some, ignore_index=True) if some else empty()


def empty() -> pd.DataFrame:
    """A frame of interfaces without any."""
    return pd.DataFrame(columns=list(_TYPES)).astype(dict(_TYPES))


def _of_namespace(bundle: "Bundle", namespace: str, ending: str) -> pd.DataFrame:
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
        elif name in ("promiscuity", "addresses", "link_local_addresses"):
            row[name] = max(values)
        elif name == "otherhost_dropped":
            # iproute2 prints it only once it is more than 0.
            row[name] = _grown(values, len(sides))
        else:
            row[name] = values[0] if all(value == values[0] for value in values) else None
    return row


def _grown(values: list[int], sides: int) -> int | None:
    if sides < 2:
        return None
    first, last = (0, values[0]) if len(values) == 1 else values
    return last - first if last >= first else None


def _side(bundle: "Bundle", side: str, ending: str) -> dict[str, dict[str, Any]]:
    # Of before/ or after/: device to what is known of it.
    found: dict[str, dict[str, Any]] = {}
    for name in bundle_devices(bundle, side, ending):
        found.setdefault(name, {})
    for name, fields in _links(bundle, side, ending).items():
        found.setdefault(name, {}).update(fields)
    for name, fields in _addresses(bundle, side, ending).items():
        found.setdefault(name, {}).update(fields)
    settings = queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
    for name, fields in settings.items():
        # Of a namespace that has no such interface: /sys is not always the namespace's own.
        if name in found:
            found[name].update(fields)
    for name, fields in found.items():
        fields.update(_driver(bundle, side, ending, name))
        nominal = fields.get("link_kind") in _NOMINAL or fields.get("driver") in _VIRTUAL_DRIVERS
        if fields.get("speed_bits_per_s") is not None:
            fields["speed_is_nominal"] = nominal
    return found


_VIRTUAL_DRIVERS = ("veth", "tun", "virtio_net", "dummy")


def bundle_devices(bundle: "Bundle", side: str = "before", ending: str = "") -> list[str]:
    """The interfaces that a bundle's net/dev lists."""
    from ..host import Snapshot

    text = bundle.text(f"{side}/net_dev{ending}") or ""
    return [str(name) for name in Snapshot({"net_dev": text}).net_dev.index]


def listed_objects(bundle: "Bundle", *names: str) -> list[dict[str, Any]]:
    """The objects of the first of these files of ip's or tc's JSON that the bundle has."""
    for name in names:
        listed = bundle.json(name)
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise CaptureError(f"{bundle.path}/{name} is no list, which ip and tc print")
        return [one for one in listed if isinstance(one, dict)]
    return []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """A count of somebody's JSON: an integer from 0 that 63 bits hold, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MOST_COUNT else None


def _part(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _links(bundle: "Bundle", side: str, ending: str) -> dict[str, dict[str, Any]]:
    names = (f"{side}/ip_link{ending}.json", f"{side}/settings/ip_link{ending}.json")
    found: dict[str, dict[str, Any]] = {}
    for link in listed_objects(bundle, *names):
        name = _text(link.get("ifname"))
        if name is not None:
            found[name] = link_facts(link)
    return found


def link_facts(link: dict[str, Any]) -> dict[str, Any]:
    """What one object of `ip -d -s -s -j link` says, None for what it does not."""
    listed = link.get("flags")
    flags = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else None
    promiscuity = whole(link.get("promiscuity"))
    if promiscuity is None and flags is not None and "PROMISC" in flags:
        promiscuity = 1
    return {
        "link_kind": _text(_part(link, "linkinfo", "info_kind")),
        "parent": _text(link.get("parentdev")),
        "master": _text(link.get("master")),
        # A veth's "link" is its peer, whose traffic is not its own.
        "lower": None
        if _part(link, "linkinfo", "info_kind") == "veth"
        else _text(link.get("link")),
        "up": None if flags is None else "UP" in flags,
        "carrier": None if flags is None or "UP" not in flags else "LOWER_UP" in flags,
        "mac": _text(link.get("address")),
        "promiscuity": promiscuity,
        "has_xdp": "xdp" in link,
        "mtu": whole(link.get("mtu")),
        # The kernel's rx_otherhost_dropped, as iproute2 (6.1) calls it with -s -s.
        "otherhost_dropped": whole(_part(link, "stats64", "rx", "otherhost")),
    }


def _addresses(bundle: "Bundle", side: str, ending: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for link in listed_objects(bundle, f"{side}/settings/ip_addr{ending}.json"):
        name, listed = _text(link.get("ifname")), link.get("addr_info")
        if name is None or not isinstance(listed, list):
            continue
        scopes = [
            _text(one.get("scope")) for one in listed if isinstance(one, dict) and one.get("local")
        ]
        local = sum(scope == "link" for scope in scopes)
        found[name] = {"addresses": len(scopes) - local, "link_local_addresses": local}
    return found


def queue_settings(text: str) -> dict[str, dict[str, Any]]:
    """What settings/queues says by device: mtu, rx_queues, rps, threaded, speed_bits_per_s."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        match = _QUEUES.fullmatch(line)
        if match is None:
            continue
        name, direction, key, value = match.groups()
        fields = found.setdefault(name, {})
        if direction == "rx" and key == "rps_cpus":
            fields["rx_queues"] = fields.get("rx_queues", 0) + 1
            steered = bool(re.search(r"[1-9a-f]", value))
            fields["rps"] = bool(fields.get("rps")) or steered
        elif direction is None and key == "threaded":
            fields["threaded"] = value == "1" if value in ("0", "1") else None
        elif direction is None and key == "speed":
            fields["speed_bits_per_s"] = _speed(value)
    return found


def _speed(value: str) -> int | None:
    # Mbit/s; SPEED_UNKNOWN is -1, on some kernels printed unsigned.
    if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) == 0:
        return None
    return int(value) * 1_000_000


def _driver(bundle: "Bundle", side: str, ending: str, device: str) -> dict[str, Any]:
    try:
        text = bundle.text(f"{side}/settings/ethtool{ending}/{device}/driver") or ""
    except CaptureError:
        # "../eth0" is a name that only a forged file has.
        return {}
    fields = dict(re.findall(r"^([\w-]+): (.+)$", text, re.MULTILINE))
    return {"driver": _text(fields.get("driver"))}


def buses(bundle: "Bundle") -> dict[str, str]:
    """By the bus address below an interface ("virtio2", "0000:00:03.0") its name.

    Of the network namespaces all; without addresses that several interfaces share.
    """
    found: dict[str, set[str]] = {}
    for ending in bundle.network_namespaces.values():
        for link in listed_objects(
            bundle, f"before/ip_link{ending}.json", f"before/settings/ip_link{ending}.json"
        ):
            name, parent = _text(link.get("ifname")), _text(link.get("parentdev"))
            for address in (parent, _bus_info(bundle, ending, name)):
                if name and address:
                    found.setdefault(address, set()).add(name)
    return {address: names.pop() for address, names in found.items() if len(names) == 1}


def _bus_info(bundle: "Bundle", ending: str, device: str | None) -> str | None:
    try:
        text = bundle.text(f"before/settings/ethtool{ending}/{device}/driver") or ""
    except CaptureError:
        return None
    match = re.search(r"^bus-info: (\S+)$", text, re.MULTILINE)
    return match[1] if match else None


def stands_alone(word: str, text: str) -> bool:
    """Whether a word is in a text by itself: eth0 is in "i40e-eth0-TxRx-3", not in "eth01"."""
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", text))


def fitting(text: str, words: Iterable[str]) -> str | None:
    """The longest of the words that stands by itself in the text, None for none."""
    return max((w for w in words if stands_alone(w, text)), key=lambda w: (len(w), w), default=None)
