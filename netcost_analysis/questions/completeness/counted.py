# What the host's counters grew by between before/ and after/, and when each of them was read.

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...capture.bundle import Bundle

# Beyond what 64 bits hold no counter is one.
_MOST = 1 << 63


class Window(NamedTuple):
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


class Counted(NamedTuple):
    # A file of counters: when it was read, and by counter and CPU (None: the host) the growth.
    window: Window
    growth: dict[tuple[str, int | None], int]


# Of /proc, as the folders before/ and after/ call them.
FILES = ("softirqs", "interrupts", "net_softnet_stat", "stat")


def window_of(bundle: "Bundle", file: str) -> Window | None:
    """When a file was read; None where it was not on both sides, or nobody says when."""
    before, after = bundle.before.reads.get(file), bundle.after.reads.get(file)
    if before is None or after is None or after[0] < before[1]:
        return None
    return Window(before, after)


def softirqs(bundle: "Bundle") -> Counted | None:
    """Softirqs by vector and CPU."""
    return _by_cpu(bundle, "softirqs")


def interrupts(bundle: "Bundle") -> Counted | None:
    """Interrupts by line or vector and CPU.

    Lines of one action only, whose every interrupt is one handler entered, and the same before and
    after.
    """
    counted = _by_cpu(bundle, "interrupts")
    if counted is None:
        return None
    labels, later = bundle.before.irq_labels, bundle.after.irq_labels
    growth = {
        (line, cpu): count
        for (line, cpu), count in counted.growth.items()
        if not line.isdigit() or ("," not in labels[line] and labels[line] == later.get(line))
    }
    return counted._replace(growth=growth)


def packets(bundle: "Bundle") -> Counted | None:
    """Packets that went up the stack, by CPU."""
    window = window_of(bundle, "net_softnet_stat")
    before, after = bundle.before.softnet_stat, bundle.after.softnet_stat
    if window is None or not {"processed"} <= set(before) & set(after):
        return None
    growth: dict[tuple[str, int | None], int] = {}
    # A stranger's file may name a CPU twice.
    first, last = (
        dict(zip(side.index.tolist(), side["processed"].tolist(), strict=True))
        for side in (before, after)
    )
    for cpu in (one for one in first if one in last):
        _add(growth, "packets", cpu if isinstance(cpu, int) else None, first[cpu], last[cpu])
    return Counted(window, growth)


def switches(bundle: "Bundle") -> Counted | None:
    """Context switches of the host: no CPU has a count of its own."""
    window = window_of(bundle, "stat")
    before, after = (side.context_switches for side in (bundle.before, bundle.after))
    if window is None or before is None or after is None:
        return None
    growth: dict[tuple[str, int | None], int] = {}
    _add(growth, "ctxt", None, before, after)
    return Counted(window, growth)


def _by_cpu(bundle: "Bundle", file: str) -> Counted | None:
    window = window_of(bundle, file)
    if window is None:
        return None
    growth: dict[tuple[str, int | None], int] = {}
    before, after = (side.by_cpu(file) for side in (bundle.before, bundle.after))
    # Of a CPU that a stranger's file names twice, the first.
    first, last = ({cpu: side.cpus.index(cpu) for cpu in side.cpus} for side in (before, after))
    for name in (one for one in before.lines if one in after.lines):
        for cpu in (one for one in first if one in last):
            counts = before.lines[name][first[cpu]], after.lines[name][last[cpu]]
            _add(growth, name, cpu, *counts)
    return Counted(window, growth)


def _add(
    growth: dict[tuple[str, int | None], int], name: str, cpu: int | None, first: int, last: int
) -> None:
    # A counter that went backwards is of a CPU or line that was made anew, or came round.
    if 0 <= int(first) <= int(last) < _MOST:
        growth[name, cpu] = int(last) - int(first)
