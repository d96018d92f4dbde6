# Masks folders: a bundle, or an experiment with all its bundles, packed or not.

import hashlib
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .._native import CaptureError, pack_file, packing
from ..capture.bundle import Bundle
from ..capture.packed import is_experiment_folder, is_packed, unpacked
from .free_text import MASKED
from .manifests import masked_experiment, masked_manifest, masked_steps
from .names import Names
from .texts import Texts
from .traces import Traces

# Larger text files are left out rather than masked.
_TEXT_LIMIT_BYTES = 64 << 20
_SUMS = "SHA256SUMS"
# Written first in an archive.
_FIRST = ("manifest.json", "experiment.json")
_PACKINGS = {".tar.zst": "zstd", ".tar.gz": "gzip", ".tgz": "gzip", ".tar": None}
# Suffixes of files, in formats that we do not write.
_NOT_OURS = (".zst", ".gz", ".zip", ".xz", ".bz2")
_MAGICS = (b"PERFILE2", b"2ELIFREP", b"PERFFILE", b"\x17\x08\x44tracing")


class Folders:
    def __init__(self, names: Names, changes: Counter[str]) -> None:
        self._changes = changes
        self._traces, self._texts = Traces(names, changes), Texts(names)
        self._paths = self._texts.paths

    @property
    def interfaces(self) -> list[str]:
        return [self._texts.free_text.masked(name) for name in self._paths.interfaces]

    def write(self, source: Path, target: Path, name: str | None) -> None:
        # source may be packed.
        ending = _packing_of(target)
        tree = _Tree(source)
        self._find_names(tree)
        if not ending and source.is_dir():
            self._write(tree, target)
        else:
            how = _PACKINGS[ending] if ending else packing(str(source))
            self._write_packed(tree, target, name, how)

    def _find_names(self, tree: "_Tree") -> None:
        # Collect host names everywhere before masking anything.
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
            self._traces.mask(trace, self._place(tree, trace, target))
        for path, other in tree.packed.items():
            self._write_packed(other, self._place(tree, path, target), None, packing(str(path)))
        for path in tree.files:
            self._write_file(path, path.relative_to(tree.path), target, tree)

    def _place(self, tree: "_Tree", path: Path, target: Path) -> Path:
        place = target / self._paths.masked(path.relative_to(tree.path).as_posix())
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _write_packed(self, tree: "_Tree", target: Path, name: str | None, how: str | None) -> None:
        draft = target.with_name(f".{target.name}.draft")
        # The original folder's name may be that of a host or a customer.
        folder = draft / (name or tree.kind)
        try:
            self._write(tree, folder)
            _write_archive(folder, target, how)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _write_file(self, path: Path, inside: Path, target: Path, tree: "_Tree") -> None:
        in_files = "files" in inside.parts[:-1]
        if inside.name == _SUMS and not in_files:
            return
        text = _text_of(path)
        shown = self._paths.masked(inside.as_posix())
        # All bundles of an experiment have the same files, so list them once.
        listed = shown.rpartition("/")[2] if tree.kind == "experiment" else shown
        rule = self._rule(path, inside, in_files, tree)
        if text is None or rule is None:
            self._changes[f"{listed} left out"] += 1
            return
        masked = rule(text)
        self._changes["text files masked"] += 1
        left = self._texts.free_text.left_in(masked)
        if left is not None:
            raise CaptureError(
                f"{path}: {left} names would be left in it after masking: remove the file"
            )
        hidden = masked.count(MASKED)
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
            # Bundle corrects what older recorders wrote.
            return lambda _: masked_manifest(self._texts, Bundle(path.parent).manifest_json)
        if tree.kind == "experiment" and inside.as_posix() == "experiment.json":
            return partial(masked_experiment, self._texts)
        if tree.kind == "experiment" and inside.as_posix() == "steps.tsv":
            return partial(masked_steps, self._texts)
        return self._texts.rule(inside.as_posix())


def _packing_of(target: Path) -> str | None:
    for ending in _PACKINGS:
        if target.name.endswith(ending):
            return ending
    if target.suffix in _NOT_OURS:
        known = ", ".join(_PACKINGS)
        raise CaptureError(
            f"OUT cannot end in {target.suffix}: a packed folder ends in one of {known}"
        )
    return None


class _Tree:
    # The recordings, packed bundles and other files of a bundle or an experiment.

    def __init__(self, path: Path) -> None:
        self._held = unpacked(path) if is_packed(path) else None
        self.path = path if self._held is None else self._held.path
        self.kind = "experiment" if is_experiment_folder(self.path) else "bundle"
        self.traces = self._traces()
        files = [
            path
            for path in sorted(self.path.rglob("*"))
            if (path.is_file() or path.is_symlink())
            and not any(_is_in(path, trace) for trace in self.traces)
        ]
        may_hold = files if self.kind == "experiment" else []
        packed = [path for path in may_hold if not path.is_symlink() and is_packed(path)]
        self.packed = {path: _Tree(path) for path in packed}
        self.files = [path for path in files if path not in self.packed]

    def _traces(self) -> list[Path]:
        # Manifests name recordings. Any other binary recording counts too.
        traces: list[Path] = []
        for path in sorted(self.path.rglob("manifest.json")):
            inside = path.relative_to(self.path).parts
            if "files" in inside or any(_is_in(path, trace) for trace in traces):
                continue
            bundle = Bundle(path.parent)
            if bundle.manifest_json.get("trace"):
                traces.append(bundle.trace)
        for path in sorted(self.path.rglob("*")):
            if path.is_symlink() or any(_is_in(path, trace) for trace in traces):
                continue
            is_folder = path.is_dir() and (
                (path / "data").is_file() or (path / "header_page").is_file()
            )
            if is_folder or (path.is_file() and _is_recording(path)):
                traces.append(path)
        return [trace for trace in traces if trace.exists()]


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


def _write_archive(folder: Path, target: Path, how: str | None) -> None:
    # Like netcost-pack: checksums first, no owners or times. how: gzip, zstd or None.
    plain = target if how is None else target.with_name(f".{target.name}.tar")
    try:
        _write_tar(folder, plain)
        if how is not None:
            pack_file(str(plain), str(target), how)
    finally:
        if how is not None:
            plain.unlink(missing_ok=True)


def _write_tar(folder: Path, out: Path) -> None:
    paths = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    names = sorted(paths, key=lambda name: (name not in _FIRST, name))
    sums = "".join(f"{_digest(paths[name])}  {name}\n" for name in names)
    (folder / _SUMS).write_bytes(sums.encode("utf-8", "surrogateescape"))
    with tarfile.open(out, "x", format=tarfile.PAX_FORMAT) as archive:
        for name in (_SUMS, *names):
            path = folder / name
            member = tarfile.TarInfo(f"{folder.name}/{name}")
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
