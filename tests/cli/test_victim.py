# --victim: a task by name or tid, with one meaning whatever command it is given.

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from support.host import ROOT
from support.run_cli import Netcost

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
OPENSSL_TID = 1544
# From when on it is called openssl.
WINDOW = ("--start", "3.6", "--end", "4.4")


def _at(comm: str, tid: int, ns: int, event: str, text: str) -> str:
    return f"{comm} {tid} [000] 0.{ns:09d}: {event}: {text}\n"


def _softirq(comm: str, tid: int, begin: int, end: int, vec: str) -> str:
    return _at(comm, tid, begin, "irq:softirq_entry", vec) + _at(
        comm, tid, end, "irq:softirq_exit", vec
    )


def _switch(ns: int, before: tuple[str, int], after: tuple[str, int]) -> str:
    return _at(
        *before,
        ns,
        "sched:sched_switch",
        f"prev_comm={before[0]} prev_pid={before[1]} prev_prio=120 prev_state=R ==> "
        f"next_comm={after[0]} next_pid={after[1]} next_prio=120",
    )


NET_RX, TIMER = "vec=3 [action=NET_RX]", "vec=1 [action=TIMER]"
SEVEN, SH, CAT = ("7", 600), ("sh", 5), ("cat", 5)


# A task called 7; and one that executes a program, and so has two names.
@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("named") / "trace.txt"
    made.write_text(
        _switch(1_000, SH, SEVEN)
        + _softirq(*SEVEN, 2_100, 2_200, NET_RX)
        + _switch(3_000, SEVEN, SH)
        + _softirq(*SH, 3_100, 3_300, NET_RX)
        + _switch(3_400, SH, SEVEN)
        + _switch(3_500, SEVEN, CAT)
        + _softirq(*CAT, 3_600, 3_900, NET_RX)
        + _softirq(*CAT, 4_000, 4_010, TIMER)
        + _switch(4_500, CAT, SEVEN)
    )
    return str(made)


def test_a_tid_is_as_the_name_of_its_only_task(netcost: Netcost) -> None:
    by_name, by_tid = (
        netcost("stolen", NIC, *WINDOW, "--victim", victim).out
        for victim in ("openssl", str(OPENSSL_TID))
    )
    assert by_tid.replace(f"openssl ({OPENSSL_TID})", "openssl") == by_name
    assert f"openssl ({OPENSSL_TID})" in by_tid
    name, tid = (
        netcost("stolen", NIC, *WINDOW, "--victim", victim, "--json").json
        for victim in ("openssl", str(OPENSSL_TID))
    )
    for part in ("victims", "lifetimes", "waited_for"):
        assert {row.pop("tid") for row in tid[part]} == {OPENSSL_TID}
    assert tid == name


def test_a_tid_of_two_names_is_both(netcost: Netcost, path: str) -> None:
    found = netcost("stolen", path, "--victim", "5", "--json").json
    [one] = found["victims"]
    assert (one["tid"], one["comm"]) == (5, "cat")
    rows = {row["comm"]: row for row in netcost("stolen", path, "--json").json["victims"]}
    for name in ("on_cpu_ns", "stolen_max_ns", "stolen_network_max_ns"):
        assert one[name] == rows["sh"][name] + rows["cat"][name] > 0
    # Shares are of both together.
    assert one["stolen_network_max_share"] == one["stolen_network_max_ns"] / one["on_cpu_ns"]
    assert {row["action"]: row["stolen_max_ns"] for row in one["by_softirq"]} == {
        "NET_RX": 500,
        "TIMER": 10,
    }
    lives = {row["comm"]: row["lifetime_max_ns"] for row in found["lifetimes"]}
    assert set(lives) == {"sh", "cat"}
    text = netcost("stolen", path, "--victim", "5").out
    assert "of cat (5)" in text
    assert re.search(rf"\b2 names.*? {sum(lives.values()) / 1000:.2f} µs", text, re.DOTALL)


# Digits are a tid, whatever tasks are called; who has such a name is named by its tid.
@pytest.mark.parametrize("words", [("stolen",), ("ask", "headline"), ("ask", "rolling_stolen")])
def test_a_name_of_digits(netcost: Netcost, path: str, words: tuple[str, ...]) -> None:
    run = netcost(*words, path, "--victim", "7")
    assert (run.code, "600 (named '7')" in run.err) == (1, True)
    assert netcost(*words, path, "--victim", "600").code == 0


def test_names_and_tids_in_python(path: str) -> None:
    timeline = open_capture(path).timeline()
    assert timeline.ask.stolen_time.headline(victim="7")["victim"] == "7"
    assert timeline.ask.stolen_time.headline(victim=600)["victim"] == "7 (600)"


def test_a_report_of_a_tid(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[Any] = []

    def execute(book: Any, *_: object, **options: object) -> str:
        given.extend(cell.source for cell in book.cells if "injected-parameters" in cell.tags)
        return ""

    monkeypatch.setattr("netcost_analysis.report.report.execute", execute)
    page = tmp_path / "x.html"
    assert netcost("report", NIC, "-o", str(page), "--victim", str(OPENSSL_TID)).code == 0
    assert given == [f"path = {NIC!r}\nvictim = {OPENSSL_TID}"]
    assert f"{NIC} --victim {OPENSSL_TID}" in page.read_text()


# A service all of whose tasks have one name has no row but that one.
def test_a_service_of_one_name_is_the_first_row(netcost: Netcost, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(NIC, tmp_path / "bundle"))
    manifest = json.loads((bundle / "manifest.json").read_text())
    service = {"command": "udp-load", "pid": 1446, "cpu": None}
    manifest["victim"] |= service | {"attached": {"to": "process", "comm": "udp-load"}}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    readings = (
        f"@ {number} {manifest['victim'][at]} {manifest['victim'][at]}\n"
        f"1446 task/1446/stat 1446 (udp-load) S\n1446 task/1446/schedstat {number} 1 1\n"
        for number, at in enumerate(("start_ns", "end_ns"), 1)
    )
    (bundle / "samples" / "victim").write_text("".join(readings))
    found = netcost("stolen", str(bundle), "--json").json
    victims = [one["comm"] for one in found["victims"]]
    assert (victims[0], found["service"]) == ("udp-load", None)
    lost = [one["stolen_ns"] for one in found["victims"]]
    assert lost[1:] == sorted(lost[1:], reverse=True)
    assert lost[0] < lost[1]
