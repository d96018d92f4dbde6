# What will be asked of a capture's events: the next timeline's pass counts it too, so that whoever
# asks needs no pass of its own.

from collections.abc import Callable, Iterable, Sequence

# Tracepoints to count together; the field to tell events apart by, None for CPUs alone; a field to
# add up instead of counting; windows in ns, both ends included.
Count = tuple[tuple[str, ...], str | None, str | None, tuple[tuple[int, int], ...]]
# By CPU and key, for each window; None where they cannot be counted so.
Found = list[dict[tuple[int, int], int]] | None


class Ahead:
    """Counts of a capture's events, each made once."""

    def __init__(self) -> None:
        self._wanted: list[Count] = []
        self._found: dict[Count, Found] = {}

    def want(self, counts: Iterable[Count]) -> None:
        """Have them counted in the next pass that can."""
        self._wanted = [one for one in counts if one not in self._found]

    def take(self) -> list[Count]:
        """Those for the pass that begins; whatever becomes of it, they are not asked for again."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def keep(self, counts: Sequence[Count], found: list[Found] | None) -> None:
        """What a pass found of them; None where one of them cannot be counted."""
        if found is not None:
            self._found.update(zip(counts, found, strict=True))

    def counts(
        self, asked: Sequence[Count], count: Callable[[list[Count]], list[Found]]
    ) -> list[Found]:
        """What is asked for; count: the pass that finds what is not known yet."""
        missing = [one for one in dict.fromkeys(asked) if one not in self._found]
        if missing:
            self.keep(missing, count(missing))
        return [self._found[one] for one in asked]
