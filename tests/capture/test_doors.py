# Captures in Python that are none of perf's: what they call themselves, and what they say of what
# only perf records.

from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis import CaptureError, open_capture
from support.doors import DOORS, text, trace_dat, tracefs


@pytest.mark.parametrize("door", DOORS)
def test_only_perf_has_samples_and_mappings(tmp_path: Path, door: str) -> None:
    capture = open_capture(DOORS[door](tmp_path))
    kind = door.split()[0]
    for ask, what in (
        (lambda: capture.samples("irq:softirq_entry"), "samples"),
        (capture.mappings, "mappings"),
        (capture.kernel_symbols, "kernel symbols"),
    ):
        with pytest.raises(CaptureError, match=f"{kind} .*{what}"):
            ask()
    with pytest.raises(CaptureError, match="irq:softirq_entry"):
        capture.samples("irq:softirq_entri")


# What perf script prints of an event that is no tracepoint is an event like any other, and a
# sample.
def test_a_text_of_perf_has_events_and_samples(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(
        "openssl 500 [001] 1.000001:     250000 cpu-clock: \n\t  401000 main (/bin/openssl)\n\n"
    )
    capture = open_capture(path)
    [(_, event)] = capture.events("cpu-clock").iterrows()
    assert (event["common_cpu"], event["common_pid"], event["time_ns"]) == (1, 500, 1_000_001_000)
    [(_, sample)] = capture.samples("cpu-clock").explode(["callchain", "symbols"]).iterrows()
    assert (sample["tid"], sample["callchain"], sample["symbols"]) == (500, 0x401000, "main")
    with pytest.raises(CaptureError, match="mappings"):
        capture.mappings()


@pytest.mark.parametrize(
    ("door", "who"),
    [
        (trace_dat, "trace.dat, trace-cmd 3.1.6 described, kernel 6.18.0, x86_64"),
        (tracefs, "tracefs, tracefs, kernel 6.18.0, x86_64"),
        (text, "text, ftrace, kernel unknown, unknown arch"),
    ],
)
def test_a_capture_says_who_recorded_it(
    tmp_path: Path, door: Callable[[Path], str], who: str
) -> None:
    shown = repr(open_capture(door(tmp_path)))
    assert f" {who}\n" in shown
    assert "perf" not in shown.replace(str(tmp_path), "")


def test_seconds_need_a_clock_that_counts_them(tmp_path: Path) -> None:
    for clock, counts in (("x86-tsc", "cycles"), ("counter", "events")):
        capture = open_capture(trace_dat(tmp_path, clock=clock))
        with pytest.raises(CaptureError, match=f"{clock} counts {counts}"):
            _ = capture.start_ns


@pytest.mark.parametrize("door", [tracefs, text])
def test_the_top_buffer_by_name_is_the_only_one(
    tmp_path: Path, door: Callable[[Path], str]
) -> None:
    path = door(tmp_path)
    assert open_capture(path, buffer="").info["cpus"] == [0]
    with pytest.raises(CaptureError, match="no buffer 'foo'"):
        open_capture(path, buffer="foo")


# The ledger knows contexts from flags where lines have them; where not, from entries and exits.
def test_a_text_without_columns_has_no_flags(tmp_path: Path) -> None:
    path = Path(text(tmp_path))
    with_flags = open_capture(path).events("irq:softirq_entry")
    assert with_flags["common_flags"].tolist() == [16]
    for columns in ("d.h1.", "..s1.", "d....", "....."):
        path.write_text(path.read_text().replace(f"{columns} ", ""))
    bare = open_capture(path)
    assert "common_flags" not in bare.events("irq:softirq_entry")
    timeline = bare.timeline()
    sums = timeline.sums().groupby("context", observed=True)["ns"].sum()
    assert sums["poll"] == 4_000
    assert any("entries and exits" in note for note in timeline.notes)
