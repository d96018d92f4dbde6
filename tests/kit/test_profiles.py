# netcost-record's profiles and sidecars, with programs and counters that this host may not have:
# functions, counters, energy, turbostat, and hosts that have nothing but busybox.

import json
import subprocess
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing
from support.kit.record import (
    MARK,
    RECORD,
    VICTIM,
    Recorder,
    busybox_alone,
    ended,
    lasting_processes,
    manifest_of,
    path_without,
    recorder_in,
    samples,
    stub,
)

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    options = ["--profile", "functions", "--victim", VICTIM, "--cpus", "0", "--sidecars", "none"]
    with recorder_in(folder, "perf") as recorder:
        recorder(*options)
    return folder / "b"


# The build ids that it asks for mark the mappings of all who record beside it, and their perf dies.
@pytest.mark.alone
def test_functions_are_sampled_with_their_callers(functions: Path) -> None:
    manifest = manifest_of(functions)
    assert (manifest["tool"], manifest["trace"]) == ("perf", "functions.perf.data")
    trace = functions / "functions.perf.data"
    assert " T " in (trace / "kcore_dir" / "kallsyms").read_text()[:100_000]
    done = subprocess.run(
        ["perf", "script", "-F", "comm,event,ip,sym", "-i", trace / "data"],
        capture_output=True,
        text=True,
    )
    event = manifest["samples_of_functions"]["event"]
    assert f"{event}:" in done.stdout
    assert done.stdout.count("python3") > 100
    other = {"cycles": "cpu-clock", "cpu-clock": "cycles"}[event]
    assert f"{other}:" not in done.stdout
    noted = any("sampled by cpu-clock" in note for note in manifest["notes"])
    assert noted == (event == "cpu-clock")
    # Which events there are, and none of a tracepoint: those would be no account.
    assert open_capture(functions).info["format"] == "perf.data"
    assert manifest["events"] == []


def test_nothing_but_what_runs_beside(tmp_path: Path, recorder: Recorder) -> None:
    # Until two copies are there, however long each takes; the last is taken at the end.
    copies = f"cat '{tmp_path}/b.partial/samples/stat' 2>/dev/null | grep -c ^@"
    victim = f'while [ "$({copies})" -lt 2 ]; do sleep 0.05; done'
    recorder("--profile", "none", "--victim", victim, "--interval", "0.1")
    manifest = manifest_of(tmp_path / "b")
    assert (manifest["tool"], manifest["trace"], manifest["clock"]) == (None, None, None)
    assert len(samples(tmp_path / "b", "stat")) >= 3


# Programs and counters that this host may not have, as they are documented.

# Of perf 6.1, with an event that counts for a package, cut at both ends.
JOULES = (
    '{"interval" : 0.500, "counter-value" : "21.10", "unit" : "Joules", '
    '"event" : "power/energy-pkg/", "event-runtime" : 500, "pcnt-running" : 100.00}'
)


def test_a_sidecar_is_told_to_finish_and_one_that_fails_is_noted(
    tmp_path: Path, recorder: Recorder
) -> None:
    # SIGINT is ignored in what a shell starts in the background, and a shell cannot undo that.
    script, begun = tmp_path / "turbostat.py", tmp_path / "begun"
    script.write_text(
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('12.5 2400 61', flush=True), sys.exit()))\n"
        "print('Busy% Bzy_MHz PkgWatt', flush=True)\n"
        "if 'num_iterations' in ' '.join(sys.argv): sys.exit()\n"
        f"pathlib.Path({str(begun)!r}).touch()\n"
        "while True: time.sleep(0.1)\n"
    )
    path = stub(tmp_path / "bin", "turbostat", f'exec python3 {script} "$@"')
    stub(tmp_path / "bin", "mpstat", "echo no such counter >&2; exit 3")
    # However long it takes to begin.
    victim = f"while [ ! -e {begun} ]; do sleep 0.05; done"
    options = ["--profile", "none", "--victim", victim, "--sidecars", "mpstat,turbostat"]
    recorder(*options, path=path)
    said = (tmp_path / "b" / "turbostat.txt").read_text().splitlines()
    assert said == ["Busy% Bzy_MHz PkgWatt", "12.5 2400 61"]
    notes = manifest_of(tmp_path / "b")["notes"]
    assert len(notes) == 1
    assert all(word in notes[0] for word in ("mpstat", "exit status 3", "no such counter"))


