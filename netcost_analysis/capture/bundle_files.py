"""A bundle's files: manifest, trace, copies of /proc. bundle.py interprets them together."""

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
from .packed import is_experiment_folder, is_packed, unpacked

if TYPE_CHECKING:
    from ..parsers.host import Snapshot

_FORMAT = 1
# Suffixes of the files that netcost-pack writes.
PACKED = (".netcost.tar.zst", ".netcost.tar.gz")
# Suffixes of recordings looked for in a folder; a file that is named explicitly may have any name.
ENDINGS = (*PACKED, ".data", ".dat")
# What `perf record --switch-output` and --timestamp-filename append to a file's name.
ROTATED = re.compile(r"\.\d{16}$")


def is_bundle(path: Path) -> bool:
    """Whether a path is a folder with a manifest."""
    return (path / "manifest.json").is_file()


def no_bundle(path: str | Path) -> CaptureError:
    """The error for an experiment given where a bundle is expected."""
    return CaptureError(
        f"{path} is an experiment, a folder of several recordings: netcost info lists them. Choose "
        "one, or open the experiment with netcost_analysis.open_experiment(PATH) or --experiment "
        "PATH"
    )


class BundleFiles(Folder):
    """The files of a bundle; Bundle interprets them."""

    _index = "/manifest.json"

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path))
        if is_packed(self.path):
            self._held = unpacked(self.path)
            if is_experiment_folder(self._held.path):
                raise no_bundle(path)
            self.path = self._held.path
        self.manifest_json = self._manifest()

    @cached_property
    def manifest(self) -> Manifest:
        """manifest.json as typed fields; a field unlike docs/bundle.md counts as absent."""
        return struct_of(Manifest, self.manifest_json) or Manifest()

    @property
    def written_manifest(self) -> Manifest:
        """The manifest as the recorder wrote it, without what the user gave beside the bundle."""
        return self.manifest

    def _manifest(self) -> dict[str, Any]:
        text = read_text(self.path / "manifest.json")
        try:
            manifest, self._mended = mended(text)
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.shown}/manifest.json is not JSON: {error}") from None
        if not isinstance(manifest, dict) or "netcost_bundle" not in manifest:
            raise CaptureError(
                f"{self.shown}/manifest.json was not written by netcost-record: it has no "
                "netcost_bundle"
            )
        if manifest["netcost_bundle"] != _FORMAT:
            raise CaptureError(
                f"{self.shown} is a bundle of format {manifest['netcost_bundle']!r}, and this "
                f"netcost reads {_FORMAT}: update netcost"
            )
        return manifest

    @property
    def has_no_trace(self) -> bool:
        """Whether it was recorded without a trace, only for the companion tools' output."""
        return self.written_manifest.trace is None

    @property
    def trace(self) -> Path:
        """The recording inside the bundle: a file, or a folder of raw pages from tracefs.

        Raises CaptureError if there is none, if it or a link in the folder leads out of the bundle,
        or if a part of it is not a regular file.
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
            # Opening a FIFO in an untrusted bundle would block forever.
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise CaptureError(
                    f"{named(path)} is not a regular file: a bundle holds files and folders"
                )
        return trace

    @property
    def network_namespaces(self) -> dict[str, str]:
        """The network namespaces whose devices were recorded: name to the suffix of its files.

        "." is the one that netcost-record ran in. The first namespace's files have no suffix, those
        of another end in ".NAME", or in ".host" for ".".
        """
        first, *others = self.manifest.network_namespaces or ["."]
        return {first: ""} | {name: ".host" if name == "." else f".{name}" for name in others}

    @cached_property
    def before(self) -> "Snapshot":
        """/proc before the load and the victim started."""
        return self._snapshot("before")

    @cached_property
    def after(self) -> "Snapshot":
        """/proc after the load and the victim ended."""
        return self._snapshot("after")

    def _snapshot(self, name: str) -> "Snapshot":
        from ..parsers.host import Snapshot

        return Snapshot({file: self.text(f"{name}/{file}") or "" for file in Snapshot.FILES})

    @property
    def host_cpus(self) -> int | None:
        """The number of CPUs online before the recording, by /proc/stat; None if not known."""
        return len(self.before.ticks) or None
