# What a sweep's steps cost: described steps come back exactly, and what they lack is not made up.
# Its pictures, and mpstat's figures beside it.

import io
import json
import shutil
from itertools import product
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from netcost_analysis import CaptureError
from netcost_analysis.questions.sweep import step_figures
from netcost_analysis.questions.sweep.steps import steps_of
from netcost_analysis.snapshots.daemons import daemons
from support.kept import kept_experiment
from support.sweeps import AROUND_NS, START_NS, Told, sweep


def stat(pid: int, comm: str, ticks: int) -> str:
    return f"{pid} stat {pid} ({comm}) S {' '.join(['0'] * 10)} {ticks} {ticks} 0 0 {'0 ' * 40}\n"


def test_described_steps_come_back(tmp_path: Path) -> None:
    steps = [Told(rate=1_000, batch=1), Told(), Told(rate=50_000, batch=8), Told("xdp")]
    found = sweep(tmp_path / "s", *steps).ask.sweep.by_rate()
    assert list(found.frame["step"]) == [step.name for step in steps]
    for step, row in zip(steps, found.frame.to_dict("records"), strict=True):
        each_ns = (AROUND_NS + step.poll_ns) / step.batch
        assert row["rate_per_s"] == pytest.approx(step.rate)
        assert row["network_ns_per_packet"] == pytest.approx(each_ns)
        assert row["network_share"] == pytest.approx(each_ns * step.rate / 1e9)
        assert row["victim_share"] == pytest.approx(1 - each_ns * step.rate / 1e9)
        assert row["batch_mean"] == step.batch
        assert (row["measured_cpu"], row["dropped_share"], row["reached_pps"]) == (0, 0, step.rate)
    assert list(found.frame["curve"]) == ["bridge"] * 3 + ["xdp"]
    ends = {one["curve"]: (one["first"], one["last"]) for one in found["curve_ends"]}
    rates = {name: tuple(one["offered"] for one in of) for name, of in ends.items()}
    assert rates == {"bridge": ("1000", "50000"), "xdp": ("10000", "10000")}
    assert ends["xdp"][0]["network_share"] == pytest.approx(0.0355)
    assert found["counted_drops"]
    assert found["dropped_most"] is None


def test_intervals_hold_what_was_described(tmp_path: Path) -> None:
    told = Told(scatter=0.4, rounds=1_500)
    table = sweep(tmp_path / "s", told).ask.sweep.by_rate().tables["intervals"]
    rows = table.set_index("metric")
    row = rows.loc["network_ns_per_packet"]
    assert (row["observed_in"], row["per_unit"]) == ("blocks", "ns/packet")
    # The mean of a lognormal length.
    true = (AROUND_NS + told.poll_ns * 2.718281828 ** (0.4**2 / 2)) / told.batch
    assert row["measured_low"] < true < row["measured_high"]
    assert row["measured_high"] - row["measured_low"] < 0.1 * true
    # Counted once for the run: nothing says how much it scatters.
    assert rows.loc["reached_pps", ["measured_low", "measured_high"]].isna().all()
    assert rows.loc["reached_pps", "observations"] == 1


@pytest.mark.parametrize(("count", "kind"), [(5, "blocks"), (6, "repeats")])
def test_repeats_are_one_row(tmp_path: Path, count: int, kind: str) -> None:
    steps = [
        Told(scatter=0.2, seed=at, rounds=64, repeat=at, columns={"received": 90_000 + at})
        for at in range(count)
    ]
    found = sweep(tmp_path / "s", *steps).ask.sweep.by_rate()
    assert list(found.frame["step_runs"]) == [count]
    rows = found.tables["intervals"].set_index("metric")
    assert rows.loc["network_share", "observed_in"] == kind
    assert (rows.loc["network_share", "observations"] == count) == (kind == "repeats")
    # Of what is counted once for each run there are repeats, of which few have no interval.
    reached = rows.loc["reached_pps"]
    assert reached["measured_value"] == pytest.approx((90_000 + (count - 1) / 2) / 10)
    assert pd.isna(reached["measured_low"]) == (count < 6)


