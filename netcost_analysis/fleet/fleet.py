"""A fleet, opened: the answers to many captures, and what is asked of them together."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..accessors import OfFleet
from .dataset import Dataset, table_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def open_fleet(path: str | Path) -> "Fleet":
    """Open the answers to a fleet, which netcost fleet and gather_fleet write.

    Parameters
    ----------
    path : str or Path
        The folder.

    Returns
    -------
    Fleet
        Its tables, and what it is asked.

    Raises
    ------
    CaptureError
        Where it is none, or a netcost with another format wrote it.
    OSError
        Where it cannot be read.
    """
    return Fleet(path)


class Fleet(OfFleet):
    """The answers to many captures; open_fleet makes one.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._data = Dataset(path)

    @cached_property
    def captures(self) -> "pd.DataFrame":
        """A row per capture, those that could not be read too: docs/scaling.md has the columns."""
        return self._table("captures")

    @cached_property
    def answers(self) -> "pd.DataFrame":
        """A row per capture that could be read: sums over all of it."""
        return self._table("answers")

    @cached_property
    def devices(self) -> "pd.DataFrame":
        """A row per capture and device: its driver, time, interrupts, polls and packets."""
        return self._table("devices")

    @cached_property
    def histograms(self) -> "pd.DataFrame":
        """A row per capture, histogram and bin: low and high, both within it, count and ns."""
        return self._table("histograms")

    @cached_property
    def _whole(self) -> "pa.Table":
        return self._data.scan()

    def _table(self, name: str) -> "pd.DataFrame":
        import pandas as pd
        import pyarrow as pa

        # Integers that may be null stay integers.
        masked = {pa.int64(): pd.Int64Dtype()}
        frame: pd.DataFrame = table_of(self._whole, name).to_pandas(types_mapper=masked.get)
        return frame

    @property
    def recording_to_name(self) -> str:
        """What to name instead, for what takes a recording and no fleet."""
        paths = self.answers["path"]
        return f"open one of its captures, as {paths.iloc[0]}" if len(paths) else "it has none"

    def __repr__(self) -> str:
        from ..units import plural

        errors = int(self.captures["error_kind"].notna().sum())
        return f"Fleet {self.path}: {plural(len(self.captures), 'capture')}, {errors:,} unreadable"
