"""The host's own counters, from a bundle's snapshots of /proc."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

# /proc/stat, columns of a cpu line (fs/proc/stat.c show_stat).
_STAT = (
    *("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest"),
    "guest_nice",
)
IRQ, STEAL = _STAT.index("irq"), _STAT.index("steal")
# /proc/net/softnet_stat, in hexadecimal (net/core/net-procfs.c softnet_seq_show). Older kernels
# write fewer columns.
_SOFTNET = {
    0: "processed",
    1: "dropped",
    2: "time_squeeze",
    9: "received_rps",
    10: "flow_limit_count",
    12: "cpu",
}
_NET_DEV = (
    *("rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_compressed"),
    *("rx_multicast", "tx_bytes", "tx_packets", "tx_errs", "tx_drop", "tx_fifo", "tx_colls"),
    *("tx_carrier", "tx_compressed"),
)

# Untrusted files may contain digits that int() does not accept, and far too many of them.
_COUNT = re.compile(r"[0-9]{1,40}")
_HEX = re.compile(r"[0-9a-f]{1,15}")
# Nanoseconds that fit into 63 bits.
_MOMENT = re.compile(r"[0-9]{1,18}|[1-8][0-9]{18}")


def names_cpus(softnet_stat: str) -> bool:
    """Whether the lines of a softnet_stat name their CPU, as they do since Linux 5.10."""
    return len(softnet_stat.partition("\n")[0].split()) > max(_SOFTNET)


def _counts(words: list[str], like: "re.Pattern[str]" = _COUNT) -> bool:
    return all(map(like.fullmatch, words))


class ByCpu(NamedTuple):
    """A file's counts by line and CPU: the CPU numbers, and the counts of each line."""

    cpus: list[int]
    lines: dict[str, list[int]]


