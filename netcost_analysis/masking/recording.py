"""Recordings and bundles with the names of hosts, tasks and addresses replaced."""

import hashlib
import json
import re
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._native import CaptureError, mask_recording, pack_file
from ..bundle import Bundle, is_bundle
from ..packed import is_packed, packing, unpacked
from ..progress import progress
from .fields import meaning
from .lines import Lines
from .manifest import masked_manifest
from .names import KINDS, Names
from .room import naming_what_is_full
from .texts import Texts
from .words import Words

_LINES = {"event", "record", "comment", "frame", "line"}
# Text beside a trace that is larger than this is not masked, but left out.
_TEXT_LIMIT_BYTES = 64 << 20
_SUMS = "SHA256SUMS"


class Masked:
    """What a masking did. told: what was replaced, zeroed or left out -> how often.

    replaced: kind -> how many different names, as docs/mask.md lists the kinds.
    """

    def __init__(self, told: Counter[str], names: Names) -> None:
        self.told = dict(sorted(told.items()))
        kinds = Counter(kind for kind, _ in names.map)
        self.replaced = {kind: kinds[kind] for kind in KINDS if kinds[kind]}

    @property
    def summary(self) -> str:
        """Lines that hold none of the originals."""
        lines = [f"{count} names of kind {kind} replaced" for kind, count in self.replaced.items()]
        lines += [f"{count} x {what}" if count else what for what, count in self.told.items()]
        return "".join(f"{line}\n" for line in lines)


class _Meaning:
    # What native asks; see native/src/mask.

    def __init__(self, names: Names, report: Callable[[float], object] | None) -> None:
        self._names, self.lines, self._report = names, Lines(names), report
        self._words = Words(names)

    def field(self, event: str, field: str, shape: str, size: int) -> str:
        return meaning(event, field, shape, size)

    def replace(self, kind: str, original: bytes) -> bytes:
        if kind in ("ipv4", "ipv6"):
            return self._names.packed_address(original)
        if kind == "mac":
            return self._names.hardware(original)
        text = original.decode("utf-8", "surrogateescape")
        return self._text(kind, text).encode("utf-8", "surrogateescape")

    def _text(self, kind: str, text: str) -> str:
        if kind == "arguments":
            from .arguments import masked_arguments

            return "\0".join(masked_arguments(self._names, text.split("\0")))
        if kind == "words":
            return self._words.masked(text)
        if kind in _LINES:
            return self.lines.masked(kind, text)
        return self._names.host(text) if kind == "host" else self._names.name(kind, text)

    def progress(self, fraction: float) -> None:
        if self._report is not None:
            self._report(fraction)


def mask(source: str | Path, target: str | Path, map_path: str | Path | None = None) -> Masked:
    """Write a recording or bundle anew without the names of its host, tasks and addresses.

    source: a bundle's folder, a packed bundle, or a bare recording of any kind that open_capture
    reads, but standard input. target: what is written, of the same kind; it must not exist. Beside
    it stands TARGET.masked.txt, which says what was done. map_path: a file of names and what
    replaces them (docs/mask.md#the-map): taken over where it exists, and extended; None keeps none.
    Raises CaptureError where the source cannot be read or the target is there already; OSError.
    """
    source, target = Path(source), Path(target)
    names = Names()
    if map_path is not None and Path(map_path).exists():
        names.load(Path(map_path))
    listed = target.with_name(f"{target.name}.masked.txt")
    for path in (target, listed):
        if path.exists() or path.is_symlink():
            raise CaptureError(f"{path} is there already: name another, or take it away")
    if not (source.is_file() or source.is_dir()):
        what = "no regular file or folder" if source.exists() else "no such file or folder"
        raise CaptureError(f"{source}: {what}")
    if target.resolve().is_relative_to(source.resolve()):
        raise CaptureError(f"{target} lies inside of what is to be masked: name a place beside it")
    # Beside the target, so that it only has to be renamed; gone whatever ends this.
    with tempfile.TemporaryDirectory(dir=target.parent or ".", prefix=f".{target.name}.") as folder:
        draft = Path(folder, target.name)
        draft_list = Path(folder, "masked.txt")
        with naming_what_is_full(target):
            masked = Masked(_Work(names).any(source, draft), names)
            draft_list.write_text(masked.summary, encoding="utf-8")
        if map_path is not None:
            with naming_what_is_full(Path(map_path)):
                names.save(Path(map_path))
        draft_list.rename(listed)
        try:
            draft.rename(target)
        except BaseException:
            listed.unlink(missing_ok=True)
            raise
    return masked


