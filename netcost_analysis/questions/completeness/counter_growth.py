# What the host's counters grew by between before/ and after/, and when each of them was read.

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...parsers.host import ByCpu

# By counter and CPU (None: the host).
Counts = dict[tuple[str, int | None], int]
# No counter grows beyond 63 bits.
_MOST = 1 << 63


class ReadTimes(NamedTuple):
    # Two readings, each between a begin and an end on CLOCK_MONOTONIC.
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def outer(self) -> tuple[int, int]:
        # While the counter may have grown.
        return self.before[0], self.after[1]

    @property
    def inner(self) -> tuple[int, int]:
        # While it grew for certain.
        return self.before[1], self.after[0]


class Growth(NamedTuple):
    # When a file of counters was read, and by how much each of them grew.
    window: ReadTimes
    counts: Counts


# Of /proc, as the folders before/ and after/ call them.
FILES = ("softirqs", "interrupts", "net_softnet_stat", "stat")


def read_times(bundle: "Bundle", file: str) -> ReadTimes | None:
    """When a file was read; None where it was not on both sides, or nobody says when."""
    before, after = bundle.before.reads.get(file), bundle.after.reads.get(file)
    if before is None or after is None or after[0] < before[1]:
        return None
    return ReadTimes(before, after)


def softirqs(bundle: "Bundle") -> Growth | None:
    """Softirqs by vector and CPU."""
    return _by_cpu(bundle, "softirqs")


def interrupts(bundle: "Bundle") -> Growth | None:
    """Interrupts by line or vector and CPU.

    Lines of one action only, whose every interrupt is one handler entered, and the same before and
    after.
    """
    grown = _by_cpu(bundle, "interrupts")
    if grown is None:
        return None
    labels, later = bundle.before.irq_labels, bundle.after.irq_labels
    counts = {
        (line, cpu): count
        for (line, cpu), count in grown.counts.items()
        if not line.isdigit() or ("," not in labels[line] and labels[line] == later.get(line))
    }
    return grown._replace(counts=counts)


def packets(bundle: "Bundle") -> Growth | None:
    """Packets that went up the stack, by CPU."""
    window = read_times(bundle, "net_softnet_stat")
    sides = bundle.before.softnet, bundle.after.softnet
    if window is None or not all(sides):
        return None
    before, after = (
        {("packets", cpu): counts["processed"] for cpu, counts in side.items()} for side in sides
    )
    return Growth(window, _growth(before, after))


def switches(bundle: "Bundle") -> Growth | None:
    """Context switches of the host: no CPU has a count of its own."""
    window = read_times(bundle, "stat")
    before, after = (side.context_switches for side in (bundle.before, bundle.after))
    if window is None or before is None or after is None:
        return None
    return Growth(window, _growth({("ctxt", None): before}, {("ctxt", None): after}))


def _by_cpu(bundle: "Bundle", file: str) -> Growth | None:
    window = read_times(bundle, file)
    if window is None:
        return None
    before, after = (_counts(side.by_cpu(file)) for side in (bundle.before, bundle.after))
    return Growth(window, _growth(before, after))


def _counts(table: "ByCpu") -> Counts:
    # Of a CPU that a stranger's file names twice, the first.
    places = {cpu: table.cpus.index(cpu) for cpu in table.cpus}
    return {
        (name, cpu): counts[place]
        for name, counts in table.lines.items()
        for cpu, place in places.items()
    }


def _growth(before: Mapping[tuple[str, int | None], int], after: Counts) -> Counts:
    # A counter that went backwards belongs to a CPU or line that was made anew, or wrapped.
    both = ((key, first, after[key]) for key, first in before.items() if key in after)
    return {key: last - first for key, first, last in both if 0 <= first <= last < _MOST}
