# Maps interrupts to interfaces by what drivers name interrupts after: interfaces and bus addresses.

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
