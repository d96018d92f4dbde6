# Why each account can be wrong, on the kernel that kept it, and what words go by.

import json
import math
import re
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.display.templates import as_text
from support.account_rows import accounts, rows
from support.doctored import counters, doctored


def test_system_time_has_interrupts_by_the_kernels_configuration(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    configs = {"TICK_CPU_ACCOUNTING": True, "IRQ_TIME_ACCOUNTING": False, "NONE": None}
    for config, has_interrupts in configs.items():
        (folder / "kernel_config").write_text(f"CONFIG_{config}=y\n")
        answer = netcost.open_capture(folder).ask.accounting.accounts()
        assert answer.frame["lost_share"]["system"] == pytest.approx(0.24)
        assert answer["in_all"]["with_interrupts"] is has_interrupts


def test_steal_is_beside_every_account_and_said_with_it(tmp_path: Path) -> None:
    table = accounts(doctored(tmp_path / "b"))
    assert "traced_and_hidden" not in table.index
    steal = table["steal_share"].to_dict()
    # mpstat has its own.
    assert steal.pop("mpstat") == 0
    assert steal == pytest.approx(dict.fromkeys(steal, 0.02))
    assert "not reliable" in rows(table)["traced"]["why"]
    assert "(steal)" in rows(table)["times"]["why"]
    assert "(steal)" not in rows(table)["mpstat"]["why"]


def test_a_disturbed_baseline_is_said(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    assert "95.0 % only" in rows(accounts(folder))["work"]["why"]
    manifest = folder / "baseline" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("1.9", "1.99"))
    assert "only" not in rows(accounts(folder))["work"]["why"]


def test_the_reasons_are_those_of_the_kernel(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    for config, times, task_stat in (
        ("TICK_CPU_ACCOUNTING=y\nCONFIG_HZ=1000", "1 ms", "in it"),
        ("IRQ_TIME_ACCOUNTING=y", "left out", "had slept"),
        ("VIRT_CPU_ACCOUNTING_GEN=y", "nohz_full=", "in it"),
        ("VIRT_CPU_ACCOUNTING_NATIVE=y", "its system time", "all the same"),
        ("HZ=0", "not known", "not known"),
    ):
        (folder / "kernel_config").write_text(f"CONFIG_{config}\n")
        why = accounts(folder)["why"]
        assert times in why["times"], config
        assert task_stat in why["task_stat"], config
        assert "{" not in "".join(why)


def test_snapshots_far_around_the_run_are_said(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    assert "snapshots are" not in rows(accounts(folder))["cpu_stat"]["why"]
    stamp = folder / "after" / "stamp"
    stamp.write_text(stamp.read_text().replace(" 29999", " 49999").replace(" 30000", " 50000"))
    why = rows(accounts(folder))["cpu_stat"]["why"]
    assert "snapshots are 4.00" in why
    assert "2.00 s" in why


def test_a_baseline_with_steal_is_said(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    counters(folder / "baseline" / "before", 10**9, "0 0 0 0 0 0 0 0 0 0", 0)
    counters(folder / "baseline" / "after", 3 * 10**9, "190 0 0 0 0 0 0 10 0 0", 0)
    assert "5.0 % steal" in rows(accounts(folder))["work"]["why"]


def test_a_run_longer_than_what_openssl_timed_is_said(tmp_path: Path) -> None:
    assert "openssl timed" not in "".join(accounts(doctored(tmp_path / "a"))["why"])
    victim = json.loads((tmp_path / "a" / "manifest.json").read_text())["victim"]
    why = accounts(doctored(tmp_path / "b", victim=victim | {"wall_s": 3.0}))["why"]
    assert [name for name, text in why.items() if "openssl timed" in text] == [
        "task_stat",
        "schedstat",
        "traced",
    ]
    assert not [text for text in why if "openssl timed" in text and "3.00 s" not in text]


def test_the_figures_of_the_words_are_those_of_the_accounts(tmp_path: Path) -> None:
    ask = netcost.open_capture(doctored(tmp_path / "b")).ask.accounting
    answer = ask.accounts()
    words = re.findall(
        r"(?:got|shows|says|disturbed: \w+ h|about) \D*?([\d.]+) %", as_text(answer.words)
    )
    assert words == ["60.0", "99.0", "75.0", "85.0", "57.0"]
    in_all = answer["in_all"]
    assert (in_all["comm"], in_all["farthest"]) == ("openssl", "task_stat")
    # 0.95 of a CPU did 1000 blocks.
    assert in_all["baseline_share"] == pytest.approx(0.95)
    assert in_all["undisturbed_share"] == pytest.approx(0.95 * 0.6)
    answer.plot()
    reasons = ask.account_reasons()
    assert (reasons["steal_max_share"], reasons["price"]) == (pytest.approx(0.02), None)
    kinds = ask.cpu_accounts()
    assert kinds["in_all"]["counted_share"] == pytest.approx(0.22)
    assert kinds["in_all"]["traced_share"] == pytest.approx(174 / 1160)
    kinds.plot()


def test_without_a_baseline_the_words_compare_with_nothing(tmp_path: Path) -> None:
    ask = netcost.open_capture(doctored(tmp_path / "b", baseline=None)).ask.accounting
    answer = ask.accounts()
    assert answer["in_all"]["farthest"] is None
    assert "no baseline" in answer.words
    assert "nothing for: work done" in ask.account_reasons().words


def test_steal_of_nothing_is_not_steal_that_nobody_counted(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    stat = "150 0 2 0 0 0 44 0 0 0"
    for path in (folder / "after").iterdir():
        path.unlink()
    (folder / "after").rmdir()
    counters(folder / "after", 3 * 10**9, stat, 20_000)
    ask = netcost.open_capture(folder).ask.accounting
    assert ask.account_reasons()["steal_max_share"] == 0
    for side in ("before", "after"):
        (folder / side / "stat").unlink()
    (folder / "mpstat.json").unlink()
    ask = netcost.open_capture(folder).ask.accounting
    assert math.isnan(ask.account_reasons()["steal_max_share"])
