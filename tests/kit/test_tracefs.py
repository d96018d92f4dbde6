# netcost-record --tool tracefs: every page that the kernel filled is in the bundle, once, and what
# the kernel overwrote is said.

import json
import re
import subprocess
from pathlib import Path

import pytest

from netcost_analysis import CaptureError, open_capture
from netcost_analysis.capture.bundle import Bundle
from support.host import require_tool
from support.kit.record import made_again, manifest_of, recorder_in
from support.ring_pages import page_size, read_pages, stats

pytestmark = pytest.mark.live

# Two threads that wake each other: some 50,000 switches a second.
PING_PONG = """python3 -c 'import os
r, w = os.pipe()
s, v = os.pipe()
if os.fork():
    while os.write(w, b"x") and os.read(s, 1): pass
else:
    while os.read(r, 1) and os.write(v, b"x"): pass'"""


def recorded(folder: Path, *options: object) -> Path:
    with recorder_in(folder) as recorder:
        done = recorder("--tool", "tracefs", *options)
    (folder / "said").write_text(done.stdout + done.stderr)
    return folder / "b"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracefs")
    return recorded(folder, "--duration", "0.7", "--load", PING_PONG)


@pytest.fixture(scope="module")
def trace(bundle: Path) -> Path:
    return bundle / "trace.tracefs"


def cpus_of(trace: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("cpu")) for path in (trace / "per_cpu").iterdir())


def test_the_folder_holds_what_decoding_takes(bundle: Path, trace: Path) -> None:
    manifest = manifest_of(bundle)
    assert bundle / manifest["trace"] == trace
    for event in manifest["events"]:
        text = (trace / "events" / event.replace(":", "/") / "format").read_text()
        assert f"name: {event.split(':')[1]}\n" in text
    assert "name: print\n" in (trace / "events" / "ftrace" / "print" / "format").read_text()
    assert page_size((trace / "header_page").read_text())[1] % 4096 == 0
    assert "type_len" in (trace / "header_event").read_text()
    assert "[mono]" in (trace / "trace_clock").read_text()
    assert (trace / "uname").read_text().split()[0] == "Linux"
    assert re.search(r"^\d+ \S+$", (trace / "saved_cmdlines").read_text(), re.MULTILINE)
    names = {path.name for path in trace.iterdir()} - {"printk_formats"}
    assert names == {
        *("events", "header_page", "header_event", "per_cpu"),
        *("saved_cmdlines", "trace_clock", "uname"),
    }
    for cpu in cpus_of(trace):
        folder = trace / "per_cpu" / f"cpu{cpu}"
        assert {path.name for path in folder.iterdir()} == {"raw", "stats"}


def test_every_event_the_kernel_counted_is_there_once(trace: Path) -> None:
    for cpu in cpus_of(trace):
        pages, counts = read_pages(trace, cpu), stats(trace, cpu)
        assert pages.events == counts["read events"] > 0
        assert counts["entries"] == 0
        assert (pages.gaps > 0) == (counts["overrun"] > 0)
        assert pages.starts == sorted(set(pages.starts))


@pytest.mark.measures
def test_nothing_is_lost_and_pages_come_full(bundle: Path, trace: Path) -> None:
    assert open_capture(bundle).info["lost_events"] == 0
    for cpu in cpus_of(trace):
        counts = stats(trace, cpu)
        assert counts["overrun"] == counts["commit overrun"] == counts["dropped events"] == 0
    # Reading them as events come would give a page for every few events.
    busiest = max((read_pages(trace, cpu) for cpu in cpus_of(trace)), key=lambda p: p.events)
    assert busiest.events / len(busiest.starts) > 30


def test_the_window_is_within_the_pages(bundle: Path, trace: Path) -> None:
    window = manifest_of(bundle)["window"]
    begins = [read_pages(trace, cpu).starts for cpu in cpus_of(trace)]
    assert min(starts[0] for starts in begins) < window["start_ns"] < window["end_ns"]
    assert window["start_ns"] < max(starts[-1] for starts in begins)
    assert max(starts[-1] for starts in begins) < window["end_ns"] + 5 * 10**9


