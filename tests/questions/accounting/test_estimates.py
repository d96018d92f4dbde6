import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from netcost_analysis import CaptureError, open_capture, parse_openssl_speed
from netcost_analysis.capture.manifest import Victim
from netcost_analysis.questions.accounting.estimates import estimated
from support.doctored import doctored

OPENSSL_1 = """\
Doing aes-256 cbc for 10s on 16 size blocks: 26596388 aes-256 cbc's in 4.01s
Doing aes-256 cbc for 10s on 64 size blocks: 7137481 aes-256 cbc's in 4.14s
"""
OPENSSL_3 = """\
Doing AES-256-CBC ops for 3s on 1024 size blocks: 5262498 AES-256-CBC ops in 2.99s
version: 3.0.19
type           1024 bytes
AES-256-CBC    1798000.00k
"""
MACHINE_READABLE = """\
+DT:aes-256-cbc:3:1024
+R:5262498:aes-256-cbc:2.990000
+DT:aes-256-cbc:3:8192
+R:664001:aes-256-cbc:3.000000
+H:1024:8192
+F:22:aes-256-cbc:1802259.70:1813165.40
"""


def test_a_result_per_block_size_with_its_own_time() -> None:
    runs = parse_openssl_speed(OPENSSL_1)
    assert [run.size_bytes for run in runs] == [16, 64]
    assert runs[0] == ("aes-256 cbc", 16, 26596388, 10.0, 4.01, 1)


def test_openssl_3_writes_ops() -> None:
    assert parse_openssl_speed(OPENSSL_3) == [("aes-256-cbc", 1024, 5262498, 3.0, 2.99, 1)]


def test_the_machine_readable_form_says_the_same() -> None:
    first, second = parse_openssl_speed(MACHINE_READABLE)
    assert first == parse_openssl_speed(OPENSSL_3)[0]
    assert (second.size_bytes, second.blocks, second.user_s) == (8192, 664001, 3.0)


def test_a_run_that_was_cut_off_has_no_result() -> None:
    for text in ("Doing sha256 for 3s on 1024 size blocks: ", ""):
        assert parse_openssl_speed(text) == []


def test_a_result_is_not_given_to_the_wrong_question() -> None:
    lone = MACHINE_READABLE.replace("+DT:aes-256-cbc:3:1024\n", "")
    assert [run.size_bytes for run in parse_openssl_speed(lone)] == [8192]


MULTI = """\
Forked child 0
+DT:sha256:1:16
+DT:sha256:1:16
+R:300:sha256:1.010000
+DT:sha256:1:1024
+R:200:sha256:0.990000
+DT:sha256:1:1024
+R:30:sha256:1.000000
+R:20:sha256:1.000000
Forked child 1
Got: +F:25:sha256:476940673.27 from 0
"""


def test_processes_of_multi_are_summed() -> None:
    assert parse_openssl_speed(MULTI) == [
        ("sha256", 16, 500, 1.0, 2.0, 2),
        ("sha256", 1024, 50, 1.0, 2.0, 2),
    ]
    # One of them was killed: what all did is not known.
    cut = MULTI.replace("+R:20:sha256:1.000000\n", "")
    assert [run.size_bytes for run in parse_openssl_speed(cut)] == [16]


def test_several_processes_are_compared_with_as_many() -> None:
    made = estimated(bundle(MULTI, MULTI, command="openssl speed", pid=7), timeline(1900))
    assert made["got_share"].to_dict() == pytest.approx({"ticks": 2, "work": 2, "traced": 1.9})
    assert made["lost_share"].to_dict() == pytest.approx({"ticks": 0, "work": 0, "traced": 0.05})
    alone = MULTI.replace("Forked", "").replace("+DT:sha256:1:16\n+DT", "+DT", 1)
    made = estimated(bundle(MULTI, alone, command="openssl speed", pid=7), timeline(1900))
    assert made["got_share"].isna().to_dict() == {"ticks": False, "work": True, "traced": False}


def rates(output: str) -> dict[tuple[str, int], float]:
    return {run.work: run.per_s for run in parse_openssl_speed(output)}