# perf misses what a CPU does while it idles, on some hosts: no victim, hardly a softirq.
@pytest.mark.parametrize(("missing", "is_measured"), [(5, True), (6, False)])
def test_a_recording_that_lacks_softirqs_is_no_cost(
    tmp_path: Path, missing: int, is_measured: bool
) -> None:
    steps = Told(), Told(rate=20_000), Told("xdp", lacking=missing)
    experiment = sweep(tmp_path / "s", *steps)
    found = experiment.ask.sweep.by_rate()
    row = found.frame.set_index("curve").loc["xdp"]
    assert row["lacking_runs"] == (not is_measured)
    assert pd.notna(row["network_share"]) == is_measured
    assert found["lacking"] == (not is_measured)
    assert ("xdp" in set(experiment.ask.batches.rate_curve().frame["curve"])) == is_measured


def test_drops_are_told_hop_by_hop(tmp_path: Path) -> None:
    dropped = {"dropped_backlog": 5_000, "dropped_egress": 900, "unaccounted": 100}
    lossy = {"received": 94_000, **dropped}
    found = sweep(tmp_path / "s", Told(), Told("xdp", columns=lossy)).ask.sweep.by_rate()
    drops = found.tables["drops"]
    assert list(drops["hop"][:5]) == list(step_figures.HOPS)
    of_xdp = drops[drops["curve"] == "xdp"].set_index("hop")
    assert list(of_xdp["dropped"]) == [0, 5_000, 900, 0, 100]
    assert of_xdp.loc["backlog", "dropped_per_s"] == 500
    assert of_xdp.loc["backlog", "dropped_share"] == 0.05
    row = found.frame.set_index("curve").loc["xdp"]
    assert (row["dropped_share"], row["dropped_per_s"], row["reached_pps"]) == (0.06, 600, 9_400)
    most = found["dropped_most"]
    assert (most["hop"], most["dropped"], most["dropped_share"]) == ("backlog", 5_000, 0.05)
    found.plot_drops()


def test_without_a_victim_the_cpu_that_works_is_measured(tmp_path: Path) -> None:
    steps = Told(), Told(victim="none"), Told(destinations=2)
    found = sweep(tmp_path / "s", *steps).ask.sweep.by_rate()
    names = ("destinations 1, victim none", "destinations 2, victim pinned")
    pinned = "destinations 1, victim pinned"
    rows = found.frame.set_index("curve")
    alone = rows.loc[names[0]]
    assert pd.isna(alone["victim_share"])
    assert alone["measured_cpu"] == 0
    assert alone["network_share"] == rows.loc[pinned, "network_share"]
    mpl.use("agg")
    lines = {str(line.get_label()): line for line in found.plot().get_lines()}
    hollow, dashed, plain = (lines[name] for name in (*names, pinned))
    assert (hollow.get_markerfacecolor(), plain.get_markerfacecolor()) == ("white", "#0072b2")
    assert (dashed.get_linestyle(), plain.get_linestyle()) == ("--", "-")
    assert len({line.get_color() for line in lines.values()}) == 1


def test_nobody_says_which_cpu(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(victim="none"), victim_cpu=None)
    row = experiment.ask.sweep.by_rate().frame.iloc[0]
    # One CPU was recorded: all of them are that one.
    assert pd.isna(row["measured_cpu"])
    assert row["network_share"] == pytest.approx(0.0355)


