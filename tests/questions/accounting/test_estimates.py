# Three estimates of what the victim got: from openssl's output, the trace, and the manifest.

import json
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Answer, CaptureError, open_capture, parse_openssl_speed
from support.doctored import doctored, speed
from support.perfdata import recording
from support.perfdata.tracepoints import IRQ_FORMATS
from support.told import robbed

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
AES = ("aes-256-cbc", 1024, 5262498, 3.0, 2.99, 1)
LARGER = ("aes-256-cbc", 8192, 664001, 3.0, 3.0, 1)
BOTH = [("sha256", 16, 500, 1.0, 2.0, 2), ("sha256", 1024, 50, 1.0, 2.0, 2)]
OUTPUTS = {
    "a result per size": (
        OPENSSL_1,
        [
            ("aes-256 cbc", 16, 26596388, 10.0, 4.01, 1),
            ("aes-256 cbc", 64, 7137481, 10.0, 4.14, 1),
        ],
    ),
    "ops of openssl 3": (OPENSSL_3, [AES]),
    "machine-readable": (MACHINE_READABLE, [AES, LARGER]),
    "of another request": (MACHINE_READABLE.replace("+DT:aes-256-cbc:3:1024\n", ""), [LARGER]),
    "-multi is summed": (MULTI, BOTH),
    # What all did is not known.
    "one of them killed": (MULTI.replace("+R:20:sha256:1.000000\n", ""), BOTH[:1]),
    "cut off": ("Doing sha256 for 3s on 1024 size blocks: ", []),
    "nothing": ("", []),
    "no time": ("Doing sha256 for 3s on 16 size blocks: 100 sha256's in 3.0.0s", []),
    "of no seconds": ("Doing sha256 ops for 0s on 16 size blocks: 100 sha256 ops in 3.0s", []),
    "too large": (
        f"Doing sha256 ops for 3s on 16 size blocks: {'9' * 5000} sha256 ops in 3.0s",
        [],
    ),
    "other digits": ("+DT:sha256:\u0663:16\n+R:1:sha256:1.0", []),
    "no number": ("+DT:sha256:3:16\n+R:1:sha256:1.0.0", []),
}


@pytest.mark.parametrize(("output", "runs"), OUTPUTS.values(), ids=OUTPUTS)
def test_openssls_output(output: str, runs: list[tuple[Any, ...]]) -> None:
    assert parse_openssl_speed(output) == runs


def asked(folder: Path) -> Answer:
    return open_capture(folder).ask.accounting.estimates()


# support/doctored.py: openssl (500) ran for 85 % of the trace; 1.5 s of 2; 600 blocks of 1,000.
PLAIN = {"ticks": 0.75, "work": 0.6, "traced": 0.85}
ELAPSED = f"You have chosen to measure elapsed time instead of user CPU time.\n{speed(600, 2)}"
ALONE = MULTI.replace("Forked", "").replace("+DT:sha256:1:16\n+DT", "+DT", 1)
UNSAMPLED = {"samples/victim": ""}
# Files, and fields of the victim, that differ; the shares, None where they are not known.
BUNDLES: dict[str, tuple[dict[str, str], dict[str, Any], dict[str, float | None]]] = {
    "plain": ({}, {}, {}),
    "its size was not run alone": (
        {"baseline/victim.txt": speed(1000, 2).replace("1024", "8192")},
        {},
        {"work": None},
    ),
    "several processes": (
        {"victim.txt": MULTI, "baseline/victim.txt": MULTI},
        {},
        {"ticks": 2, "work": 2},
    ),
    "several processes, one alone": (
        {"victim.txt": MULTI, "baseline/victim.txt": ALONE},
        {},
        {"ticks": 2, "work": None},
    ),
    "another program": (
        {"victim.txt": ""},
        {"command": "stress", "user_s": 1.0},
        {"ticks": 0.5, "work": None},
    ),
    "another program's name": (
        {"victim.txt": ""} | UNSAMPLED,
        {"command": "stress", "pid": 7},
        {"work": None, "traced": None},
    ),
    "by its name": (
        UNSAMPLED,
        {"command": "/usr/bin/openssl speed sha256", "pid": 7},
        {},
    ),
    "by its pid": (
        {"victim.txt": ""} | UNSAMPLED,
        {"command": "taskset 1 x", "pid": 500},
        {"work": None},
    ),
    # sh (7) started a program that the samples found below it.
    "a shell's child": (
        {
            "victim.txt": "",
            "samples/victim": "@ 1 100 200\n7 schedstat 1 2 3\n500 schedstat 400 2 3\n",
        },
        {"command": "sh ./bench", "pid": 7},
        {"work": None},
    ),
    "what wrote openssl's results": (
        UNSAMPLED,
        {"command": "sh ./bench", "pid": 7},
        {},
    ),
    # Elapsed time is no time of its own.
    "elapsed, by its output": ({"victim.txt": ELAPSED}, {"user_s": 1.0}, {"ticks": 0.5}),
    "elapsed, by its command": (
        {},
        {"command": "openssl speed -elapsed -mr", "user_s": 1.0},
        {"ticks": 0.5},
    ),
    "elapsed, and nobody timed it": ({"victim.txt": ELAPSED}, {"user_s": None}, {"ticks": None}),
}


