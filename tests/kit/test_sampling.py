# Profiles that sample several events, and loads of memory, on a host without such counters: with
# events of the kernel's own in their place.

import shutil
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import ROOT, require_root_tracing, require_tool
from support.kit.record import VICTIM, Recorder, ended, manifest_of, stub

# Sampling in every CPU with addresses of data disturbs who samples beside it.
pytestmark = pytest.mark.alone

OPTIONS = ["--victim", VICTIM, "--cpus", "0", "--sidecars", "none", "--interval", "0"]


@pytest.fixture(autouse=True)
def perf() -> None:
    require_root_tracing()


def test_events_that_the_host_has_are_sampled_together(tmp_path: Path, recorder: Recorder) -> None:
    lines = ["frequency 997", "call-graph fp", "event cpu-clock", "with page-faults"]
    lines += ["with no-such-event", "with context-switches"]
    shutil.copytree(ROOT / "capture", tmp_path / "kit", ignore=shutil.ignore_patterns("lab"))
    (tmp_path / "kit/profiles/own.sampling").write_text("\n".join(lines) + "\n")
    command = [tmp_path / "kit/netcost-record", "-o", tmp_path / "b", "--profile", "own"]
    done = ended([*command, *OPTIONS], env=recorder.environment)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    said = manifest["samples_of_functions"]
    assert said["event"] == "cpu-clock"
    assert said["other_events"] == ["page-faults", "context-switches"]
    assert any("no-such-event" in note for note in manifest["notes"])
    capture = open_capture(tmp_path / "b")
    counts = capture.info["events"]
    assert counts["cpu-clock"] > 100
    assert counts["page-faults"] > 0
    totals = capture.ask.functions.counters_by_component().tables["event_totals"]
    assert {"cpu-clock", "page-faults"} <= set(totals["sampled_event"])


# Of who records without build ids beside one who asks for them perf can read no mapping.
def test_perf_reads_its_own_trace_beside_samples(tmp_path: Path, recorder: Recorder) -> None:
    options = ["--tool", "perf", "--profile", "stolen,functions", "--victim", "ls; ls; ls"]
    recorder(*options, "--sidecars", "none")
    assert manifest_of(tmp_path / "b")["completeness"]["state"] != "unknown"
    mapped = open_capture(tmp_path / "b").mappings()
    ids = mapped.loc[mapped["filename"].str.endswith("/ls"), "build_id"]
    assert len(ids) >= 3
    assert ids.str.fullmatch("[0-9a-f]{40}").all()


def test_without_counters_functions_are_sampled_and_a_line_says_so(
    tmp_path: Path, recorder: Recorder
) -> None:
    options = ["--profile", "function-counters", *OPTIONS]
    recorder(*options)
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


def test_loads_where_the_host_samples_them(tmp_path: Path, recorder: Recorder) -> None:
    recorder("--profile", "loads", *OPTIONS, path=perf_of_amd(tmp_path / "bin"))
    assert manifest_of(tmp_path / "b")["samples_of_functions"]["event"] == "ibs_op//"
    beside = tmp_path / "b" / "functions.perf.data" / "kcore_dir"
    assert "System RAM" in (beside / "iomem").read_text()
    symbols = (beside / "kallsyms").read_text()
    assert " D " in symbols or " d " in symbols
    samples = open_capture(tmp_path / "b").samples("page-faults")
    assert {"addr", "weight", "data_src", "phys_addr"} <= set(samples.columns)
    assert samples["addr"].gt(0).any()


def test_loads_where_it_does_not(tmp_path: Path, recorder: Recorder) -> None:
    path = stub(tmp_path / "bin", "perf", "exit 255")
    done = recorder("--profile", "loads", status=1, lines=1, path=path)
    assert "loads of memory" in done.stderr
    # Beside another profile it is a note.
    recorder("--profile", "light,loads", "--tool", "tracefs", "--duration", "0.3", path=path)
    manifest = manifest_of(tmp_path / "b")
    assert manifest["samples_of_functions"] is None
    assert any("loads of memory" in note for note in manifest["notes"])