def restored(trace: Path, folder: Path) -> list[str]:
    """The lines of `trace-cmd report`, from pages that trace-cmd never saw being recorded."""
    tracing = folder / "tracing"
    (tracing / "events").mkdir(parents=True)
    for path in [*(trace / "events").iterdir(), trace / "header_page", trace / "header_event"]:
        (tracing / "events" / path.name).symlink_to(path)
    for name in ("saved_cmdlines", "trace_clock", "printk_formats"):
        if (trace / name).exists():
            (tracing / name).symlink_to(trace / name)
    (folder / "kallsyms").touch()
    raws = [trace / "per_cpu" / f"cpu{cpu}" / "raw" for cpu in cpus_of(trace)]
    for command in (
        ["restore", "-c", "-t", tracing, "-k", folder / "kallsyms", "-o", folder / "head.dat"],
        ["restore", "-i", folder / "head.dat", "-o", folder / "trace.dat", *raws],
    ):
        subprocess.run(["trace-cmd", *command], check=True, capture_output=True)
    done = subprocess.run(
        ["trace-cmd", "report", "-t", "-i", folder / "trace.dat"], capture_output=True, text=True
    )
    return done.stdout.splitlines()


@pytest.mark.measures
def test_what_was_overwritten_is_said(tmp_path: Path) -> None:
    options = ["--duration", "0.7", "--buffer", "16", "--load", PING_PONG]
    bundle = made_again(
        lambda folder: recorded(folder, *options),
        lambda made: manifest_of(made)["lost_events"] > 0,
        tmp_path,
    )
    manifest, trace = manifest_of(bundle), bundle / "trace.tracefs"
    lost = {loss["cpu"]: loss["overrun"] + loss["commit_overrun"] for loss in manifest["losses"]}
    assert manifest["lost_events"] == sum(lost.values())
    assert f"{manifest['lost_events']} events" in (bundle.parent / "said").read_text()
    for cpu in cpus_of(trace):
        pages, counts = read_pages(trace, cpu), stats(trace, cpu)
        assert lost.get(cpu, 0) == counts["overrun"] + counts["commit overrun"]
        assert pages.events == counts["read events"]
        assert (pages.gaps > 0) == (counts["overrun"] > 0)
    # The kernel leaves the number of lost events out of a page that has no room for it.
    info, overrun = open_capture(bundle).info, sum(loss["overrun"] for loss in manifest["losses"])
    assert (info["lost_events"] == overrun) == (info["lost_unknown"] == 0)
    assert info["lost_events"] <= overrun


def test_only_the_cpus_asked_for(tmp_path: Path) -> None:
    bundle = recorded(tmp_path, "--duration", "0.3", "--cpus", "0")
    trace = bundle / "trace.tracefs"
    assert cpus_of(trace) == [0]
    assert read_pages(trace, 0).events == stats(trace, 0)["read events"] > 0


def test_netcost_reads_what_the_kernel_and_trace_cmd_do(
    bundle: Path, trace: Path, tmp_path: Path
) -> None:
    info = open_capture(bundle).info
    assert (info["format"], info["clock"]) == ("tracefs", "mono")
    counts = {cpu: stats(trace, cpu)["read events"] for cpu in cpus_of(trace)}
    assert sum(info["events"].values()) == sum(counts.values())
    window = manifest_of(bundle)["window"]
    assert info["start_ns"] < window["start_ns"] < window["end_ns"] < info["end_ns"]
    require_tool("trace-cmd")
    lines = restored(trace, tmp_path)
    for cpu, count in counts.items():
        assert sum(f"[{cpu:03}]" in line for line in lines) == count
    switches = [line.split("[")[1].split()[1] for line in lines if " sched_switch: " in line]
    times = [int(re.sub(r"\D", "", time)) for time in switches]
    assert open_capture(bundle).events("sched:sched_switch")["time_ns"].tolist() == times


# A folder from a stranger.


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not for netcost")
    folder = tmp_path / "b" / "trace.tracefs" / "per_cpu" / "cpu0"
    folder.mkdir(parents=True)
    (tmp_path / "b" / "manifest.json").write_text(
        json.dumps({"netcost_bundle": 1, "trace": "trace.tracefs", "tool": "tracefs"})
    )
    assert Bundle(tmp_path / "b").trace == tmp_path / "b" / "trace.tracefs"
    (folder / "stats").symlink_to("raw")
    (folder / "raw").write_text("")
    assert Bundle(tmp_path / "b").trace == tmp_path / "b" / "trace.tracefs"
    (folder / "raw").unlink()
    (folder / "raw").symlink_to(tmp_path / "secret")
    with pytest.raises(CaptureError, match="outside the bundle"):
        _ = Bundle(tmp_path / "b").trace