@pytest.mark.parametrize(("files", "victim", "shares"), BUNDLES.values(), ids=BUNDLES)
def test_three_estimates(
    files: dict[str, str], victim: dict[str, Any], shares: dict[str, float | None], tmp_path: Path
) -> None:
    folder = doctored(tmp_path / "b")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["victim"] |= victim
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for name, text in files.items():
        (folder / name).write_text(text)
    frame = asked(folder).frame
    expected = {name: float("nan") if share is None else share for name, share in shares.items()}
    assert frame["got_share"].to_dict() == pytest.approx(PLAIN | expected, nan_ok=True)
    whole = 2 if files.get("victim.txt") == MULTI else 1
    assert (frame["lost_share"] + frame["got_share"] / whole).dropna().to_list() == pytest.approx(
        [1] * int(frame["got_share"].notna().sum())
    )


def test_without_switches_the_trace_says_nothing(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    bare = recording(robbed(), known=(robbed().first_task,), formats=IRQ_FORMATS)
    bare.write(folder / "trace.perf.data")
    assert asked(folder).frame["got_share"].isna().to_dict()["traced"]


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
    # 85 % traced, 60 % by work: 25 points of 1.16 ms, and of a second with 10,000 interrupts.
    each_ns = float("nan") if paused else 25_000
    assert gap == pytest.approx(
        {
            "gap_share": 0.25,
            "ns": 290_000,
            "cpu_interrupts_per_s": 10_000,
            "hidden_each_ns": each_ns,
            "may_be_paused": paused,
        },
        nan_ok=True,
    )
    beyond = open_capture(path).ask.stolen_time.headline().parts["beyond_trace"]
    assert beyond.may_be_paused == paused


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
    whole = asked(doctored(tmp_path / "whole"))
    run = whole["run"]
    # Whose the estimates are is said where the page is about another:
    # tests/report/test_bundles.py.
    assert (run["trace_ns"], run["other_task"], run["lacks"]) == (None, None, None)
    whole.plot()
    victim = json.loads((tmp_path / "whole" / "manifest.json").read_text())["victim"]
    answer = asked(doctored(tmp_path / "unknown", victim=victim | {"start_ns": None}))
    run = answer["run"]
    assert (run["run_known"], run["wall_s"]) == (False, 2)
    assert run["trace_ns"] == answer.timeline.duration_ns
    part = asked(doctored(tmp_path / "part", window={"start_ns": 201_000, "end_ns": 801_000}))
    assert (part["run"]["trace_ns"], part["run"]["run_known"]) == (600_000, True)
    # What was not recorded is no time that the victim did not have.
    got, of_whole = part.frame["got_share"], whole.frame["got_share"]
    assert got["traced"] == pytest.approx(of_whole["traced"], abs=0.1)
    assert got["work"] == of_whole["work"]


def test_a_trace_of_none_of_the_run_is_refused(tmp_path: Path) -> None:
    window = {"start_ns": 1_200_000, "end_ns": 1_300_000}
    capture = open_capture(doctored(tmp_path / "b", window=window))
    with pytest.raises(CaptureError, match="victim did not"):
        capture.victim_timeline()
