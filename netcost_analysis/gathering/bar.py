"""The bar of a run: captures, bytes and events, for whoever watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..progress import is_watched


@contextmanager
def bar(captures: int, total_bytes: int) -> Iterator[Callable[[int, int], None]]:
    """Yields what is called for each capture that is done, with its bytes and its events."""
    if not captures or not is_watched():
        yield lambda _, __: None
        return
    from tqdm.auto import tqdm

    seen = {"bytes": 0, "events": 0}
    with tqdm(
        total=captures,
        desc="asking",
        unit=" captures",
        leave=False,
        bar_format="{desc} {n_fmt} of {total_fmt} captures|{bar}|{postfix} {elapsed}<{remaining}",
    ) as shown:

        def advance(size: int, events: int) -> None:
            seen["bytes"] += size
            seen["events"] += events
            shown.set_postfix_str(
                f" {seen['bytes'] / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB, "
                f"{seen['events'] / 1e6:,.1f} M events",
                refresh=False,
            )
            shown.update(1)

        yield advance
