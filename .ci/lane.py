# The tests of a lane (docs/development.md), part after part, whatever becomes of the first. One of
# the measurements that failed is run again, alone, twice; it failed if it fails each time. It is
# printed last, with what was measured and what else the machine did.
# Usage: .ci/lane.py gate|live|measures|slow [OPTION...], the options for pytest

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

TURNS = 3
OK, FAILED, NONE_SELECTED, INTERRUPTED = 0, 1, 5, 130
KEPT = Path("build/test-slow.txt")
# A fixture that the tests of a file share is made by one worker: a file stays together.
BESIDE = ("--dist", "loadfile", "--no-loadscope-reorder", "-n")
# A loop in native code hears no signal: its worker is ended, and the run with it, since the others
# would wait for its tests in vain. Live, what a test began is undone before it ends.
STRICT = ("--timeout", "60", "--timeout-method", "thread", "--max-worker-restart", "0")
PATIENT = ("--timeout", "600")
# Which tests, and how.
LANES = {
    "gate": [("not live and not slow", (*BESIDE, "logical", *STRICT))],
    "live": [
        # They wait more than they work.
        ("live and not alone and not slow", (*BESIDE, "4", *PATIENT)),
        ("alone and not measures and not slow", PATIENT),
    ],
    "measures": [("measures and not slow", PATIENT)],
    "slow": [
        ("(slow or hypothesis) and not live", (*BESIDE, "logical")),
        ("slow and live and not alone", ("-n", "4")),
        ("slow and alone", ()),
    ],
}


class Failure(NamedTuple):
    test: str
    said: str
    # Of a test of measurements alone.
    evidence: str | None


class Part(NamedTuple):
    status: int
    counts: str
    failures: list[Failure]


def run(*words: str) -> Part:
    # The command line is started hundreds of times: to be compiled once.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        pytest = [sys.executable, "-m", "pytest", "--durations", "30", "--junitxml", str(results)]
        status = subprocess.run([*pytest, *words], env=environment).returncode
        if not results.exists():
            return Part(status, "no results", [])
        [suite] = ElementTree.parse(results).getroot()  # noqa: S314
    counted = ("tests", "failures", "errors", "skipped")
    failures = []
    for case in suite.iter("testcase"):
        for failed in [*case.iter("failure"), *case.iter("error")][:1]:
            known = {one.get("name"): one.get("value") for one in case.iter("property")}
            test, said = known.get("test") or str(case.attrib), failed.get("message", "")
            failures.append(Failure(test, said, known.get("evidence")))
    return Part(status, ", ".join(f"{suite.get(one)} {one}" for one in counted), failures)


# The failures of a test that failed once, of so many turns.
def run_again(first: Failure) -> list[Failure]:
    again = [run(*PATIENT, first.test) for _ in range(TURNS - 1)]
    ended = Failure(first.test, "pytest itself failed", "")
    return [first, *((part.failures or [ended])[0] for part in again if part.status)]


# What all parts end with: the first that is not well.
def worst(statuses: list[int]) -> int:
    ran = [status for status in statuses if status != NONE_SELECTED]
    return next((status for status in ran if status), OK if ran else NONE_SELECTED)


def keep(options: tuple[str, ...], parts: list[Part], status: int) -> None:
    describe = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, capture_output=True, text=True).stdout.strip()
    counts = " and ".join(part.counts for part in parts)
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a") as kept:
        when, what = time.strftime("%F %R"), " ".join(options) or "whole"
        print(f"{when} {commit} {what}: exit status {status}, {counts}", file=kept)


def main(name: str, *options: str) -> int:
    statuses, parts, repeated = [], [], []
    if name == "slow":
        os.environ["NETCOST_HYPOTHESIS"] = "search"
    for marks, how in LANES[name]:
        part = run("-m", marks, *how, *options)
        tried = [run_again(one) for one in part.failures if one.evidence is not None]
        mended = [one for one in tried if len(one) < TURNS]
        others = len(part.failures) - len(mended)
        statuses.append(OK if mended and not others and part.status == FAILED else part.status)
        parts.append(part)
        repeated += tried
    if name == "slow":
        keep(options, parts, worst(statuses))
    print(f"== {name}: exit status {worst(statuses)}")
    for failed in repeated:
        print(f"{failed[0].test} failed {len(failed)} of {TURNS} times:")
        for one in failed:
            print(f"  {one.said[:500]}\n  {one.evidence}")
    return worst(statuses)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
