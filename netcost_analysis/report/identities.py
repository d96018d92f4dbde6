# The runs of a comparison, and the commands that recorded them.

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..capture.checksum import checksum
from ..display.templates import Markdown, escaped, one_line
from ..questions.completeness.summary import quick_verdict
from ..units import plural
from .mail_text import shell_line

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..comparison.comparison import Comparison
    from ..comparison.run import Run
    from ..opening.experiment import Experiment


# Of a SHA-256: as many as git shows of a commit.
_DIGITS = 12


def identities(comparison: "Comparison") -> str:
    """Each side's runs as Markdown: what their files begin with by SHA-256, and what they lack."""
    parts = []
    for side, runs in comparison.sides.items():
        parts.append(f"{side}, {escaped(comparison.named(side))}:")
        parts.append("\n".join(f"- {line}" for line in _runs(list(runs))))
    return "\n\n".join(parts)


def _runs(runs: "list[Run]") -> Iterator[Markdown]:
    for run in runs:
        if run.is_recorded:
            yield from _recording(run)
    names = [run.name for run in runs if not run.is_recorded]
    if names:
        last = f" to {escaped(names[-1])}" if len(names) > 1 else ""
        counted = plural(len(names), "run")
        yield Markdown(f"{counted} without a recording: {escaped(names[0])}{last}")


def _recording(run: "Run") -> Iterator[Markdown]:
    # A line for each file. --json has the whole checksum.
    for capture in run.captures:
        name = run.name if len(run.captures) == 1 else capture.path
        said = escaped(quick_verdict(capture) or "a bare recording, without counters beside it")
        digest = checksum(capture)
        yield Markdown(f"{escaped(name)}: {f'{digest[:_DIGITS]}, ' if digest else ''}{said}")


def recorders(comparison: "Comparison", experiments: "Sequence[Experiment]") -> list[str]:
    """The commands that recorded the runs; the runs of an experiment share one."""
    found = [one.experiment.command for one in experiments]
    within = tuple(f"{one.path.name}/" for one in experiments)
    for runs in comparison.sides.values():
        for run in runs.recorded:
            if not run.name.startswith(within):
                found += map(recorder, run.captures)
    return [one_line(one) for one in dict.fromkeys(found) if one]


def recorder(capture: "Capture") -> str | None:
    """The command that recorded it, if it is known."""
    manifest = capture.bundle.manifest if capture.bundle else None
    if manifest is not None and manifest.record_command:
        return manifest.record_command
    return shell_line(capture.info.get("cmdline") or ()) or None
