# How the suite itself is run: what records this host apart, and what fails by chance is seen.

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.host import ROOT

NOT_MARKED = pytest.raises(pytest.fail.Exception, match=r"mark it (live|alone)")


@pytest.mark.parametrize(
    "command",
    [
        ["/usr/bin/perf", "record", "true"],
        ["unshare", "--mount", "trace-cmd", "record", "true"],
        ["ip", "netns", "add", "name"],
        [ROOT / "capture" / "netcost-record", "--check"],
        ["sh", str(ROOT / "capture" / "lab" / "stolen-time")],
    ],
)
def test_what_changes_this_host_is_refused_to_tests_that_do_not_say_so(command: list[str]) -> None:
    with NOT_MARKED:
        subprocess.run(command, check=True)


def test_so_are_the_kernels_controls() -> None:
    with NOT_MARKED:
        Path("/sys/kernel/tracing/tracing_on").write_text("1")


# In pytest's place: of each test (its mark among those selected) it writes whether it fails, as it
# does the first so many times.
PYTEST = """
import re, sys
from pathlib import Path
from xml.sax.saxutils import quoteattr
words, failed, tests = sys.argv[1:], 0, dict(eval(Path("tests").read_text()))
marks = words[words.index("-m") + 1].split() if "-m" in words else []
chosen = [one for one in tests if one == words[-1] or one.split()[0] in marks[:1]]
with open(words[words.index("--junitxml") + 1], "w") as results:
    results.write("<testsuites><testsuite tests='1' failures='1' errors='0' skipped='0'>")
    for one in chosen:
        with Path(one).open("a+") as ran:
            ran.write("x")
            ran.seek(0)
            fails = len(ran.read()) <= tests[one]
        failed += fails
        told = f"<property name='test' value={quoteattr(one)}/>"
        told += "<property name='evidence' value='1 % stolen'/>" * ("measures" in one)
        told = f"<testcase><properties>{told}</properties>"
        results.write(told + "<failure message='told so'/>" * fails + "</testcase>")
    results.write("</testsuite></testsuites>")
with open("selected", "a") as selected:
    print(*words[4:], sep="|", file=selected)
sys.exit(failed > 0 if chosen else 5)
"""


def lane(folder: Path, name: str, *options: str, **tests: int | str) -> tuple[int, str]:
    """The status of a lane of such tests, and what it said."""
    (folder / "pytest.py").write_text(PYTEST)
    (folder / "tests").write_text(str({one.replace("_", " "): n for one, n in tests.items()}))
    command = [sys.executable, ROOT / ".ci" / "lane.py", name, *options]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_measurement_that_fails_each_time_has_failed(tmp_path: Path) -> None:
    status, said = lane(tmp_path, "measures", measures_0=0, measures_2=2, measures_3=3)
    assert status == 1
    last = said.partition("== measures: ")[2]
    failed = set(re.findall(r"measures (\d) failed (\d) of (\d)", last))
    assert failed == {("2", "2", "3"), ("3", "3", "3")}
    assert last.count("told so") == last.count("1 % stolen") == 5
    # Again, alone, and those only that failed.
    assert [len((tmp_path / f"measures {n}").read_text()) for n in (0, 2, 3)] == [1, 3, 3]


def test_one_that_passes_once_has_passed(tmp_path: Path) -> None:
    status, said = lane(tmp_path, "measures", measures_1=1, measures_2=2)
    assert (status, said.count(" of 3 times")) == (0, 2)


def test_nothing_else_is_run_again(tmp_path: Path) -> None:
    assert lane(tmp_path, "live", live=0, alone=1)[0] == 1
    assert (tmp_path / "live").read_text() == (tmp_path / "alone").read_text() == "x"


def test_a_pytest_that_fails_has_passed_nothing(tmp_path: Path) -> None:
    assert lane(tmp_path, "measures", measures="no number")[0] == 1


# Of pytest's exit statuses, 5 says that nothing was selected.
@pytest.mark.parametrize(
    ("tests", "status"),
    [
        *(({"live": 0, "alone": 0}, 0), ({"live": 0}, 0), ({"alone": 0}, 0), ({"other": 0}, 5)),
        *(({"live": 1, "alone": 0}, 1), ({"live": 0, "alone": 1}, 1), ({"alone": 1}, 1)),
    ],
)
def test_both_parts_run_and_either_may_fail(
    tmp_path: Path, tests: dict[str, int], status: int
) -> None:
    assert lane(tmp_path, "live", "-k", "a or b", **tests)[0] == status
    beside = "-m|live and not alone and not slow|--dist|loadfile|--no-loadscope-reorder|-n|4"
    beside += "|--timeout|600|-k|a or b"
    alone = "-m|alone and not measures and not slow|--timeout|600|-k|a or b"
    assert (tmp_path / "selected").read_text().splitlines() == [beside, alone]


def test_when_the_slow_ones_ran_is_kept(tmp_path: Path) -> None:
    assert lane(tmp_path, "slow", slow=0)[0] == 0
    assert lane(tmp_path, "slow", "-k", "it", slow=9)[0] == 1
    first, second = (tmp_path / "build" / "test-slow.txt").read_text().splitlines()
    for part in ("whole: exit status", "status 0, 1"):
        assert part in first
    for part in ("-k it: exit", "status 1, "):
        assert part in second


FAILS = """
import pytest

@pytest.mark.measures
def test_it():
    assert False, "told so"
"""


def test_a_measurement_that_fails_has_its_evidence(tmp_path: Path) -> None:
    for name in ("conftest.py", "support/host.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "test_it.py").write_text(FAILS)
    words = [*("-m", "pytest", "-m", "measures"), *("-p", "no:cacheprovider", "--junitxml", "x")]
    # Who runs it is a worker, it is none.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    environment = {**own, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment)
    assert done.returncode == 1
    results = (tmp_path / "x").read_text()
    assert 'name="test" value="tests/test_it.py::test_it"' in results
    assert "% stolen" in results
