# Folders without names: a bundle's, or an experiment's with all its bundles, packed or not.

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from .._native import CaptureError
from ..capture.bundle import Bundle
from ..capture.packed import is_packed, packing, unpacked
from ..capture.packed_sums import is_experiment_folder
from .archive import write_archive
from .experiment import Experiments
from .manifest import masked_manifest
from .names import Names
from .texts import Texts
from .traces import Traces

# Text beside a trace that is larger than this is not masked, but left out.
_TEXT_LIMIT_BYTES = 64 << 20
_SUMS = "SHA256SUMS"
_PACKINGS = {".tar.zst": "zstd", ".tar.gz": "gzip", ".tgz": "gzip", ".tar": None}
# Nobody expects a folder in these, or another's packing.
_NOT_OURS = (".zst", ".gz", ".zip", ".xz", ".bz2")
_MAGICS = (b"PERFILE2", b"2ELIFREP", b"PERFFILE", b"\x17\x08\x44tracing")


class Folders:
    # changes: what was done is counted there.

    def __init__(self, names: Names, changes: Counter[str]) -> None:
        self._names, self._changes = names, changes
        self._traces, self._texts = Traces(names, changes), Texts(names)
        self._paths = self._texts.paths
        self._experiments = Experiments(names, self._texts.words, self._paths)

    @property
    def interfaces(self) -> list[str]:
        return [self._texts.words.masked(name) for name in self._paths.interfaces]

    def write(self, source: Path, target: Path, name: str | None) -> None:
        # source: a folder, or the file that one is packed in.
        ending = _packing_of(target)
        tree = _Tree(source)
        self._find_names(tree)
        if not ending and source.is_dir():
            self._write(tree, target)
        else:
            how = _PACKINGS[ending] if ending else packing(source)
            self._write_packed(tree, target, name, how)

    def _find_names(self, tree: "_Tree") -> None:
        # What hosts are called, everywhere, before anything is masked.
        for path in tree.files:
            text = _text_of(path)
            if text is not None:
                self._texts.find_hosts(path.relative_to(tree.path).as_posix(), text)
        for trace in tree.traces:
            self._traces.learn(trace)
        for other in tree.packed.values():
            self._find_names(other)

    def _write(self, tree: "_Tree", target: Path) -> None:
        target.mkdir(parents=True)
        for trace in tree.traces:
            place = target / self._paths.masked(trace.relative_to(tree.path).as_posix())
            place.parent.mkdir(parents=True, exist_ok=True)
            self._traces.mask(trace, place)
        for path, other in tree.packed.items():
            place = target / self._paths.masked(path.relative_to(tree.path).as_posix())
            place.parent.mkdir(parents=True, exist_ok=True)
            self._write_packed(other, place, None, packing(path))
        for path in tree.files:
            self._write_file(path, path.relative_to(tree.path), target, tree)

    def _write_packed(self, tree: "_Tree", target: Path, name: str | None, how: str | None) -> None:
        draft = target.with_name(f".{target.name}.draft")
        # The name of the folder inside is the bundle's, and may be the host's, or a customer's.
        folder = draft / (name or tree.kind)
        try:
            self._write(tree, folder)
            write_archive(folder, target, how)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _write_file(self, path: Path, inside: Path, target: Path, tree: "_Tree") -> None:
        in_files = "files" in inside.parts[:-1]
        if inside.name == _SUMS and not in_files:
            return
        text = _text_of(path)
        shown = self._paths.masked(inside.as_posix())
        # An experiment has each file as often as it has bundles.
        listed = shown.rpartition("/")[2] if tree.kind == "experiment" else shown
        rule = self._rule(path, inside, in_files, tree)
        if text is None or rule is None:
            self._changes[f"{listed} left out"] += 1
            return
        masked = rule(text)
        self._changes["text files masked"] += 1
        left = self._texts.words.left_in(masked)
        if left is not None:
            raise CaptureError(
                f"{path}: {left} names are left in it once it is masked: take it away"
            )
        hidden = masked.count("(masked)")
        if hidden:
            self._changes[f"lines or values of {listed} hidden"] += hidden
        place = target / shown
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            file.write(masked.encode("utf-8", "surrogateescape"))

    def _rule(
        self, path: Path, inside: Path, in_files: bool, tree: "_Tree"
    ) -> Callable[[str], str] | None:
        if inside.name == "manifest.json" and not in_files:
            return lambda _: self._manifest(path)
        if tree.kind == "experiment" and inside.as_posix() == "experiment.json":
            return self._experiments.experiment
        if tree.kind == "experiment" and inside.as_posix() == "steps.tsv":
            return self._experiments.steps
        return self._texts.rule(inside.as_posix())

    def _manifest(self, path: Path) -> str:
        # As a bundle is opened, which mends what older recorders wrote.
        manifest = Bundle(path.parent).manifest_json
        return json.dumps(masked_manifest(self._names, self._texts, manifest), indent=2) + "\n"


def _packing_of(target: Path) -> str | None:
    # The ending of _PACKINGS that its name has.
    for ending in _PACKINGS:
        if target.name.endswith(ending):
            return ending
    if target.suffix in _NOT_OURS:
        known = ", ".join(_PACKINGS)
        raise CaptureError(
            f"OUT cannot be a {target.suffix}: what a folder is packed in ends in one of {known}"
        )
    return None


class _Tree:
    # What is in a bundle or an experiment: recordings, packed bundles of an experiment, and the
    # rest. path: the folder, or the file that it is packed in.

    def __init__(self, path: Path) -> None:
        self._held = unpacked(path) if is_packed(path) else None
        self.path = path if self._held is None else self._held.path
        self.kind = "experiment" if is_experiment_folder(self.path) else "bundle"
        self.traces = self._traces()
        found = sorted(self.path.rglob("*"))
        found = [one for one in found if one.is_file() or one.is_symlink()]
        found = [one for one in found if not any(_is_in(one, trace) for trace in self.traces)]
        of_experiment = [
            one
            for one in found
            if self.kind == "experiment" and not one.is_symlink() and is_packed(one)
        ]
        self.packed = {one: _Tree(one) for one in of_experiment}
        self.files = [one for one in found if one not in self.packed]

    def _traces(self) -> list[Path]:
        # The manifests', and whatever else in the bundle is a recording in binary.
        found: list[Path] = []
        for path in sorted(self.path.rglob("manifest.json")):
            inside = path.relative_to(self.path).parts
            if "files" in inside or any(_is_in(path, trace) for trace in found):
                continue
            bundle = Bundle(path.parent)
            if bundle.manifest_json.get("trace"):
                found.append(bundle.trace)
        for path in sorted(self.path.rglob("*")):
            if path.is_symlink() or any(_is_in(path, trace) for trace in found):
                continue
            is_folder = path.is_dir() and (
                (path / "data").is_file() or (path / "header_page").is_file()
            )
            if is_folder or (path.is_file() and _is_recording(path)):
                found.append(path)
        return [trace for trace in found if trace.exists()]


def _text_of(path: Path) -> str | None:
    if path.is_symlink() or path.stat().st_size > _TEXT_LIMIT_BYTES:
        return None
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape")


def _is_in(path: Path, trace: Path) -> bool:
    return path == trace or trace in path.parents


def _is_recording(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(10).startswith(_MAGICS)
