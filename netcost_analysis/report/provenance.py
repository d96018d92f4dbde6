# Where a comparison's figures come from: its runs and what recorded them, machines, commits.

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
from .mail_text import shell_line

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..comparison.comparison import Comparison
    from ..comparison.run import Run
    from ..opening.experiment import Experiment

# Of a SHA-256: as many as git shows of a commit.
_DIGITS = 12
_MOST = 3
# What CONFIG_LOCALVERSION_AUTO appends, and the version that a tag is named after.
_DESCRIBED = re.compile(r"-g([0-9a-f]{7,40})\b")
_VERSION = re.compile(r"([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-rc[0-9]+)?)")
_PATIENCE_S = 20


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


def machines(comparison: "Comparison") -> str:
    """Markdown: a line for each fact, and one a side where the sides differ; "" without bundles."""
    sides = {side: _facts(comparison, side) for side in comparison.sides}
    lines = []
    for name in dict.fromkeys(name for facts in sides.values() for name in facts):
        said = {side: facts.get(name, []) for side, facts in sides.items()}
        if said["base"] == said["new"] and len(said["base"]) == 1:
            lines.append(f"- {escaped(name)}: {escaped(said['base'][0])}")
            continue
        for side, values in said.items():
            shown = " / ".join(map(escaped, values[:_MOST])) or "not recorded"
            more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
            lines.append(f"- {escaped(name)} ({side}): {shown}{more}")
    return "\n".join(lines)


def _facts(comparison: "Comparison", side: str) -> dict[str, list[str]]:
    # By fact its different values over a side's bundles.
    found: dict[str, list[str]] = {}
    for run in comparison.sides[side].recorded:
        bundle = run.bundle
        for name, said in (machine(bundle) if bundle else {}).items():
            values = found.setdefault(name, [])
            if said not in values:
                values.append(said)
    return found


@dataclass(frozen=True)
class Commits:
    """What was given of them; None where it was not. git: a clone that knows titles."""

    base: str | None = None
    new: str | None = None
    git: str | None = None
    reported_by: str | None = None
    closes: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value.strip():
                raise ArgumentError(f"{name} is empty: give it, or leave the option out")

    def lines(self, comparison: "Comparison") -> list[str]:
        """A line for each commit and tag, as the kernel's lists have them; none where nothing was.

        Raises ArgumentError for a commit that the clone has not, or a folder that is no clone.
        """
        made = []
        for side, given in (("base", self.base), ("new", self.new)):
            said = self._described(given, comparison, side)
            made += [f"{side}: {said}"] if said else []
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
        # --end-of-options: a name that begins with a dash is no option.
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
    # Names of the commit that a kernel's release was built of.
    described, version = _DESCRIBED.search(kernel), _VERSION.match(kernel)
    names = [described[1]] if described else []
    if version and not described:
        names += [f"v{version[1]}", f"v{version[1].removesuffix('.0')}"]
    return names
