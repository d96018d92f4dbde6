# Counts of a capture's events that somebody will ask for: the next timeline's pass counts them too,
# so that whoever asks needs no pass of its own.

from collections.abc import Callable, Iterable, Sequence

# Tracepoints to count together; the field to tell events apart by, None for CPUs alone; a field to
# add up instead of counting; windows in ns, both ends included.
Count = tuple[tuple[str, ...], str | None, str | None, tuple[tuple[int, int], ...]]
# By CPU and key, for each window; None where they cannot be counted so.
Counted = list[dict[tuple[int, int], int]] | None


class EventCounts:
    """Counts of a capture's events, each made once."""

    def __init__(self) -> None:
        self._wanted: list[Count] = []
        self._known: dict[Count, Counted] = {}

    def want(self, counts: Iterable[Count]) -> None:
        """Have them counted in the next pass that can."""
        self._wanted = [count for count in counts if count not in self._known]

    def take(self) -> list[Count]:
        """Those for the pass that begins; whatever becomes of it, they are not asked for again."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def keep(self, counts: Sequence[Count], results: list[Counted] | None) -> None:
        """What a pass counted; None where one of them cannot be counted."""
        if results is not None:
            self._known.update(zip(counts, results, strict=True))

    def counts(
        self, asked: Sequence[Count], count: Callable[[list[Count]], list[Counted]]
    ) -> list[Counted]:
        """What is asked for; count: the pass that counts what is not known yet."""
        missing = [each for each in dict.fromkeys(asked) if each not in self._known]
        if missing:
            self.keep(missing, count(missing))
        return [self._known[each] for each in asked]
