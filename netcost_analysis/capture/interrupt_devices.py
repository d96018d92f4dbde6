# Interfaces by what drivers call their interrupts after: names and bus addresses.

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._native import CaptureError
from ..parsers.interface_texts import queue_settings
from .links import driver_fields, links

if TYPE_CHECKING:
    from .bundle import Bundle


_LINE = re.compile(r"[0-9]{1,9}").fullmatch


def buses(bundle: "Bundle") -> dict[str, str]:
    """By the bus address below an interface ("virtio2", "0000:00:03.0") its name.

    Of the network namespaces all; without addresses that several interfaces share.
    """
    by_address: dict[str, set[str]] = {}
    for ending in bundle.network_namespaces.values():
        for name, link in links(bundle, "before", ending).items():
            bus = driver_fields(bundle, "before", ending, name).get("bus-info")
            for address in filter(None, (link.parentdev, bus)):
                by_address.setdefault(address, set()).add(name)
    return {address: names.pop() for address, names in by_address.items() if len(names) == 1}


def device_names(bundle: "Bundle") -> list[tuple[str, int, int | None]]:
    """Of each name how many devices of all namespaces have it, and at most how many NAPI instances.

    A veth has one for each receive queue in use, a NIC up to one more for each transmit queue; of
    other kinds (None) nobody said.
    """
    by_name: dict[str, list[int | None]] = {}
    try:
        for ending in bundle.network_namespaces.values():
            queues = queue_settings(bundle.text(f"before/settings/queues{ending}") or "")
            for name, link in links(bundle, "before", ending).items():
                each = {"veth": 1, None: 2}.get(link.kind, 0)
                most = each * queues.get(name, {}).get("rx_queues", 0)
                by_name.setdefault(name, []).append(most or None)
    except CaptureError:
        # As of buses: damaged files take away only what they could have added.
        return []
    return [
        (name, len(each), None if None in each else sum(map(int, filter(None, each))))
        for name, each in by_name.items()
    ]


def bundle_lines(bundle: "Bundle") -> dict[int, str]:
    """The interface of each interrupt line that the bundle's /proc/interrupts places, by number.

    By the interface's name in the line's text, or else by its bus address there.
    """
    labels = {int(irq): label for irq, label in bundle.before.irq_labels.items() if _LINE(irq)}
    devices = [name for name in bundle.before.interfaces if name not in ("lo", "")]
    try:
        addresses = buses(bundle)
    except CaptureError:
        # Damaged files of ip's take away only what they could have added.
        addresses = {}
    placed = {}
    for irq, label in labels.items():
        address = fitting(label, addresses)
        device = fitting(label, devices) or (addresses[address] if address else None)
        if device:
            placed[irq] = device
    return placed


def stands_alone(word: str, text: str) -> bool:
    """Whether a word is in a text by itself: eth0 is in "i40e-eth0-TxRx-3", not in "eth01"."""
    found = rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"
    return word in text and bool(re.search(found, text))


def fitting(text: str, words: Iterable[str]) -> str | None:
    """The longest of the words that stands by itself in the text, None for none."""
    return max((w for w in words if stands_alone(w, text)), key=lambda w: (len(w), w), default=None)
