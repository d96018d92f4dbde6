# The capture kit as text: shells that are not bash take its scripts, and its profiles hold pairs.

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.host import ROOT

CAPTURE = ROOT / "capture"
SPLIT = ("SC2086", "SC2046", "SC2048", "SC2068", "SC2206", "SC2013")


def scripts() -> Iterator[Path]:
    for folder in (CAPTURE, CAPTURE / "lib", CAPTURE / "lab", ROOT / "sample-data"):
        for path in sorted(folder.iterdir()):
            begins = (b"#!/bin/sh", b"# shellcheck shell=sh")
            if path.is_file() and path.read_bytes().startswith(begins):
                yield path


def fault(path: Path, line: int, what: str) -> str:
    return f"{path.relative_to(ROOT)}:{line}: {what}"


# What shellcheck finds in them is another part of `make lint`.
def scripts_are_plain_sh() -> Iterator[str]:
    shell = shutil.which("dash") or "sh"
    for path in scripts():
        done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
        if done.returncode:
            yield fault(path, 1, done.stderr.strip())
        if len(path.read_text().splitlines()) >= 300:
            yield fault(path, 300, "is too long")


# What is not quoted is split at blanks, and a piece that is a pattern is every file it fits.
def no_path_is_split() -> Iterator[str]:
    for path in scripts():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\brm -[a-z]*r[a-z]* (-- )?[^\"'-]", line) or any(
                code in line for code in SPLIT
            ):
                yield fault(path, number, line.strip())


# A signal ends the command as well, and the shell leaves at once where nothing is divided by it. A
# command takes fewer words than there may be processes.
def arithmetic_waits_for_no_command() -> Iterator[str]:
    for path in (one for one in CAPTURE.rglob("*") if one.is_file() and one.suffix != ".c"):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            inner = re.sub(r"\$\(\((?:(?!\$\([^(]).)*?\)\)", "", line)
            if ("$((" in inner and "awk" not in inner) or "/proc/[0-9]*" in line:
                yield fault(path, number, line.strip())


# lib/ending.sh is sourced by whoever undoes something, and nothing else sets a trap for the end.
def ends_are_trapped_in_one_place() -> Iterator[str]:
    for path in scripts():
        own = path.is_relative_to(CAPTURE) and path.name != "ending.sh"
        if own and re.search(r"trap .*EXIT$", path.read_text(), re.MULTILINE):
            yield fault(path, 1, "traps its end")


def help_names_every_profile() -> Iterator[str]:
    record = CAPTURE / "netcost-record"
    said = subprocess.run([record, "--help"], capture_output=True, text=True, check=False).stdout
    named = re.search(r"list the events:\s+([a-z -]+);", said)
    kept = sorted(path.stem for path in (CAPTURE / "profiles").iterdir())
    if not named or sorted(named[1].split()) != kept:
        yield fault(record, 1, f"its help does not name {' '.join(kept)}")


def programs_write_numbers_with_a_point() -> Iterator[str]:
    for path in scripts():
        if os.access(path, os.X_OK) and path.is_relative_to(CAPTURE):
            text = path.read_text()
            said = re.search(r"^(LC_ALL=C\nexport LC_ALL|export LC_ALL=C)", text, re.MULTILINE)
            if not said and 'lib/lab.sh"' not in text:
                yield fault(path, 1, "does not set LC_ALL=C")


def profiles_hold_pairs_and_known_events() -> Iterator[str]:
    for path in sorted((CAPTURE / "profiles").glob("*.events")):
        lines = [line.split() for line in path.read_text().splitlines()]
        events = {at: words for at, words in enumerate(lines, 1) if words and words[0][0] != "#"}
        if not events:
            yield fault(path, 1, "no event")
        for number, words in events.items():
            match words:
                case ["pair", entry, leave]:
                    known = entry.removesuffix("_entry") == leave.removesuffix("_exit")
                case ["any", event]:
                    systems = {"net", "skb", "sock", "xdp", "sched", "kmem"}
                    known = event.split(":")[0] in systems
                case [event]:
                    known = event.split(":")[0] in {"irq", "napi", "sched"}
                case _:
                    known = False
            # A filter hides events, and a hidden one cannot be told from one that never happened.
            if not known or any("filter" in word for word in words):
                yield fault(path, number, " ".join(words))


# On a host there is the kit alone.
def the_kit_names_no_page_of_the_repository() -> Iterator[str]:
    for path in (one for one in CAPTURE.rglob("*") if one.is_file() and one.name != "README"):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if "docs/" in line:
                yield fault(path, number, line.strip())
