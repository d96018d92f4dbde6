# A progress bar: silent for the first second, when piped, and with NETCOST_PROGRESS=0.

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

_PATIENCE_S = 1.0
_Item = TypeVar("_Item")


class Amount(NamedTuple):
    """The total amount of work."""

    events: int
    size: int

    def done(self, fraction: float) -> str:
        """The fraction done, as text for a bar."""
        events, size = self.events / 1e6, self.size / 1e6
        return (
            f"{events * fraction:,.1f} of {events:,.1f} M events, "
            f"{size * fraction:,.0f} of {size:,.0f} MB"
        )


def is_watched() -> bool:
    if os.environ.get("NETCOST_PROGRESS") == "0":
        return False
    if sys.stderr.isatty():
        return True
    # A Jupyter kernel's stderr is not a terminal, yet someone watches it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _of(label: str, of: Amount | None, fraction: float) -> str:
    return label if of is None else f"{label}: {of.done(fraction)}"


@contextmanager
def progress(label: str, of: Amount | None = None) -> Iterator[Callable[[float], None] | None]:
    # Yields a callback that native calls with the fraction done, or None if no one is watching. of:
    # the total, if known, so that the bar can show the amount done.
    if not is_watched():
        yield None
        return
    started = time.monotonic()
    bar: Any = None

    def advance(fraction: float) -> None:
        nonlocal bar
        if bar is None:
            if time.monotonic() - started < _PATIENCE_S:
                return
            # tqdm(delay=) could wait instead, but importing tqdm would slow down the first answer.
            # Here delay only stops tqdm from drawing the bar before its first update.
            from tqdm.auto import tqdm

            bar = tqdm(
                total=100,
                desc=_of(label, of, fraction),
                leave=False,
                smoothing=0,
                delay=1e-9,
                bar_format="{desc} {percentage:3.0f} %|{bar}| {elapsed}<{remaining}",
            )
            # Estimate the time left from the whole run, including the time before the bar appeared.
            bar.start_t = bar.last_print_t = bar.start_t - (time.monotonic() - started)
        if of is not None:
            bar.set_description_str(_of(label, of, fraction), refresh=False)
        bar.update(100 * fraction - bar.n)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.close()


def each(label: str, items: Sequence[_Item]) -> Iterator[_Item]:
    # Iterates over the items with a bar of how many are done and the time left.
    with progress(label) as advance:
        for done, item in enumerate(items, 1):
            yield item
            if advance is not None:
                advance(done / len(items))
