# Whether a release may be tagged: each line is a check, and the exit status 1 where one fails.
# Usage: .ci/release_check.py FOLDER, that of the wheels

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

VERSION = tomllib.loads(Path("native/Cargo.toml").read_text())["workspace"]["package"]["version"]
LICENCE = tomllib.loads(Path("pyproject.toml").read_text())["project"]["license"]
ARCHITECTURES = ("x86_64", "aarch64")
MOST_BYTES = 20_000_000
# What users get with netcost may not ask more of them than netcost itself.
PERMISSIVE = re.compile(r"apache|mit\b|bsd|mpl|psf|python software|isc", re.IGNORECASE)
BASE = ("click", "msgspec", "rich", "tqdm", "markdown-it-py", "mdurl", "Pygments")


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def versions() -> str | None:
    """one version in native/Cargo.toml, CITATION.cff and CHANGELOG.md"""
    said = {
        "CITATION.cff": re.search(r"^version: (\S+)$", Path("CITATION.cff").read_text(), re.M),
        "CHANGELOG.md": re.search(r"^## (\S+)", Path("CHANGELOG.md").read_text(), re.M),
    }
    wrong = [name for name, found in said.items() if not found or found[1] != VERSION]
    return f"{VERSION} is not the version in {', '.join(wrong)}" if wrong else None


def dated() -> str | None:
    """the changelog's date"""
    head = re.search(r"^## \S+ \((.*)\)$", Path("CHANGELOG.md").read_text(), re.M)
    is_dated = head and re.fullmatch(r"\d{4}-\d\d-\d\d", head[1])
    return None if is_dated else "CHANGELOG.md says no day of the release"


def committed() -> str | None:
    """all is committed, and the tag is new or of this commit"""
    if changed := run("git", "status", "--porcelain"):
        return f"not committed: {changed.splitlines()[0]}"
    tags = run("git", "tag", "--list", f"v{VERSION}")
    if tags and run("git", "rev-list", "-n1", f"v{VERSION}") != run("git", "rev-parse", "HEAD"):
        return f"v{VERSION} is a tag of another commit: raise the version"
    return None


def notice() -> str | None:
    """NOTICE has the crates of Cargo.lock"""
    done = subprocess.run([sys.executable, ".ci/notice.py", "--check"], capture_output=True)
    return done.stderr.decode().strip() if done.returncode else None


def citation() -> str | None:
    """CITATION.cff is valid"""
    words = [str(Path(sys.executable).with_name("cffconvert")), "--validate"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def dependencies() -> str | None:
    """the base's dependencies have permissive licences"""
    tool = str(Path(sys.executable).with_name("pip-licenses"))
    of = ("--python", ".venv/bin/python", "--packages", *BASE)
    said = json.loads(run(tool, "--format=json", "--from=mixed", *of))
    wrong = [f"{one['Name']} ({one['License']})" for one in said if not allowed(one["License"])]
    return f"not permissive: {', '.join(wrong)}" if wrong else None


def allowed(licence: str) -> bool:
    return bool(PERMISSIVE.search(licence)) and "GPL" not in licence


def wheels(folder: Path) -> Iterator[tuple[str, Callable[[], str | None]]]:
    for architecture in ARCHITECTURES:
        yield f"the wheel for {architecture}", lambda one=architecture: wheel(folder, one)


def wheel(folder: Path, architecture: str) -> str | None:
    found = list(folder.glob(f"netcost_analysis-{VERSION}-*_2_17_{architecture}*.whl"))
    if len(found) != 1:
        return f"{len(found)} in {folder}: make wheel-{architecture}"
    if found[0].stat().st_size > MOST_BYTES:
        return f"{found[0].stat().st_size:,} bytes, more than {MOST_BYTES:,}"
    with ZipFile(found[0]) as packed:
        names = packed.namelist()
        [metadata] = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(packed.read(metadata).decode())
        if said["License-Expression"] != LICENCE:
            return f"its licence is {said['License-Expression']}, not {LICENCE}"
        tracked = run("git", "ls-files", "capture").splitlines()
        wanted = {f"netcost_analysis/kit/{name.removeprefix('capture/')}" for name in tracked}
        if missing := [name for name in sorted(wanted) if name not in names and "/." not in name]:
            return f"it lacks {missing[0]}"
        for name in (name for name in names if name.endswith(".ipynb")):
            cells = json.loads(packed.read(name))["cells"]
            if any(cell.get("outputs") for cell in cells):
                return f"{name} has outputs"
    return None


def main(folder: str) -> int:
    checks = [(str(one.__doc__), one) for one in (versions, dated, committed, notice, citation)]
    checks += [(str(dependencies.__doc__), dependencies), *wheels(Path(folder))]
    wrong = 0
    for what, check in checks:
        fault = check()
        wrong += fault is not None
        print(f"{'ok' if fault is None else 'NO':3} {what}{'' if fault is None else f': {fault}'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
