# What sample-data/README.md says of the samples, against what is in them.

import re
import statistics
from functools import cache
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.accounting import cpu_accounts
from netcost_analysis.questions.stolen import stolen
from support.host import SAMPLES

PACKED = ".netcost.tar.zst"


@cache
def said() -> dict[str, str]:
    rows = re.findall(r"^\| `([\w-]+)` \|(.*)$", (SAMPLES / "README.md").read_text(), re.MULTILINE)
    return dict(rows)


def steps(series: str) -> list[Path]:
    return sorted((SAMPLES / series).glob(f"*{PACKED}"))


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


def test_local_regression_traced_cannot_show_frees() -> None:
    for path in steps("local-regression-traced"):
        events = netcost.open_capture(path).info["events"]
        assert not [name for name, count in events.items() if count and name.startswith("skb:")]
        assert neighbours(path) <= 1.3
    assert "Not where buffers are freed: no event of skb" in said()["local-regression-traced"]


def test_the_sweep_has_no_baseline_and_nothing_of_mpstat() -> None:
    assert len(steps("datapath-sweep")) == 20
    for path in steps("datapath-sweep"):
        capture = netcost.open_capture(path)
        assert capture.bundle is not None
        assert capture.bundle.baseline is None
        kinds = cpu_accounts(capture).loc["mpstat"]
        assert kinds.drop("steal_share").isna().all(), path.name
    assert "No baseline" in said()["datapath-sweep"]
    assert "none by mpstat" in said()["datapath-sweep"]


@pytest.mark.parametrize(
    ("sample", "task", "of_cpu"),
    [("quiet-interface", "task8", 0.61), ("local-migrations", "task15", 0.44)],
)
def test_neighbours_of_a_sample(sample: str, task: str, of_cpu: float) -> None:
    assert neighbours(SAMPLES / f"{sample}{PACKED}", task) == pytest.approx(of_cpu, abs=0.006)
    assert f"`{task}`) had {of_cpu:.0%} of a CPU".replace("%", " %") in said()[sample]


def test_the_neighbour_beside_the_streams() -> None:
    timeline = netcost.open_capture(SAMPLES / f"stolen-time-tcp{PACKED}").victim_timeline()
    frame = stolen(timeline).victims
    other = int(frame.loc["task14", "on_cpu_ns"])
    assert other / timeline.duration_ns == pytest.approx(0.25, abs=0.01)
    assert other > int(frame.loc["openssl", "stolen_max_ns"])
    assert "(`task14`) had a quarter of that CPU" in said()["stolen-time-tcp"]


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
    assert len(waits) == 320
    assert f"{statistics.mean(waits):.0f} % of the time" in said()["local-regression"]
