# Several tasks as one victim: what of each may be missing is missing once of all of them.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.ledger import ledger_of
from netcost_analysis.questions.lifetimes import lives_together
from netcost_analysis.questions.stolen import stolen_from
from netcost_analysis.questions.stolen_sums import StolenSums, shares_of, stolen_sums
from netcost_analysis.timeline.owners import Victim
from netcost_analysis.timeline.task import Group
from support.asked import stolen
from support.counted_beside import SILENT, opened, robbed
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import OPENSSL, UDPSINK

BUNDLES = ("nic-stolen-time", "veth-stolen-time", "stolen-time-tcp.netcost.tar.zst")
# Eight tasks of one name, one after the other on CPU 0, each for 11 us.
WORKERS = [h.Task(700 + number, "worker") for number in range(8)]


def turns(folder: Path, *names: str) -> netcost.Timeline:
    # names: of the tasks, in turn; "worker" unless given.
    tasks = [h.Task(one.tid, names[i % len(names)]) for i, one in enumerate(WORKERS) if names]
    tasks = tasks or WORKERS
    first = robbed(silent=SILENT)
    happened = list(first.happenings)
    happened += [h.Switch(2_000 + 11_000 * place, one) for place, one in enumerate(tasks) if place]
    happened.sort(key=lambda one: one.at)
    return opened(folder, cpu(0, *happened, task=tasks[0]), robbed(1, UDPSINK))


def test_tasks_of_one_name_are_as_the_name(tmp_path: Path) -> None:
    line = turns(tmp_path)
    group = Group("process:700", frozenset(one.tid for one in WORKERS), "worker")
    together, by_name = stolen_from(line, group), stolen_from(line, "worker")
    assert together.row == by_name.row
    assert together.row["stolen_unrecorded_ns"] == len(SILENT) * 1_400
    # As the sum over them it would be more than is missing at all.
    each = stolen_sums(line, "tid").rows
    assert sum(row["stolen_unrecorded_ns"] for row in each.values()) > 3 * len(SILENT) * 1_400
    lives = [{"stolen_unrecorded_ns": 5_000, "own_ns": 7_000}] * 3
    assert lives_together(lives, 9_000) == {"stolen_unrecorded_ns": 9_000, "own_ns": 27_000}


def test_the_others_of_a_table_are_laid_once_too(tmp_path: Path, netcost: Netcost) -> None:
    line = turns(tmp_path, *(f"worker-{number}" for number in range(8)))
    matrix = ledger_of(line, "comm")
    for count in range(len(matrix.victims) - 1):
        rest = matrix.gathered(count)[1][-1]
        row = stolen_sums(line).together(matrix.victims[count:])
        assert rest.stolen == (
            *(row["stolen_ns"], row["stolen_max_ns"]),
            *(row["stolen_share"], row["stolen_max_share"]),
        )
        assert rest.task is not None
        assert rest.task[:2] == (row["task_min_ns"], row["task_ns"])
    all_of_them = stolen_sums(line).together(list(stolen_sums(line).rows))
    assert all_of_them["stolen_unrecorded_ns"] == len(SILENT) * 1_400


@pytest.mark.parametrize("name", BUNDLES)
def test_a_group_is_bounded_by_its_tasks(name: str) -> None:
    line = kept(name).timeline()
    if line.missing["on_cpu"]:
        pytest.skip("no task has a time on CPU")
    lost = stolen_sums(line, "tid")
    by_name: dict[str, list[Victim]] = {}
    for victim in lost.rows:
        by_name.setdefault(victim[1], []).append(victim)
    by_comm = stolen(line).victims
    for comm, tasks in by_name.items():
        _bounded(lost, tasks)
        got = lost.together(tasks)
        for figure in ("stolen_max_ns", "task_min_ns", "stolen_network_max_ns", "on_cpu_ns"):
            assert got[figure] == by_comm.loc[comm, figure], (comm, figure)
    _bounded(lost, list(lost.rows))


def _bounded(lost: StolenSums, tasks: list[Victim]) -> None:
    got = lost.together(tasks)
    each = [lost.rows[task] for task in tasks]
    for figure in ("stolen_unrecorded_ns", "stolen_max_ns", "stolen_network_max_ns"):
        most = [row[figure] for row in each]
        assert max(most) <= got[figure] <= sum(most)
    assert got["stolen_max_ns"] - got["stolen_unrecorded_ns"] == sum(
        row["stolen_max_ns"] - row["stolen_unrecorded_ns"] for row in each
    )
    assert got["stolen_network_ns"] <= got["stolen_network_max_ns"] <= got["stolen_max_ns"]
    assert got["task_ns"] - got["task_min_ns"] == got["stolen_unrecorded_ns"]
    assert 0 <= shares_of(got)["unknown_max"] <= 1 or got["on_cpu_ns"] == 0


def test_what_nobody_is_known_to_have_had_is_no_more_than_all() -> None:
    row = {"on_cpu_ns": 100, "unknown_ns": 20, "unknown_max_ns": 620}
    assert shares_of(row)["unknown_max"] == 620 / 700
    assert shares_of(row)["unknown"] == 0.2


def test_a_task_of_two_names_is_laid_once(tmp_path: Path) -> None:
    twice = [h.Task(OPENSSL.tid, "sh"), h.Task(OPENSSL.tid, "openssl")]
    happened = [
        *robbed(silent=SILENT).happenings,
        *(h.Switch(2_000 + 8_000 * place, (twice[place % 2])) for place in range(1, 9)),
    ]
    happened.sort(key=lambda one: one.at)
    line = opened(tmp_path, cpu(0, *happened, task=twice[0]), robbed(1, UDPSINK))
    row = stolen_from(line, OPENSSL.tid).row
    assert row["stolen_unrecorded_ns"] == len(SILENT) * 1_400
