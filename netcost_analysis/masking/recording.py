"""Recordings, bundles and experiments with the names of hosts, tasks and addresses replaced."""

import errno
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from .._native import CaptureError
from ..capture.bundle_files import is_bundle
from ..capture.packed import is_experiment_folder, is_packed
from ..errors import ArgumentError
from ..units import plural
from .folder import Folders
from .names import KINDS, Names, require_plain
from .traces import Traces

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Masked:
    """The result of a masking.

    Attributes
    ----------
    changes : dict of str to int
        How often each thing was replaced, zeroed or left out.
    replaced : dict of str to int
        The number of different names replaced, by kind (docs/mask.md lists the kinds).
    not_masked : list of str
        Kinds of names that stay.
    """

    def __init__(
        self, changes: Counter[str], names: Names, interfaces: Collection[str] = ()
    ) -> None:
        # No question could be answered without these names.
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
        """The result in lines of text, without any original name."""
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
    """Write a copy of a recording, bundle or experiment without names of hosts, tasks and files.

    Parameters
    ----------
    source : str or Path
        A bundle or an experiment, as a folder or packed in a file, or a bare recording of any kind
        that open_capture reads, except standard input.
    target : str or Path
        The copy, of the same kind as the source; a folder is packed if the name ends in .tar.zst
        or .tar.gz. It must not exist. TARGET.masked.txt beside it says what was done.
    map_path : str or Path, optional
        A file of names and their replacements (docs/mask.md#the-map), which is reused if it exists,
        and extended. Without it, no map is kept.
    name : str, optional
        The name of the folder in a packed target; "bundle" or "experiment" by default.

    Returns
    -------
    Masked
        What was done.

    Raises
    ------
    CaptureError
        If the source cannot be read, or the target exists.
    ValueError
        If the name is not valid for a folder.
    OSError
        If a file cannot be read or written.
    """
    source, target = Path(source), Path(target)
    for path in filter(None, (source, target, map_path)):
        if "\n" in str(path) or "\r" in str(path):
            raise CaptureError("a path (IN, OUT, --map) must not contain a line break: rename it")
    if name is not None and not _NAME.fullmatch(name):
        raise ArgumentError(
            f"--name takes letters, digits and _.+- and does not begin with a dash or dot: {name!r}"
        )
    names = Names()
    if map_path is not None:
        require_plain(Path(map_path))
        if Path(map_path).exists():
            names.load(Path(map_path))
    listed = target.with_name(f"{target.name}.masked.txt")
    for path in (target, listed):
        if path.exists() or path.is_symlink():
            raise CaptureError(f"{path} exists already: choose another name, or remove it")
    if not (source.is_file() or source.is_dir()):
        what = "not a regular file or folder" if source.exists() else "no such file or folder"
        raise CaptureError(f"{source}: {what}")
    if target.resolve().is_relative_to(source.resolve()):
        raise CaptureError(f"{target} is inside what is to be masked: choose a place outside it")
    # The draft is beside the target, so that a rename suffices, and is removed however this ends.
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
    # The error for a full disk names no file.
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        raise OSError(error.errno, error.strerror, str(target)) from None
