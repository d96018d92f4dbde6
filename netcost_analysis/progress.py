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
    """How much there is to do."""

    events: int
    size: int

    def done(self, fraction: float) -> str:
        """A part of it, for a bar."""
        events, size = self.events / 1e6, self.size / 1e6
        return (
            f"{events * fraction:,.1f} of {events:,.1f} M events, "
            f"{size * fraction:,.0f} of {size:,.0f} MB"
        )


def is_watched() -> bool:
    # Whether a bar is of use.
    if os.environ.get("NETCOST_PROGRESS") == "0":
        return False
    if sys.stderr.isatty():
        return True
    # A Jupyter kernel's stderr is no terminal, yet somebody watches it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _of(label: str, of: Amount | None, fraction: float) -> str:
    return label if of is None else f"{label}: {of.done(fraction)}"


@contextmanager
def progress(label: str, of: Amount | None = None) -> Iterator[Callable[[float], None] | None]:
    # Yields a function that native calls now and then with the fraction done, or None where nobody
    # watches. of: the amount, if known, so that the bar shows how much of it is done.
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
            # tqdm(delay=) would wait too, but importing tqdm takes time that a first answer does
            # not have. Here it keeps the bar from being drawn before anything is known.
            from tqdm.auto import tqdm

            bar = tqdm(
                total=100,
                desc=_of(label, of, fraction),
                leave=False,
                smoothing=0,
                delay=1e-9,
                bar_format="{desc} {percentage:3.0f} %|{bar}| {elapsed}<{remaining}",
            )
            # The time left follows from all of the time, also that before there was a bar.
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
    # The items one by one, with a bar of how many are done and of the time left.
    with progress(label) as advance:
        for done, item in enumerate(items, 1):
            yield item
            if advance is not None:
                advance(done / len(items))
