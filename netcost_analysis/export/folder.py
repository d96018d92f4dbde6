"""A dataset's folder: there as a whole or not at all."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

# What the dataset is of, beside the folders of its tables.
MARK = "netcost.json"
_FORMAT = "netcost_dataset"
FORMAT = 1


def is_dataset(folder: str | Path) -> bool:
    """Whether a folder is a dataset that netcost convert wrote."""
    try:
        said = json.loads((Path(folder) / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and _FORMAT in said


def write_mark(folder: Path, said: dict[str, Any]) -> None:
    """Write down what a dataset is of."""
    text = json.dumps({_FORMAT: FORMAT, **said}, indent=2, allow_nan=False)
    (folder / MARK).write_text(text + "\n", encoding="utf-8")


def require_free(folder: str | Path, overwrite: bool) -> None:
    """Raises ArgumentError for a folder that is there, unless it is a dataset to be replaced.

    Raises FileNotFoundError where there is no folder that it could be in.
    """
    place = Path(folder)
    if place.is_dir() and is_dataset(place):
        if not overwrite:
            raise ArgumentError(f"{place} is a dataset: --overwrite (overwrite=True) replaces it")
    elif os.path.lexists(place):
        raise ArgumentError(f"{place} exists, and is no dataset of netcost: name a new folder")
    parent = place.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place.parent))


@contextmanager
def whole(folder: str | Path, overwrite: bool) -> Iterator[Path]:
    """Yields a folder to write to; it takes its place when the block ends well, or goes."""
    require_free(folder, overwrite)
    target = Path(os.path.abspath(folder))
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield draft
        # mkdtemp gives 0700; the folder gets what any new one would.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o777 & ~mask)
        # It took a while: somebody else may have been there meanwhile.
        require_free(folder, overwrite)
        _take_place(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _take_place(draft: Path, target: Path) -> None:
    if not target.exists():
        draft.rename(target)
        return
    before = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        target.rename(before / target.name)
        try:
            draft.rename(target)
        except BaseException:
            if not target.exists():
                (before / target.name).rename(target)
            raise
    finally:
        shutil.rmtree(before, ignore_errors=True)
