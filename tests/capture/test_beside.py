# What a bare recording lacks, given beside it: the samples' own files taken apart and given back.

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from netcost_analysis import Capture, CaptureError, open_capture
from netcost_analysis.answers.registry import questions
from netcost_analysis.capture.manifest import Victim
from netcost_analysis.errors import ArgumentError
from support.doctored import doctored, speed, unnoted
from support.host import SAMPLES
from support.perfdata import happenings as h
from support.told import robbed, written

NIC, VETH = SAMPLES / "nic-stolen-time", SAMPLES / "veth-stolen-time"
# What a manifest alone says: the command of victim, load and recorder, the host and its sysctls.
OF_THE_MANIFEST = {
    *(("recording", field) for field in ("bundled", "path", "cpu_model", "virtualization")),
    *(("recording", field) for field in ("victim", "load", "note", "more_notes")),
    *(("caveats", field) for field in ("notes", "recorder_notes", "record_command")),
    ("provenance", "path"),
    # Its notes say what was given.
    ("ledger", "notes"),
    # With which tool and settings it was recorded, and so what an event cost.
    *(("event_cost", ""), ("tracing_cost", ""), ("tracing_cost", "in_all")),
    *(("network_overhead", ""), ("corrected_stolen", ""), ("tracing_cost", "costs")),
    ("network_overhead", "of_victim"),
    # What was run beside it, and how it would be recorded again.
    *(("estimates", "run"), ("unanswered", "next_command"), ("unanswered", "has_load")),
}


def parts_of(bundle: Path) -> dict[str, Any]:
    return {
        "victim_output": bundle / "victim.txt",
        "baseline_output": bundle / "baseline" / "victim.txt",
        "kernel_config": bundle / "kernel_config",
        "before": bundle / "before",
        "after": bundle / "after",
    }


def bare(bundle: Path, **given: Any) -> Capture:
    return open_capture(bundle / "trace.perf.data", **given)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, pd.DataFrame | pd.Series):
        return bool(one.equals(other))
    return one == other or repr(one) == repr(other)


def test_all_that_the_bundle_answers_is_answered_with_its_figures(tmp_path: Path) -> None:
    # A window that the victim's run lies in.
    whole = open_capture(unnoted(tmp_path / "bundle")).timeline(3.4, 4.7)
    apart = bare(NIC, **parts_of(NIC)).timeline(3.4, 4.7)
    paths = whole.capture.path, apart.capture.path
    differing = set()
    for name, one in questions().items():
        if one.sources == ("Experiment",):
            continue
        wanted, found = whole.ask(name), apart.ask(name)
        assert str(found.refusal) == str(wanted.refusal).replace(*paths)
        if wanted.refusal is None:
            assert wanted.parts.keys() == found.parts.keys()
            differing |= {
                (name, part)
                for part, value in wanted.parts.items()
                if not same(value, found.parts[part])
            }
    assert differing == OF_THE_MANIFEST
    got = apart.ask("accounts").frame["got_share"]
    # That of system is no share that it got, no mpstat ran, and nobody read its ticks.
    assert set(got.index[got.isna()]) == {"system", "mpstat", "task_stat"}


def test_notes_say_what_was_given_and_what_the_trace_shows() -> None:
    given = parts_of(NIC)
    apart = bare(NIC, **given)
    notes = apart.info["notes"][-2:]
    assert notes[0].endswith(": " + ", ".join(f"{name} {path}" for name, path in given.items()))
    assert "pid 1544" in notes[1]
    assert apart.timeline().notes[-2:] == notes
    assert apart.ask("accounts").notes == tuple(notes)
    assert not apart.info["bundle"]


