# What netcost convert writes is the timeline's tables, whoever reads it.

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.export.dataset import TABLES
from netcost_analysis.export.parquet import ROW_GROUP
from support.drawn import recorded
from support.host import ROOT
from support.kept import kept
from support.perfdata import Common, Field, Format, Sample, Where, write_file
from support.perfdata import tracepoints as t
from support.perfdata.machine import X86_64
from support.small_captures import small_captures
from support.subjects import ALL

NIC = "nic-stolen-time"
SMALL = [one for one in small_captures().items() if one[0][:2] in ("te", "tr", "fo")]
# Some of each format.
SOME = dict([*SMALL[::3], SMALL[-1]])


def table_of(timeline: netcost.Timeline, name: str) -> pd.DataFrame:
    return timeline.sums() if name == "sums" else getattr(timeline, name)


def assert_written(timeline: netcost.Timeline, folder: Path) -> None:
    done = timeline.to_parquet(folder)
    for name in TABLES:
        expected, read = table_of(timeline, name), pd.read_parquet(folder / name)
        assert done.tables[name].rows == len(read)
        assert read.dtypes.map(kind).tolist() == expected.dtypes.map(kind).tolist(), name
        pd.testing.assert_frame_equal(plain(read), plain(expected), check_dtype=False)
        for path in (folder / name).iterdir() if done.tables[name].sorted_by else ():
            first, *then = (pd.read_parquet(path)[key] for key in done.tables[name].sorted_by)
            times = first.fillna(then[0]) if then else first
            assert (np.diff(times.to_numpy("int64")) >= 0).all(), path
    segments = pd.read_parquet(folder / "segments")
    owned = (segments["end_ns"] - segments["start_ns"]).groupby(segments["context"].astype(str))
    sums = timeline.sums()
    pd.testing.assert_series_equal(
        owned.sum(),
        sums["ns"].groupby(sums["context"].astype(str)).sum(),
        check_names=False,
        check_dtype=False,
    )


# Categories are those of all files together, in another order.
def kind(dtype: Any) -> str:
    return "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    names = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(names, object))


@pytest.mark.parametrize("name", [NIC, ALL[-1]])
def test_a_sample_is_read_as_it_was(name: str, tmp_path: Path) -> None:
    assert_written(kept(name).timeline(), tmp_path / "out")


# trace.dat, texts, a folder of perf's: what has no ledger is refused.
def test_every_format_is_written_or_refused(tmp_path: Path) -> None:
    refused = 0
    for name, small in SOME.items():
        folder = tmp_path / name
        path = folder / "in"
        path.mkdir(parents=True)
        for file, data in small.files.items():
            (path / file).write_bytes(data)
        files = list(path.iterdir())
        capture = netcost.open_capture(files[0] if len(files) == 1 else path)
        try:
            capture.timeline().load()
        except netcost.CaptureError:
            with pytest.raises(netcost.CaptureError):
                capture.timeline().to_parquet(folder / "out")
            assert list(folder.iterdir()) == [path]
            refused += 1
        else:
            assert_written(capture.timeline(), folder / "out")
    assert 0 < refused < len(SOME)


def test_a_window_and_a_cpu(tmp_path: Path) -> None:
    assert_written(kept(NIC).timeline(3.5, 3.7), tmp_path / "window")
    one = kept(NIC).timeline(3.5, 3.7, [1])
    assert_written(one, tmp_path / "cpu")
    assert sorted(path.name for path in (tmp_path / "cpu" / "segments").iterdir()) == [
        "cpu-0001-0000.parquet"
    ]
    # A capture without polls has their columns.
    assert pd.read_parquet(tmp_path / "cpu" / "polls").empty
    said = json.loads((tmp_path / "cpu" / "netcost.json").read_text())
    assert (said["start_ns"], said["cpus"]) == (one.summary["start_ns"], [1])


# Of what other tests ask of the kept one its notes depend.
def opened() -> netcost.Capture:
    return netcost.open_capture(ROOT / "sample-data" / NIC)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset") / "out"
    opened().timeline().to_parquet(folder, events=["napi:napi_poll", "sched_switch"])
    return folder


Reader = Callable[[Path], pd.DataFrame]
READERS: dict[str, Reader] = {
    "pandas": lambda folder: pd.read_parquet(folder),
    "polars": lambda folder: pl.read_parquet(folder / "*.parquet").to_pandas(),
    "duckdb": lambda folder: duckdb.read_parquet(f"{folder}/*.parquet").df(),
}


@pytest.mark.parametrize("reader", READERS)
def test_sums_are_ours_whoever_reads_it(reader: str, written: Path) -> None:
    read, timeline = READERS[reader], kept(NIC).timeline()
    segments, sums = read(written / "segments"), timeline.sums()
    assert segments["cpu"].dtype.kind == "i"
    of = [segments[name].astype(str) for name in ("context", "cost_class", "comm")]
    found = (segments["end_ns"] - segments["start_ns"]).groupby(of).sum()
    ours = sums["ns"].groupby([sums[name].astype(str) for name in found.index.names]).sum()
    assert found.sort_values().tolist() == ours.sort_values().tolist()
    assert int(read(written / "polls")["work"].sum()) == int(timeline.polls["work"].sum())
    for name in ("task_ns", "wait_ns", "softirq_NET_RX_stolen_ns"):
        slices = read(written / "slices")[name]
        assert int(slices.sum()) == int(timeline.slices[name].sum())
    napi = read(written / "polls")["napi"].dropna().astype("uint64").unique()
    assert set(napi.tolist()) == set(timeline.polls["napi"].dropna().tolist())


