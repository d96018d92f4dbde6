# Profiles that sample several events, and loads of memory, on a host without such counters: with
# events of the kernel's own in their place.

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import ROOT, require_root_tracing, require_tool
from support.kit.record import RECORD, VICTIM, ended, manifest_of, nothing_left, stub

# Sampling in every CPU with addresses of data disturbs who samples beside it.
pytestmark = pytest.mark.alone

OPTIONS = ["--victim", VICTIM, "--cpus", "0", "--sidecars", "none", "--interval", "0"]


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_root_tracing()
    with nothing_left(tmp_path, "perf") as environment:
        yield environment


# The kit, with a profile of one's own.
def kit(folder: Path, name: str, profile: str) -> Path:
    shutil.copytree(ROOT / "capture", folder, ignore=shutil.ignore_patterns("lab"))
    (folder / "profiles" / f"{name}.sampling").write_text(profile)
    return folder / "netcost-record"


def test_events_that_the_host_has_are_sampled_together(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    lines = ["frequency 997", "call-graph fp", "event cpu-clock", "with page-faults"]
    lines += ["with no-such-event", "with context-switches"]
    record = kit(tmp_path / "kit", "own", "\n".join(lines) + "\n")
    done = ended([record, "-o", tmp_path / "b", "--profile", "own", *OPTIONS], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    said = manifest["samples_of_functions"]
    assert (said["event"], said["other_events"]) == (
        "cpu-clock",
        ["page-faults", "context-switches"],
    )
    assert any("no-such-event" in note for note in manifest["notes"])
    capture = open_capture(tmp_path / "b")
    counts = capture.info["events"]
    assert counts["cpu-clock"] > 100
    assert counts["page-faults"] > 0
    totals = capture.ask.functions.counters_by_component().tables["event_totals"]
    assert {"cpu-clock", "page-faults"} <= set(totals["sampled_event"])


# Of who records without build ids beside one who asks for them perf can read no mapping.
def test_perf_reads_its_own_trace_beside_samples(tmp_path: Path, temporary: dict[str, str]) -> None:
    options = ["--tool", "perf", "--profile", "stolen,functions", "--victim", "ls; ls; ls"]
    done = ended([RECORD, "-o", tmp_path / "b", *options, "--sidecars", "none"], env=temporary)
    assert done.returncode == 0, done.stderr
    assert manifest_of(tmp_path / "b")["completeness"]["state"] != "unknown"
    mapped = open_capture(tmp_path / "b").mappings()
    ids = mapped.loc[mapped["filename"].str.endswith("/ls"), "build_id"]
    assert len(ids) >= 3
    assert ids.str.fullmatch("[0-9a-f]{40}").all()


def test_without_counters_functions_are_sampled_and_a_line_says_so(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    options = ["--profile", "function-counters", *OPTIONS]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    said = manifest["samples_of_functions"]
    if said["event"] != "cpu-clock":
        pytest.skip("this host has counters")
    assert said["other_events"] == []
    (note,) = (one for one in manifest["notes"] if "sampled by cpu-clock" in one)
    for name in ("cycles", "instructions", "cache-misses", "dTLB-load-misses"):
        assert f" {name}" in note
    asked = open_capture(tmp_path / "b").ask.functions
    assert asked.components().refusal is None
    assert "function-counters" in str(asked.counters_by_component().refusal)


# perf, with page faults in the place of what AMD's processors sample.
def perf_of_amd(folder: Path) -> str:
    perf = require_tool("perf")
    script = f"""for word; do
	shift
	case $word in
	ibs_op//) word=page-faults ;;
	*mem-loads*) exit 255 ;;
	esac
	set -- "$@" "$word"
done
exec {perf} "$@"
"""
    return stub(folder, "perf", script)


def test_loads_where_the_host_samples_them(tmp_path: Path, temporary: dict[str, str]) -> None:
    env = {**temporary, "PATH": perf_of_amd(tmp_path / "bin")}
    done = ended([RECORD, "-o", tmp_path / "b", "--profile", "loads", *OPTIONS], env=env)
    assert done.returncode == 0, done.stderr
    assert manifest_of(tmp_path / "b")["samples_of_functions"]["event"] == "ibs_op//"
    beside = tmp_path / "b" / "functions.perf.data" / "kcore_dir"
    assert "System RAM" in (beside / "iomem").read_text()
    symbols = (beside / "kallsyms").read_text()
    assert " D " in symbols or " d " in symbols
    samples = open_capture(tmp_path / "b").samples("page-faults")
    assert {"addr", "weight", "data_src", "phys_addr"} <= set(samples.columns)
    assert samples["addr"].gt(0).any()


def test_loads_where_it_does_not(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = stub(tmp_path / "bin", "perf", "exit 255")
    env = {**temporary, "PATH": path}
    done = ended([RECORD, "-o", tmp_path / "b", "--profile", "loads"], env=env)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "loads of memory" in done.stderr
    # Beside another profile it is a note.
    options = ["--profile", "light,loads", "--tool", "tracefs", "--duration", "0.3"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=env)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    assert manifest["samples_of_functions"] is None
    assert any("loads of memory" in note for note in manifest["notes"])
