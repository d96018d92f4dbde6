# Batch sizes, limits and squeezes, on timelines drawn by hand and bundles around them.

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.batches.kernel_limits import KernelLimits
from support.asked import poll_sizes
from support.device_bundles import bundle
from support.host import ROOT
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import OPENSSL, UDPSINK, Happenings, raised, softirq, timeline

MS = 1_000_000
LIMITS = {"budget": 300, "usecs": 8_000, "hz": 250}


def test_sizes_by_device_cpu_and_budget(tmp_path: Path) -> None:
    full = softirq(1_000, 1_100, *(h.NapiPoll(at, "eth0", 63) for at in (1_010, 1_030)))
    first = *full, *softirq(1_200, 1_300, h.NapiPoll(1_210, work=64), h.NapiPoll(1_211, work=0))
    # Busy polling has a smaller budget and no begin.
    busy = softirq(1_000, 1_100, h.NapiPoll(1_001, "eth0", 8, 8)), h.NapiPoll(1_150, "eth0", 8, 8)
    second = *busy[0], busy[1], *softirq(1_200, 1_300, h.NapiPoll(1_202, "eth0", 0, 0))
    third = softirq(1_400, 1_500, h.NapiPoll(1_401, "eth1", 1))
    cpus = cpu(0, *first, task=OPENSSL), cpu(1, *second, *third, task=UDPSINK)
    made = timeline(tmp_path, *cpus)
    table = poll_sizes(made)
    rows = {(row["device"], row["cpu"], row["work"]): row for row in table.to_dict("records")}
    spike, one = rows["eth0", 0, 63], rows["eth0", 1, 8]
    assert (spike["polls"], spike["packets"], spike["ns"]) == (2, 126, 30)
    assert (spike["polls_share"], spike["packets_share"]) == (0.5, 126 / 190)
    assert (one["budget"], one["polls"], one["without_begin"], one["ns"]) == (8, 2, 1, 1)
    traps = {key: None if pd.isna(row["trap"]) else row["trap"] for key, row in rows.items()}
    assert traps == {
        ("eth0", 0, 0): "empty",
        ("eth0", 0, 63): "almost full",
        ("eth0", 0, 64): "full",
        ("eth0", 1, 0): "Tx only",
        ("eth0", 1, 8): "full",
        ("eth1", 1, 1): None,
    }
    together = poll_sizes(made, by="device")
    assert together["cpu"].isna().all()
    assert together.groupby("device")["polls_share"].sum().tolist() == pytest.approx([1, 1])
    assert together["packets"].sum() == table["packets"].sum() == 64 + 126 + 16 + 1
    formats = tuple(t.NAPI_POLL_OLD if one is t.NAPI_POLL else one for one in t.FORMATS)
    (tmp_path / "old").mkdir()
    old = poll_sizes(timeline(tmp_path / "old", *cpus, formats=formats))
    assert set(old["trap"]) == {"no work field"}
    assert old["packets"].isna().all()


# Every time of a drawn recording is so much later than a test says.
LATER = 1_000


