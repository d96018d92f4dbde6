# Softirqs and batches of recordings beside what others say of them: perf script and a naive walk,
# perf kwork, and the kernel's own counters.

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.opening.experiment import open_experiment
from netcost_analysis.timeline.timeline import Timeline
from support.asked import (
    poll_sizes,
    raise_delays,
    rate_curve,
    rps_dispatch,
    softirq_chains,
    softirq_runs,
    softirq_sizes,
    squeezes,
)
from support.host import SAMPLES, require_tool
from support.kept import kept_experiment
from support.oracle import run

NIC = SAMPLES / "nic-stolen-time"
GUESTS = sorted((SAMPLES / "nic-guest").glob("*.zst")) + sorted(
    (SAMPLES / "nic-guest-paths").glob("*.zst")
)
LINE = re.compile(r"\[(\d+)\]\s+(\d+)\.(\d{9}):\s+\w+:(\w+): (.*)")


def timeline_of(path: Path) -> Timeline:
    return netcost.open_capture(path).timeline()


def script(path: Path) -> Iterator[tuple[int, int, str, str]]:
    # cpu, time, event, text: every line that `perf script` prints, in its order.
    for line in run(require_tool("perf"), "script", "-f", "--ns", "-i", path).splitlines():
        found = LINE.search(line)
        assert found, line
        yield int(found[1]), int(found[2] + found[3]), found[4], found[5]


def walked(path: Path) -> list[dict[str, Any]]:
    # NET_RX softirqs, one event after the other: by whom raised, entry, exit, polls, packets.
    raised: dict[int, tuple[int, int | None]] = {}
    open_irqs: dict[int, list[int]] = {}
    inside: dict[int, dict[str, Any]] = {}
    rows = []
    for cpu, time, event, text in script(path):
        if event == "irq_handler_entry":
            open_irqs.setdefault(cpu, []).append(int(text.split()[0].partition("=")[2]))
        elif event == "irq_handler_exit" and open_irqs.get(cpu):
            open_irqs[cpu].pop()
        elif event == "softirq_raise" and "vec=3 " in text:
            stack = open_irqs.get(cpu)
            raised.setdefault(cpu, (time, stack[-1] if stack else None))
        elif event == "softirq_entry" and "vec=3 " in text:
            at, irq = raised.pop(cpu, (None, None))
            # No softirq begins in a hardirq: the recorder was still switching exits on.
            open_irqs[cpu] = []
            inside[cpu] = {"cpu": cpu, "entry_ns": time, "raise_ns": at, "irq": irq, "works": []}
        elif event == "napi_poll" and cpu in inside:
            inside[cpu]["works"].append(int(text.split(" work ")[1].split()[0]))
        elif event == "softirq_exit" and "vec=3 " in text and cpu in inside:
            rows.append({**inside.pop(cpu), "exit_ns": time})
    return rows


@pytest.fixture(scope="module")
def naive() -> list[dict[str, Any]]:
    return walked(NIC / "trace.perf.data")


def test_chains_are_those_that_perf_script_shows(naive: list[dict[str, Any]]) -> None:
    chains = softirq_chains(timeline_of(NIC)).sort_values(["entry_ns"])
    naive = sorted(naive, key=lambda row: row["entry_ns"])
    assert len(naive) == len(chains) > 1_000
    assert [row["exit_ns"] for row in naive] == chains["exit_ns"].tolist()
    assert [len(row["works"]) for row in naive] == chains["polls"].tolist()
    assert [sum(row["works"]) for row in naive] == chains["packets"].tolist()
    assert [row["raise_ns"] for row in naive] == [
        None if pd.isna(at) else at for at in chains["raise_ns"]
    ]
    assert [row["irq"] for row in naive] == [None if pd.isna(irq) else irq for irq in chains["irq"]]


def test_batches_are_those_that_perf_script_shows(naive: list[dict[str, Any]]) -> None:
    sizes = poll_sizes(timeline_of(NIC))
    counts = Counter(work for row in naive for work in row["works"])
    assert sizes.groupby("work")["polls"].sum().to_dict() == counts
    pairs = softirq_sizes(timeline_of(NIC)).groupby(["polls", "packets"])["softirqs"].sum()
    expected = Counter((len(row["works"]), sum(row["works"])) for row in naive if row["works"])
    assert pairs.to_dict() == expected


def test_delays_are_those_of_perf_kwork(tmp_path: Path) -> None:
    subprocess.run(["tar", "-C", tmp_path, "--zstd", "-xf", GUESTS[2]], check=True)
    (recorded,) = tmp_path.glob("*/trace.perf.data")
    said = run(require_tool("perf"), "kwork", "latency", "-f", "-k", "softirq", "-i", recorded)
    (line,) = [one for one in said.splitlines() if "NET_RX:3" in one and "0000" in one]
    mean, count, longest = (float(cell.split()[0]) for cell in line.split("|")[2:5])
    rows = raise_delays(timeline_of(GUESTS[2]))
    rows = rows[rows["action"] == "NET_RX"]
    assert rows["raises_known"].sum() == count
    assert rows["longest_ns"].max() / 1e6 == pytest.approx(longest, abs=0.001)
    total = (rows["mean_ns"] * rows["raises_known"]).sum() / count
    assert total / 1e6 == pytest.approx(mean, abs=0.001)


