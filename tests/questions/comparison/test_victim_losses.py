# Who had the time that a victim did not have: it adds up, and a neighbour is named as one.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.comparison.tasks import TAKERS
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import compared, recorded

VICTIM, OTHER = h.Task(700, "openssl"), h.Task(701, "sha256sum")


# CPU 0 for 1 ms: openssl, with a NIC's interrupt and softirq on top of it; sha256sum for a part of
# it while openssl waits.
def run(folder: Path, neighbour_ns: int) -> netcost.Run:
    happenings = [
        *(h.IrqEntry(100_000, 24, "eth0"), h.SoftirqRaise(105_000, 3), h.IrqExit(110_000, 24)),
        *(h.SoftirqEntry(111_000, 3), h.NapiPoll(190_000, "eth0", 4), h.SoftirqExit(200_000, 3)),
        h.Switch(500_000, OTHER, prev_state=0),
        h.Switch(500_000 + neighbour_ns, VICTIM),
        *(h.IrqEntry(1_000_000, 24, "eth0"), h.IrqExit(1_010_000, 24)),
    ]
    lane = cpu(0, *happenings, task=VICTIM)
    return recorded(folder, lane)


def test_a_neighbours_time_is_not_the_networks(tmp_path: Path) -> None:
    pair = compared(run(tmp_path / "a", 1_000), run(tmp_path / "b", 300_000), victim="openssl")
    answer = pair.ask.comparison.changes()
    rows = answer.tables["victim_losses"].set_index("taker")
    assert list(rows.index) == list(TAKERS)
    for side in ("base_share", "new_share"):
        assert rows[side].sum() == pytest.approx(1)
    assert rows.loc["neighbours", "new_share"] == pytest.approx(0.33, abs=0.03)
    assert rows.loc["neighbours", "most_run"] == "b"
    assert rows.loc["network interrupts", "base_share"] == pytest.approx(
        rows.loc["network interrupts", "new_share"], abs=0.01
    )
    share = answer.frame.set_index("metric").loc["victim_share"]
    assert share["new"] == pytest.approx(rows.loc["victim", "new_share"], abs=0.02)


def test_without_a_victim_there_is_nothing_to_lose(tmp_path: Path) -> None:
    pair = compared(run(tmp_path / "a", 1_000), run(tmp_path / "b", 1_000))
    assert not len(pair.ask.comparison.changes().tables["victim_losses"])