def net_rx(entry: int, last: int, leave: int, packets: int, number: int) -> Happenings:
    # A softirq from its entry to its exit, with packets in some polls, the last of which ends then.
    begin, end = LATER + entry, LATER + last
    works = [packets // number + (place < packets % number) for place in range(number)]
    polls = [h.NapiPoll(end - number + place, work=w) for place, w in enumerate(works, 1)]
    return raised(begin - 1, begin, LATER + leave, *polls)


def squeezes(
    path: Path,
    *rows: tuple[int, int, int, int, int],
    files: dict[str, str] | None = None,
    **given: int,
) -> netcost.Answer:
    story = [one for row in rows for one in net_rx(*row)]
    end = h.Waking(LATER + max(row[2] for row in rows) + 10, UDPSINK)
    other = cpu(1, h.Waking(LATER, UDPSINK), end)
    made = bundle(path, files or {}, cpu(0, *story, end, task=OPENSSL), other)
    return netcost.open_capture(made.path).timeline().ask("squeezes", **given)


@pytest.mark.parametrize(
    ("row", "low", "high"),
    [
        ((0, 100, 200, 299, 5), 0, 0),
        ((0, 100, 200, 300, 5), 1, 1),
        # Two jiffies of 4 ms: the first began before, so between one and two ticks.
        ((0, 3 * MS, 4 * MS, 64, 1), 0, 0),
        ((0, 3 * MS, 4 * MS + 1, 64, 1), 0, 1),
        ((0, 8 * MS - 1, 9 * MS, 64, 1), 0, 1),
        ((0, 8 * MS, 9 * MS, 64, 1), 1, 1),
        # The look at the clock is after a poll.
        ((0, 0, 20 * MS, 0, 0), 0, 0),
        # One full poll is no squeeze.
        ((0, 100, 200, 64, 1), 0, 0),
    ],
)
def test_squeezes_by_packets_and_by_time(
    tmp_path: Path, row: tuple[int, int, int, int, int], low: int, high: int
) -> None:
    table = squeezes(tmp_path, row, **LIMITS)["by_cpu"]
    assert table["squeezes_low"].tolist() == [low, 0]
    assert table["squeezes_high"].tolist() == [high, 0]
    assert (table["by_budget"] + table["by_time_high"]).tolist() == [high, 0]


def test_without_limits_squeezes_are_unknown(tmp_path: Path) -> None:
    row = (0, 100, 200, 400, 7)
    table = squeezes(tmp_path / "none", row)["by_cpu"]
    assert table[["squeezes_low", "by_budget"]].isna().all(axis=None)
    assert table["with_polls"].tolist() == [1, 0]
    half = squeezes(tmp_path / "half", row, budget=300)["by_cpu"]
    assert half["by_budget"].tolist() == [1, 0]


def counted(squeezes: int, softirqs: int = 3) -> dict[str, str]:
    # Readings from 100 to 110 and from 1,000 to 1,020.
    heads = [f"@ {at} {LATER + at} {LATER + end}\n" for at, end in ((100, 110), (1_000, 1_020))]
    zeros = " 0" * 10
    return {
        "samples/softnet_stat": f"{heads[0]}0 0 0{zeros}\n{heads[1]}384 0 {squeezes:x}{zeros}\n",
        "samples/softirqs": f"{heads[0]} CPU0\nNET_RX: 0\n{heads[1]} CPU0\nNET_RX: {softirqs}\n",
    }


# One ended surely between the readings, two while a reading was made.
ROWS = (
    (50, 60, 99, 300, 5),
    (101, 107, 109, 300, 5),
    (200, 250, 300, 300, 5),
    (990, 1_005, 1_010, 300, 5),
    (1_030, 1_040, 1_050, 300, 5),
)


@pytest.mark.parametrize(
    ("kernel", "softirqs", "verdict", "why"),
    [
        (0, 3, "differ", "recording shows more"),
        (1, 3, "agree", None),
        (3, 3, "agree", None),
        (3, 9, "agree", "6 of the 9"),
        (4, 3, "differ", "kernel counted more"),
        (5, 5, "explained", "2 of the 5"),
        (6, 5, "differ", "kernel counted more"),
    ],
)
def test_against_softnet_within_what_a_reading_takes(
    tmp_path: Path, kernel: int, softirqs: int, verdict: str, why: str | None
) -> None:
    answer = squeezes(tmp_path, *ROWS, files=counted(kernel, softirqs), **LIMITS)
    row = answer["against_softnet"].set_index("cpu").loc[0]
    assert (row["squeezes_low"], row["squeezes_high"], row["softirqs_traced"]) == (1, 3, 3)
    assert row["verdict"] == verdict
    assert pd.isna(row["why"]) if why is None else why in row["why"]


def test_without_readings_or_limits_the_verdict_is_unknown(tmp_path: Path) -> None:
    for name, files, why in (("unread", {}, "not read twice"), ("read", counted(1), "limits were")):
        given = {} if files else LIMITS
        table = squeezes(tmp_path / name, *ROWS, files=files, **given)["against_softnet"]
        assert table["verdict"].tolist() == ["unknown"] * 2
        assert why in table["why"][0]
        assert table["softnet_squeezes"].isna().tolist() == [not files, True]


def test_jiffies_are_rounded_up_as_the_kernel_does() -> None:
    for hz, usecs, net_rx_jiffies, softirq_jiffies in (
        (250, 8_000, 2, 1),
        (1_000, 2_000, 2, 2),
        (100, 20_000, 2, 1),
        (300, 6_666, 2, 1),
        (250, 8_001, 3, 1),
        # 10 ms are three ticks exactly; 2 ms are 2.048 of the Alpha's.
        (300, 10_000, 3, 1),
        (1_024, 2_000, 3, 3),
        (100, 2_000, 1, 1),
    ):
        limits = KernelLimits(300, usecs, 64, hz)
        jiffies = limits.net_rx_jiffies, limits.softirq_jiffies
        assert jiffies == (net_rx_jiffies, softirq_jiffies), (hz, usecs)


def limits_of(path: Path) -> netcost.Answer:
    return netcost.open_capture(path).ask.batches.kernel_limits()


def test_limits_are_the_hosts_own_and_no_strangers_numbers(tmp_path: Path) -> None:
    path = tmp_path / "b"
    shutil.copytree(ROOT / "sample-data" / "nic-stolen-time", path)
    (path / "after" / "settings").mkdir(parents=True, exist_ok=True)
    settings = "net.core.netdev_budget = 600\nnet.core.dev_weight = {weight}\n"
    for side, weight in (("before", 64), ("after", 32)):
        text = settings.format(weight=weight)
        (path / side / "settings" / "sysctl_net_core").write_text(text)
    (path / "kernel_config").write_text("CONFIG_HZ=1000\n")
    answer = limits_of(path)
    assert (answer["netdev_budget"], answer["hz"]) == (600, 1_000)
    assert answer["netdev_budget_usecs"] is answer["dev_weight"] is None
    manifest = path / "manifest.json"
    for value in ("0", "-1", "x", "99999999999999999999", "1e9", ""):
        budget = f"net.core.netdev_budget = {value}\n"
        (path / "before/settings/sysctl_net_core").write_text(budget)
        (path / "kernel_config").write_text(f"CONFIG_HZ={value}\n")
        for sysctls in ({"net.core.netdev_budget": value}, [1]):
            written: dict[str, Any] = json.loads(manifest.read_text())
            manifest.write_text(json.dumps(written | {"host": {"sysctls": sysctls}}))
            answer = limits_of(path)
            assert answer["netdev_budget"] is answer["hz"] is None


def test_a_limit_of_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="budget"):
        kept("nic-stolen-time").ask.batches.squeezes(budget=0)
