"""A dataset's folder, written all or nothing, and the file that describes its recording."""

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

# The file that describes the recording.
MARK = "netcost.json"
_FORMAT = "netcost_dataset"
FORMAT = 1
_OF_CAPTURE = (
    *("format", "tool_version", "cmdline", "hostname", "kernel", "arch", "clock", "time_unit"),
    *("nr_cpus", "lost_events", "lost_unplaced", "lost_unknown"),
)
# Facts that need no further pass over the capture.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")


def is_dataset(folder: str | Path) -> bool:
    """Whether a folder is a dataset that netcost convert wrote."""
    try:
        mark = json.loads((Path(folder) / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(mark, dict) and _FORMAT in mark


def identity(timeline: "Timeline", ledger: bool) -> dict[str, Any]:
    """What netcost.json says: recording, sha256, netcost, host, clock, window, CPUs, losses, notes.

    Times are ns on the capture's clock. ledger: whether ledger tables are written; if not, nothing
    is asked that a recording without a ledger cannot answer.
    """
    capture = timeline.capture
    info = capture.info
    recording = {
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
            **recording,
            "start_ns": selection.get("start_ns") or info["start_ns"],
            "end_ns": selection.get("end_ns") or info["end_ns"],
            "cpus": timeline.cpus or info["cpus"],
            "recorded": info["recorded"],
            "notes": info["notes"],
        }
    summary = timeline.summary
    return {
        **recording,
        **{name: summary[name] for name in ("start_ns", "end_ns", "resolution_ns", "cpus")},
        "recorded": timeline.recorded,
        "owned": timeline.owned,
        "missing": {fact: why for fact in _FACTS if (why := timeline.missing[fact])},
        "notes": timeline.notes,
    }


def write_mark(folder: Path, recording: dict[str, Any]) -> None:
    """Write a dataset's netcost.json."""
    text = json.dumps({_FORMAT: FORMAT, **recording}, indent=2, allow_nan=False)
    (folder / MARK).write_text(text + "\n", encoding="utf-8")


def require_free(folder: str | Path, overwrite: bool) -> None:
    """Raise ArgumentError for an existing folder, unless it is a dataset to be replaced.

    Raises FileNotFoundError if the parent folder does not exist.
    """
    place = Path(folder)
    if place.is_dir() and is_dataset(place):
        if not overwrite:
            raise ArgumentError(f"{place} is a dataset: --overwrite (overwrite=True) replaces it")
    elif os.path.lexists(place):
        raise ArgumentError(f"{place} exists and is not a dataset of netcost: name a new folder")
    parent = place.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place.parent))


@contextmanager
def whole(folder: str | Path, overwrite: bool) -> Iterator[Path]:
    """Yield a draft folder, which replaces the target if the block succeeds, or else is removed."""
    require_free(folder, overwrite)
    target = Path(os.path.abspath(folder))
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield draft
        # mkdtemp sets mode 0700. Use that of any new folder.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o777 & ~mask)
        # Another process may have created the target meanwhile.
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