class _Work:
    def __init__(self, names: Names) -> None:
        self._names, self._texts = names, Texts(names)
        self._told: Counter[str] = Counter()

    def any(self, source: Path, target: Path) -> Counter[str]:
        if is_bundle(source):
            self._bundle(source, target)
        elif is_packed(source):
            self._packed(source, target)
        else:
            self._trace(source, target)
        return self._told

    def _packed(self, source: Path, target: Path) -> None:
        held = unpacked(source)
        # The name of the folder inside is the bundle's, and may be the host's.
        top = target.name.partition(".")[0] or "bundle"
        folder = target.with_name("folder") / top
        folder.parent.mkdir()
        self._bundle(held.path, folder)
        archive = target.with_name("archive.tar")
        _archive(folder, archive)
        how = packing(source)
        if how is None:
            archive.rename(target)
        else:
            pack_file(str(archive), str(target), how)
            archive.unlink()
        shutil.rmtree(folder.parent)

    def _trace(self, source: Path, target: Path) -> None:
        before = self._learned(source)
        with progress("masking") as advance:
            meant = _Meaning(self._names, advance)
            self._told.update(mask_recording(str(source), str(target), meant))
        for event in meant.lines.hidden:
            self._told[f"values in the text of {event} hidden"] += 0
        if _counts(target) != before:
            raise CaptureError(
                f"{source} is damaged: masked, it would hold other events than it "
                "does: nothing is written"
            )

    def _learned(self, trace: Path) -> dict[str, int]:
        # What the host is called, and how many events of each kind there are.
        from ..capture import Capture

        hostname = Capture(trace).header.get("hostname")
        if hostname:
            self._names.host(hostname)
        return _counts(trace)

    def _bundle(self, source: Path, target: Path) -> None:
        bundle = Bundle(source)
        traces = self._traces(bundle)
        files = sorted(path for path in source.rglob("*") if path.is_file() or path.is_symlink())
        files = [path for path in files if not any(_is_in(path, trace) for trace in traces)]
        for path in files:
            text = self._text_of(path)
            if text is not None:
                self._texts.find_hosts(path.relative_to(source).as_posix(), text)
        for trace in traces:
            self._learned(trace)
        target.mkdir()
        for trace in traces:
            place = target / trace.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            self._trace(trace, place)
        for path in files:
            self._file(path, path.relative_to(source), target)

    def _traces(self, bundle: Bundle) -> list[Path]:
        # The manifest's, and whatever else in the bundle is a recording in binary.
        found = [bundle.trace] if bundle.manifest.get("trace") else []
        for path in sorted(bundle.path.rglob("*")):
            if path.is_symlink() or any(_is_in(path, trace) for trace in found):
                continue
            is_folder = path.is_dir() and (
                (path / "data").is_file() or (path / "header_page").is_file()
            )
            if is_folder or (path.is_file() and _is_recording(path)):
                found.append(path)
        return [trace for trace in found if trace.exists()]

    def _text_of(self, path: Path) -> str | None:
        if path.is_symlink() or path.stat().st_size > _TEXT_LIMIT_BYTES:
            return None
        data = path.read_bytes()
        return None if b"\0" in data else data.decode("utf-8", "surrogateescape")

    def _file(self, path: Path, inside: Path, target: Path) -> None:
        if inside.name == _SUMS:
            return
        text = self._text_of(path)
        rule = self._texts.rule(inside.as_posix())
        if inside.name == "manifest.json" and text is not None:
            rule = self._manifest
        if text is None or rule is None:
            self._told[f"{self._shown(inside)} left out"] += 1
            return
        # A network namespace may be called by an address, a file by its program.
        place = target / self._shown(inside)
        place.parent.mkdir(parents=True, exist_ok=True)
        masked = rule(text)
        self._told["text files masked"] += 1
        left = self._texts.words.left_in(masked)
        if left is not None:
            raise CaptureError(
                f"{path}: {left} names are left in it once it is masked: take it away"
            )
        hidden = masked.count("(masked)")
        if hidden:
            self._told[f"lines or values of {inside.name} hidden"] += hidden
        place.write_bytes(masked.encode("utf-8", "surrogateescape"))

    def _shown(self, inside: Path) -> str:
        # The path of a file in the bundle without the names that are masked in it.
        name = self._texts.words.masked(inside.as_posix())
        for (kind, original), new in self._names.map.items():
            if kind in ("task", "host") and len(original) > 2 and original in name:
                own = inside.parts[0] == "files" or self._texts.rule(inside.as_posix()) is None
                name = re.sub(rf"(?<!\w){re.escape(original)}(?!\w)", new, name) if own else name
        return name

    def _manifest(self, text: str) -> str:
        try:
            manifest: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"manifest.json is no JSON: {error}") from None
        masked = masked_manifest(self._names, self._texts, manifest)
        return json.dumps(masked, indent=2) + "\n"


def _counts(trace: Path) -> dict[str, int]:
    from ..capture import Capture

    counts: dict[str, int] = Capture(trace).native.scan()["events"]
    return counts


def _is_in(path: Path, trace: Path) -> bool:
    return path == trace or trace in path.parents


def _is_recording(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(10)
    magics = (b"PERFILE2", b"2ELIFREP", b"PERFFILE", b"\x17\x08\x44tracing")
    return start.startswith(magics)


def _archive(folder: Path, out: Path) -> None:
    # As netcost-pack writes it: the sums first, owners and times of nobody's.
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files)
    place = folder / _SUMS
    place.write_bytes(sums.encode("utf-8", "surrogateescape"))
    with tarfile.open(out, "x", format=tarfile.PAX_FORMAT) as archive:
        for path in (place, *files):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            member = tarfile.TarInfo(name)
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