@pytest.mark.parametrize("path", GUESTS, ids=lambda path: path.name.split(".netcost")[0])
def test_the_kernels_own_counts(path: Path) -> None:
    told = squeezes(timeline_of(path)).against_softnet
    assert set(told["verdict"]) == {"agree"}
    # The guest's perf misses nothing: NET_RX and packets are those of /proc, but for those that ran
    # while it was read, which takes long in an emulator.
    beyond = told["softirqs_traced"] - told["softirqs_counted"]
    assert beyond.between(0, (0.005 * told["softirqs_counted"]).clip(lower=3)).all()
    if "bridge" not in path.name:
        counted = told["packets_counted"].astype("float64")
        assert (told["packets_traced"] - counted).abs().max() <= max(0.01 * counted.max(), 64)


def test_dispatches_are_what_the_other_cpu_was_told() -> None:
    path = SAMPLES / "datapath-sweep" / "bridge-wire-to1-pinned-50000.netcost.tar.zst"
    rows = rps_dispatch(timeline_of(path)).set_index("cpu")
    # The counters were read within the window.
    assert 0.9 < rows.loc[1, "received_rps"] / rows.loc[0, "dispatches"] <= 1
    assert rows.loc[0, "dispatches"] > 400
    assert rows.loc[1, "dispatches"] == 0


@pytest.mark.parametrize(
    "path", [GUESTS[2], SAMPLES / "stolen-time-tcp.netcost.tar.zst"], ids=["guest", "tcp"]
)
def test_a_tenth_round_is_followed_by_the_pause_of_a_new_call(path: Path) -> None:
    # The kernel leaves __do_softirq after ten rounds. That no run has more is by definition; that
    # the pause is longer there, and nowhere else, is the kernel's.
    timeline = timeline_of(path)
    rows = timeline.softirqs.dropna(subset=["entry_ns", "exit_ns"])
    rows = rows.astype({"entry_ns": "int64"}).sort_values("entry_ns", kind="stable")
    runs = softirq_runs(timeline).sort_values("start_ns", kind="stable")
    runs = runs[["cpu", "call", "start_ns", "rounds_made"]].astype("int64")
    rows = rows.astype({"cpu": "int64"})
    rows = pd.merge_asof(rows, runs, left_on="entry_ns", right_on="start_ns", by="cpu")
    rows = rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable")
    entered, left = (rows[name].to_numpy("int64") for name in ("entry_ns", "exit_ns"))
    pause = entered[1:] - left[:-1]
    vec, call, tid = (rows[name].to_numpy() for name in ("vec", "call", "tid"))
    # Of two in the same run, one of no higher vector is of the next round.
    within = (call[1:] == call[:-1]) & (vec[1:] <= vec[:-1])
    usual = float(np.median(pause[within]))
    same = (tid[1:] == tid[:-1]) & (pause < 10 * usual)
    after = (call[1:] != call[:-1]) & (rows["rounds_made"].to_numpy()[:-1] == 10)
    after &= same.astype(bool)
    assert after.sum() >= 5
    assert np.median(pause[after]) > 1.3 * usual
    assert runs["rounds_made"].max() == 10


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return rate_curve(kept_experiment("datapath-sweep"))


def test_shares_of_a_curve_are_those_of_the_ledger(curves: pd.DataFrame) -> None:
    series = kept_experiment("datapath-sweep")
    for row in curves[curves["curve"].str.contains("pinned")].iloc[::3].to_dict("records"):
        told = series.capture(row["bundle"]).victim_timeline()
        sums = told.sums()
        polled = sums.loc[sums["context"] == "poll", "ns"].sum() / told.duration_ns
        assert row["poll_share"] == pytest.approx(polled, rel=0.002)
        net_rx = (sums["context"] == "softirq") & (sums["name"].astype(str) == "NET_RX")
        assert row["outside_polls_share"] == pytest.approx(
            sums.loc[net_rx, "ns"].sum() / told.duration_ns, rel=0.002
        )
        steps = series.steps.set_index("bundle")
        # Sent over all of the load's run, and received while the victim ran.
        if steps.loc[row["bundle"], "offered_pps"] != "max":
            sent = float(steps.loc[row["bundle"], "sent_pps"])
            assert row["rate_per_s"] == pytest.approx(sent, rel=0.1)


@pytest.mark.slow
def test_the_samples_shares_are_predicted_and_batches_halve_them() -> None:
    # From 50,000 packets/s on; below, what lies in caches makes more difference than batches.
    curves = rate_curve(open_experiment(SAMPLES / "datapath-sweep"))
    steps = curves[curves["rate_per_s"] > 40_000]
    error = (steps["expected_share"] / steps["receive_share"] - 1).abs()
    assert error.median() < 0.12
    # Had batches not grown, twice as much: the model without them fails.
    assert (steps["unbatched_share"] / steps["receive_share"]).median() > 1.8
