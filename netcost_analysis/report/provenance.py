# Where a comparison's figures come from: runs, the commands that recorded them, machines, commits.

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..capture.checksum import checksum
from ..display.templates import Markdown, escaped, one_line
from ..errors import ArgumentError
from ..questions.completeness.summary import quick_verdict
from ..snapshots.machine import machine
from ..units import plural
from .shell_text import shell_line

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..comparison.comparison import Comparison
    from ..comparison.run import Run
    from ..opening.experiment import Experiment

# Digits of a SHA-256 to show, as many as git shows of a commit.
_DIGITS = 12
_MOST = 3
# What CONFIG_LOCALVERSION_AUTO appends, and the version that names a tag.
_DESCRIBED = re.compile(r"-g([0-9a-f]{7,40})\b")
_VERSION = re.compile(r"([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-rc[0-9]+)?)")
_PATIENCE_S = 20


def identities(comparison: "Comparison") -> str:
    """Each side's runs as Markdown: the first digits of their SHA-256, and what they lack."""
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
    # A line per file. --json has the full checksum.
    for capture in run.captures:
        name = run.name if len(run.captures) == 1 else capture.path
        verdict = escaped(quick_verdict(capture) or "a bare recording, without counters beside it")
        digest = checksum(capture)
        yield Markdown(f"{escaped(name)}: {f'{digest[:_DIGITS]}, ' if digest else ''}{verdict}")


def recorders(comparison: "Comparison", experiments: "Sequence[Experiment]") -> list[str]:
    """The commands that recorded the runs. All runs of an experiment share one."""
    commands = [opened.experiment.command for opened in experiments]
    within = tuple(f"{opened.path.name}/" for opened in experiments)
    for runs in comparison.sides.values():
        for run in runs.recorded:
            if not run.name.startswith(within):
                commands += map(recorder, run.captures)
    return [one_line(command) for command in dict.fromkeys(commands) if command]


def recorder(capture: "Capture") -> str | None:
    """The command that recorded a capture, if known."""
    manifest = capture.bundle.manifest if capture.bundle else None
    if manifest is not None and manifest.record_command:
        return manifest.record_command
    return shell_line(capture.info.get("cmdline") or ()) or None


def machines(comparison: "Comparison") -> str:
    """Markdown with a line per fact, or one per side if they differ; "" without bundles."""
    sides = {side: _facts(comparison, side) for side in comparison.sides}
    lines = []
    for name in dict.fromkeys(name for facts in sides.values() for name in facts):
        values_of = {side: facts.get(name, []) for side, facts in sides.items()}
        if values_of["base"] == values_of["new"] and len(values_of["base"]) == 1:
            lines.append(f"- {escaped(name)}: {escaped(values_of['base'][0])}")
            continue
        for side, values in values_of.items():
            shown = " / ".join(map(escaped, values[:_MOST])) or "not recorded"
            more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
            lines.append(f"- {escaped(name)} ({side}): {shown}{more}")
    return "\n".join(lines)


def _facts(comparison: "Comparison", side: str) -> dict[str, list[str]]:
    # The distinct values of each fact over a side's bundles.
    facts: dict[str, list[str]] = {}
    for run in comparison.sides[side].recorded:
        bundle = run.bundle
        for name, value in (machine(bundle) if bundle else {}).items():
            values = facts.setdefault(name, [])
            if value not in values:
                values.append(value)
    return facts


@dataclass(frozen=True)
class Commits:
    """The commits of both kernels and tags of the mail. git: a clone that knows their titles."""

    base: str | None = None
    new: str | None = None
    git: str | None = None
    reported_by: str | None = None
    closes: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value.strip():
                raise ArgumentError(f"{name} is empty: give a value, or leave the option out")

    def lines(self, comparison: "Comparison") -> list[str]:
        """A line for each known commit and tag, in the style of the kernel's mailing lists.

        Raises ArgumentError for a commit that the clone lacks, or a folder that is no clone.
        """
        made = []
        for side, given in (("base", self.base), ("new", self.new)):
            described = self._described(given, comparison, side)
            made += [f"{side}: {described}"] if described else []
        tags = {"Reported-by": self.reported_by, "Closes": self.closes}
        return made + [f"{name}: {one_line(value)}" for name, value in tags.items() if value]

    def _described(self, given: str | None, comparison: "Comparison", side: str) -> str:
        if self.git is None:
            return one_line(given) if given else ""
        if given:
            return self._of_git(given, side)
        kernel = next(iter(comparison.sides[side].labels.get("kernel", ())), "")
        for name in _names_in(kernel):
            try:
                return self._of_git(name, side)
            except ArgumentError:
                continue
        return ""

    def _of_git(self, commit: str, side: str) -> str:
        # --end-of-options: a name may begin with a dash.
        shown = ("log", "-1", "--no-show-signature", '--format=%h ("%s")', "--abbrev=12")
        words = [
            "git",
            "-C",
            str(self.git),
            *shown,
            "--end-of-options",
            f"{commit}^{{commit}}",
            "--",
        ]
        try:
            run = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ArgumentError(f"--git {self.git}: git did not run: {error}") from None
        if run.returncode:
            why = one_line(run.stderr.strip().rpartition("\n")[2])
            raise ArgumentError(f"--git {self.git} has no commit {commit!r} for {side}: {why}")
        return one_line(run.stdout.strip())


def _names_in(kernel: str) -> list[str]:
    # Names of the commit that a kernel release was built from.
    described, version = _DESCRIBED.search(kernel), _VERSION.match(kernel)
    names = [described[1]] if described else []
    if version and not described:
        names += [f"v{version[1]}", f"v{version[1].removesuffix('.0')}"]
    return names
