# The capture kit as text: shells that are not bash take its scripts, and its profiles hold pairs.

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT

CAPTURE = ROOT / "capture"
SCRIPTS = sorted(
    path
    for folder in (CAPTURE, CAPTURE / "lib", CAPTURE / "lab", ROOT / "sample-data")
    for path in folder.iterdir()
    if path.is_file() and path.read_bytes().startswith((b"#!/bin/sh", b"# shellcheck shell=sh"))
)

PROGRAMS = [path for path in SCRIPTS if os.access(path, os.X_OK) and path.is_relative_to(CAPTURE)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_are_plain_sh(script: Path) -> None:
    # What shellcheck finds in them: `make lint`.
    shell = shutil.which("dash") or "sh"
    subprocess.run([shell, "-n", script], check=True)
    assert len(script.read_text().splitlines()) < 300


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_path_is_split(script: Path) -> None:
    # What is not quoted is split at blanks, and a piece that is a pattern is every file it fits.
    text = script.read_text()
    for code in ("SC2086", "SC2046", "SC2048", "SC2068", "SC2206", "SC2013"):
        assert code not in text
    for line in text.splitlines():
        assert not re.search(r"\brm -[a-z]*r[a-z]* (-- )?[^\"'-]", line), line


@pytest.mark.parametrize("script", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_program_writes_and_reads_numbers_with_a_point(script: Path) -> None:
    said = re.search(r"^(LC_ALL=C\nexport LC_ALL|export LC_ALL=C)", script.read_text(), re.M)
    sourced = 'lib/lab.sh"' in script.read_text()
    assert said or sourced


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
