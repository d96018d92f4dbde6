# A bar for what lasts: silent for the first second, when piped, and when NETCOST_PROGRESS=0.

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _watched() -> bool:
    if os.environ.get("NETCOST_PROGRESS") == "0":
        return False
    if sys.stderr.isatty():
        return True
    # A Jupyter kernel's stderr is no terminal, yet somebody watches it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def progress(label: str) -> Iterator[Callable[[float], None] | None]:
    # Yields what native calls now and then with the fraction done, or None where nobody watches.
    if not _watched():
        yield None
        return
    bar: Any = None

    def advance(fraction: float) -> None:
        nonlocal bar
        if bar is None:
            # Its import would be felt by those who wait for little.
            from tqdm.auto import tqdm

            bar = tqdm(
                total=100,
                desc=label,
                leave=False,
                delay=1,
                bar_format="{desc} {percentage:3.0f} %|{bar}| {elapsed}",
            )
        bar.update(100 * fraction - bar.n)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.close()
