# Call chains of perf script's texts, of every -F, beside what perf recorded. Drawn ones are in
# native/tests/formats/text/chains.rs.

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis import open_capture
from netcost_analysis._native import Capture
from netcost_analysis.display.export import write_csv, write_parquet
from support.corpus import ABSENT, files, name, path_of
from support.host import require_root_tracing
from support.live import LIVE_LOAD
from support.native_tables import rows
from support.oracle import perf_script

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chains") / "perf.data"
    load = [sys.executable, str(LIVE_LOAD), "0.2"]
    events = ["-e", "cpu-clock", "-e", "sched:sched_switch"]
    command = [require_root_tracing(), "record", "-q", "-a", "-g", *events, "-o", str(path)]
    subprocess.run([*command, *load], check=True, capture_output=True, timeout=60)
    return path


MARKS = 2**64 - 4096
FRAME = re.compile(r"^\t *([0-9a-f]+)(?: (.*?))?$")


# A second reading of the same text: the frames below each line of the event.
def by_lines(text: str, name: str) -> list[list[tuple[int, str]]]:
    chains: list[list[tuple[int, str]]] = []
    for block in text.split("\n\n"):
        head, *below = block.strip("\n").split("\n")
        if f" {name}:" in head:
            frames = (FRAME.match(line) for line in below)
            chains.append([(int(one[1], 16), one[2] or "") for one in frames if one])
    return chains


@pytest.mark.parametrize("name", ["cpu-clock", "sched:sched_switch"])
@pytest.mark.parametrize("fields", ["ip", "ip,sym", "ip,sym,symoff,dso"])
def test_chains_are_those_that_perf_recorded(
    recorded: Path, tmp_path: Path, fields: str, name: str
) -> None:
    path = tmp_path / "script.txt"
    path.write_text(
        perf_script(recorded, "--ns", "--no-inline", "-F", f"comm,tid,cpu,time,event,{fields}")
    )
    found = rows(Capture(str(path)).samples(name))
    wanted = rows(Capture(str(recorded)).samples(name))
    assert len(found) == len(wanted) > 20
    # perf script is in the order of time, perf.data in that of its file.
    key = lambda row: (row["time_ns"], row["cpu"])  # noqa: E731
    for mine, theirs in zip(sorted(found, key=key), sorted(wanted, key=key), strict=True):
        assert key(mine) == key(theirs)
        kernel = theirs["kernel_frames"]
        # What looks like a mark that it does not know makes perf script give up the whole chain.
        if any(address > MARKS for address in theirs["callchain"]):
            continue
        assert mine["callchain"][:kernel] == theirs["callchain"][:kernel]
    chains = by_lines(path.read_text(), name)
    assert [row["callchain"] for row in found] == [[ip for ip, _ in chain] for chain in chains]
    if "sym" not in fields:
        assert {symbol for row in found for symbol in row["symbols"]} <= {None}
    elif "dso" not in fields:
        named = [["" if word == "[unknown]" else word for _, word in chain] for chain in chains]
        assert [[symbol or "" for symbol in row["symbols"]] for row in found] == named
    else:
        words = [
            f"{symbol or '[unknown]'} ({dso or '[unknown]'})"
            for row in found
            for symbol, dso in zip(row["symbols"], row["dsos"], strict=True)
        ]
        bare = [re.sub(r"\+0x[0-9a-f]+(?= \()", "", word) for chain in chains for _, word in chain]
        assert words == bare


def test_chains_as_pandas_has_them(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(perf_script(recorded))
    table = pa.table(Capture(str(path)).samples("sched:sched_switch"))
    table.validate(full=True)
    assert len(table) == len(pa.table(Capture(str(path)).events("sched:sched_switch")))
    symbols = {name for chain in table["symbols"].to_pylist() for name in chain}
    assert {"__schedule", "schedule"} & symbols


def has_chains(one: dict[str, Any]) -> bool:
    return bool(one["file"]) and "\n\t" in path_of(one).read_text(errors="replace")


CHAINED = list(filter(has_chains, files("text")))


@pytest.mark.parametrize("one", CHAINED or ABSENT, ids=name)
def test_no_frame_of_a_strangers_text_is_missed(one: dict[str, Any]) -> None:
    path = path_of(one)
    found = Capture(str(path))
    tables = [pa.table(found.samples(event["name"])) for event in found.header()["events"]]
    frames = [line for line in path.read_text().splitlines() if line.startswith("\t")]
    assert sum(map(len, tables)) == one["oracle_events"]
    chains = [chain for table in tables for chain in table["callchain"].to_pylist()]
    addresses = [address for chain in chains for address in chain]
    assert sorted(addresses) == sorted(int(line.split()[0], 16) for line in frames)


# Lists of names go where other columns go.
def test_chains_are_written_and_read_again(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(perf_script(recorded))
    samples = open_capture(path).samples("cpu-clock")
    write_parquet(samples, tmp_path / "samples.parquet")
    again = pd.read_parquet(tmp_path / "samples.parquet", dtype_backend="pyarrow")
    for column in ("callchain", "symbols", "dsos"):
        assert list(map(plain, again[column])) == list(map(plain, samples[column]))
    write_csv(samples, tmp_path / "samples.csv")
    assert len(pd.read_csv(tmp_path / "samples.csv")) == len(samples)
    counted = samples.explode(["callchain", "symbols"])["symbols"].value_counts()
    assert counted.sum() == sum(name is not None for row in samples["symbols"] for name in row)


def plain(cell: Any) -> list[Any]:
    return cell.tolist() if hasattr(cell, "tolist") else list(cell)