def test_daemons_are_part_of_the_price(tmp_path: Path) -> None:
    status = "7 status VmRSS:\t  750000 kB\n"
    readings = [
        f"@ {number} {at} {at}\n{stat(7, 'ovs-vswitchd', ticks)}{status}{stat(8, 'ovsdb', 5)}"
        for number, at, ticks in ((1, START_NS, 10), (2, START_NS + 10**9, 35))
    ]
    found = sweep(tmp_path / "s", Told("ovs", daemons="".join(readings))).ask.sweep.by_rate()
    row = found.frame.iloc[0]
    assert found["daemons_most"]["step"] == row["step"]
    # 25 ticks of user and of system time in a second; the other had none.
    assert row["daemon_cpu_share"] == pytest.approx(0.5)
    assert row["daemon_rss_bytes"] == 750_000 * 1024


# ovs-vswitchd was asked for with --daemon; pidstat knows ovsdb-server.
def test_the_daemons_of_a_sample() -> None:
    rows = kept_experiment("nic-guest-paths").ask.sweep.by_rate().frame.set_index("data_path")
    assert pd.isna(rows.loc["bridge", "daemon_cpu_share"])
    assert 0 < rows.loc["openvswitch", "daemon_cpu_share"] < 1
    taken = kept_experiment("nic-guest-paths").bundle("6.12-openvswitch-1-flows")
    by_comm = daemons(taken).set_index("comm")["rss_bytes"]
    assert list(by_comm.index) == ["ovs-vswitchd", "ovsdb-server"]
    assert by_comm["ovs-vswitchd"] == 49_276 * 1024
    assert rows.loc["openvswitch", "daemon_rss_bytes"] == by_comm.sum()


def test_bulking_is_that_of_the_events() -> None:
    experiment = kept_experiment("datapath-sweep")
    name = "xdp-wire-to1-pinned-max"
    row = experiment.ask.sweep.by_rate().frame.set_index("step").loc[name]
    capture = experiment.capture(name)
    assert capture.bundle is not None
    victim = capture.bundle.victim
    assert victim is not None
    flushes = capture.events("xdp:xdp_devmap_xmit")
    flushes = flushes[flushes["time_ns"].between(victim.start_ns, victim.end_ns)]
    packets = (flushes["sent"] + flushes["drops"]).sum()
    assert row["flush_mean"] == pytest.approx(packets / len(flushes), rel=1e-3)
    assert row["flush_dropped_share"] == flushes["drops"].sum() / packets == 0


def test_recordings_that_are_missing(tmp_path: Path) -> None:
    steps = Told(), Told(rate=1_000), Told("xdp")
    experiment = sweep(tmp_path / "s", *steps)
    shutil.rmtree(experiment.path / steps[0].name)
    (experiment.path / steps[2].name / "perf.data").unlink()
    found = experiment.ask.sweep.by_rate()
    rows = found.frame.set_index("step")
    assert list(rows.index) == [steps[1].name, steps[2].name]
    # What was counted beside the trace stays.
    assert pd.isna(rows.loc[steps[2].name, "network_share"])
    assert rows.loc[steps[2].name, "reached_pps"] == 10_000
    assert found["unmeasured"] == 1
    for step in steps[1:]:
        shutil.rmtree(experiment.path / step.name)
    nothing = type(experiment)(experiment.path).ask.sweep.by_rate()
    assert "no recording of" in str(nothing.refusal)


def test_what_is_no_sweep_says_so(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told())
    text = (experiment.path / "steps.tsv").read_text().replace("offered_pps", "colour")
    (experiment.path / "steps.tsv").write_text(text)
    for name in ("by_rate", "cpu_by_rate", "cheaper_path", "destinations", "saturation"):
        refusal = type(experiment)(experiment.path).ask(name).refusal
        assert isinstance(refusal, CaptureError)
        assert "offered_pps or pps" in str(refusal)


def test_max_is_the_last_of_its_curve(tmp_path: Path) -> None:
    most = Told(rate=2_000, columns={"offered_pps": "max"})
    experiment = sweep(tmp_path / "s", most, Told(rate=50_000), Told(rate=9_000))
    assert [step.offered for step in steps_of(experiment)] == ["9000", "50000", "max"]