def perf_with_energy(folder: Path) -> str:
    script = f"""case "$*" in
*"-e power/energy-pkg/ -- true") exit 0 ;;
*"-e power/"*"-- true") echo "event syntax error: no such event" >&2; exit 129 ;;
"stat -h") echo "-j, --json-output" ;;
*"-I "*" --log-fd 1"*) echo '{JOULES}'; sleep 1 ;;
*) exit 1 ;;
esac"""
    return stub(folder, "perf", script)


def test_energy_where_it_is_counted(tmp_path: Path, recorder: Recorder) -> None:
    path = perf_with_energy(tmp_path / "bin")
    options = ["--profile", "energy", "--duration", "0.5", "--interval", "0.5"]
    recorder(*options, "--sidecars", "none", path=path)
    assert json.loads((tmp_path / "b" / "energy.jsonl").read_text())["unit"] == "Joules"
    notes = manifest_of(tmp_path / "b")["notes"]
    assert any("profile energy" in note and "power/energy-cores/" in note for note in notes)


def test_energy_where_it_is_not(tmp_path: Path, recorder: Recorder) -> None:
    path = stub(tmp_path / "bin", "perf", "exit 129")
    done = recorder("--profile", "energy", status=1, lines=1, path=path)
    assert "profile energy" in done.stderr
    # Beside another profile it is a note.
    recorder("--profile", "light,energy", "--tool", "tracefs", "--duration", "0.3", path=path)
    assert any("profile energy" in note for note in manifest_of(tmp_path / "b")["notes"])


def test_without_the_programs_there_is_a_bundle(tmp_path: Path, recorder: Recorder) -> None:
    names = ("mpstat", "pidstat", "ethtool", "ip", "tc", "perf", "trace-cmd", "turbostat")
    path = path_without(tmp_path / "bin", *names)
    recorder("--duration", "0.3", path=path)
    assert [one["name"] for one in manifest_of(tmp_path / "b")["companions"]] == ["samples"]
    assert not list((tmp_path / "b").rglob("ethtool*"))
    assert (
        "mpstat" in recorder("--sidecars", "mpstat", name="c", status=1, lines=1, path=path).stderr
    )


def test_every_profile_is_recorded(tmp_path: Path, recorder: Recorder) -> None:
    options = ["--profile", "anatomy,migration", "--tool", "tracefs", "--duration", "0.3"]
    recorder(*options, "--sidecars", "none")
    manifest = manifest_of(tmp_path / "b")
    assert manifest["profile"] == "anatomy,migration"
    events = manifest["events"]
    assert len(events) == len(set(events))
    assert {"net:netif_receive_skb", "skb:consume_skb", "sched:sched_migrate_task"} <= set(events)
    assert open_capture(tmp_path / "b").info["format"] == "tracefs"


def test_shells_of_small_hosts(tmp_path: Path, recorder: Recorder) -> None:
    folder = busybox_alone(tmp_path)
    left = f"sleep 60 & setsid sleep 60 & : {MARK}; sleep 0.4"
    options = ["--duration", "0.5", "--interval", "0.2", "--victim", left, "--baseline"]
    recorder(*options, before=[folder / "sh"], path=str(folder))
    assert lasting_processes(MARK) == []
    assert manifest_of(tmp_path / "b")["tool"] == "tracefs"
    assert len(samples(tmp_path / "b", "stat")) >= 2


def test_energy_is_sampled_where_the_machine_counts_it(tmp_path: Path, recorder: Recorder) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        missing("needs a mount namespace of its own")
    # As Documentation/power/powercap has it, in files of one's own.
    script = tmp_path / "counted"
    script.write_text(
        "mount -t tmpfs none /sys/class && zone=/sys/class/powercap/intel-rapl:0 || exit\n"
        "mkdir -p $zone && echo package-0 >$zone/name && echo 5500 >$zone/energy_uj\n"
        "echo 262143328850 >$zone/max_energy_range_uj\n"
        f'exec "{RECORD}" -o "{tmp_path}/b" --profile energy --duration 0.3 --interval 0.1\n'
    )
    path = perf_with_energy(tmp_path / "bin")
    done = ended(["unshare", "-m", "sh", script], env={**recorder.environment, "PATH": path})
    assert done.returncode == 0, done.stderr
    *_, lines = samples(tmp_path / "b", "energy")[0]
    assert lines[0].split() == ["intel-rapl:0", "package-0", "5500", "262143328850"]
