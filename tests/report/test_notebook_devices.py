# notebooks/04-devices.py: its page has the figures of the functions, and any capture gets a page.

from pathlib import Path

import pytest

from netcost_analysis.questions.devices import assumed_rates, device_cost, device_flags
from netcost_analysis.units import duration, share
from support import told_notebook
from support.device_bundles import opened
from support.host import ROOT
from support.pages import report
from support.perfdata import tracepoints as t
from support.robbed import robbed, written

SAMPLE = ROOT / "sample-data" / "quiet-interface.netcost.tar.zst"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("devices") / "page.html"
    done = report(SAMPLE, path, "--notebook", "devices")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return path.read_text()


def test_its_figures_are_those_of_the_functions(page: str) -> None:
    timeline = opened(SAMPLE)
    for row in device_cost(timeline).to_dict("records"):
        if row["device"] != "lo":
            assert duration(row["ns"]) in page
            assert share(row["cpu_share"]) in page
            assert f"{row['packets']:,}" in page
    for why in device_flags(timeline)["why"]:
        assert why in page
    told = timeline.capture.bundle
    assert told
    rates = assumed_rates(told, folder="files")
    assert share(rates["assumed_utilisation_share"].max()) in page
    assert duration(rates["interval_ns"].max()) in page


def test_it_names_the_interface_that_nobody_uses(page: str) -> None:
    answer = page.split("The answer")[1].split("Devices by CPUs")[0]
    assert "<strong>busy0</strong> costs most" in answer
    assert "quiet0 has no address" in answer
    assert "Traceback" not in page


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    script = ROOT / "notebooks" / "04-devices.py"
    source = script.read_text().replace("buffer = None", "victim = None\nbuffer = None", 1)
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
    ("formats", "sentence", "pictures"),
    [
        (t.FORMATS, "<strong>eth0</strong> costs most", 3),
        ((t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT), "No device can be named: napi:napi_poll", 1),
        (
            tuple(one for one in t.FORMATS if one is not t.NAPI_POLL),
            "in their polls and outside took 150 µs",
            1,
        ),
        ((t.NAPI_POLL,), "<strong>how long</strong> is unknown", 1),
        ((t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT), "netcost-record --profile light records them", 0),
    ],
)
def test_poor_captures_say_what_they_lack(
    tmp_path: Path,
    devices: pytest.MonkeyPatch,
    formats: tuple[t.Format, ...],
    sentence: str,
    pictures: int,
) -> None:
    told = told_notebook.tell(written(tmp_path, robbed(), formats=formats), devices)
    assert sentence in told.text
    assert len(told.pictures) == pictures
    assert "bare recording" in told.text


def test_a_device_may_be_called_anything(tmp_path: Path, devices: pytest.MonkeyPatch) -> None:
    name = "<b>$\\x$"
    told = told_notebook.tell(written(tmp_path, robbed(device=name)), devices)
    assert "&lt;b&gt;$\\x$" in told.text
    assert name not in told.text


@pytest.mark.parametrize("sample", ["nic-stolen-time", "stolen-time-tcp.netcost.tar.zst"])
def test_other_samples(sample: str, devices: pytest.MonkeyPatch) -> None:
    told = told_notebook.tell(ROOT / "sample-data" / sample, devices)
    expected = {
        "nic-stolen-time": "the trace's clock (perf) is not that of the interfaces",
        "stolen-time-tcp.netcost.tar.zst": "What packets of veth-rx cost is not known",
    }
    assert expected[sample] in told.text
