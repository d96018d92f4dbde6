# Why a task changed CPU, as later or earlier events show it, and who held either CPU.

from pathlib import Path

import pytest

from support.drawn import ledger_of

STOPPED = (
    "CPU 0 udpsink: 100 switch migration/0=18, 105 migrate udpsink 0 1, 110 switch idle asleep, "
    "300 waking openssl CPU 1: 90 waking openssl, 150 switch udpsink asleep, {}300 waking openssl"
)


# The stopper thread moves a task that runs: for exec, for a new affinity, or to balance actively.
@pytest.mark.parametrize(
    ("told", "cause", "cpus", "holders"),
    [
        (
            "CPU 0 openssl: 100 waking udpsink, 101 migrate udpsink 0 1, 102 wakeup udpsink 1, "
            "300 waking openssl CPU 1: 110 switch udpsink, 300 waking openssl",
            *("wake-up", (0, 1), (500, 0)),
        ),
        (
            "CPU 0: 100 SCHED, 105 migrate udpsink 1 0, 110 end SCHED, 120 switch udpsink, "
            "200 waking openssl CPU 1 openssl: 90 waking udpsink, 200 waking udpsink",
            *("balance", (1, 0), (500, 0)),
        ),
        (STOPPED.format("160 exec /usr/bin/udpsink udpsink, "), "stopper: exec", (0, 1), (18, 0)),
        (STOPPED.format(""), "stopper", (0, 1), (18, 0)),
    ],
    ids=["wake-up", "balance", "exec", "stopper"],
)
def test_why_a_task_was_moved(
    tmp_path: Path, told: str, cause: str, cpus: tuple[int, int], holders: tuple[int, int]
) -> None:
    got = ledger_of(tmp_path, told)
    [row] = got.migrations
    assert (row["tid"], row["comm"], row["orig_cpu"], row["dest_cpu"]) == (600, "udpsink", *cpus)
    assert (row["cause"].startswith(cause), "exec" in row["cause"]) == (True, "exec" in cause)
    assert (row["orig_holder_tid"], row["dest_holder_tid"]) == holders
