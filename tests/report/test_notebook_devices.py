# notebooks/04-devices.py: its page has the figures of the functions, and any capture gets a page.

from pathlib import Path

import pytest

from netcost_analysis.questions.devices import assumed_rates, device_cost, device_flags
from netcost_analysis.units import duration, share
from support import told_notebook
from support.device_bundles import opened
from support.doctored import doctored
from support.host import ROOT
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.robbed import robbed, written

SAMPLE = ROOT / "sample-data" / "quiet-interface.netcost.tar.zst"
NET_DEV = "Inter-|\n face |\n  eth0: " + " ".join(["0"] * 16) + "\n"
SCRIPT = ROOT / "notebooks" / "04-devices.py"


def test_its_figures_are_those_of_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    page = told_notebook.told_by(SCRIPT, monkeypatch, path=str(SAMPLE)).text
    timeline = opened(SAMPLE)
    for row in device_cost(timeline).frame.to_dict("records"):
        if row["device"] != "lo":
            assert duration(row["ns"]) in page
            assert share(row["cpu_share"]) in page
            assert f"{row['packets']:,}" in page
    for why in device_flags(timeline).frame["why"]:
        assert why in page
    told = timeline.capture.bundle
    assert told
    rates = assumed_rates(told, folder="files").frame
    assert share(rates["assumed_utilisation_share"].max()) in page
    assert duration(rates["interval_ns"].max()) in page
    # The interface that nobody uses is named.
    assert "<strong>busy0</strong> costs most" in page
    assert "quiet0 has no" in page


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    source = SCRIPT.read_text().replace("buffer = None", "victim = None\nbuffer = None", 1)
    # told_notebook sets a victim, which this notebook has none of.
    monkeypatch.setattr(told_notebook, "SCRIPT", Script(source))
    return monkeypatch


class Script:
    def __init__(self, source: str) -> None:
        self.source = source

    def read_text(self) -> str:
        return self.source

    def __fspath__(self) -> str:
        return "04-devices.py"

    def __str__(self) -> str:
        return "04-devices.py"


@pytest.mark.parametrize(
    ("formats", "named", "pictures"),
    [
        # A device may be called anything.
        (t.FORMATS, "<strong>&lt;b&gt;$\\x$</strong> costs most", 3),
        ((t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT), "named: napi:napi_poll", 1),
        (tuple(one for one in t.FORMATS if one is not t.NAPI_POLL), "took 150 µs", 1),
        ((t.NAPI_POLL,), "<strong>how long</strong>", 1),
        ((t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT), "netcost-record --profile light", 0),
    ],
)
def test_poor_captures_say_what_they_lack(
    tmp_path: Path,
    devices: pytest.MonkeyPatch,
    formats: tuple[t.Format, ...],
    named: str,
    pictures: int,
) -> None:
    path = written(tmp_path, robbed(device="<b>$\\x$"), formats=formats)
    told = told_notebook.tell(path, devices)
    assert named in told.text
    assert "<b>$" not in told.text
    assert len(told.pictures) == pictures
    assert "bare recording" in told.text


@pytest.mark.parametrize(
    ("sample", "named"),
    [
        ("nic-stolen-time", "eth0</strong> costs most"),
        ("stolen-time-tcp.netcost.tar.zst", "of veth-rx cost"),
    ],
)
def test_other_samples(sample: str, named: str, devices: pytest.MonkeyPatch) -> None:
    assert named in told_notebook.tell(ROOT / "sample-data" / sample, devices).text


# Counters and trace have times that nobody can compare.
def test_a_clock_that_counters_do_not_have(tmp_path: Path, devices: pytest.MonkeyPatch) -> None:
    path = doctored(tmp_path / "bundle")
    told = recording(robbed(), known=(robbed().first_task,), clock=None)
    told.write(path / "trace.perf.data")
    for when in ("before", "after"):
        (path / when / "net_dev").write_text(NET_DEV)
    assert "clock (perf)" in told_notebook.tell(path, devices).text
