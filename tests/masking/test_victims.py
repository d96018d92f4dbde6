# A masked capture has the victims of its original, one by one: no two become one, none is emptied.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import CaptureError, mask, open_capture
from support import shared
from support.asked import stolen
from support.native_tables import events
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.formats import Format
from support.told import OPENSSL, UDPSINK

WORKER = h.Task(700, "worker")


# Each task's figures by its number, and those of all that have one name, which is another now.
def victims(path: Path) -> tuple[list[Any], list[Any]]:
    timeline = open_capture(path).timeline()
    by_tid = stolen(timeline, by="tid").victims.reset_index().drop(columns="comm")
    by_comm = stolen(timeline, by="comm").victims.reset_index().drop(columns="comm")
    return figures(by_tid), figures(by_comm)


def figures(frame: Any) -> list[Any]:
    return sorted(map(str, frame.to_dict("records")))


# As vendors' kernels have it: declared with more than there is. Or with less.
def declared(one: Format, length: int) -> Format:
    return replace(
        one,
        fields=tuple(
            replace(field, declared=length) if field.type == "char" and field.count else field
            for field in one.fields
        ),
    )


@pytest.mark.parametrize("length", [16, 32, 8])
def test_names_are_as_long_as_the_recording_has_them(tmp_path: Path, length: int) -> None:
    told = recording(
        cpu(
            0,
            *(h.IrqEntry(1_000, 32), h.IrqExit(1_400, 32), h.Switch(2_000, UDPSINK)),
            *(h.IrqEntry(2_500, 32), h.IrqExit(2_600, 32), h.Switch(3_000, WORKER)),
            *(h.IrqEntry(3_500, 32), h.IrqExit(3_700, 32), h.Switch(4_000, OPENSSL)),
            task=OPENSSL,
        ),
        formats=tuple(declared(one, length) for one in t.FORMATS),
    )
    path = told.write(tmp_path / "perf.data")
    described = t.SCHED_SWITCH.event
    header = open_capture(path).header["events"]
    assert described in [one["name"] for one in header]
    mask(path, tmp_path / "masked")
    before, after = victims(path), victims(tmp_path / "masked")
    assert len(before[1]) == 3
    assert after == before
    [_, names] = [
        {row["next_pid"]: row["next_comm"] for row in events(one, described)}
        for one in (path, tmp_path / "masked")
    ]
    assert len(set(map(str, names.values()))) == 3
    assert "worker" not in map(str, names.values())
    if length >= 16:
        assert all(isinstance(name, str) for name in names.values())


EVERY = [*shared.files("perf"), *shared.files("trace.dat"), *shared.files("text")]


@pytest.mark.parametrize("one", EVERY, ids=shared.name)
def test_every_capture_of_strangers(tmp_path: Path, one: dict[str, Any]) -> None:
    path = shared.path_of(one)
    masked = tmp_path / path.name
    before: Any
    after: Any
    try:
        before = victims(path)
    except CaptureError:
        # Refused, masked or not; or so damaged that it cannot be masked.
        before = None
    try:
        mask(path, masked)
        after = victims(masked)
    except CaptureError:
        after = None
    assert after == before
