"""A dataset's folder: there as a whole or not at all; and the file that says what it is of."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import __version__
from ..capture.checksum import checksum
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# The file that says what the dataset is of.
MARK = "netcost.json"
_FORMAT = "netcost_dataset"
FORMAT = 1
_OF_CAPTURE = (
    *("format", "tool_version", "cmdline", "hostname", "kernel", "arch", "clock", "time_unit"),
    *("nr_cpus", "lost_events", "lost_unplaced", "lost_unknown"),
)
# Facts that take no further pass.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")


def is_dataset(folder: str | Path) -> bool:
    """Whether a folder is a dataset that netcost convert wrote."""
    try:
        said = json.loads((Path(folder) / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and _FORMAT in said


def identity(timeline: "Timeline", ledger: bool) -> dict[str, Any]:
    """As JSON has it: recording, sha256, netcost, host, clock, window, CPUs, losses, notes.

    ledger: whether the timeline's own tables are wanted; else it is asked nothing that a recording
    without a ledger could not answer. Times are ns on the capture's clock.
    """
    capture = timeline.capture
    info = capture.info
    said = {
        "recording": capture.path,
        "buffer": capture.buffer,
        "sha256": checksum(capture),
        "netcost": __version__,
        **{name: info.get(name) for name in _OF_CAPTURE},
        "capture_start_ns": info["start_ns"],
        "capture_end_ns": info["end_ns"],
    }
    if not ledger:
        selection = timeline.selection if info["start_ns"] is not None else {}
        return {
            **said,
            "start_ns": selection.get("start_ns") or info["start_ns"],
            "end_ns": selection.get("end_ns") or info["end_ns"],
            "cpus": timeline.cpus or info["cpus"],
            "recorded": info["recorded"],
            "notes": info["notes"],
        }
    summary = timeline.summary
    return {
        **said,
        **{name: summary[name] for name in ("start_ns", "end_ns", "resolution_ns", "cpus")},
        "recorded": timeline.recorded,
        "owned": timeline.owned,
        "missing": {fact: why for fact in _FACTS if (why := timeline.missing[fact])},
        "notes": timeline.notes,
    }


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
    """Yields a draft folder. It replaces the target when the block succeeds, else it is removed."""
    require_free(folder, overwrite)
    target = Path(os.path.abspath(folder))
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield draft
        # mkdtemp sets 0700; use the mode of any new folder.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o777 & ~mask)
        # Somebody else may have created it meanwhile.
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
