# The packed sample bundles, one for each question: whole, published, and showing what they are
# there for.

import itertools
import json
import re
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis import open_capture
from support.host import SAMPLES
from support.kit.lab import series

PACKED = sorted(SAMPLES.rglob("*.netcost.tar.zst"))
SERIES = sorted(path.parent for path in SAMPLES.glob("*/experiment.json"))
# A path that only the machine has on which a sample was recorded.
PATHS = re.compile(rb"/(?:work|root|home|opt|srv|mnt)/[!-~]+")


def name_of(path: Path) -> str:
    return str(path.relative_to(SAMPLES)).removesuffix(".netcost.tar.zst")


def folder_of(path: Path) -> str:
    return path.relative_to(SAMPLES).parts[0]


# A test asks of one again and again, then of the next.
@lru_cache(maxsize=1)
def files_of(packed: Path) -> dict[str, bytes]:
    with pa.input_stream(packed, compression="zstd") as stream:
        text = stream.read()
    with tarfile.open(fileobj=pa.BufferReader(text), mode="r:") as archive:
        members = [member for member in archive if member.isfile()]
        return {
            member.name.partition("/")[2]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in members
        }


def manifest_of(packed: Path) -> dict[str, Any]:
    manifest = json.loads(files_of(packed)["manifest.json"])
    assert isinstance(manifest, dict)
    return manifest


def test_there_is_one_for_each_question_and_they_are_small() -> None:
    assert {path.name for path in SERIES} >= {
        *("datapath-sweep", "flows", "local-regression", "local-regression-traced"),
        *("io-sizes", "hidden-cost"),
    }
    assert {name_of(path) for path in PACKED} >= {
        "quiet-interface",
        "stolen-time-tcp",
        "stolen-time-top",
    }
    size = sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file())
    assert size < 80_000_000


def test_the_table_says_what_each_shows() -> None:
    table = (SAMPLES / "README.md").read_text()
    told = set(re.findall(r"^\| `([a-z0-9-]+)`", table, re.M))
    folders = {path.parent.name for path in SAMPLES.glob("*/manifest.json")}
    single = {name_of(path) for path in PACKED if path.parent == SAMPLES}
    assert told == folders | single | {path.name for path in SERIES} | {"fleet"}


@pytest.mark.parametrize("packed", PACKED, ids=name_of)
def test_a_packed_sample_is_whole_and_says_how_it_was_made(packed: Path) -> None:
    files = files_of(packed)
    manifest = json.loads(files["manifest.json"])
    made = ("made by: capture/lab/", "made by: sample-data/make-")
    assert any(note.startswith(made) for note in manifest["notes"])
    assert manifest["host"]["kernel"]
    assert b"realtime_ns " in files["before/stamp"]
    assert not manifest["cut_short"]
    for name, text in files.items():
        if not name.endswith("kallsyms"):
            assert not PATHS.search(text), name
    assert "before/settings/cmdline" not in files
    with_switches = "sched:sched_switch" in manifest["events"]
    capture = open_capture(packed)
    assert capture.info["lost_events"] == 0
    if with_switches:
        timeline = capture.timeline()
        # All of the recorded CPUs' time has an owner, be it "unknown".
        cpus = 1 if folder_of(packed) == "hidden-cost" else 2
        assert len(timeline.summary["cpus"]) == cpus
        assert timeline.sums()["ns"].sum() == cpus * timeline.duration_ns


