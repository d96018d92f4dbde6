# Frames of events as files: what is read back is what was written, lists included.

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis.display.export import chunks, rows, write_csv, write_parquet
from netcost_analysis.frames import to_frame

# A float would round it.
IP = 0xFFFFFFFF81000001
CHAINS = [[IP, 2**64 - 1], None, [], list(range(1100))]


# Both kinds of list that Arrow has.
@pytest.fixture(params=[pa.list_, pa.large_list])
def frame(request: pytest.FixtureRequest) -> pd.DataFrame:
    return to_frame(
        pa.table(
            {
                "time_ns": pa.array([(1 << 60) + 1, None, 3, 4], pa.int64()),
                "comm": pa.array(["a", "b", None, "a"]).dictionary_encode(),
                "callchain": pa.array(CHAINS, request.param(pa.uint64())),
            }
        )
    )


def test_rows_are_plain(frame: pd.DataFrame) -> None:
    first, second, third, _ = rows(frame)
    assert first == {"time_ns": (1 << 60) + 1, "comm": "a", "callchain": CHAINS[0]}
    assert (second["time_ns"], second["callchain"]) == (None, None)
    assert (third["comm"], third["callchain"]) == (None, [])
    assert json.loads(json.dumps(first)) == first


def test_what_json_has_not_is_none() -> None:
    frame = pd.DataFrame({"share": [0.5, float("inf"), float("-inf"), float("nan")]})
    assert rows(frame) == [{"share": 0.5}, *[{"share": None}] * 3]


def test_parquet(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_parquet(frame, tmp_path / "x.parquet")
    made = pd.read_parquet(tmp_path / "x.parquet")
    assert made["time_ns"].dtype == "Int64"
    assert made["comm"].dtype == "category"
    assert [None if one is None else list(one) for one in made["callchain"]] == CHAINS
    assert rows(made) == rows(frame)


def test_csv(frame: pd.DataFrame, tmp_path: Path) -> None:
    many = frame.loc[frame.index.repeat(2600)]
    write_csv(many, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as text:
        made = list(csv.DictReader(text))
    assert len(made) == 10_400
    assert [made[2_600 * at]["time_ns"] for at in range(4)] == [str((1 << 60) + 1), "", "3", "4"]
    assert [json.loads(made[2_600 * at]["callchain"] or "null") for at in range(4)] == CHAINS


def test_no_rows_keep_their_header(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_csv(frame[:0], tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "time_ns,comm,callchain\n"
    write_parquet(frame[:0], tmp_path / "x.parquet")
    assert pd.read_parquet(tmp_path / "x.parquet").columns.tolist() == frame.columns.tolist()


def test_chunks_are_the_whole(frame: pd.DataFrame) -> None:
    many = frame.loc[frame.index.repeat(2600)]
    parts = list(chunks(many))
    assert max(map(len, parts)) < len(many)
    pd.testing.assert_frame_equal(pd.concat(parts), many)
    assert len(list(chunks(frame[:0]))) == 1
