# netcost-record --tool: which recorder is taken, and that each records the same profile.

import os
import subprocess
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.record import (
    RECORD,
    TRACE_CMD,
    TRACING,
    Recorder,
    ended,
    manifest_of,
    path_without,
    preferred,
    require_recorder,
    stub,
    with_trace_cmd,
)

pytestmark = pytest.mark.live

# What a perf without tracepoint support says, whatever it is asked to record.
NO_TRACEPOINTS = """case "$*" in
--version) echo perf version 6.9 ;;
*record*) echo "event syntax error: 'irq:irq_handler_entry'" >&2
    echo "libtraceevent is necessary for tracepoint support" >&2; exit 129 ;;
esac"""


def test_without_perf_and_trace_cmd_tracefs_records(tmp_path: Path, recorder: Recorder) -> None:
    recorder("--duration", "0.3", path=path_without(tmp_path / "bin", "perf", "trace-cmd"))
    manifest = manifest_of(tmp_path / "b")
    assert (manifest["tool"], manifest["trace"]) == ("tracefs", "trace.tracefs")
    assert manifest["host"]["perf"] is None
    assert manifest["host"]["trace_cmd"] is None


def test_a_perf_without_tracepoints_is_passed_over(tmp_path: Path, recorder: Recorder) -> None:
    path = path_without(tmp_path / "bin", "perf", "trace-cmd")
    stub(tmp_path / "bin", "perf", NO_TRACEPOINTS)
    recorder("--duration", "0.3", path=path, env=preferred("perf", tmp_path / "root"))
    manifest = manifest_of(tmp_path / "b")
    assert manifest["tool"] == "tracefs"
    assert any("libtraceevent" in note for note in manifest["notes"])
    assert manifest["host"]["perf"] == "perf version 6.9"
    assert not (tmp_path / "b" / "trace.perf.data").exists()

    done = recorder("--tool", "perf", name="c", status=1, lines=1, path=path)
    assert "libtraceevent" in done.stderr


