# The victim that is chosen where none was given.

import json
import shutil
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.victim import of_recorder
from netcost_analysis.timeline.task import called, row_name, tids_of
from support.host import SAMPLES
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IDLE, OPENSSL, timeline

KIT, PERF = h.Task(70, "netcost-record"), h.Task(80, "perf")
SLEEP = h.Task(90, "date")


# Each task runs 1 us and loses so much of it to an interrupt.
def told(*tasks: tuple[h.Task, int]) -> tuple[h.Happening, ...]:
    story: list[h.Happening] = [h.Fork(5, SLEEP)]
    for at, (task, lost) in enumerate(tasks, 1):
        begin = at * 1_000
        story += [
            *(h.Switch(begin, task), h.IrqEntry(begin + 100, 25)),
            h.IrqExit(begin + 100 + lost, 25),
        ]
    return *story, h.Switch((len(tasks) + 1) * 1_000, IDLE)


@pytest.mark.parametrize(
    ("tasks", "victim"),
    [
        (((PERF, 800), (OPENSSL, 50)), "openssl"),
        (((KIT, 800), (SLEEP, 700), (OPENSSL, 50)), "openssl"),
        # Without the kit it is a program like any other.
        (((SLEEP, 700), (OPENSSL, 50)), "date"),
        (((PERF, 800),), "perf"),
    ],
)
def test_a_recorder_is_no_victim(
    tasks: tuple[tuple[h.Task, int], ...], victim: str, tmp_path: Path
) -> None:
    # Who runs first forks date.
    assert timeline(tmp_path, cpu(0, *told(*tasks), task=tasks[0][0])).victim == victim


# Of several tasks of its name the bundle's victim is the one that was started; and who names all of
# them is told how many these are.
def test_one_of_many_tasks_of_a_name(tmp_path: Path) -> None:
    whole = kept("nic-stolen-time").timeline()
    tids = sorted(tids_of(whole, "sh"))
    assert len(tids) > 2
    bundle = Path(shutil.copytree(SAMPLES / "nic-stolen-time", tmp_path / "b"))
    manifest = json.loads((bundle / "manifest.json").read_text())
    for pid in tids[:2]:
        manifest["victim"] |= {"command": "sh x", "pid": pid, "cpu": None}
        (bundle / "manifest.json").write_text(json.dumps(manifest))
        line = open_capture(bundle).timeline()
        assert line.victim is not None
        assert called(line, line.victim) == f"sh ({pid})"
        # Its row by name would be everybody's.
        assert row_name(line, line.victim) is None
    assert called(line, "sh").startswith(f"{len(tids)} ")
    assert called(line, "openssl") == row_name(line, "openssl") == "openssl"


# Of a recording of what runs anyway, what the kit starts is the kit's; with a load it may be that.
def test_what_only_the_recorder_started(tmp_path: Path) -> None:
    told_by_kit = told((KIT, 800), (SLEEP, 700), (OPENSSL, 50))
    file = tmp_path / "perf"
    file.mkdir()
    line = timeline(file, cpu(0, *told_by_kit, task=KIT))
    assert of_recorder(line) == {"date"}
    for load, names in ((None, {"date"}), ({"command": "date"}, set())):
        bundle = tmp_path / f"b{len(names)}"
        bundle.mkdir()
        shutil.copy(file / "perf.data", bundle / "trace.perf.data")
        manifest = {"netcost_bundle": 1, "trace": "trace.perf.data", "load": load}
        (bundle / "manifest.json").write_text(json.dumps(manifest))
        assert of_recorder(open_capture(bundle).timeline()) == names
