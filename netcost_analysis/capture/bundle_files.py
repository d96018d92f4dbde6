"""A bundle's files: manifest, trace, copies of /proc. What they say together is in bundle.py."""

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..parsers.typed_json import struct_of
from ..unpacked import named
from .folder import Folder, read_text
from .manifest import Manifest, mended
from .packed_sums import is_experiment_folder

if TYPE_CHECKING:
    from ..parsers.host import Snapshot

_FORMAT = 1
# How netcost-pack names what it packs.
PACKED = (".netcost.tar.zst", ".netcost.tar.gz")
# What recordings in a folder are called; one that is named itself is called anything.
ENDINGS = (*PACKED, ".data", ".dat")
# What `perf record --switch-output` and --timestamp-filename append to a file's name.
ROTATED = re.compile(r"\.\d{16}$")


def is_bundle(path: Path) -> bool:
    """Whether it is a folder with a manifest."""
    return (path / "manifest.json").is_file()


def is_packed_bundle(path: Path) -> bool:
    """Whether it is a packed file. A folder needs neither tar nor checksums to tell."""
    if path.is_dir():
        return False
    # Their import is a tenth of the time that a first answer takes.
    from .packed import is_packed

    return is_packed(path)


def no_bundle(path: str | Path) -> CaptureError:
    """What is said of an experiment in a bundle's place."""
    return CaptureError(
        f"{path} is an experiment, a folder of several recordings: netcost info lists them. Choose "
        "one of them, or open the experiment with netcost_analysis.open_experiment(PATH) or "
        "--experiment PATH"
    )


class BundleFiles(Folder):
    """The files of a bundle; Bundle says the rest."""

    _index = "/manifest.json"

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path))
        if is_packed_bundle(self.path):
            from .packed import unpacked

            self._held = unpacked(self.path)
            if is_experiment_folder(self._held.path):
                raise no_bundle(path)
            self.path = self._held.path
        self.manifest_json = self._manifest()

    @cached_property
    def manifest(self) -> Manifest:
        """What of manifest.json is as docs/bundle.md has it."""
        return struct_of(Manifest, self.manifest_json) or Manifest()

    @property
    def written_manifest(self) -> Manifest:
        """What the recorder wrote, whatever is given beside the bundle."""
        return self.manifest

    def _manifest(self) -> dict[str, Any]:
        text = read_text(self.path / "manifest.json")
        try:
            manifest, self._mended = mended(text)
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.shown}/manifest.json is no JSON: {error}") from None
        if not isinstance(manifest, dict) or "netcost_bundle" not in manifest:
            raise CaptureError(
                f"{self.shown}/manifest.json is not of netcost-record: no netcost_bundle in it"
            )
        if manifest["netcost_bundle"] != _FORMAT:
            raise CaptureError(
                f"{self.shown} is a bundle of format {manifest['netcost_bundle']!r}, "
                f"this netcost reads {_FORMAT}: update it"
            )
        return manifest

    @property
    def has_no_trace(self) -> bool:
        """Whether it was recorded without a trace, for what ran beside alone."""
        return self.written_manifest.trace is None

    @property
    def trace(self) -> Path:
        """The recording inside the bundle: a file, or the folder of pages that tracefs gave.

        Raises CaptureError where there is none, or it, or a link in the folder, leads out of the
        bundle, or a part of it is no regular file.
        """
        if self.has_no_trace:
            raise CaptureError("the bundle has no trace: it was recorded without one")
        trace = self.inside(self.manifest.trace or None)
        parts = (
            Path(at, name) for at, folders, files in os.walk(trace) for name in folders + files
        )
        for path in (trace, *parts):
            if path != trace and path.is_symlink() and self._leads_out(path):
                raise CaptureError(f"{named(path)} is a link to a place outside the bundle")
            # Whoever waits for a FIFO of a stranger's waits for ever.
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise CaptureError(
                    f"{named(path)} is no regular file: a bundle holds files and folders"
                )
        return trace

    @property
    def network_namespaces(self) -> dict[str, str]:
        """The network namespaces whose devices were looked up: name to the ending of its files.

        "." is the one that netcost-record ran in. The first one's files have no ending, another's
        ".NAME", or ".host" for ".".
        """
        first, *others = self.manifest.network_namespaces or ["."]
        return {first: ""} | {name: ".host" if name == "." else f".{name}" for name in others}

    @cached_property
    def before(self) -> "Snapshot":
        """/proc as it was before the load and the victim started."""
        return self._snapshot("before")

    @cached_property
    def after(self) -> "Snapshot":
        """/proc as it was once they had ended."""
        return self._snapshot("after")

    def _snapshot(self, name: str) -> "Snapshot":
        from ..parsers.host import Snapshot

        return Snapshot({file: self.text(f"{name}/{file}") or "" for file in Snapshot.FILES})

    @property
    def host_cpus(self) -> int | None:
        """How many CPUs were online, by /proc/stat before the recording; None if not known."""
        return len(self.before.ticks) or None