def bundle(output: str, idle: str | None = None, sampled: str = "", **victim: Any) -> Any:
    baseline = None if idle is None else SimpleNamespace(work_rates=rates(idle))
    comm = str(victim.get("command", "")).split(" ")[0].rpartition("/")[2]
    return SimpleNamespace(
        speed_runs=parse_openssl_speed(output),
        work_rates=rates(output),
        victim_output=output,
        text=lambda name: sampled if name == "samples/victim" else None,
        baseline=baseline,
        victim=Victim(**victim) if victim else None,
        victim_comm=comm or None,
    )


def timeline(task_ns: int, comm: str = "openssl", tid: int = 7, switches: bool = True) -> Any:
    rows = [("task", tid, comm, task_ns), ("poll", tid, comm, 300), ("task", 9, "sshd", 50)]
    owned = [SimpleNamespace(context=of, tid=tid, comm=comm, ns=ns) for of, tid, comm, ns in rows]
    return SimpleNamespace(
        owned_by=lambda: owned,
        missing={"on_cpu": "" if switches else "not recorded"},
        duration_ns=1000,
    )


LOADED = "Doing sha256 for 4s on 1024 size blocks: 600 sha256's in 2.00s\n"
IDLE = "Doing sha256 for 2s on 1024 size blocks: 1000 sha256's in 2.00s\n"


def test_three_estimated() -> None:
    made = estimated(bundle(LOADED, IDLE, command="openssl speed", pid=7), timeline(400))
    assert made["got_share"].to_dict() == pytest.approx({"ticks": 0.5, "work": 0.3, "traced": 0.4})
    assert made["lost_share"].to_dict() == pytest.approx({"ticks": 0.5, "work": 0.7, "traced": 0.6})


def test_each_estimate_is_absent_without_its_source() -> None:
    assert estimated(bundle("", IDLE), timeline(400))["got_share"].isna().all()
    made = estimated(bundle(LOADED, command="openssl"), timeline(400, switches=False))
    assert made["got_share"].isna().to_dict() == {"ticks": False, "work": True, "traced": True}


def test_work_compares_only_the_same_work() -> None:
    other = IDLE.replace("1024", "8192")
    assert pd.isna(estimated(bundle(LOADED, other), timeline(1)).loc["work", "got_share"])


def test_another_victim_has_its_times_in_the_manifest() -> None:
    made = estimated(bundle("", user_s=1.5, wall_s=2.0, command="stress", pid=7), timeline(400))
    assert made.loc["ticks", "got_share"] == 0.75
    assert made.loc["traced", "got_share"] == 0.4


@pytest.mark.parametrize(("comm", "tid"), [("openssl", 8), ("taskset", 7)])
def test_the_victim_is_found_by_name_or_by_pid(comm: str, tid: int) -> None:
    victim = bundle("", command="/usr/bin/openssl speed sha256", pid=7)
    assert estimated(victim, timeline(400, comm, tid)).loc["traced", "got_share"] == 0.4


def test_a_shells_children_are_the_victim_too() -> None:
    # sh (7) started a program (11) that the samples found below it.
    sampled = "@ 1 100 200\n7 schedstat 1 2 3\n11 schedstat 400 2 3\n11 stat 11 (x) S\n"
    made = estimated(
        bundle("", sampled=sampled, command="sh ./bench", pid=7), timeline(400, "b", 11)
    )
    assert made.loc["traced", "got_share"] == 0.4
    # What wrote openssl's results is openssl, sampled or not.
    made = estimated(bundle(LOADED, command="sh ./bench", pid=7), timeline(400, "openssl", 11))
    assert made.loc["traced", "got_share"] == 0.4


@pytest.mark.parametrize(
    ("output", "command"),
    [
        (f"You have chosen to measure elapsed time instead of user CPU time.\n{LOADED}", "openssl"),
        (LOADED, "openssl speed -elapsed -mr"),
    ],
)
def test_elapsed_time_is_no_time_of_its_own(output: str, command: str) -> None:
    made = estimated(bundle(output, IDLE, command=command, user_s=3.0, wall_s=4.0), timeline(400))
    assert made.loc["ticks", "got_share"] == 0.75
    assert made.loc["work", "got_share"] == 0.3
    assert pd.isna(
        estimated(bundle(output, command=command), timeline(1)).loc["ticks", "got_share"]
    )


def test_what_is_no_number_is_no_result() -> None:
    for text in (
        "Doing sha256 for 3s on 16 size blocks: 100 sha256's in 3.0.0s",
        "Doing sha256 ops for 0s on 16 size blocks: 100 sha256 ops in 3.0s",
        f"Doing sha256 ops for 3s on 16 size blocks: {'9' * 5000} sha256 ops in 3.0s",
        "+DT:sha256:\u0663:16\n+R:1:sha256:1.0",
        "+DT:sha256:3:16\n+R:1:sha256:1.0.0",
    ):
        assert parse_openssl_speed(text) == []