MPSTAT = """Linux 6.18.0 (vm) 	2026-11-20 	_x86_64_	(2 CPU)

14:25:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
14:25:02     all   50.00    0.00    0.10    0.00    0.00   40.00    0.00    0.00    0.00    9.90
14:25:02       0   14.20    0.00    0.00    0.00    0.00   85.80    0.00    0.00    0.00    0.00
"""


def test_a_data_path_has_one_colour_everywhere(tmp_path: Path) -> None:
    paths = ("bridge", "xdp", "mine", "theirs")
    found = sweep(tmp_path / "s", *map(Told, paths)).ask.sweep.by_rate()
    mpl.use("agg")
    seen = []
    for name in ("plot", "plot_cost", "plot_batch", "plot_victim", "plot_reached"):
        axes = getattr(found, name)()
        lines = [line for line in axes.get_lines() if line.get_label() in paths]
        seen.append({str(line.get_label()): line.get_color() for line in lines})
        assert axes.get_xscale() == "log"
    assert all(colors == seen[0] for colors in seen)
    assert len(set(seen[0].values())) == len(paths)


# The document's own line of mpstat is the table's.
def test_the_table_of_xdp_vs_ovs(tmp_path: Path) -> None:
    found = sweep(tmp_path / "s", Told(mpstat=MPSTAT), Told("xdp")).ask.sweep.cpu_by_rate()
    shown = ["usr_share", "nice_share", "sys_share", "iowait_share", "irq_share", "soft_share"]
    assert list(found.frame.columns[2:9]) == [*shown, "idle_share"]
    row = found.frame.iloc[0]
    assert (row["usr_share"], row["soft_share"], row["idle_share"]) == (0.142, 0.858, 0)
    assert row["in_run_share"] == 1
    assert row["network_share"] == pytest.approx(0.0355)
    assert found.frame.iloc[1, 2:9].isna().all()
    assert found["partly"] == 0


def test_an_interval_of_mpstat_that_the_run_shares(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(mpstat=MPSTAT))
    path = experiment.path / Told().name / "manifest.json"
    said = json.loads(path.read_text())
    # Its interval of 10 ms began 6 ms before the run.
    said["companions"][0]["start_ns"] = 0
    said["victim"]["start_ns"] = 6_000_000
    path.write_text(json.dumps(said))
    found = experiment.ask.sweep.cpu_by_rate()
    assert found.frame["in_run_share"].iloc[0] == pytest.approx(0.4)
    assert (found["partly"], found["least_in_run_share"]) == (1, pytest.approx(0.4))


HOSTILE = "<script>$x_{1%s`|*"


def test_hostile_names(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(), Told(HOSTILE), Told(HOSTILE, destinations=2))
    mpl.use("agg")
    for name in ("by_rate", "cheaper_path", "destinations", "saturation", "made_by"):
        answer = experiment.ask(name)
        assert "<script" not in answer._repr_html_()
        for picture in answer.question.pictures:
            if answer.question.pictures[picture].panels(answer):
                answer._plot(picture, None, {}).figure.draw_without_rendering()
    assert HOSTILE in set(experiment.ask.sweep.by_rate().frame["data_path"])


# Long names of many curves are in rows of the legend, and take no width from the picture.
@pytest.mark.parametrize(("question", "picture"), [("by_rate", ""), ("rate_curve", "batches")])
def test_a_legend_leaves_the_picture_its_width(tmp_path: Path, question: str, picture: str) -> None:
    mpl.use("agg")
    kinds = product(("bridge", "openvswitch", "xdp"), ("pinned", "none"))
    steps = [Told(path, victim=victim, rounds=64) for path, victim in kinds]
    answer = sweep(tmp_path / "s", *steps).ask(question)
    axes = getattr(answer, f"plot_{picture}" if picture else "plot")()
    axes.figure.savefig(io.BytesIO())
    assert axes.get_position().width > 0.6
    names = [one.get_text() for one in axes.get_legend().get_texts()]
    assert len(names) == len(set(names)) >= 6
    assert not any("…" in name for name in names)
