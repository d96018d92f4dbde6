"""What a mail says of both kernels beside the figures: commits, who reported what."""

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display.templates import one_line
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison

# What CONFIG_LOCALVERSION_AUTO appends, and the version that a tag is named after.
_DESCRIBED = re.compile(r"-g([0-9a-f]{7,40})\b")
_VERSION = re.compile(r"([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-rc[0-9]+)?)")
_PATIENCE_S = 20


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