@pytest.mark.parametrize(("boot", "tool"), [("", "perf"), ("of-another-boot", "tracefs")])
def test_what_a_check_of_this_boot_has_found_best_records(
    boot: str, tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    require_recorder("perf")
    found = preferred("perf", tmp_path / "root", boot)
    for name, options in (("b", ()), ("c", ("--tool", "auto"))):
        recorder("--duration", "0.3", *options, name=name, env=found)
        assert manifest_of(tmp_path / name)["tool"] == tool


@pytest.mark.parametrize("name", ["perf", "trace-cmd"])
def test_a_tool_that_is_not_here_is_one_line(name: str, tmp_path: Path, recorder: Recorder) -> None:
    path = path_without(tmp_path / "bin", name)
    assert name in recorder("--tool", name, status=1, lines=1, path=path).stderr


@pytest.mark.alone
def test_a_buffer_in_use_is_left_to_its_user(tmp_path: Path, recorder: Recorder) -> None:
    require_recorder("trace-cmd")
    switch = TRACING / "events" / "sched" / "sched_process_hang" / "enable"
    switch.write_text("1")
    try:
        assert "events are on" in recorder("--tool", "trace-cmd", status=1).stderr
        recorder("--duration", "0.3", env=preferred("trace-cmd", tmp_path / "root"))
        assert switch.read_text().strip() == "1"
    finally:
        switch.write_text("0")
    manifest = manifest_of(tmp_path / "b")
    assert manifest["tool"] == "tracefs"
    assert any("events are on" in note for note in manifest["notes"])


@with_trace_cmd
def test_a_trace_somebody_left_is_not_cleared(recorder: Recorder) -> None:
    was_on = (TRACING / "tracing_on").read_text()
    (TRACING / "tracing_on").write_text("1")
    (TRACING / "trace_marker").write_text("somebody's trace")
    try:
        assert "a trace" in recorder("--tool", "trace-cmd", status=1).stderr
        assert "somebody's trace" in (TRACING / "trace").read_text()
    finally:
        (TRACING / "trace").write_text("")
        (TRACING / "tracing_on").write_text(was_on)


@pytest.mark.parametrize("tool", [TRACE_CMD, "tracefs"])
def test_the_same_events_with_other_tools(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    victim = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"
    recorder("--tool", tool, "--victim", victim, "--buffer", "4096")
    manifest = manifest_of(tmp_path / "b")
    assert {"irq:softirq_raise", "napi:napi_poll", "sched:sched_waking"} <= set(manifest["events"])
    assert (manifest["tool"], manifest["clock"]) == (tool, "mono")
    assert manifest["ring_buffer_bytes_per_cpu"] == 4096 * 1024
    lost = [one["overrun"] + one["commit_overrun"] + one["dropped"] for one in manifest["losses"]]
    assert manifest["lost_events"] == sum(lost)
    victim, window = manifest["victim"], manifest["window"]
    assert window["start_ns"] < victim["start_ns"] < victim["end_ns"] < window["end_ns"]
    if tool == "trace-cmd":
        command = manifest["command"]
        named = [command[i + 1] for i, word in enumerate(command) if word == "-e"]
        assert named == manifest["events"]
        # It is to hide nothing, its own threads included.
        assert "--no-filter" in command


@with_trace_cmd
def test_trace_cmd_records_where_its_controls_are_refused(
    tmp_path: Path, recorder: Recorder
) -> None:
    allowed = os.access(TRACING / "set_ftrace_filter", os.W_OK) and not refused()
    recorder("--tool", "trace-cmd", "--duration", "0.3")
    manifest = manifest_of(tmp_path / "b")
    hidden = any("hidden from it" in note for note in manifest["notes"])
    assert hidden == ("unshare" in manifest["command"]) == (not allowed)
    report = subprocess.run(
        ["trace-cmd", "report", "-i", tmp_path / "b" / "trace.dat"], capture_output=True, text=True
    )
    assert "sched_switch:" in report.stdout
    assert Path("/proc/sys/kernel/ftrace_enabled").read_text().strip() in ("0", "1")


def refused() -> bool:
    """Does the host refuse to write what is written already?"""
    path = Path("/proc/sys/kernel/ftrace_enabled")
    try:
        path.write_text(path.read_text())
        with (TRACING / "set_ftrace_filter").open("a"):
            return False
    except OSError:
        return True


@pytest.mark.parametrize("tool", ["perf", TRACE_CMD])
def test_a_refused_pair_is_skipped_and_noted(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    # A tool that may not record one of the vectors, as some hosts' policy has it.
    script = (
        'case "$*" in *record*reschedule_entry*) echo "No permission" >&2; exit 255 ;;\n'
        f'*/dev/null*) exit 0 ;; esac\nexec {require_tool(tool)} "$@"'
    )
    recorder("--tool", tool, "--duration", "0.2", path=stub(tmp_path / "tools", tool, script))
    manifest = manifest_of(tmp_path / "b")
    if "irq_vectors:local_timer_entry" not in manifest["events"]:
        missing("this kernel has no irq_vectors")
    assert not any("reschedule" in event for event in manifest["events"])
    assert any("irq_vectors:reschedule" in note for note in manifest["notes"])
    assert manifest["victim"] is None


@with_trace_cmd
def test_losses_of_trace_cmd_are_said(tmp_path: Path, recorder: Recorder) -> None:
    # What trace-cmd keeps of a buffer that overflowed, from a trace-cmd that keeps only this.
    stats = "CPU: 1\\nentries: 5\\noverrun: 40\\ncommit overrun: 2\\ndropped events: 1\\n"
    other = f'*) exec {require_tool("trace-cmd")} "$@" ;; esac'
    path = stub(tmp_path / "bin", "trace-cmd", f'case "$1" in dump) printf "{stats}" ;;\n{other}')
    done = recorder("--tool", "trace-cmd", "--duration", "0.3", path=path)
    assert "43 events" in done.stderr
    assert "43 events" in done.stdout
    manifest = manifest_of(tmp_path / "b")
    assert manifest["lost_events"] == 43
    assert manifest["losses"] == [{"cpu": 1, "overrun": 40, "commit_overrun": 2, "dropped": 1}]


def test_another_clock_has_no_times_beside_it(tmp_path: Path, recorder: Recorder) -> None:
    options = ("--tool", "tracefs", "--clock", "local", "--victim", "sleep 0.2", "--cpus", "0")
    recorder(*options)
    manifest = manifest_of(tmp_path / "b")
    assert manifest["clock"] == "local"
    assert manifest["window"] == {"start_ns": None, "end_ns": None}
    assert (manifest["victim"]["start_ns"], manifest["victim"]["end_ns"]) == (None, None)
    assert manifest["victim"]["wall_s"] > 0.1
    assert "[local]" in (tmp_path / "b" / "trace.tracefs" / "trace_clock").read_text()


@pytest.mark.parametrize("tool", ["perf", TRACE_CMD, "tracefs"])
def test_tracefs_is_mounted_for_the_recording_only(
    tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        missing("needs a mount namespace of its own")
    script = tmp_path / "unmounted"
    script.write_text(
        "umount /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing 2>/dev/null\n"
        "[ ! -e /sys/kernel/tracing/events ] || exit 9\n"
        f'"{RECORD}" -o "{tmp_path}/b" --tool {tool} --duration 0.3 || exit\n'
        "[ ! -e /sys/kernel/tracing/events ] || exit 8\n"
    )
    done = ended(["unshare", "-m", "sh", script], env=recorder.environment)
    assert done.returncode == 0, done.stderr
    assert any("not mounted" in note for note in manifest_of(tmp_path / "b")["notes"])


def test_a_clock_that_there_is_not_is_refused(tmp_path: Path, recorder: Recorder) -> None:
    done = recorder("--tool", "tracefs", "--clock", "sundial", status=2, lines=1)
    assert "sundial" in done.stderr
    assert " local" in done.stderr


@pytest.mark.measures
def test_a_perf_that_hangs_is_given_up(tmp_path: Path, recorder: Recorder) -> None:
    perf = require_tool("perf")
    hangs = f'case "$*" in *trace.perf.data*) exec sleep 300 ;; esac\nexec {perf} "$@"'
    # What it reports when it is ended must not be taken for the next one's end.
    path = stub(tmp_path / "bin", "perf", hangs)
    stub(tmp_path / "bin", "trace-cmd", "exit 1")
    env = preferred("perf", tmp_path / "root") | {"NETCOST_START_SECONDS": "1"}
    recorder("--duration", "0.3", "--sidecars", "none", path=path, env=env)
    manifest = manifest_of(tmp_path / "b")
    assert manifest["tool"] == "tracefs"
    assert any("within 1 s" in one for one in manifest["notes"])
