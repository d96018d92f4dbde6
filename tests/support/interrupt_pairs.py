# What comes in pairs on a drawn CPU: interrupts and softirqs, with what happens inside of them.

from support.perfdata import happenings as h

Happenings = tuple[h.Happening, ...]
_NET_RX = 3


def irq(
    begin: int, end: int, *inside: h.Happening, line: int = 32, name: str = "eth0"
) -> Happenings:
    return (h.IrqEntry(begin, line, name), *inside, h.IrqExit(end, line))


def softirq(begin: int, end: int, *inside: h.Happening, vec: int = _NET_RX) -> Happenings:
    return (h.SoftirqEntry(begin, vec), *inside, h.SoftirqExit(end, vec))


def raised(at: int, begin: int, end: int, *inside: h.Happening, vec: int = _NET_RX) -> Happenings:
    # A softirq that was raised at that time, by whoever ran.
    return (h.SoftirqRaise(at, vec), *softirq(begin, end, *inside, vec=vec))
