# What sample-data/README.md says of the samples, against what is in them.

import re
import statistics
from functools import cache
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.accounting import cpu_accounts
from support.asked import stolen
from support.host import SAMPLES

PACKED = ".netcost.tar.zst"


@cache
def said() -> dict[str, str]:
    rows = re.findall(r"^\| `([\w-]+)` \|(.*)$", (SAMPLES / "README.md").read_text(), re.MULTILINE)
    return dict(rows)


def steps(series: str) -> list[Path]:
    return sorted((SAMPLES / series).glob(f"*{PACKED}"))


THREADS = re.compile(r"(?:ksoftirqd|kworker|rcu|migration|kdamond)")


# Of the tasks whose names were masked, so that nobody knows what they are: CPU time over wall time.
def neighbours(path: Path, only: str = r"task\d+") -> float:
    timeline = netcost.open_capture(path).timeline()
    on_cpu = stolen(timeline).victims["on_cpu_ns"]
    ns = sum(int(value) for name, value in on_cpu.items() if re.fullmatch(only, str(name)))
    return ns / timeline.duration_ns


def test_every_sample_is_described() -> None:

    samples = {path.parent.name for path in SAMPLES.glob("*/*.json")}
    samples |= {path.name.removesuffix(PACKED) for path in SAMPLES.glob(f"*{PACKED}")}
    assert set(said()) == samples


# Of the kernel's three events of a free one has its memory, one a drop, one a deferred free.
@pytest.mark.parametrize(
    "path", steps("local-regression-traced")[::6], ids=lambda path: path.name.split(".")[0]
)
def test_local_regression_traced_shows_drops_and_frees(path: Path) -> None:
    capture = netcost.open_capture(path)
    events = capture.info["events"]
    dropped, deferred = events["skb:kfree_skb"], events["skb:consume_skb"]
    assert dropped > 100
    frees = capture.ask.processes.skb_frees().frame
    softirqs = frees[frees["context"] == "softirq"]
    assert softirqs["frees"].sum() == dropped + deferred
    calls = frees[frees["context"] != "softirq"]
    if "defer0" in path.name:
        assert deferred == 0
        assert calls[["side", "context"]].to_numpy().tolist() == [["server", "task"]]
        assert calls["frees"].sum() > 2_000
    else:
        assert calls.empty
        clients = softirqs.loc[softirqs["cpu"] == 0, "frees"].sum()
        assert clients == deferred + (dropped if "rpsoff" in path.name else 0)
        assert deferred > 3_000
    text = said()["local-regression-traced"]
    assert "by the server" in text
    assert "the client's CPU" in text


# The client's part of the frees, of each recording without RPS.
def test_whose_frees_deferral_moves() -> None:
    shares: dict[bool, list[float]] = {False: [], True: []}
    for path in steps("local-regression-traced"):
        if "rpsoff" in path.name:
            frees = netcost.open_capture(path).ask.processes.skb_frees().frame
            own = frees.loc[frees["side"] == "client", "frees_share"].sum()
            shares["defer0" not in path.name].append(float(own))
    assert [len(some) for some in shares.values()] == [6, 12]
    text = said()["local-regression-traced"]
    off = sorted(shares[False])
    assert f"{off[0]:.0%} to {off[-2]:.0%} (once {off[-1]:.0%})".replace("%", " %") in text
    on = shares[True]
    assert f"{min(on):.0%} to {max(on):.0%} with 64 and 128".replace("%", " %") in text


def test_who_else_ran_while_local_traffic_was_traced() -> None:
    shares, lasted = [], []
    for path in steps("local-regression-traced"):
        timeline = netcost.open_capture(path).timeline()
        rows = stolen(timeline).victims
        known = {"iperf3", "swapper"}
        others = [not (known & {str(name)} or THREADS.match(str(name))) for name in rows.index]
        shares.append(int(rows["on_cpu_ns"][others].sum()) / (2 * timeline.duration_ns))
        lasted.append(timeline.duration_ns / 1e6)
    shares.sort()
    text = said()["local-regression-traced"]
    percent = f"{shares[0]:.0%} to {shares[-3]:.0%} of both CPUs".replace("%", " %")
    assert percent in text
    assert f"({shares[-2]:.0%} and {shares[-1]:.0%} in two)".replace("%", " %") in text
    assert f"{min(lasted):.0f} to {max(lasted):.0f} ms" in text


def test_the_sweep_has_mpstat_and_no_baseline() -> None:
    assert len(steps("datapath-sweep")) == 30
    for path in steps("datapath-sweep")[::7]:
        capture = netcost.open_capture(path)
        assert capture.bundle is not None
        assert capture.bundle.baseline is None
        if capture.bundle.victim is not None:
            kinds = cpu_accounts(capture).frame.loc["mpstat"]
            shares = kinds[["tasks_share", "irq_share", "soft_share", "idle_share"]]
            assert shares.notna().all(), path.name
    assert "No baseline" in said()["datapath-sweep"]


# As far as runs of one step are apart.
@pytest.mark.slow
def test_the_scatter_of_the_sweep() -> None:
    frame = netcost.open_experiment(SAMPLES / "datapath-sweep").ask.sweep.cheaper_path().frame
    assert f"({frame['run_scatter'].max():.0%} of".replace("%", " %") in said()["datapath-sweep"]


@pytest.mark.parametrize(
    ("sample", "task", "of_cpu"),
    [("quiet-interface", "task8", 0.61), ("local-migrations", "task15", 0.44)],
)
def test_neighbours_of_a_sample(sample: str, task: str, of_cpu: float) -> None:
    assert neighbours(SAMPLES / f"{sample}{PACKED}", task) == pytest.approx(of_cpu, abs=0.006)
    assert f"`{task}`) had {of_cpu * 100:.0f} %" in said()[sample]


def test_the_neighbour_beside_the_streams() -> None:
    timeline = netcost.open_capture(SAMPLES / f"stolen-time-tcp{PACKED}").victim_timeline()
    frame = stolen(timeline).victims
    other = int(frame.loc["task14", "on_cpu_ns"])
    assert other / timeline.duration_ns == pytest.approx(0.25, abs=0.01)
    assert other > int(frame.loc["openssl", "stolen_max_ns"])
    assert "`task14`) had a" in said()["stolen-time-tcp"]


def test_the_two_of_the_regression_waited() -> None:
    waits = []
    for path in SAMPLES.glob("local-regression/repeats/*-twocpu/*/pidstat.txt"):
        head: list[str] = []
        for line in path.read_text().splitlines():
            words = line.replace("#", "").split()
            if "%wait" in words:
                head = words
            elif head and words and words[-1] == "iperf3" and words[0] != "Average:":
                waits.append(float(words[head.index("%wait")]))
    assert len(waits) == 288
    assert f"{statistics.mean(waits):.0f} % of the" in said()["local-regression"]