class Snapshot:
    """Counters at one moment. Subtract two: ``after.softirqs - before.softirqs``.

    Parameters
    ----------
    texts : dict of str to str
        File name to text; a missing or empty file gives an empty frame.
    """

    FILES: ClassVar[tuple[str, ...]] = (
        *("stamp", "stat", "interrupts", "softirqs", "net_softnet_stat", "net_dev"),
    )

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = dict(texts)

    def _lines(self, name: str) -> list[list[str]]:
        return [words for line in self._texts.get(name, "").splitlines() if (words := line.split())]

    @cached_property
    def stamp(self) -> dict[str, int]:
        """When it was taken: monotonic_ns and realtime_ns, as far as recorded."""
        return {
            words[0]: int(words[1])
            for words in self._lines("stamp")
            if words[0].endswith("_ns") and len(words) == 2 and _counts(words[1:], _MOMENT)
        }

    @cached_property
    def reads(self) -> dict[str, tuple[int, int]]:
        """The CLOCK_MONOTONIC ns at which reading each file began and ended, by file name."""
        return {
            words[0]: (int(words[1]), int(words[2]))
            for words in self._lines("stamp")
            if len(words) == 3 and _counts(words[1:], _MOMENT) and int(words[1]) <= int(words[2])
        }

    @cached_property
    def stat(self) -> "pd.DataFrame":
        """Ticks of USER_HZ by CPU (index) and kind: user, nice, system, idle, iowait, irq, ..."""
        import pandas as pd

        ticks = self.ticks
        width = min(map(len, ticks.values()), default=0)
        return pd.DataFrame(
            {
                kind: {cpu: row[i] for cpu, row in ticks.items()}
                for i, kind in enumerate(_STAT[:width])
            }
        ).rename_axis(index="cpu")

    @cached_property
    def ticks(self) -> dict[int, list[int]]:
        """The rows of stat as plain lists by CPU."""
        return {
            int(name[3:]): [int(word) for word in words[: len(_STAT)]]
            for name, *words in self._lines("stat")
            if name.startswith("cpu")
            and _COUNT.fullmatch(name[3:])
            and _counts(words[: len(_STAT)])
        }

    @cached_property
    def context_switches(self) -> int | None:
        """The context switches of all CPUs (ctxt in /proc/stat), None if not recorded."""
        counts = (words[1] for words in self._lines("stat") if words[0] == "ctxt" and words[1:])
        count = next(counts, "")
        return int(count) if _COUNT.fullmatch(count) else None

    @cached_property
    def interrupts(self) -> "pd.DataFrame":
        """Interrupts by line or vector ("26", "LOC") and CPU number."""
        return self._frame("interrupts")

    @cached_property
    def irq_labels(self) -> dict[str, str]:
        """The text of each line of /proc/interrupts: chip, trigger and action names."""
        lines = self._lines("interrupts")
        width = len(lines[0]) if lines else 0
        return {words[0].rstrip(":"): " ".join(words[1 + width :]) for words in lines[1:]}

    @cached_property
    def softirqs(self) -> "pd.DataFrame":
        """Softirqs by vector name ("NET_RX") and CPU number."""
        return self._frame("softirqs")

    def _frame(self, name: str) -> "pd.DataFrame":
        import pandas as pd

        if not self._lines(name):
            return pd.DataFrame()
        counts = self.by_cpu(name)
        return pd.DataFrame.from_dict(counts.lines, orient="index", columns=counts.cpus)

    def by_cpu(self, name: str) -> ByCpu:
        """The counts of interrupts or softirqs, without pandas.

        Parameters
        ----------
        name : str
            "interrupts" or "softirqs".

        Returns
        -------
        ByCpu
            The CPU numbers, and the counts of each line.
        """
        lines = self._lines(name)
        if not lines:
            return ByCpu([], {})
        cpus = [
            int(number)
            for word in lines[0]
            if _MOMENT.fullmatch(number := word.removeprefix("CPU"))
        ]
        rows = {
            words[0].rstrip(":"): [int(word) for word in words[1 : 1 + len(cpus)]]
            for words in lines[1:]
            # ERR and MIS have a single count for the machine.
            if len(words) > len(cpus) and _counts(words[1 : 1 + len(cpus)])
        }
        return ByCpu(cpus, rows)

    @cached_property
    def online(self) -> list[int]:
        """The numbers of the online CPUs, sorted; empty if no file shows them."""
        return sorted(self.ticks) or self.by_cpu("interrupts").cpus

    @cached_property
    def softnet_stat(self) -> "pd.DataFrame":
        """By CPU: processed, dropped, time_squeeze, received_rps, flow_limit_count.

        Before Linux 5.10 a line does not name its CPU; there is a line per online CPU. If stat and
        interrupts do not show which these are, the result is a single row of sums without a CPU.
        """
        import pandas as pd

        rows = self.softnet
        cpus = pd.Index(list(rows), dtype="Int64" if None in rows else "int64", name="cpu")
        return pd.DataFrame(list(rows.values()), cpus, dtype="int64")

    @cached_property
    def softnet(self) -> dict[int | None, dict[str, int]]:
        """The rows of softnet_stat as plain dicts by CPU; the key of a row of sums is None."""
        lines = [
            [int(word, 16) for word in words]
            for words in self._lines("net_softnet_stat")
            if _counts(words, _HEX)
        ]
        # All of the kernel's lines have the same width, so a shorter one is cut off.
        width = max(map(len, lines), default=0)
        intact = [words for words in lines if len(words) == width]
        rows = [{name: words[i] for i, name in _SOFTNET.items() if i < width} for words in intact]
        if width > max(_SOFTNET):
            return {row.pop("cpu"): row for row in rows}
        if len(rows) == len(self.online):
            return dict(zip(self.online, rows, strict=True))
        return {None: {name: sum(row[name] for row in rows) for name in rows[0]}} if rows else {}

    @cached_property
    def net_dev(self) -> "pd.DataFrame":
        """By interface: rx_bytes, rx_packets, ... tx_compressed."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.interfaces, orient="index", columns=list(_NET_DEV))

    @cached_property
    def interfaces(self) -> dict[str, list[int]]:
        """The rows of net_dev as plain lists by interface."""
        rows = {}
        for line in self._texts.get("net_dev", "").splitlines():
            # Split at the last colon: an alias like "eth0:1" used to be an interface name.
            name, colon, counts = line.rpartition(":")
            words = counts.split()[: len(_NET_DEV)]
            if colon and len(words) == len(_NET_DEV) and _counts(words):
                rows[name.strip()] = [int(word) for word in words]
        return rows
