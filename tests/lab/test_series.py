# The experiments of capture/lab that write a series: each live, as small as it goes.

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from netcost_analysis import open_capture, open_experiment
from support.kit.lab import (
    DEFER,
    LAB,
    interrupted,
    nothing_of_the_lab_left,
    ran,
    require_lab,
    series,
)
from support.kit.record import TRACING, ended, manifest_of

pytestmark = pytest.mark.alone


@pytest.mark.parametrize(
    "paths", [["ovs", "xdp"], pytest.param(["bridge", "route"], marks=pytest.mark.slow)]
)
@pytest.mark.measures
def test_data_paths_are_swept_and_every_packet_is_accounted_for(
    paths: list[str], tmp_path: Path
) -> None:
    require_lab("cc", "clang", "ethtool", "openssl", "bridge")
    # Not with perf: on some virtual machines it has no event of a CPU that idles (docs/capture.md).
    words = ["--duration", "1", "--rates", "3000", "--destinations", "2", "--victims", "none"]
    words += ["--tool", "tracefs"]
    folder = ran("datapath-sweep", tmp_path, "--paths", ",".join(paths), *words)
    experiment, rows = series(folder)
    assert experiment["experiment"] == "datapath-sweep"
    if "ovs" in paths and not Path("/sys/module/openvswitch").exists():
        paths = paths[1:]
        assert "ovs" in experiment["notes"][0]
    assert [row["data_path"] for row in rows] == paths
    for row in rows:
        assert int(row["sent"]) > 1000
        # A receiver that comes late may miss the first; all else arrives, at both.
        assert int(row["received"]) > 0.9 * int(row["sent"])
        dropped = [int(row[f"dropped_{at}"]) for at in ("ingress", "egress", "destination")]
        assert int(row["sent"]) - int(row["received"]) == (
            sum(dropped) + int(row["dropped_backlog"]) + int(row["unaccounted"])
        )
        assert abs(int(row["unaccounted"])) <= 0.01 * int(row["sent"])
        counts = [
            int(line.split()[1])
            for line in (folder / row["bundle"] / "load.txt").read_text().splitlines()
            if line.startswith("received")
        ]
        assert len(counts) == 2
        assert max(counts) < 1.2 * min(counts)

        polls = open_capture(folder / row["bundle"]).timeline().polls
        manifest = manifest_of(folder / row["bundle"])
        # All of it in softirqs of the CPU that a victim would be on.
        steered = polls[polls["device"] == "in0"]
        assert set(steered["cpu"]) == {experiment["victim_cpu"]}
        assert int(steered["work"].sum()) > 0.5 * int(row["sent"])
        assert any("in0" in note and "steering wire" in note for note in manifest["notes"])


@pytest.mark.slow
@pytest.mark.measures
def test_the_senders_ceiling_is_called_that(tmp_path: Path) -> None:
    require_lab("cc", "clang", "ethtool", "openssl")
    words = ["--rates", "max", "--destinations", "1", "--victims", "pinned", "--duration", "1"]
    folder = ran("datapath-sweep", tmp_path, "--paths", "xdp", "--steering", "threaded", *words)
    experiment, [row] = series(folder)
    assert any("max is" in note for note in experiment["notes"])
    assert row["offered_pps"] == "max"
    assert int(row["sent_pps"]) > 20000
    slices = open_capture(folder / row["bundle"]).timeline().slices
    [thread] = {comm for comm in slices["comm"].dropna() if comm.startswith("napi/in0")}
    assert set(slices[slices["comm"] == thread]["cpu"]) == {experiment["victim_cpu"]}


@pytest.mark.slow
@pytest.mark.measures
def test_steps_are_traced_in_part_and_repeated_in_turns(tmp_path: Path) -> None:
    require_lab("cc", "clang", "ethtool", "openssl", "bridge")
    words = ["--paths", "bridge,xdp", "--rates", "4000", "--destinations", "1"]
    words += ["--victims", "pinned", "--duration", "2", "--trace", "0.5", "--tool", "tracefs"]
    words += ["--repeats", "2", "--repeat-rates", "4000"]
    folder = ran("datapath-sweep", tmp_path, *words)
    _, rows = series(folder)
    told = [(row["data_path"], row["repeat"]) for row in rows]
    # The path that came last comes first.
    assert told == [("bridge", "1"), ("xdp", "1"), ("xdp", "2"), ("bridge", "2")]
    assert len({row["bundle"] for row in rows}) == len(rows)
    for row in rows:
        manifest = manifest_of(folder / row["bundle"])
        run, window = manifest["victim"], manifest["window"]
        assert run["start_ns"] + 0.7e9 < window["start_ns"]
        assert window["end_ns"] < run["end_ns"]
        # All of the run is sent to, not only the part that is traced.
        assert int(row["sent"]) > int(row["offered_pps"])


