# Call chains of perf script's texts: below samples and tracepoints, of every -F, beside what perf
# recorded.

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
from support.native_tables import Row, rows
from support.oracle import perf_script
from support.text_capture import capture

pytestmark = pytest.mark.live

EVENT = "sh 8/9 [003] {s}.000000:    {period} {name}: {text}\n"
CHAIN = """\
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t          af08f5 std::at(int) const+0x65 (/usr/lib/a b.so (deleted))
  call.c:847
\t               0 [unknown] ([unknown])
\t          146f7c main (inlined)
"""


def samples(
    folder: Path, text: str, name: str = "cpu-clock", limit: int | None = None
) -> list[Row]:
    return rows(capture(folder, text).samples(name, limit))


def test_chains_are_of_the_line_above(tmp_path: Path) -> None:
    one = EVENT.format(s=1, period=1000, name="cpu-clock", text="") + CHAIN + "\n"
    two = EVENT.format(s=2, period=2000, name="cpu-clock", text="") + "\n"
    found = samples(tmp_path, one + two)
    assert [row["time_ns"] for row in found] == [10**9, 2 * 10**9]
    assert [row["period"] for row in found] == [1000, 2000]
    assert {(row["cpu"], row["tid"], row["comm"]) for row in found} == {(3, 9, "sh")}
    assert found[0]["callchain"] == [0xFFFFFFFF821F8B58, 0xAF08F5, 0, 0x146F7C]
    assert found[0]["symbols"] == ["__schedule", "std::at(int) const", None, "main"]
    dsos = ["[kernel.kallsyms]", "/usr/lib/a b.so (deleted)", None, "inlined"]
    assert found[0]["dsos"] == dsos
    assert (found[1]["callchain"], found[1]["symbols"], found[1]["dsos"]) == ([], [], [])
    assert samples(tmp_path, one + two, limit=1) == found[:1]


# Frames of one event are no other's, and none is an event.
def test_chains_of_several_events(tmp_path: Path) -> None:
    parts = [
        EVENT.format(s=s, period=1, name=name, text=text) + f"\t  {s} f{s} (x)\n\n"
        for s, (name, text) in enumerate(
            [("cpu-clock", ""), ("irq:softirq_exit", "vec=3"), ("cpu-clock", ""), ("irq:x", "dead")]
        )
    ]
    text = "".join(parts)
    assert [row["symbols"] for row in samples(tmp_path, text)] == [["f0"], ["f2"]]
    assert [row["symbols"] for row in samples(tmp_path, text, "irq:softirq_exit")] == [["f1"]]
    # "dead" is its text, and no address.
    assert [row["symbols"] for row in samples(tmp_path, text, "irq:x")] == [["f3"]]
    scan = capture(tmp_path, text).scan()
    assert scan["records"] == {"event": 4, "call chain": 4, "blank": 4}
    assert any(note.startswith("4 lines") for note in scan["notes"])


# Lines that no table has, and frames behind a blank line, give nobody a chain.
def test_frames_of_nobody(tmp_path: Path) -> None:
    whole = EVENT.format(s=1, period=1, name="cpu-clock", text="")
    damaged = whole.replace("[003] ", "").replace("1.0", "2.0")
    text = f"\t  1 a (x)\n{whole}\n\t  2 b (x)\n{damaged}\t  3 c (x)\n"
    text += f"{whole}\t  4 d (x)\nnoise\n\t  5 e"
    found = samples(tmp_path, text)
    assert [row["symbols"] for row in found] == [[], ["d", "e"]]


def test_places_beside_the_event(tmp_path: Path) -> None:
    line = EVENT.format(s=1, period=1, name="cycles:u", text="     7f6eb main+0x35 (/bin/sh)")
    [row] = samples(tmp_path, line, "cycles:u")
    assert (row["callchain"], row["symbols"], row["dsos"]) == ([0x7F6EB], ["main"], ["/bin/sh"])


def test_without_any_chain_the_lists_are_null(tmp_path: Path) -> None:
    line = EVENT.format(s=1, period=1, name="irq:softirq_exit", text="vec=3")
    [row] = samples(tmp_path, line, "irq:softirq_exit")
    assert (row["callchain"], row["symbols"], row["dsos"]) == (None, None, None)


def test_what_other_texts_have_is_no_sample(tmp_path: Path) -> None:
    text = "sh-8 [000] d..2. 1.0: softirq_exit: vec=3\nsh-8 [000] d..2. 1.0: <stack trace>\n => a\n"
    with pytest.raises(Exception, match="has no samples"):
        samples(tmp_path, text, "irq:softirq_exit")
    with pytest.raises(Exception, match="no event 'irq:x'"):
        samples(tmp_path, EVENT.format(s=1, period=1, name="cpu-clock", text=""), "irq:x")


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
