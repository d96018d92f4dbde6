# What a capture cannot be asked is known beforehand, with why and what would record it.

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.registry import questions
from support.host import ROOT
from support.kept import kept, kept_experiment
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.told import robbed

NIC = "nic-stolen-time"
# Of four recordings.
SWEEP = "nic-guest"


def without_polls(folder: Path) -> netcost.Capture:
    formats = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    return netcost.open_capture(recording(robbed(), formats=formats).write(folder / "perf.data"))


def test_what_a_capture_lacks_is_said_without_a_guard(tmp_path: Path) -> None:
    ask = without_polls(tmp_path).ask
    answer = ask.batches.poll_costs()
    line = str(answer.refusal)
    for fact in ("poll_costs needs napi:napi_poll", "netcost-record --profile"):
        assert fact in line
    assert line in repr(answer)
    assert "poll_costs needs napi:napi_poll" in answer._repr_html_()
    assert isinstance(answer.notes, tuple)
    for face in ("frame", "tables", "parts"):
        with pytest.raises(netcost.CaptureError, match="napi:napi_poll"):
            getattr(answer, face)
    with pytest.raises(netcost.CaptureError, match="napi:napi_poll"):
        answer.plot()
    missing = ask.table.set_index("question")["why"]
    assert line in missing["poll_costs"]
    assert missing["network_cost"] == ""
    assert line in repr(ask)
    assert "napi:napi_poll" in ask._repr_html_()
    unanswered = ask.completeness.unanswered()
    assert "poll_costs" in set(unanswered.frame["question"])
    assert "rate_curve" not in set(unanswered.frame["question"])
    assert recorded_again(unanswered)["--profile"] == "anatomy,frees,functions"
    codes = unanswered.frame.set_index("question")["missing"]
    wanted = {"poll_costs": "events", "device_totals": "bundle", "accounts": "victim"}
    assert {name: codes[name] for name in wanted} == wanted
    others = {"", "samples", "experiment", "comparison", "fleet"}
    assert set(ask.table["missing"]) == {*others, *wanted.values()}


def recorded_again(unanswered: Any) -> dict[str, str]:
    # The options of the one line of netcost-record that it says, each known to netcost-record.
    [line] = re.findall(r"^    (.*)$", unanswered.words, re.MULTILINE)
    program, *words = shlex.split(line)
    assert (ROOT / program).is_file()
    # What `netcost-record --help` prints; running it is for live tests.
    usage = (ROOT / "capture" / "lib" / "usage.sh").read_text()
    given = zip(words, [*words[1:], ""], strict=True)
    options = {name: value for name, value in given if name.startswith("-")}
    for name in options:
        assert re.search(rf"^\s+{name}[ ,]", usage, re.MULTILINE)
    for one in options["--profile"].split(","):
        assert list((ROOT / "capture" / "profiles").glob(f"{one}.*"))
    return options


@pytest.mark.parametrize(
    ("path", "questions", "profile", "seconds"),
    [
        # No packets were followed, and no calls of functions.
        (NIC, {"client_and_server", "components"}, "anatomy,frees,functions", 1),
        (f"{NIC}/trace.perf.data", {"interfaces", "accounts"}, "anatomy,frees,functions", 5),
        ("quiet-interface.netcost.tar.zst", {"accounts"}, "anatomy,frees,functions", 5),
    ],
)
def test_what_is_unanswered_ends_with_the_line_that_records_it(
    path: str, questions: set[str], profile: str, seconds: int
) -> None:
    unanswered = netcost.open_capture(ROOT / "sample-data" / path).ask.completeness.unanswered()
    assert questions <= set(unanswered.frame["question"])
    options = recorded_again(unanswered)
    assert (options["-o"], options["--profile"]) == ("DIR", profile)
    assert f"-seconds {seconds} " in options["--victim"]
    assert "--baseline" in options
    assert ("--victim-cpu" in options) == (path == NIC)


def test_a_pair_that_is_not_seen_can_be_named() -> None:
    capture = kept(NIC)
    missing = capture.ask.completeness.unanswered().frame.set_index("question")["why"]
    assert "no two tasks" in missing["client_and_server"]
    sums = capture.timeline().sums()
    tids = [int(tid) for tid in sums.loc[sums["tid"] > 0, "tid"].unique()[:2]]
    named = capture.ask.processes.client_and_server(client=tids[0], server=tids[1])
    assert named.frame["tid"].tolist() == tids


def test_what_is_asked_of_an_experiment_is_not_asked_of_a_recording() -> None:
    assert "about an experiment" in repr(kept(NIC).ask.batches.rate_curve())
    experiment = kept_experiment(SWEEP)
    refused = repr(experiment.ask.stolen_time.stolen())
    for fact in ("stolen", "about a recording", "is an experiment"):
        assert fact in refused
    # Shown, it has what an experiment can be asked.
    assert "stolen" not in repr(experiment.ask)
    table = experiment.ask.table
    asked = set(table.loc[table["missing"] == "", "question"])
    assert (
        {"rate_curve"}
        <= asked
        <= {name for name, one in questions().items() if one.asked_of == "experiment"}
    )
    # It is a sweep, no calibration.
    assert "hidden_cost" not in asked


# Of a window some answers are of all of the capture, and say so.
def test_what_takes_no_window_says_so() -> None:
    capture = kept(NIC)
    window = capture.timeline(start_s=3.5, end_s=3.9)
    assert "takes no window" in window.ask.accounting.accounts().words
    assert "takes no window" not in window.ask.stolen_time.headline().words
    assert "takes no window" not in capture.ask.accounting.accounts().words
    with pytest.raises(netcost.CaptureError, match="the capture lasts"):
        capture.timeline(start_s=20)