# netcost-record's own clock starts a little before the program, and ends a little after it.
def test_the_trace_tells_when_a_victim_ran() -> None:
    apart = bare(VETH, **parts_of(VETH))
    told, seen = open_capture(VETH).bundle.victim, apart.bundle.victim
    assert (seen.pid, seen.cpu, seen.command) == (told.pid, told.cpu, "openssl speed")
    ends = (told.start_ns, told.end_ns, seen.start_ns, seen.end_ns)
    start, end, began, ended = (at or 0 for at in ends)
    assert 0 < began - start < 5_000_000
    assert 0 < end - ended < 5_000_000
    assert seen.wall_s == (ended - began) / 1e9
    assert (seen.user_s, seen.system_s) == (None, None)
    assert {"5425", "1;"} <= set(apart.info["notes"][-1].split())
    wanted = open_capture(VETH).ask("accounts").frame["got_share"]
    found = apart.ask("accounts").frame["got_share"]
    assert found["traced"] == pytest.approx(wanted["traced"], abs=0.001)
    same_as_recorded = ["times", "cpu_stat", "work"]
    assert found[same_as_recorded].tolist() == wanted[same_as_recorded].tolist()
    assert found[["task_stat"]].isna().all()


def test_a_victims_cpu_is_the_one_given() -> None:
    apart = bare(NIC, victim_output=NIC / "victim.txt", victim_cpu=1)
    assert apart.bundle.victim.cpu == 1
    assert apart.victim_timeline().cpus == [1]
    elsewhere = bare(NIC, victim_output=NIC / "victim.txt", victim_cpu=7)
    with pytest.raises(CaptureError, match="victim's CPU"):
        elsewhere.victim_timeline()


def test_of_several_tasks_nobody_knows_which(tmp_path: Path) -> None:
    path = written(tmp_path, robbed(), robbed(1, h.Task(501, "openssl")))
    apart = open_capture(path, victim_output=NIC / "victim.txt")
    assert (apart.bundle.victim.pid, apart.bundle.victim.cpu) == (None, None)
    assert {"2", "0-1;"} <= set(apart.info["notes"][-1].split())


# A trace without the victim, and a text that makes no ledger, still have what was given.
def test_a_trace_that_shows_no_victim(tmp_path: Path) -> None:
    text = tmp_path / "trace.txt"
    text.write_text("x 5 [000] 0.000001: irq:softirq_raise: vec=3 [action=NET_RX]\n" * 3)
    config = NIC / "kernel_config"
    for path in (written(tmp_path, robbed(victim=h.Task(7, "make"))), text):
        apart = open_capture(path, victim_output=NIC / "victim.txt", kernel_config=config)
        assert "no task openssl" in apart.info["notes"][-1]
        got = apart.ask("accounts").frame["got_share"]
        assert got["times"] == pytest.approx(0.57)
        assert got[["traced", "work"]].isna().all()


def test_other_work_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "idle.txt").write_text(speed(1000, 2).replace("sha256", "md5"))
    apart = bare(NIC, victim_output=NIC / "victim.txt", baseline_output=tmp_path / "idle.txt")
    assert apart.ask("estimates").frame["got_share"].isna().to_dict() == {
        "ticks": False,
        "work": True,
        "traced": False,
    }


