# The capture kit as text: shells that are not bash take its scripts, and its profiles hold pairs.

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT
from support.kit.record import ended, shellcheck

CAPTURE = ROOT / "capture"
LAB = CAPTURE / "lab"
SCRIPTS = sorted(
    path
    for folder in (CAPTURE, CAPTURE / "lib", LAB, ROOT / "sample-data")
    for path in folder.iterdir()
    if path.is_file() and path.read_bytes().startswith((b"#!/bin/sh", b"# shellcheck shell=sh"))
)
OF_LAB = [path for path in LAB.rglob("*") if path.is_file() and path.suffix != ".c"]

PROGRAMS = [path for path in SCRIPTS if os.access(path, os.X_OK) and path.is_relative_to(CAPTURE)]


def test_scripts_are_plain_sh() -> None:
    shell = shutil.which("dash") or "sh"
    for script in SCRIPTS:
        subprocess.run([shell, "-n", script], check=True)
        assert len(script.read_text().splitlines()) < 300, script


# Of all that shellcheck can find, beyond `make lint`, where what is changed is the host: but for
# braces, quotes of numbers, defaults of case, statuses that a substitution hides, and names that
# what is sourced sets.
def test_what_changes_the_host_is_clean() -> None:
    files = [*OF_LAB, *(path for path in SCRIPTS if "steer" in path.name)]
    style = "SC2250,SC2248,SC2249,SC2292,SC2310,SC2311,SC2312,SC2154,SC2034"
    done = ended([shellcheck(), "--enable=all", f"--exclude={style}", *files])
    assert done.stdout == ""


def test_no_path_is_split() -> None:
    # What is not quoted is split at blanks, and a piece that is a pattern is every file it fits.
    for script in SCRIPTS:
        text = script.read_text()
        for code in ("SC2086", "SC2046", "SC2048", "SC2068", "SC2206", "SC2013"):
            assert code not in text, script
        for line in text.splitlines():
            assert not re.search(r"\brm -[a-z]*r[a-z]* (-- )?[^\"'-]", line), line


def test_each_program_writes_and_reads_numbers_with_a_point() -> None:
    for script in [*PROGRAMS, *OF_LAB]:
        text = script.read_text()
        if not text.startswith("#!/bin/sh"):
            continue
        said = re.search(r"^(LC_ALL=C\nexport LC_ALL|export LC_ALL=C)", text, re.M)
        # The guest's own are no part of a series.
        assert said or 'lib/lab.sh"' in text or "export PATH" in text, script


@pytest.mark.parametrize(
    "profile", sorted((CAPTURE / "profiles").glob("*.events")), ids=lambda p: p.stem
)
def test_profiles_hold_pairs_and_known_events(profile: Path) -> None:
    lines = [line.split() for line in profile.read_text().splitlines() if line.strip()]
    events = [words for words in lines if not words[0].startswith("#")]
    assert events
    for words in events:
        if words[0] == "pair":
            assert words[1].removesuffix("_entry") == words[2].removesuffix("_exit")
        elif words[0] == "any":
            assert len(words) == 2
            assert words[1].split(":")[0] in {"net", "skb", "sock", "xdp", "sched", "kmem"}
        else:
            assert len(words) == 1
            assert words[0].split(":")[0] in {"irq", "napi", "sched"}
    # A filter hides events, and a hidden one cannot be told from one that never happened.
    assert not any("filter" in word for words in events for word in words)
