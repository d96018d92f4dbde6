# Masks recordings: native code finds the names and asks for their replacements.

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from .._native import CaptureError, mask_recording
from ..progress import progress
from .arguments import masked_arguments
from .free_text import FreeText
from .lines import Lines
from .names import Names

_LINES = {"event", "record", "comment", "frame", "line"}


class Traces:
    def __init__(self, names: Names, changes: Counter[str]) -> None:
        self._names, self._changes = names, changes

    def learn(self, trace: Path) -> None:
        from ..capture.capture import Capture

        hostname = Capture(trace).header.get("hostname")
        if hostname:
            self._names.host(hostname)

    def mask(self, source: Path, target: Path) -> None:
        before = _counts(source)
        with progress("masking") as advance:
            replacements = _Replacements(self._names, advance)
            self._changes.update(mask_recording(str(source), str(target), replacements))
        for event in replacements.lines.hidden:
            self._changes[f"values in the text of {event} hidden"] += 0
        if _counts(target) != before:
            raise CaptureError(
                f"{source} is damaged: after masking it would hold other events, so nothing was "
                "written"
            )


def _counts(trace: Path) -> dict[str, int]:
    from ..capture.capture import Capture

    counts: dict[str, int] = Capture(trace).native.scan()["events"]
    return counts


class _Replacements:
    # Answers requests of native/src/mask.

    def __init__(self, names: Names, report: Callable[[float], object] | None) -> None:
        self._names, self._free_text, self.lines = names, FreeText(names), Lines(names)
        self._report = report

    def replace(self, kind: str, original: bytes) -> bytes:
        if kind in ("ipv4", "ipv6"):
            return self._names.packed_address(original)
        if kind == "mac":
            return self._names.hardware(original)
        text = original.decode("utf-8", "surrogateescape")
        return self._text(kind, text).encode("utf-8", "surrogateescape")

    def _text(self, kind: str, text: str) -> str:
        if kind == "arguments":
            return "\0".join(masked_arguments(self._names, text.split("\0")))
        if kind == "words":
            return self._free_text.masked(text)
        if kind in _LINES:
            return self.lines.masked(kind, text)
        return self._names.host(text) if kind == "host" else self._names.name(kind, text)

    def progress(self, fraction: float) -> None:
        if self._report is not None:
            self._report(fraction)
