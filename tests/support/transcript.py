# Transcripts of a console: `$ command line`, the lines that it prints on standard output and error
# as a terminal shows them, and `[exit N]` where it fails. A blank line stands before each command
# but the first. Whoever changes what commands print writes them anew and reads the difference:
#   PYTHONPATH=tests .venv/bin/python -m support.transcript --write tests/golden/*.console

import contextlib
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from unittest import mock

from netcost_analysis.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]
# Tables are as wide as what is shown in README.md.
ENVIRONMENT = {
    "COLUMNS": "110",
    "LINES": "50",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONPATH": str(ROOT),
}
NETCOST = f"""#!/bin/sh
exec {shlex.quote(sys.executable)} -c 'from netcost_analysis.cli.main import main; main()' "$@"
"""
# What only a shell understands.
SHELL = re.compile(r"[|&;<>()$`*?\[\]{}~\\]|\s#")
PROMPT, MORE = "$ ", "\\"


@dataclass(frozen=True)
class Step:
    command: str
    printed: list[str]
    line: int = 0


# Runs commands in a folder of its own that looks like the repository's root: what they write does
# not stay.
class Console:
    def __init__(self, folder: Path, shims: Path) -> None:
        self.folder, self._shims = folder, shims

    # What it prints and its status, as lines.
    def run(self, command: str) -> list[str]:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as screen:
            status = self._status(command, screen)
            screen.seek(0)
            text = screen.read()
        for path in (self.folder, ROOT):
            text = text.replace(str(path), "$PWD")
        return text.splitlines() + ([f"[exit {status}]"] if status else [])

    # A start of the interpreter takes longer than most commands.
    def _status(self, command: str, screen: IO[str]) -> int:
        first, _, rest = command.partition(" | ")
        if not command.startswith("netcost ") or SHELL.search(re.sub(r"'[^']*'", "''", first)):
            return self._bash(command, subprocess.DEVNULL, screen)
        if not rest:
            return within(shlex.split(first), screen, screen)
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as pipe:
            status = within(shlex.split(first), pipe, screen)
            pipe.seek(0)
            return self._bash(rest, pipe, screen) or status

    def _bash(self, command: str, given: IO[str] | int, screen: IO[str]) -> int:
        path = f"{self._shims}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["timeout", "100", "bash", "-o", "pipefail", "-c", command],
            stdin=given,
            stdout=screen,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path, "HOME": "/home/user", "XDG_CACHE_HOME": ""},
            check=False,
        ).returncode


def within(words: list[str], output: IO[str], errors: IO[str]) -> int:
    with (
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        finally:
            output.flush()
            errors.flush()
    return 0


@contextlib.contextmanager
def console() -> Iterator[Console]:
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as shims,
        mock.patch.dict(os.environ, ENVIRONMENT),
        contextlib.chdir(folder),
    ):
        for name in [name for name in os.environ if name.startswith("NETCOST_")]:
            del os.environ[name]
        for path in ROOT.iterdir():
            if path.name[0] != "." and path.name != "build":
                Path(path.name).symlink_to(path)
        Path(shims, "netcost").write_text(NETCOST)
        Path(shims, "netcost").chmod(0o755)
        time.tzset()
        try:
            yield Console(Path(folder), Path(shims))
        finally:
            os.environ.pop("TZ")
            time.tzset()


def parsed(lines: Sequence[str], first: int = 1) -> list[Step]:
    steps: list[Step] = []
    more = False
    for number, line in enumerate(lines, first):
        if more:
            steps[-1] = Step(f"{steps[-1].command}\n{line}", [], steps[-1].line)
        elif line.startswith(PROMPT):
            if steps and steps[-1].printed[-1:] == [""]:
                steps[-1].printed.pop()
            steps.append(Step(line.removeprefix(PROMPT), [], number))
        else:
            steps[-1].printed.append(line)
            continue
        more = line.endswith(MORE)
    return steps


def told(steps: Sequence[Step]) -> str:
    blocks = []
    for step in steps:
        if any(line.startswith(PROMPT) for line in step.printed):
            raise ValueError(f"prints what looks like a command: {step.command}")
        blocks.append("\n".join([PROMPT + step.command, *step.printed]) + "\n")
    return "\n".join(blocks)


# A line of three dots stands for any lines, in what is written for readers.
def matches(expected: Sequence[str], printed: Sequence[str]) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


# Where it prints something else, as a difference.
def difference(step: Step, printed: Sequence[str], name: str, *, elided: bool = False) -> str:
    if matches(step.printed, printed) if elided else step.printed == list(printed):
        return ""
    lines = [*difflib.unified_diff(step.printed, printed, "told", "printed", lineterm="", n=1)]
    if elided:
        lines = [line for line in lines if line[0] != "+"] + ["+++ printed", *printed[:40]]
    return "\n".join([f"{name}:{step.line}: $ {step.command}", *lines])


def differences(path: Path) -> list[str]:
    steps = parsed(path.read_text().splitlines())
    with console() as here:
        found = [difference(step, here.run(step.command), path.name) for step in steps]
    return [one for one in found if one]


def write(path: Path) -> None:
    steps = parsed(path.read_text().splitlines())
    with console() as here:
        text = told([Step(step.command, here.run(step.command)) for step in steps])
    path.write_text(text)


def main(words: list[str]) -> None:
    for name in words[words[:1] == ["--write"] :]:
        if words[0] == "--write":
            write(Path(name).absolute())
        else:
            print(*differences(Path(name).absolute()), sep="\n\n", end="")


if __name__ == "__main__":
    main(sys.argv[1:])
