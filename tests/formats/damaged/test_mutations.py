# Captures come from strangers: whatever was done to one, it is read or refused. No crash, no hang,
# no panic, and no more memory than its size explains. NETCOST_MUTANTS=1000000 looks further.

import os

import pytest

from support.mutation_worker import run_mutants, told
from support.mutations import DAMAGES, mutant
from support.small_captures import small_captures

pytestmark = pytest.mark.measures

FAR = int(os.environ.get("NETCOST_MUTANTS", "50000"))


@pytest.mark.parametrize("count", [5000, pytest.param(FAR, marks=pytest.mark.slow)])
def test_mutants_are_read_or_refused(count: int) -> None:
    tally = run_mutants(count)
    assert not tally.findings, told(tally)
    assert tally.read == count
    # It is no test where nothing gets far.
    assert set(tally.kinds) == set(small_captures())
    assert {one.__name__ for one in DAMAGES} <= set(tally.damage)
    assert tally.steps["open"] > count / 2
    assert tally.steps["samples"] > count / 3
    assert tally.steps["timeline"] > count / 5


@pytest.mark.parametrize(
    ("reader", "says"),
    [
        ("spinning", "SIGPROF"),
        ("stuck", "SIGALRM"),
        ("dying", "SIGSEGV"),
        ("leaving", "ended with 3"),
        ("touching", "in memory"),
        ("reserving", "Cannot allocate memory"),
        ("unpacking", "File too large"),
        ("muttering", "standard error"),
        ("panicking", "PanicException: index out of bounds"),
        ("raw_error", "Invalid argument"),
        ("two_lines", "not one printable line"),
        ("escaping", "not one printable line"),
    ],
)
def test_what_is_wrong_with_a_mutant_is_noticed(reader: str, says: str) -> None:
    tally = run_mutants(7, f"support.bad_readers:{reader}", keep_findings=False)
    assert list(tally.findings) == [3]
    assert says in tally.findings[3]
    assert tally.read in (6, 7)
    assert str(mutant(3)) in told(tally)
    assert "support.mutation_worker 3" in told(tally)


def test_mutants_are_the_same_each_time() -> None:
    assert [mutant(number) for number in range(50)] == [mutant(number) for number in range(50)]
    assert len({str(mutant(number).files) for number in range(200)}) > 190