@pytest.mark.parametrize("folder", SERIES, ids=lambda path: path.name)
def test_a_series_has_what_its_table_names(folder: Path) -> None:
    experiment, rows = series(folder)
    assert experiment["command"].startswith("capture/lab/")
    assert experiment["kernel"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", experiment["started"])
    named = {row["bundle"] for row in rows if row.get("bundle")}
    for name in named:
        assert (folder / f"{name}.netcost.tar.zst").is_file()


def test_a_hub_gives_the_unaddressed_interface_every_frame() -> None:
    packed = SAMPLES / "quiet-interface.netcost.tar.zst"
    polls = open_capture(packed).timeline().polls
    packets = polls.groupby("device", observed=True)["work"].sum()
    assert packets["quiet0"] >= packets["busy0"] > 1000
    spent = polls.groupby("device", observed=True)["self_ns"].sum()
    assert spent["quiet0"] > 0.2 * spent["busy0"]
    text = files_of(packed)["files/net_dev"].decode()
    starts = [int(line.split()[2]) for line in text.splitlines() if line.startswith("@")]
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert max(gaps) > 2 * min(gaps)


def test_the_top_rate_ends_in_ksoftirqd() -> None:
    packed = SAMPLES / "stolen-time-top.netcost.tar.zst"
    slices = open_capture(packed).timeline().slices
    thread = slices[slices["comm"] == f"ksoftirqd/{manifest_of(packed)['victim']['cpu']}"]
    assert (thread["out_ns"] - thread["in_ns"]).sum() > 3e8


def test_every_path_is_polled_by_name_on_the_victims_cpu() -> None:
    experiment, rows = series(SAMPLES / "datapath-sweep")
    assert {row["data_path"] for row in rows} == {"bridge", "xdp"}
    assert {row["destinations"] for row in rows} == {"1", "2"}
    top = [row for row in rows if row["offered_pps"] == "max"]
    assert len(top) == 4
    for row in top:
        packed = SAMPLES / "datapath-sweep" / f"{row['bundle']}.netcost.tar.zst"
        polls = open_capture(packed).timeline().polls
        assert set(polls[polls["device"] == "in0"]["cpu"]) == {experiment["victim_cpu"]}
        assert b"sysstat" in files_of(packed)["mpstat.json"]


REGRESSIONS = [("local-regression", 48), ("local-regression-traced", 6)]


def conditions_of(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    columns = ("network", "protocol", "skb_defer_max", "rps", "cpus")
    return [tuple(row[column] for column in columns) for row in rows]


@pytest.mark.parametrize(("name", "count"), REGRESSIONS)
def test_local_traffic_was_repeated_six_times_each_time_in_another_order(
    name: str, count: int
) -> None:
    experiment, rows = series(SAMPLES / name)
    conditions = conditions_of(rows)
    turns = [tuple(conditions[at : at + count]) for at in range(0, len(rows), count)]
    assert len(turns) == 6
    assert all(set(turn) == set(turns[0]) and len(set(turn)) == count for turn in turns)
    assert all(one != next_one for one, next_one in itertools.pairwise(turns))
    numbers = [int(row["repeat"]) for row in rows]
    assert numbers == [number for number in range(1, 7) for _ in range(count)]
    assert any("--seed" in note for note in experiment["notes"])
    for row in rows:
        if row["folder"]:
            assert (SAMPLES / name / row["folder"] / "pidstat.txt").is_file()


# As capture/lab/local-regression judges a step, with room to spare.
@pytest.mark.parametrize("name", [name for name, _ in REGRESSIONS])
def test_what_local_traffic_switched_did_switch(name: str) -> None:
    _, rows = series(SAMPLES / name)
    for row in rows:
        handed = int(row["control_handed"])
        assert handed > 10_000 if (row["rps"], row["cpus"]) == ("on", "two") else handed == 0
        if row["cpus"] == "one":
            continue
        reader, allocator = (int(row[f"control_freed_by_{who}"]) for who in ("reader", "allocator"))
        assert reader + allocator >= 400
        most = reader if row["skb_defer_max"] == "0" else allocator
        assert most > 0.9 * (reader + allocator)


def test_each_size_has_call_graphs_of_both_cpus() -> None:
    _, rows = series(SAMPLES / "io-sizes")
    assert len({row["io_bytes"] for row in rows}) >= 4
    for row in rows:
        packed = SAMPLES / "io-sizes" / f"{row['bundle']}.netcost.tar.zst"
        assert manifest_of(packed)["samples_of_functions"]["call_graph"]
        samples = open_capture(packed).samples("cpu-clock")
        assert set(samples["cpu"]) == {0, 1}


def test_every_rate_was_repeated_with_and_without_tracing_in_turns() -> None:
    experiment, rows = series(SAMPLES / "hidden-cost")
    offered = [f"{row['offered_pps']}x{row['burst']}" for row in rows]
    half = offered[:7]
    assert offered == [*half, *reversed(half), *half, *reversed(half)]
    for row in rows:
        packed = SAMPLES / "hidden-cost" / f"{row['bundle']}.netcost.tar.zst"
        files = files_of(packed)
        for run, column in (("baseline/", "idle"), ("", "load_traced")):
            assert f": {row[f'{column}_blocks']} " in files[f"{run}victim.txt"].decode()
        assert manifest_of(packed)["cpus"] == str(experiment["victim_cpu"])
    robbed = {row["bundle"]: int(row["load_blocks"]) / int(row["idle_blocks"]) for row in rows}
    assert robbed["40000-pps-1"] < robbed["5000-pps-1"] <= 1