def test_readers_have_integers_where_there_are_nulls(written: Path) -> None:
    polars = pl.read_parquet(written / "slices" / "*.parquet")
    assert polars.schema["wait_ns"] == pl.Int64
    assert polars["wait_ns"].null_count() == kept(NIC).timeline().slices["wait_ns"].isna().sum()
    polls = duckdb.read_parquet(f"{written}/polls/*.parquet")
    types = dict(zip(polls.columns, map(str, polls.types), strict=True))
    assert (types["start_ns"], types["napi"], types["device"]) == ("BIGINT", "UBIGINT", "VARCHAR")


def test_each_file_says_what_it_is_of(written: Path) -> None:
    schema = pq.read_schema(written / "segments" / "cpu-0001-0000.parquet")
    said = json.loads(schema.metadata[b"netcost"])
    whole = json.loads((written / "netcost.json").read_text())
    assert {**whole, **said}.keys() - whole.keys() == {"table", "sorted_by"}
    assert said["sha256"] == kept(NIC).ask("provenance")["sha256"]
    assert (said["hostname"], said["kernel"]) == ("host1", "6.12.117+deb12-amd64")
    assert (said["clock"], said["cpus"], said["recorded"]) == ("monotonic", [0, 1], 1.0)
    assert said["notes"] == opened().timeline().notes
    assert said["netcost"] == netcost.__version__
    field = schema.field("start_ns").metadata
    assert field[b"unit"] == b"ns"
    assert b"capture's clock" in field[b"definition"]
    for name in TABLES:
        for one in pq.read_schema(next((written / name).iterdir())):
            assert one.metadata[b"definition"], (name, one.name)


def test_row_groups_are_small_and_know_their_times(tmp_path: Path, large: Path) -> None:
    done = netcost.open_capture(large).timeline().to_parquet(tmp_path / "out", ["segments"])
    found = 0
    for path in sorted((tmp_path / "out" / "segments").iterdir()):
        file, last = pq.ParquetFile(path), 0
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            found += group.num_rows
            start = group.column(1)
            assert group.num_rows <= ROW_GROUP
            assert start.compression == "ZSTD"
            assert start.has_column_index
            assert start.statistics.min >= last
            last = start.statistics.max
            assert group.column(0).statistics.min == group.column(0).statistics.max
        assert file.num_row_groups > 2
    assert found == done.tables["segments"].rows


def test_events_are_by_cpu_and_time(written: Path) -> None:
    for name in ("napi:napi_poll", "sched:sched_switch"):
        read = pd.read_parquet(written / "events" / name.replace(":", "."))
        ours = kept(NIC).events(name).sort_values(["common_cpu", "time_ns"], kind="stable")
        pd.testing.assert_frame_equal(
            plain(read), plain(ours.reset_index(drop=True)), check_dtype=False
        )


# Its field says whom the interrupt was sent to.
def test_events_with_a_field_called_cpu_are_where_they_happened(tmp_path: Path) -> None:
    sent = Format("ipi", "ipi_send_cpu", 999, (Field("unsigned int", "cpu", 4),), '"%u", REC->cpu')
    told = recorded(
        "CPU 0 openssl: 100 irq 32, 110 end irq 32 CPU 1: 100 irq 32, 110 end irq 32",
        formats=(*t.FORMATS, sent),
    )
    raw = sent.pack({"cpu": 1}, Common(0, 1, 500), X86_64)
    place, records = len(told.formats) - 1, told.records()
    for cpu in (0, 1, 0):
        records.insert(-1, Sample(Where(cpu, 200 + len(records), 500, 500, place), raw))
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(told.attrs(), told.formats, records))
    run = netcost.open_capture(path).timeline()
    run.to_parquet(tmp_path / "out", (), events=["ipi:ipi_send_cpu"])
    found = {one.name: pd.read_parquet(one) for one in tmp_path.rglob("cpu-*.parquet")}
    assert {name: set(rows["common_cpu"]) for name, rows in found.items()} == {
        "cpu-0000-0000.parquet": {0},
        "cpu-0001-0000.parquet": {1},
    }


def test_samples_of_a_window(tmp_path: Path) -> None:
    capture = netcost.open_capture(ROOT / "sample-data" / "io-sizes" / "tcp-64.netcost.tar.zst")
    name = next(
        one["name"] for one in capture.header["events"] if one["sampled"] and not one["tracepoint"]
    )
    run = capture.timeline(0.1, 0.3, [0])
    done = run.to_parquet(tmp_path / "out", (), samples=[name])
    ours = capture.samples(name)
    since = ours["time_ns"] - capture.start_ns
    ours = ours[(since >= 100_000_000) & (since < 300_000_000) & (ours["cpu"] == 0)]
    [(table, one)] = done.tables.items()
    assert (table, one.rows) == (f"samples.{name}", len(ours))
    read = pd.read_parquet(tmp_path / "out" / one.folder)
    assert read["callchain"].map(list).tolist() == ours["callchain"].tolist()


def test_what_is_not_there_is_told_before_anything_is_written(tmp_path: Path) -> None:
    timeline = kept(NIC).timeline()
    for given, why in (
        ({"tables": ["pols"]}, "no table pols to write; there are segments"),
        ({"tables": []}, "no table named"),
        ({"events": ["napi:nothing"]}, "napi:napi_poll"),
        ({"samples": ["nothing"]}, "nothing"),
    ):
        with pytest.raises((ArgumentError, netcost.CaptureError), match=why):
            timeline.to_parquet(tmp_path / "out", **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
