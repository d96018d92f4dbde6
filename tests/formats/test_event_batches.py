# Events in batches against the whole tables of the same events, of every kind of capture.

from functools import cache
from itertools import pairwise

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import capture as captures
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.frames import to_frame
from netcost_analysis.questions.tracing_overhead.event_cost import event_count
from support.kept import kept
from support.mutations import Mutant, lay_out
from support.small_captures import small_captures

SAMPLE = "io-sizes/tcp-64.netcost.tar.zst"
# Read at once, and one event after the other.
ALSO = ("file", "trace-cmd-7", "text-perf")


# Every kind of small capture, and a sample.
@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Capture]:
    found: dict[str, Capture] = {SAMPLE: kept(SAMPLE)}
    for kind, small in small_captures().items():
        folder = tmp_path_factory.mktemp("small")
        found[kind] = netcost.open_capture(lay_out(Mutant(0, kind, (), small.files), folder))
    return found


@cache
def shown(capture: Capture) -> dict[str, pd.DataFrame]:
    # Events that say when they happened, in the order of time.
    frames = capture.all_events()
    return {
        name: plain(frame).sort_values(frame.columns[0], kind="stable", ignore_index=True)
        for name, frame in frames.items()
        if frame.iloc[:, 0].notna().all() and capture.info["events"].get(name)
    }


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    names = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(names, object)) if len(names) else frame


@pytest.mark.parametrize("part", [1.0, 0.3, 0.0])
def test_batches_are_the_table_in_order_of_time(
    every: dict[str, Capture], part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, capture in every.items():
        if shown(capture) and (part == 0.3 or kind in ALSO):
            monkeypatch.setattr(captures, "EVENTS_AT_ONCE", int(part * capture.event_count))
            assert_batches(capture, shown(capture))


def assert_batches(capture: Capture, frames: dict[str, pd.DataFrame]) -> None:
    batches = list(capture.event_batches([*frames]))
    assert all([*batch] == [*frames] for batch in batches)
    for name, frame in frames.items():
        every = [batch[name] for batch in batches]
        assert {(*part,) for part in every} == {(*frame,)}
        parts = [part for part in every if len(part)]
        both = plain(pd.concat(parts, ignore_index=True))
        pd.testing.assert_frame_equal(both, frame, check_dtype=False)
    # What an earlier batch had is before what a later one has.
    times = [
        [(part.iloc[:, 0].min(), part.iloc[:, 0].max()) for part in batch.values() if len(part)]
        for batch in batches
    ]
    for before, after in pairwise([one for one in times if one]):
        assert max(last for _, last in before) < min(first for first, _ in after)


def test_of_a_window_there_is_what_lies_in_it(every: dict[str, Capture]) -> None:
    for capture in every.values():
        frames = {name: frame for name, frame in shown(capture).items() if "time_ns" in frame}
        if not frames:
            continue
        times = pd.concat([frame["time_ns"] for frame in frames.values()]).astype("int64")
        window = int(times.quantile(0.3)), int(times.quantile(0.7))
        found = dict.fromkeys(frames, 0)
        for batch in capture.event_batches([*frames], [], window):
            for name, frame in batch.items():
                assert frame["time_ns"].between(*window).all()
                found[name] += len(frame)
        assert found == {
            name: int(frame["time_ns"].between(*window).sum()) for name, frame in frames.items()
        }


def test_a_count_is_that_of_the_times(every: dict[str, Capture]) -> None:
    for kind, capture in every.items():
        info = capture.info
        if info["start_ns"] is None:
            continue
        middle = (info["start_ns"] + info["end_ns"]) // 2
        for window in ((info["start_ns"], info["end_ns"]), (middle, info["end_ns"])):
            for cpus in (info["cpus"], info["cpus"][:1]):
                times = to_frame(capture.native.event_times(*window, cpus))
                assert event_count(capture, *window, cpus) == len(times), kind


def test_what_is_asked_for_is_a_list_of_what_there_is() -> None:
    with pytest.raises(netcost.CaptureError, match="no event 'net:nothing'"):
        list(kept(SAMPLE).event_batches(["net:nothing"]))
    with pytest.raises(ArgumentError, match=r"\['irq:softirq_entry'\]"):
        list(kept(SAMPLE).event_batches("irq:softirq_entry"))