def test_what_is_given_beside_a_bundle_goes_before_its_own(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    (tmp_path / "victim.txt").write_text(speed(300, 1.0))
    (tmp_path / "idle.txt").write_text(speed(600, 2.0))
    given = open_capture(
        folder, victim_output=tmp_path / "victim.txt", baseline_output=tmp_path / "idle.txt"
    )
    own, with_given = (
        one.ask("accounts").frame["got_share"] for one in (open_capture(folder), given)
    )
    assert (own["work"], with_given["work"], with_given["times"]) == (0.6, 0.5, 0.5)
    # What the bundle says of its openssl else, it says of this one.
    kept = ["task_stat", "schedstat", "cpu_stat", "mpstat", "traced"]
    assert with_given[kept].tolist() == own[kept].tolist()
    assert given.info["notes"][-1].count("bundle's own") == 2
    assert given.info["bundle"]


# victim_stat is of the bundle's own run: 0.99 of it.
def test_a_time_that_is_given_goes_before_what_the_bundle_counted(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    (tmp_path / "victim.txt").write_text(speed(300, 1.0) + "real 4.0\nuser 1.0\nsys 2.0\n")
    given = open_capture(folder, victim_output=tmp_path / "victim.txt")
    assert given.ask("accounts").frame["got_share"]["task_stat"] == 0.75


def test_of_another_victim_a_bundle_says_nothing(tmp_path: Path) -> None:
    victim = json.loads((doctored(tmp_path / "a") / "manifest.json").read_text())["victim"]
    folder = doctored(tmp_path / "b", victim=victim | {"command": "make", "pid": 9})
    (folder / "victim.txt").write_text("cc x.c\n")
    given = open_capture(folder, victim_output=tmp_path / "a" / "victim.txt")
    assert given.bundle.baseline is None
    assert given.bundle.victim == Victim("openssl speed", "victim.txt", cpu=0, pid=500)
    got = given.ask("accounts").frame["got_share"]
    assert got[["task_stat", "work"]].isna().all()


def test_a_folder_given_is_read_instead_of_the_bundles(tmp_path: Path) -> None:
    verdict = {"verdict": "complete", "state": "complete", "rows": [], "lost_events": 0}
    folder, given = doctored(tmp_path / "b", completeness=verdict), tmp_path / "given"
    given.mkdir()
    (given / "stat").write_text("cpu0 1 0 0 0 0 0 0 0 0 0\n")
    own, other = open_capture(folder), open_capture(folder, before=given)
    bundle = other.bundle
    assert bundle.text("before/interrupts") is None
    assert bundle.before.ticks == {0: [1] + [0] * 9}
    assert bundle.after.ticks[0][0] == 250
    # The recorder's verdict was on other counters.
    states = [one.ask("completeness")["state"] for one in (own, other)]
    assert states[0] == "complete" != states[1]


def test_a_packed_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"# x\nCONFIG_IRQ_TIME_ACCOUNTING=y\n"))
    apart = bare(NIC, kernel_config=tmp_path / "config.gz")
    assert apart.ask("recording")["regime"] == "irq_time"


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    for name in parts_of(NIC):
        with pytest.raises(FileNotFoundError) as refused:
            bare(NIC, **{"victim_output": NIC / "victim.txt", name: tmp_path / "absent"})
        assert str(refused.value.filename) == str(tmp_path / "absent")


@pytest.mark.parametrize("kind", ["empty", "zeros", "other text", "folder", "fifo", "no UTF-8"])
def test_what_is_something_else_is_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "given"
    if kind == "folder":
        path.mkdir()
        (path / "readme").write_text("nothing of /proc\n")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "no UTF-8":
        path = tmp_path / "\udcff"
    else:
        told = {"empty": b"", "zeros": bytes(5000), "other text": b"Doing sha256\nCONFIG\n"}
        path.write_bytes(told[kind])
    for name in parts_of(NIC):
        with pytest.raises(CaptureError) as refused:
            bare(NIC, **{"victim_output": NIC / "victim.txt", name: path})
        assert str(path.name) in str(refused.value) or kind == "no UTF-8"
        assert "\n" not in str(refused.value)


def test_a_text_that_is_damaged_or_larger_than_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=250\n" * 99)[:-9])
    with pytest.raises(CaptureError, match=r"config\.gz: damaged"):
        bare(NIC, kernel_config=tmp_path / "config.gz")
    with (tmp_path / "victim.txt").open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(CaptureError, match="64 MiB"):
        bare(NIC, victim_output=tmp_path / "victim.txt")


# What others gathered may hold links, and devices of a trace have any name.
def test_no_name_leads_out_of_a_given_folder(tmp_path: Path) -> None:
    folder = tmp_path / "before"
    folder.mkdir()
    (tmp_path / "secret").write_text("cpu0 1 2 3\n")
    (folder / "softirqs").write_text("  CPU0\n")
    (folder / "stat").symlink_to(tmp_path / "secret")
    with pytest.raises(CaptureError, match=r"'stat', .* outside"):
        _ = bare(NIC, before=folder)
    (folder / "stat").unlink()
    bundle = bare(NIC, before=folder).bundle
    with pytest.raises(CaptureError, match="outside"):
        bundle.text("before/settings/ethtool/../../../../secret/driver")


def test_what_none_can_be_is_wrong_usage() -> None:
    for name, value in (
        ("victim_cpu", -1),
        ("baseline_output", NIC / "victim.txt"),
        *(("tsc_hz", hertz) for hertz in (2.4, float("nan"), float("inf"))),
    ):
        with pytest.raises(ArgumentError, match=name):
            bare(NIC, **{name: value})
