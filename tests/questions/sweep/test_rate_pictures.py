# The pictures of a sweep, and mpstat's figures beside it.

import io
import json
from itertools import product
from pathlib import Path

import matplotlib as mpl
import pytest

from support.sweeps import Told, sweep

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
