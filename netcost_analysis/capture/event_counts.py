# Event counts that will be needed later. The next timeline pass takes them along, which saves a
# pass of their own.

from collections.abc import Callable, Iterable, Sequence

# Tracepoints to count together; the field to count by, None for CPUs alone; a field to add up
# instead of counting; windows in ns, both ends inclusive.
Count = tuple[tuple[str, ...], str | None, str | None, tuple[tuple[int, int], ...]]
# Per window, counts by CPU and key; None if native cannot count them this way.
Counted = list[dict[tuple[int, int], int]] | None


class EventCounts:
    """Counts of a capture's events, each made once."""

    def __init__(self) -> None:
        self._wanted: list[Count] = []
        self._known: dict[Count, Counted] = {}

    def want(self, counts: Iterable[Count]) -> None:
        """Request counts from the next pass that can take them."""
        self._wanted = [count for count in counts if count not in self._known]

    def take(self) -> list[Count]:
        """The counts for the pass that begins; they are not requested again, even if it fails."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def keep(self, counts: Sequence[Count], results: list[Counted] | None) -> None:
        """Store the results of a pass; results: None if any of the counts is impossible."""
        if results is not None:
            self._known.update(zip(counts, results, strict=True))

    def counts(
        self, asked: Sequence[Count], count: Callable[[list[Count]], list[Counted]]
    ) -> list[Counted]:
        """The requested counts; count: makes a pass for those not known yet."""
        missing = [request for request in dict.fromkeys(asked) if request not in self._known]
        if missing:
            self.keep(missing, count(missing))
        return [self._known[request] for request in asked]
