# The samples: whole, published, described, and counted as others count. What questions answer about
# them is frozen (tests/questions/test_answers.py).

import json
import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.stolen_sums import stolen_sums
from netcost_analysis.timeline.task import Group
from support.host import SAMPLES, require_tool
from support.kept import kept
from support.kit.lab import series
from support.native_tables import Answer, assert_conserved
from support.oracle import perf_script_counts
from support.run_cli import Netcost

BUNDLES = sorted(path.parent for path in SAMPLES.glob("*/manifest.json"))
PACKED = sorted(SAMPLES.rglob("*.netcost.tar.zst"))
FIRST = [one for one in PACKED if one.parent == SAMPLES]
FIRST += {one.parent: one for one in PACKED if one.parent != SAMPLES}.values()
SERIES = sorted(path.parent for path in SAMPLES.glob("*/experiment.json"))
# A path that only the machine has on which a sample was recorded.
PATHS = re.compile(rb"/(?:work|root|home|opt|srv|mnt)/[!-~]+")


def name_of(path: Path) -> str:
    return str(path.relative_to(SAMPLES)).removesuffix(".netcost.tar.zst")


def files_of(packed: Path) -> dict[str, bytes]:
    with pa.input_stream(packed, compression="zstd") as stream:
        text = stream.read()
    with tarfile.open(fileobj=pa.BufferReader(text), mode="r:") as archive:
        return {
            member.name.partition("/")[2]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
            if member.isfile()
        }


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_table_says_what_each_shows_and_they_are_small() -> None:
    described = re.findall(r"^\| `([a-z0-9-]+)`", (SAMPLES / "README.md").read_text(), re.M)
    single = {name_of(path) for path in PACKED if path.parent == SAMPLES}
    assert set(described) == {path.name for path in (*BUNDLES, *SERIES)} | single | {"fleet"}
    assert size_of(SAMPLES) < 80_000_000
    assert all(size_of(bundle) < 3_000_000 for bundle in BUNDLES)


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
    capture = open_capture(packed)
    assert capture.info["lost_events"] == 0
    # All steps of an experiment were recorded alike.
    if "sched:sched_switch" in manifest["events"] and packed in FIRST:
        timeline = capture.timeline()
        # All of the recorded CPUs' time has an owner, be it "unknown".
        cpus = 1 if packed.parent.name == "hidden-cost" else 2
        assert len(timeline.summary["cpus"]) == cpus
        assert timeline.sums()["ns"].sum() == cpus * timeline.duration_ns


@pytest.mark.parametrize("folder", SERIES, ids=lambda path: path.name)
def test_a_series_has_what_its_table_names(folder: Path) -> None:
    experiment, rows = series(folder)
    assert experiment["command"].startswith("capture/lab/")
    assert experiment["kernel"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", experiment["started"])
    for row in rows:
        if row.get("bundle"):
            assert (folder / f"{row['bundle']}.netcost.tar.zst").is_file()
        if row.get("folder"):
            assert (folder / row["folder"] / "pidstat.txt").is_file()


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_a_bundle_conserves_and_is_counted_as_perf_counts_it(bundle: Path) -> None:
    trace = bundle / json.loads((bundle / "manifest.json").read_text())["trace"]
    got = Answer(trace)
    assert_conserved(got)
    assert got.scan["notes"] == [], "a sample is whole"
    require_tool("perf")
    counts = {name: count for name, count in got.scan["events"].items() if count}
    assert counts == perf_script_counts(trace)


# Each free of a packet's data is one of the kernel's events of drops or of deferred frees.
@pytest.mark.parametrize("step", ["defer0-rpsoff", "defer64-rpsoff", "defer128-rpson"])
def test_frees_of_packets_are_the_kernels_events(step: str) -> None:
    [path] = (SAMPLES / "local-regression-traced").glob(f"loopback-udp-{step}-twocpu-1.*")
    capture = open_capture(path)
    events = capture.info["events"]
    dropped, deferred = events["skb:kfree_skb"], events["skb:consume_skb"]
    frees = capture.ask.processes.skb_frees().frame
    in_softirqs = frees["context"] == "softirq"
    assert frees.loc[in_softirqs, "frees"].sum() == dropped + deferred > 100
    assert (deferred == 0) == frees.loc[~in_softirqs, "frees"].any() == ("defer0" in step)


# A service that starts a program for each thing it does is one victim of more than a thousand
# tasks.
def test_a_service_of_many_tasks_is_one_victim(netcost: Netcost) -> None:
    name = "attached-service.netcost.tar.zst"
    timeline = kept(name).timeline(window="auto")
    service = timeline.victim
    assert isinstance(service, Group)
    tasks = [one for one in stolen_sums(timeline, "tid").rows if one[0] in service.tids]
    assert len(tasks) > 400
    path = str(SAMPLES / name)
    [row] = netcost("stolen", path, "--victim", str(service), "--json").json["victims"]
    assert netcost("stolen", path, "--json").json["service"] == row
    sums = timeline.sums()
    own = sums[sums["tid"].isin(service.tids).fillna(False).to_numpy(dtype=bool)]
    assert row["on_cpu_ns"] == int(own["ns"].sum())