@pytest.mark.slow
def test_flows_and_protocols_are_repeated_in_turns(tmp_path: Path) -> None:
    require_lab("cc", "iperf3", "openssl")
    words = ["--flows", "1,2", "--repeats", "2", "--duration", "1", "--tool", "tracefs"]
    folder = ran("stolen-time", tmp_path, "--protocol", "tcp", *words)
    _, rows = series(folder)
    assert [(row["repeat"], row["flows"]) for row in rows] == [
        *(("1", "1"), ("1", "2")),
        *(("2", "2"), ("2", "1")),
    ]
    for row in rows:
        assert row["protocol"] == "tcp"
        bundle = folder / row["bundle"]
        connected = (bundle / "load.txt").read_text().count("connected to 198.18.0.2")
        assert connected == int(row["flows"])
        assert manifest_of(bundle / "baseline")["victim"]["command"].startswith("openssl speed")


@pytest.mark.measures
@pytest.mark.parametrize("traced", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_local_traffic_is_repeated_in_turns(traced: bool, tmp_path: Path) -> None:
    require_lab("iperf3", "pidstat")
    if not DEFER.exists():
        pytest.skip("this kernel has no net.core.skb_defer_max")
    words = ["--networks", "veth", "--protocols", "udp", "--steerings", "off", "--cpus", "two"]
    words += ["--repeats", "2", "--duration", "1", "--traced", "2" if traced else "0"]
    words += ["--trace", "0.2", "--profile", "anatomy", "--tool", "tracefs", "--defers", "64,0"]
    folder = ran("local-regression", tmp_path, *words)
    experiment, rows = series(folder)
    for note, when in zip(experiment["notes"][-2:], ("before it began", "meanwhile"), strict=True):
        assert when in note
        busy, stolen = (float(share) for share in re.findall(r"([0-9.]+) %", note)[:2])
        assert note.startswith("unfit for figures: ") == (busy > 5 or stolen > 1)
    # In each turn each of them, in an order that is chance's.
    turns = [sorted(row["skb_defer_max"] for row in rows[at : at + 2]) for at in (0, 2, 4, 6)]
    assert [turn for turn in turns if turn] == [["0", "64"]] * (2 + 2 * traced)
    assert any("--seed" in note for note in experiment["notes"])
    assert [bool(row["bundle"]) for row in rows] == [False] * 4 + [True] * 4 * traced
    for row in rows:
        assert float(row["received_bits_per_second"]) > 1e6
        files = folder / (row["folder"] or f"{row['bundle']}/files")
        result = json.loads((files / "iperf3.json").read_text())
        # Each side has its own seconds, and iperf3 sends a few packets after it has counted what it
        # sent: where little is lost either may be the higher, in rate and in bytes.
        sent, received = (result["end"][side]["bytes"] for side in ("sum_sent", "sum_received"))
        assert received < 1.01 * sent
        assert result["end"]["sum_sent"]["bits_per_second"] == pytest.approx(
            float(row["sent_bits_per_second"])
        )
        assert result["end"]["sum_received"]["bits_per_second"] == pytest.approx(
            float(row["received_bits_per_second"])
        )
        if row["bundle"]:
            continue
        # Client and server, with their context switches.
        pidstat = (folder / row["folder"] / "pidstat.txt").read_text()
        assert pidstat.count("iperf3") == 2
        assert "nvcswch/s" in pidstat
    for row in rows[4:]:
        assert row["bundle"] == (
            f"veth-udp-defer{row['skb_defer_max']}-rpsoff-twocpu-{row['repeat']}"
        )
        manifest = manifest_of(folder / row["bundle"])
        assert manifest["host"]["sysctls"]["net.core.skb_defer_max"] == int(row["skb_defer_max"])
        assert "iperf3 --client" in manifest["load"]["command"]
        # While the traffic flowed, with the events of each packet.
        assert manifest["duration_s"] >= 0.2
        events = open_capture(folder / row["bundle"]).info["events"]
        assert events["net:net_dev_queue"] > 100
        assert {"skb:consume_skb", "skb:kfree_skb"} <= set(events)


@pytest.mark.slow
@pytest.mark.measures
def test_sizes_are_sampled_with_call_graphs(tmp_path: Path) -> None:
    require_lab("iperf3")
    folder = ran("io-sizes", tmp_path, "--sizes", "32768", "--duration", "1")
    _, rows = series(folder)
    assert [(row["protocol"], row["io_bytes"]) for row in rows] == [
        ("none", "0"),
        ("tcp", "32768"),
        ("udp", "32768"),
    ]
    # Without a stream: the floor of what the others use.
    idle, *streams = rows
    assert int(idle["received_bytes"]) < 10000
    assert "load" not in manifest_of(folder / "idle") or not manifest_of(folder / "idle")["load"]
    for row in streams:
        assert int(row["received_bytes"]) > 100000
        assert int(row["received_packets"]) > 10
        manifest = manifest_of(folder / row["bundle"])
        sampled = manifest["samples_of_functions"]
        assert sampled["call_graph"]
        assert (folder / row["bundle"] / sampled["output"]).exists()
        assert f"--length {row['io_bytes']} " in manifest["load"]["command"]
    sides = open_experiment(folder).ask.functions.components_by_size()["sides"]
    assert set(sides["io_bytes"]) == {32768}
    assert set(sides["protocol"]) == {"tcp", "udp"}


@pytest.mark.slow
@pytest.mark.measures
def test_each_rate_has_four_runs_with_the_interrupts_of_each(tmp_path: Path) -> None:
    require_lab("cc", "openssl")
    words = ["--rates", "0,10000x2", "--repeats", "1", "--tool", "tracefs"]
    folder = ran("hidden-cost", tmp_path, *words)
    experiment, rows = series(folder)
    assert [(row["offered_pps"], row["burst"]) for row in rows] == [("0", "1"), ("10000", "2")]
    for row in rows:
        bundle = folder / row["bundle"]
        runs = manifest_of(bundle)["calibration"]
        loaded = row["offered_pps"] != "0"
        assert (runs["load"] is not None) == loaded
        for column, run in {"idle": "idle", "load_traced": "load_traced"}.items():
            name = runs[run] or "./"
            told = (bundle / name / "victim.txt").read_text()
            assert f": {row[f'{column}_blocks']} " in told
        # From the kernel's own counters, of the victim's CPU, where the datagrams interrupt.
        more = int(row["load_interrupts_per_s"]) > 3 * int(row["idle_interrupts_per_s"])
        assert more == loaded
        timeline = open_capture(bundle).timeline()
        assert timeline.summary["cpus"] == [experiment["victim_cpu"]]
        counted = timeline.sums().query("context == 'vector' or context == 'hardirq'")
        taken = counted["segments"].sum() / timeline.duration_ns * 1e9
        assert taken < 1.5 * int(row["load_traced_interrupts_per_s"]) + 1000


def test_an_interrupted_sweep_leaves_nothing(tmp_path: Path) -> None:
    require_lab("cc", "clang", "ethtool", "openssl")
    interrupted("datapath-sweep", tmp_path, "step 1 of", "--paths", "xdp", "--duration", "20")


def test_an_interrupted_regression_sets_the_sysctl_back(tmp_path: Path) -> None:
    require_lab("iperf3", "pidstat")
    if not DEFER.exists():
        pytest.skip("this kernel has no net.core.skb_defer_max")
    words = ["--defers", "17", "--duration", "20"]
    interrupted("local-regression", tmp_path, "repeat 1 of 10", *words)


def test_interrupted_at_its_control_it_leaves_no_trace_instance(tmp_path: Path) -> None:
    require_lab("iperf3", "pidstat")
    if not DEFER.exists():
        pytest.skip("this kernel has no net.core.skb_defer_max")
    # On one CPU nothing is deferred, and no control runs.
    words = ["--defers", "17", "--duration", "20", "--cpus", "two"]
    there = set((TRACING / "instances").iterdir())

    def until_it_watches() -> None:
        deadline = time.monotonic() + 20
        while set((TRACING / "instances").iterdir()) <= there:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    interrupted("local-regression", tmp_path, "repeat 1 of 10", *words, wait=until_it_watches)


def test_only_one_experiment_sets_the_hosts_sysctls(tmp_path: Path) -> None:
    require_lab("iperf3", "pidstat")
    lock = Path("/run/netcost-lab.sysctls")
    if not DEFER.exists() or lock.exists():
        pytest.skip("nothing to set here, or an experiment runs")
    words = ["--repeats", "1", "--traced", "0", "--networks", "veth", "--protocols", "udp"]
    with nothing_of_the_lab_left(tmp_path) as environment:
        lock.mkdir()
        try:
            began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
            owner = f"{os.getpid()}\t{began}\troot\tthis morning\tcapture/lab/another\n"
            (lock / "owner").write_text(owner)
            command = [LAB / "local-regression", "-o", tmp_path / "r", *words]
            done = ended(command, env=environment)
        finally:
            shutil.rmtree(lock)
    assert done.returncode == 1
    assert f"process {os.getpid()}" in done.stderr
    assert "(/run/netcost-lab.sysctls)" in done.stderr
    assert not (tmp_path / "r").exists()
