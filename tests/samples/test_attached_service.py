# A service that starts a program for each thing it does: one victim of more than a thousand tasks.

import pytest

from netcost_analysis.questions.losses import losses
from netcost_analysis.timeline.task import Group
from support.host import ROOT
from support.kept import kept
from support.run_cli import Netcost

NAME = "attached-service.netcost.tar.zst"
PATH = str(ROOT / "sample-data" / NAME)


def test_its_accounts_agree() -> None:
    capture = kept(NAME)
    answer = capture.ask.accounting.accounts()
    got = answer.frame["got_share"]
    service = answer.parts["in_all"]["service"]
    # Its programs are over before any reading of threads: to those it had 2 % of its CPU.
    assert got.isna()["schedstat"]
    assert 0.9 < service["baseline_cpu_share"] <= 1
    assert 0 < got["work"] < got["traced"] < got["task_stat"] <= 1
    assert answer.frame["lost_share"]["work"] == pytest.approx(1 - service["work_share"])


def test_it_is_the_first_row(netcost: Netcost) -> None:
    timeline = kept(NAME).timeline(window="auto")
    service = timeline.victim
    assert isinstance(service, Group)
    tasks = [one for one in losses(timeline, "tid").victims if one[0] in service.tids]
    assert len(tasks) > 400
    told = netcost("stolen", PATH)
    rows = told.out.split("\n\n")[2].splitlines()
    assert rows[1].startswith("sh, the service ")
    assert f"--victim {service} " in told.out
    alone = netcost("stolen", PATH, "--victim", str(service), "--json").json["victims"]
    assert [netcost("stolen", PATH, "--json").json["service"]] == alone
    [row] = alone
    sums = timeline.sums()
    own = sums[sums["tid"].isin(service.tids).fillna(False).to_numpy(dtype=bool)]
    assert row["on_cpu_ns"] == int(own["ns"].sum())


def test_its_life_is_one(netcost: Netcost) -> None:
    service = kept(NAME).timeline().victim
    told = netcost("stolen", PATH, "--victim", str(service)).out
    life = told.split("Its lifetime (", 1)[1]
    assert " tasks, their sum)" in life.splitlines()[0]
    of_waits = [line for line in life.splitlines() if line.startswith("of its waits")]
    assert of_waits
    assert sum(float(line.split()[-2].lstrip("<")) for line in of_waits) < 100


def test_hidden_cost_is_a_part_of_its_run() -> None:
    from netcost_analysis.questions.beyond_trace import beyond_trace

    found = beyond_trace(kept(NAME).timeline(), None)
    assert found is not None
    assert found.service
    assert found.traced_lost_share is not None
    assert 0 < found.traced_lost_share < found.lost_share < 1