def asked(folder: Path) -> Any:
    return open_capture(folder).ask.accounting.estimates()


# A guest that was never charged with steal, and whose kernel does not ask its host for it.
@pytest.mark.parametrize(
    ("virtualization", "steal", "asks", "paused"),
    [
        ("kvm", 0, "n", True),
        ("kvm", 4, "n", False),
        ("kvm", 0, "y", False),
        ("none", 0, "n", False),
    ],
)
def test_no_price_where_pauses_cannot_be_excluded(
    tmp_path: Path, virtualization: str, steal: int, asks: str, paused: bool
) -> None:
    path = doctored(tmp_path / "b", host={"virtualization": virtualization})
    (path / "kernel_config").write_text(f"CONFIG_PARAVIRT_TIME_ACCOUNTING={asks}\n")
    (path / "after" / "stat").write_text(f"cpu0 250 0 12 50 5 0 64 {steal} 0 0\n")
    gap = asked(path)["gap"]
    assert (gap["may_be_paused"], pd.isna(gap["hidden_each_ns"])) == (paused, paused)
    assert gap["gap_share"] == pytest.approx(0.25)
    beyond = open_capture(path).ask.stolen_time.headline().parts["beyond_trace"]
    assert beyond.may_be_paused == paused


# 85 % traced, 60 % by work: 25 points of 1.16 ms, and of a second with 10,000 interrupts.
def test_the_gap_is_divided_by_interrupts(tmp_path: Path) -> None:
    answer = asked(doctored(tmp_path / "b"))
    assert answer["gap"] == pytest.approx(
        {
            "gap_share": 0.25,
            "ns": 290_000,
            "cpu_interrupts_per_s": 10_000,
            "hidden_each_ns": 25_000,
            "may_be_paused": False,
        }
    )
    # Whose they are is said where the page is about another task: test_notebook_bundles.py.
    assert (answer["run"]["other_task"], answer["run"]["lacks"]) == (None, None)
    assert answer.frame["residual_share"]["ticks"] == pytest.approx(0.15)
    assert answer.frame["lost_share"][["work", "traced"]].tolist() == pytest.approx([0.4, 0.15])
    answer.plot()


def test_what_is_missing_is_known(tmp_path: Path) -> None:
    for lacks, changes in {
        "baseline": {"baseline": None},
        "victim": {"victim": None},
        "result": {"victim": {"command": "./mine -x"}},
    }.items():
        answer = asked(doctored(tmp_path / lacks, **changes))
        assert (answer["run"]["lacks"], answer["gap"]) == (lacks, None)
        assert "--victim-cpu 0`" in answer.words


def test_a_trace_that_is_not_the_run_says_so(tmp_path: Path) -> None:
    victim = json.loads((doctored(tmp_path / "a") / "manifest.json").read_text())["victim"]
    answer = asked(doctored(tmp_path / "b", victim=victim | {"start_ns": None}))
    run = answer["run"]
    assert (run["run_known"], run["wall_s"]) == (False, 2)
    assert run["trace_ns"] == answer.timeline.duration_ns


def test_the_trace_of_a_part_of_the_run_says_so(tmp_path: Path) -> None:
    window = {"start_ns": 201_000, "end_ns": 801_000}
    path = doctored(tmp_path / "b", window=window)
    answer = asked(path)
    assert (answer["run"]["trace_ns"], answer["run"]["run_known"]) == (600_000, True)
    # What was not recorded is no time that the victim did not have.
    whole = asked(doctored(tmp_path / "whole"))
    assert whole["run"]["trace_ns"] is None
    got = answer.frame["got_share"]
    assert got["traced"] == pytest.approx(whole.frame["got_share"]["traced"], abs=0.1)
    assert got["work"] == whole.frame["got_share"]["work"]


def test_a_trace_of_none_of_the_run_is_refused(tmp_path: Path) -> None:
    window = {"start_ns": 1_200_000, "end_ns": 1_300_000}
    capture = open_capture(doctored(tmp_path / "b", window=window))
    with pytest.raises(CaptureError, match="victim did not"):
        capture.victim_timeline()
