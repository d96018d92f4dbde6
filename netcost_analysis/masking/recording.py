"""Recordings, bundles and experiments with the names of hosts, tasks and addresses replaced."""

import errno
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from .._native import CaptureError
from ..capture.bundle_files import is_bundle
from ..capture.packed import is_packed
from ..capture.packed_sums import is_experiment_folder
from ..errors import ArgumentError
from ..units import plural
from .folder import Folders
from .names import KINDS, Names, require_plain
from .traces import Traces

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Masked:
    """What a masking did.

    Attributes
    ----------
    changes : dict of str to int
        What was replaced, zeroed or left out -> how often.
    replaced : dict of str to int
        Kind -> how many different names, as docs/mask.md lists the kinds.
    not_masked : list of str
        What names something and stays.
    """

    def __init__(
        self, changes: Counter[str], names: Names, interfaces: Collection[str] = ()
    ) -> None:
        # These stay, because no question could be answered without them.
        self.not_masked = [f"names of network devices: {' '.join(interfaces)}"] * bool(interfaces)
        self.not_masked.append(
            "names of interrupts, PCI devices and kernel functions; versions, process numbers, "
            "user ids, ports, times"
        )
        self.changes = dict(sorted(changes.items()))
        kinds = Counter(kind for kind, _ in names.map)
        self.replaced = {kind: kinds[kind] for kind in KINDS if kinds[kind]}

    @property
    def summary(self) -> str:
        """Lines that hold none of the originals."""
        lines = [
            f"{plural(count, 'name')} of kind {kind} replaced"
            for kind, count in self.replaced.items()
        ]
        lines += [f"{count} x {what}" if count else what for what, count in self.changes.items()]
        lines += [f"not masked: {what}" for what in self.not_masked]
        return "".join(f"{line}\n" for line in lines)


def mask(
    source: str | Path,
    target: str | Path,
    map_path: str | Path | None = None,
    name: str | None = None,
) -> Masked:
    """Write a recording, bundle or experiment anew without its host's, tasks' and files' names.

    Parameters
    ----------
    source : str or Path
        The folder of a bundle or an experiment, one packed in a file, or a bare recording of any
        kind that open_capture reads, but standard input.
    target : str or Path
        What is written, of the same kind, or in one file where its name ends in .tar.zst or
        .tar.gz; it must not exist. Beside it stands TARGET.masked.txt, which says what was done.
    map_path : str or Path, optional
        A file of names and what replaces them (docs/mask.md#the-map): taken over where it exists,
        and extended. None is kept unless given.
    name : str, optional
        What the folder in a packed target is called; "bundle" or "experiment" unless given.

    Returns
    -------
    Masked
        What was done.

    Raises
    ------
    CaptureError
        Where the source cannot be read or the target is there already.
    ValueError
        For a name that is none of a folder.
    OSError
        Where a file cannot be read or written.
    """
    source, target = Path(source), Path(target)
    for path in filter(None, (source, target, map_path)):
        if "\n" in str(path) or "\r" in str(path):
            raise CaptureError("a line break in a path (IN, OUT, --map) is not allowed: rename it")
    if name is not None and not _NAME.fullmatch(name):
        raise ArgumentError(
            f"--name wants letters, digits and _.+- only, and no dash or dot first, not {name!r}"
        )
    names = Names()
    if map_path is not None:
        require_plain(Path(map_path))
        if Path(map_path).exists():
            names.load(Path(map_path))
    listed = target.with_name(f"{target.name}.masked.txt")
    for path in (target, listed):
        if path.exists() or path.is_symlink():
            raise CaptureError(f"{path} exists already: name another, or remove it")
    if not (source.is_file() or source.is_dir()):
        what = "no regular file or folder" if source.exists() else "no such file or folder"
        raise CaptureError(f"{source}: {what}")
    if target.resolve().is_relative_to(source.resolve()):
        raise CaptureError(f"{target} lies inside of what is to be masked: name a place beside it")
    # Beside the target, so that a rename is enough; removed however this ends.
    with tempfile.TemporaryDirectory(dir=target.parent or ".", prefix=f".{target.name}.") as folder:
        draft = Path(folder, target.name)
        draft_list = Path(folder, listed.name)
        with _naming_a_full_disk(target):
            masked = _written(source, draft, name, names)
            draft_list.write_text(masked.summary, encoding="utf-8", errors="replace")
        if map_path is not None:
            with _naming_a_full_disk(Path(map_path)):
                names.save(Path(map_path))
        draft_list.rename(listed)
        try:
            draft.rename(target)
        except BaseException:
            listed.unlink(missing_ok=True)
            raise
    return masked


def _written(source: Path, target: Path, name: str | None, names: Names) -> Masked:
    changes: Counter[str] = Counter()
    if is_bundle(source) or is_experiment_folder(source) or is_packed(source):
        folders = Folders(names, changes)
        folders.write(source, target, name)
        return Masked(changes, names, folders.interfaces)
    traces = Traces(names, changes)
    traces.learn(source)
    traces.mask(source, target)
    return Masked(changes, names)


@contextmanager
def _naming_a_full_disk(target: Path) -> Iterator[None]:
    # The error of a full disk names no file, and native errors have their number in the text.
    try:
        yield
    except OSError as error:
        number = error.errno
        if number is None and (found := re.search(r"\(os error (\d+)\)$", str(error))):
            number = int(found[1])
        if error.filename is not None or number not in _FULL:
            raise
        raise OSError(number, os.strerror(number), str(target)) from None
