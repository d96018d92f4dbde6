# Bundles and experiments that netcost-pack packed into one file. Each is unpacked into a temporary
# folder for as long as it is in use.

import tempfile
from pathlib import Path

from .._native import CaptureError, named_first, unpack
from .._native import is_archive as _is_archive
from ..unpacked import Unpacked, held

MANIFEST, EXPERIMENT = "manifest.json", "experiment.json"


class Unpacking:
    # The folder lives as long as this object, at most until the process exits.

    def __init__(self, source: Path) -> None:
        self.source = source
        self._folder = tempfile.TemporaryDirectory(
            prefix="netcost-bundle-", ignore_cleanup_errors=True
        )
        try:
            self.path = Path(unpack(str(source), self._folder.name))
        except BaseException as error:
            self._folder.cleanup()
            if isinstance(error, OSError) and error.errno is not None and error.filename is None:
                raise OSError(error.errno, error.strerror, self._folder.name) from None
            raise


def is_experiment_folder(path: Path) -> bool:
    # An experiment's folder that is not a bundle as well.
    return (path / EXPERIMENT).is_file() and not (path / MANIFEST).exists()


def is_packed(path: Path) -> bool:
    # Whether a file is a tar archive, compressed or not. False for an unreadable file: opening it
    # later gives a better message.
    return path.is_file() and _is_archive(str(path))


def is_packed_experiment(path: Path) -> bool:
    # Whether a packed file holds an experiment. Its checksums come first and name every file.
    if not is_packed(path):
        return False
    try:
        names = named_first(str(path))
    except (CaptureError, OSError):
        return False
    if names is None:
        return is_experiment_folder(unpacked(path).path)
    return EXPERIMENT in names and MANIFEST not in names


def unpacked(path: Path) -> Unpacked:
    """Unpack a bundle or an experiment, or reuse the folder if it is still in use.

    Raises CaptureError with a line about what is wrong with it, OSError if there is no space.
    """
    state = path.stat()
    key = (str(path.resolve()), state.st_ino, state.st_mtime_ns, state.st_size)
    folder = held.get(key)
    if folder is None:
        folder = held[key] = Unpacking(path)
    return folder
