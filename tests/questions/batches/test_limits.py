# Batch sizes, limits and squeezes, on frames and bundles written by hand.

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.batches.kernel_limits import KernelLimits, limits_of
from netcost_analysis.questions.batches.poll_sizes import sizes_of
from netcost_analysis.questions.batches.softnet import compared, times_of
from netcost_analysis.questions.batches.squeezes import by_cpu
from netcost_analysis.questions.batches.squeezes import squeezed as by_limits
from support.chains import drawn
from support.host import ROOT
from support.kept import kept
from support.perfdata import happenings as h
from support.sized import counted as counted_polls
from support.told import NET_RX

MS = 1_000_000
LIMITS = KernelLimits(300, 8_000, 64, 250, "written by hand")


def polls(*rows: tuple[Any, ...]) -> pd.DataFrame:
    columns = ["cpu", "start_ns", "device", "work", "budget", "self_ns"]
    numbers = [name for name in columns if name != "device"]
    return pd.DataFrame(list(rows), columns=columns).astype(dict.fromkeys(numbers, "Int64"))


def test_sizes_by_device_cpu_and_budget() -> None:
    told = polls(
        (0, 0, "eth0", 64, 64, 10),
        (0, 10, "eth0", 63, 64, 5),
        (0, 15, "eth0", 63, 64, 3),
        (0, 20, "eth0", 0, 64, 1),
        (1, 20, "eth0", 8, 8, 1),
        (1, None, "eth0", 8, 8, None),
        (1, 40, "eth0", 0, 0, 2),
        (1, 50, None, None, None, 7),
    )
    table = sizes_of(counted_polls(told))
    rows = {(row["device"], row["cpu"], row["work"]): row for row in table.to_dict("records")}
    spike = rows[("eth0", 0, 63)]
    assert (spike["polls"], spike["packets"], spike["ns"]) == (2, 126, 8)
    assert spike["trap"] == "almost full"
    assert spike["polls_share"] == 0.5
    assert spike["packets_share"] == 126 / 190
    assert rows[("eth0", 0, 64)]["trap"] == "full"
    assert rows[("eth0", 0, 0)]["trap"] == "empty"
    # Busy polling has a smaller budget, and half of these polls no begin.
    busy = rows[("eth0", 1, 8)]
    assert (busy["budget"], busy["polls"], busy["without_begin"], busy["ns"]) == (8, 2, 1, 1)
    assert rows[("eth0", 1, 0)]["trap"] == "Tx only"
    (old,) = (row for row in table.to_dict("records") if row["device"] == "(no_device)")
    assert (old["polls"], old["ns"], old["trap"]) == (1, 7, "no work field")
    assert pd.isna(old["packets"])
    assert table["polls"].sum() == 8
    assert table["packets"].sum() == 64 + 126 + 16


def test_sizes_by_device() -> None:
    told = polls(
        (0, 0, "eth0", 64, 64, 10),
        (1, 10, "eth0", 64, 64, 5),
        (1, 15, "eth0", 1, 64, 3),
        (1, 20, "eth1", 1, 64, 1),
    )
    table = sizes_of(counted_polls(told), "device")
    assert table["cpu"].isna().all()
    assert table[["device", "work", "polls", "ns"]].to_numpy().tolist() == [
        ["eth0", 1, 1, 3],
        ["eth0", 64, 2, 15],
        ["eth1", 1, 1, 1],
    ]
    assert table["polls_share"].tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    # An ordinary size is no trap.
    assert table["trap"].tolist() == [None, "full", None]


# Every time of a drawn recording is so much later than a test says.
LATER = 1_000


