# What was opened is asked: an answer has tables, words and pictures, or says what is missing.

import inspect
import re
import subprocess
from typing import Any, get_args

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes

import netcost_analysis as netcost
from netcost_analysis.answers.registry import TOPICS, questions
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline.by import By, DeviceBy, MasterBy, TaskBy
from support.host import ROOT
from support.kept import kept

mpl.use("agg")
NIC = "nic-stolen-time"
SAMPLED = "io-sizes/tcp-64.netcost.tar.zst"
ALL = sorted(questions())


# A page has those of the busiest devices; each can be asked for.
def test_a_picture_of_any_device_can_be_asked_for() -> None:
    answer = kept("quiet-interface.netcost.tar.zst").ask.batches.poll_sizes()
    devices = list(answer.frame["device"].unique())
    assert len(devices) > len(answer.question.pictures[""].panels(answer))
    titles = {answer.plot(device=device).get_title(loc="left") for device in devices}
    assert titles == set(devices)
    plt.close("all")


@pytest.mark.parametrize("name", ["thieves", "poll_sizes", "poll_costs", "interfaces"])
def test_an_answer_is_shown_as_markdown_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda what, **_: shown.append(what))
    answer = kept(NIC).ask(name)
    answer._ipython_display_()
    texts = [one["text/markdown"] for one in shown if "text/markdown" in one]
    assert len(texts) == sum("text/html" in one for one in shown)
    assert (answer.words in texts) == bool(answer.words)
    assert len(texts) == bool(answer.words) + bool(answer._table_html())
    if answer._table_html():
        asked = answer.question.columns or tuple(answer.frame)
        main = [one for one in asked if one in answer.frame]
        header, *rows = texts[-1].splitlines()[1:]
        assert header.startswith(main[0].replace("_", " ").removesuffix(" ns"))
        assert texts[-1].startswith("```")
        assert len(rows) >= min(len(answer.frame), answer.question.rows)


def test_a_capture_and_its_whole_timeline_answer_alike() -> None:
    capture = netcost.open_capture(ROOT / "sample-data" / NIC)
    of_capture = capture.ask.batches.softirq_sizes().frame
    of_timeline = capture.timeline().ask.batches.softirq_sizes().frame
    pd.testing.assert_frame_equal(of_capture, of_timeline)


def test_topics_and_questions_are_completed() -> None:
    ask = kept(NIC).ask
    assert {one for one in dir(ask) if not one.startswith("_")} == {*TOPICS, "prepare", "table"}
    assert {"poll_costs", "squeezes"} <= set(dir(ask.batches))
    given = inspect.signature(ask.batches.poll_costs)
    assert (given.return_annotation, "min_polls" in given.parameters) == (netcost.Answer, True)
    assert "timeline" not in given.parameters
    sizes = questions()["poll_sizes"]
    # What each column is, without links that lead nowhere from here.
    told = sizes.documentation.splitlines()
    assert all(any(line.startswith(f"- {name}: ") for line in told) for name in sizes.columns)
    assert "](" not in sizes.documentation


def test_a_wrong_name_is_told_what_is_near() -> None:
    ask = kept(NIC).ask
    with pytest.raises(AttributeError, match=r"'poll_cost'.* poll_costs"):
        _ = ask.batches.poll_cost
    with pytest.raises(AttributeError, match=r"'batch'.* completeness"):
        _ = ask.batch
    with pytest.raises(ArgumentError, match="similar: stolen"):
        ask("stollen")
    with pytest.raises(ArgumentError, match=r"poll_costs.* cpus.* by"):
        ask.batches.poll_costs(cpus=1)
    with pytest.raises(ArgumentError, match="no task 'opensll'"):
        ask.stolen_time.rolling_stolen(victim="opensll")


# Widths and how many of something: each is refused by its name where it can be none.
def test_a_number_is_above_0() -> None:
    found = 0
    for name, one in questions().items():
        capture = kept(SAMPLED if one.topic == "functions" else NIC)
        for parameter, of in one.parameters.items():
            if "int" not in str(of.annotation) or "str" in str(of.annotation):
                continue
            for number in (0, -1):
                several = isinstance(of.default, tuple)
                given: dict[str, Any] = {parameter: (number,) if several else number}
                found += 1
                if parameter in one.allow_zero and not number:
                    # No machine at hand has the processor's counters.
                    assert str(capture.ask(name, **given).refusal) == str(capture.ask(name).refusal)
                    continue
                least = "0 or more" if parameter in one.allow_zero else "above 0"
                with pytest.raises(ArgumentError) as refused:
                    capture.ask(name, **given)
                for fact in (name, parameter, least, f"not {number}"):
                    assert fact in str(refused.value)
    assert found > 20


# What by names is what a row is of, in every question that has it.
@pytest.mark.parametrize("name", [name for name in ALL if "by" in questions()[name].parameters])
def test_by_is_what_a_row_is_of(name: str) -> None:
    kind = questions()[name].parameters["by"].annotation
    kinds = [one for one in (kind, *get_args(kind)) if get_args(one)][-1]
    assert kinds in (By, TaskBy, DeviceBy, MasterBy)
    for by in ("host", ["comm"]):
        with pytest.raises(ArgumentError, match=re.escape(f"{by=}: one of")):
            kept(NIC).ask(name, by=by)
    if name in ("lifetimes", "waited_for"):
        with pytest.raises(ArgumentError, match="by='cpu': a CPU"):
            kept(NIC).ask(name, by="cpu")
        return
    if kinds == MasterBy:
        # No sample has a bond: every device is its own.
        frames = [kept(NIC).ask(name, by=by).frame for by in ("device", "master")]
        assert len({tuple(sorted(frame.reset_index()["device"])) for frame in frames}) == 1
        return
    cpus = kept(NIC).ask(name, by="cpu").frame.reset_index()["cpu"].dropna()
    assert set(cpus)
    assert set(cpus) <= {0, 1}


def test_a_picture_is_drawn_where_it_is_wanted() -> None:
    _, axes = plt.subplots(1, 2)
    answer = next(
        one
        for one in (kept(NIC).ask(name) for name in ALL if "" in questions()[name].pictures)
        if one.refusal is None and one.question.pictures[""].panels(one)
    )
    assert answer.plot(ax=axes[1]) is axes[1]
    assert axes[1].has_data()
    assert not axes[0].has_data()
    assert isinstance(answer.plot(), Axes)
    with pytest.raises(AttributeError, match="has no 'plot_nothing'"):
        _ = answer.plot_nothing
    plt.close("all")


def test_the_checksum_of_an_experiment_is_of_all_its_files() -> None:
    folder = ROOT / "sample-data" / "nic-guest"
    experiment = netcost.open_experiment(folder)
    asked = kept(NIC).ask.completeness.provenance(experiment=experiment)
    line = "find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
    digest = subprocess.run(
        ["sh", "-c", line], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.split()[0]
    assert f"nic-guest, SHA-256 `{digest}`" in asked.words
    assert "nic-guest" not in kept(NIC).ask.completeness.provenance().words