def drawn_at(path: Path, *rows: tuple[int, int, int, int, int]) -> netcost.Timeline:
    # Rows: a softirq's entry, last poll's end and exit, its packets and polls.
    story: list[h.Happening] = []
    for entry, last, leave, packets, number in rows:
        begin, end = LATER + entry, LATER + last
        works = [packets // number + (place < packets % number) for place in range(number)]
        story += [h.SoftirqRaise(begin - 1, NET_RX), h.SoftirqEntry(begin, NET_RX)]
        story += [h.NapiPoll(end - number + place, work=w) for place, w in enumerate(works, 1)]
        story.append(h.SoftirqExit(LATER + leave, NET_RX))
    path.mkdir()
    return drawn(path, *story, until_ns=LATER + max(row[2] for row in rows) + 10)


def squeezed(
    path: Path,
    *rows: tuple[int, int, int, int, int],
    limits: KernelLimits = LIMITS,
    counted: pd.DataFrame | None = None,
) -> pd.DataFrame:
    # counted: what the kernel counted, beside which they are put.
    read = None if counted is None else times_of(counted.filter(like="_ns") + LATER)
    return by_limits(drawn_at(path, *rows), limits, read)


def test_squeezes_by_packets_and_by_time(tmp_path: Path) -> None:
    for place, (row, low, high) in enumerate(
        (
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
        )
    ):
        table = by_cpu(squeezed(tmp_path / str(place), row), [0, 1])
        assert table["squeezes_low"].tolist() == [low, 0], row
        assert table["squeezes_high"].tolist() == [high, 0], row
        assert (table["by_budget"] + table["by_time_high"]).tolist() == [high, 0], row


def test_who_has_no_limits_has_no_squeezes(tmp_path: Path) -> None:
    row = (0, 100, 200, 400, 7)
    table = by_cpu(squeezed(tmp_path / "none", row, limits=KernelLimits()), [0])
    assert table["squeezes_low"].isna().all()
    assert table["by_budget"].isna().all()
    assert table["with_polls"].tolist() == [1]
    half = squeezed(tmp_path / "half", row, limits=KernelLimits(netdev_budget=300))
    assert by_cpu(half, [0])["by_budget"].tolist() == [1]


def counted(squeezes: int, softirqs: int = 3) -> pd.DataFrame:
    # Readings from 100 to 110 and from 1,000 to 1,020.
    counts = {"softnet_squeezes": squeezes, "packets_counted": 900, "received_rps": 0}
    times = {"start_ns": 105, "end_ns": 1_010, "from_ns": 100, "inner_from_ns": 110}
    times |= {"inner_to_ns": 1_000, "to_ns": 1_020}
    times |= {"softirqs_from_ns": 100, "softirqs_to_ns": 1_020}
    row = {**counts, "softirqs_counted": softirqs, **times}
    return pd.DataFrame(row, index=pd.Index([0], name="cpu"))


ROWS = (
    (50, 60, 99, 300, 5),
    (101, 107, 109, 300, 5),
    (200, 250, 300, 300, 5),
    (990, 1_005, 1_010, 300, 5),
    (1_030, 1_040, 1_050, 300, 5),
)


def test_against_softnet_within_what_a_reading_takes(tmp_path: Path) -> None:
    for squeezes, softirqs, verdict, why in (
        (0, 3, "differ", "recording shows more"),
        (1, 3, "agree", None),
        (3, 3, "agree", None),
        (3, 9, "agree", "6 of the 9"),
        (4, 3, "differ", "kernel counted more"),
        (5, 5, "explained", "2 of the 5"),
        (6, 5, "differ", "kernel counted more"),
    ):
        read = counted(squeezes, softirqs)
        sums = squeezed(tmp_path / f"{squeezes} of {softirqs}", *ROWS, counted=read)
        (row,) = compared(sums, [0], read, None).to_dict("records")
        # Surely between the readings: one. Perhaps: also those that ended while one was made.
        assert (row["squeezes_low"], row["squeezes_high"], row["softirqs_traced"]) == (1, 3, 3)
        assert row["verdict"] == verdict
        assert row["why"] is None if why is None else why in row["why"]


def test_without_readings_the_verdict_says_why(tmp_path: Path) -> None:
    table = compared(squeezed(tmp_path / "unread", *ROWS), [0, 1], None, "no readings")
    assert table["verdict"].unique().tolist() == ["unknown"]
    (why,) = table["why"].unique()
    assert "not read twice" in why
    assert table["softnet_squeezes"].isna().all()
    sums = squeezed(tmp_path / "read", *ROWS, limits=KernelLimits(), counted=counted(1))
    (row,) = compared(sums, [0], counted(1), None).to_dict("records")
    assert row["verdict"] == "unknown"
    assert "limits were" in row["why"]


def test_jiffies_are_rounded_up_as_the_kernel_does() -> None:
    for hz, usecs, net_rx, softirq in (
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
        assert (limits.net_rx_jiffies, limits.softirq_jiffies) == (net_rx, softirq), (hz, usecs)


def bundle(folder: Path, **files: str) -> Any:
    shutil.copytree(ROOT / "sample-data" / "nic-stolen-time", folder / "bundle")
    for name, text in files.items():
        path = folder / "bundle" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return netcost.open_capture(folder / "bundle")


def test_limits_are_the_hosts_own(tmp_path: Path) -> None:
    # The older of the two has no settings but those of its manifest.
    for name, source in (
        ("nic-stolen-time", "before/settings/sysctl_net_core"),
        ("veth-stolen-time", "manifest.json, host.sysctls"),
    ):
        answer = netcost.open_capture(ROOT / "sample-data" / name).ask.batches.kernel_limits()
        row = answer.frame[["netdev_budget", "netdev_budget_usecs", "dev_weight", "hz", "source"]]
        assert row.iloc[0].tolist() == [300, 8_000, 64, 250, source]
        assert answer["net_rx_jiffies"] == 2
        assert (answer["net_rx_least_ns"], answer["net_rx_most_ns"]) == (4 * MS, 8 * MS)
    settings = "net.core.netdev_budget = 600\nnet.core.dev_weight = {weight}\n"
    capture = bundle(
        tmp_path,
        before__settings__sysctl_net_core=settings.format(weight=64),
        after__settings__sysctl_net_core=settings.format(weight=32),
        kernel_config="CONFIG_HZ=1000\n",
    )
    source = "before/settings/sysctl_net_core"
    assert limits_of(capture) == KernelLimits(600, None, None, 1_000, source)
    assert limits_of(capture, usecs=4_000).net_rx_jiffies == 4


def test_limits_of_a_stranger(tmp_path: Path) -> None:
    folder = Path(bundle(tmp_path).path)
    (folder / "before" / "settings").mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.json"
    for value in ("0", "-1", "x", "99999999999999999999", "1e9", ""):
        budget = f"net.core.netdev_budget = {value}\n"
        (folder / "before/settings/sysctl_net_core").write_text(budget)
        (folder / "kernel_config").write_text(f"CONFIG_HZ={value}\n")
        for sysctls in ({"net.core.netdev_budget": value}, [1]):
            said = json.loads(manifest.read_text()) | {"host": {"sysctls": sysctls}}
            manifest.write_text(json.dumps(said))
            found = limits_of(netcost.open_capture(folder))
            assert (found.netdev_budget, found.hz) == (None, None)


def test_a_limit_of_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="budget"):
        kept("nic-stolen-time").ask.batches.squeezes(budget=0)
    assert limits_of(SimpleNamespace(bundle=None)) == KernelLimits()  # type: ignore[arg-type]
