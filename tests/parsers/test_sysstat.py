# What mpstat and pidstat print, in several versions, clocks and locales: tables from it.

import subprocess
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis import parse_mpstat, parse_pidstat
from support.host import ROOT, require_tool

MPSTAT_12H = """\
Linux 6.1.0 (lab) \t11/20/2026 \t_x86_64_\t(2 CPU)

04:42:45 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
04:42:46 PM  all   21.30    0.00   21.30    0.00    0.00   32.54    0.00    0.00    0.00   24.85
04:42:46 PM    0    1.47    0.00   44.12    0.00    0.00   32.35    0.50    0.00    0.00   21.56

04:42:45 PM  CPU    intr/s
04:42:46 PM  all  12345.00

04:42:46 PM NODE    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
04:42:47 PM    0   99.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    1.00

04:42:46 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
04:42:47 PM  all   50.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   50.00
04:42:47 PM    0  100.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00

Average:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
Average:     all   35.65    0.00   10.65    0.00    0.00   16.27    0.00    0.00    0.00   37.43
"""
# sysstat 9 in France: another name for user time, no guests but %guest, commas.
MPSTAT_FRENCH = """\
Linux 2.6.32 (labo) \t20/11/2026 \t_x86_64_\t(1 CPU)

16:42:45     CPU   %user   %nice    %sys %iowait    %irq   %soft  %steal  %guest   %idle
16:42:46       0   12,50    0,00    1,25    0,00    0,00    6,25    0,00    0,00   80,00
16:42:47       0   25,00    0,00    0,00    0,00    0,00    0,00    0,00    0,00   75,00
Moyenne :      0   18,75    0,00    0,63    0,00    0,00    3,13    0,00    0,00   77,50
"""


def plain(values: "pd.Series[Any]") -> list[Any]:
    return list(values.astype(object).where(values.notna(), None))


def test_mpstat_of_a_clock_of_twelve_hours() -> None:
    told = parse_mpstat(MPSTAT_12H)
    # Neither the interrupts nor the nodes are CPUs.
    assert plain(told["interval"]) == [0, 0, 1, 1, None]
    assert plain(told["cpu"]) == [None, 0, None, 0, None]
    first = told.iloc[1]
    assert (first["when"], told.iloc[4]["when"]) == ("04:42:46 PM", "")
    assert (first["usr_share"], first["soft_share"]) == (0.0147, 0.3235)
    assert (first["steal_share"], first["idle_share"]) == pytest.approx((0.005, 0.2156))


def test_mpstat_of_another_language_and_age() -> None:
    told = parse_mpstat(MPSTAT_FRENCH)
    assert plain(told["interval"]) == [0, 1, None]
    assert told["usr_share"].tolist() == [0.125, 0.25, 0.1875]
    assert told["gnice_share"].isna().all()


KINDS = "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
LOAD = "   12.00    0.00    3.00    0.00    0.00    1.00    0.00    0.00    0.00   84.00"


@pytest.mark.parametrize(
    ("time", "average"),
    [
        ("02:40:26 PM", "Average:   "),
        ("02:40:26 p. m.", "Media:     "),
        ("02時40分26秒", "平均値:"),
        ("下午 02時40分26秒", "平均时间："),
        ("14:40:26", "Moyenne :"),
    ],
)
def test_mpstat_in_any_clock(time: str, average: str) -> None:
    text = f"{time}{KINDS}\n{time}  all{LOAD}\n{time}    0{LOAD}\n\n{average}{KINDS}\n"
    told = parse_mpstat(f"{text}{average}  all{LOAD}\n{average}    0{LOAD}\n")
    assert plain(told["cpu"]) == [None, 0] * 2
    assert told["interval"].notna().tolist() == [True, True, False, False]
    assert told["when"].tolist() == [time, time, "", ""]
    assert (told["idle_share"] == 0.84).all()


def test_sysstats_human_percentages() -> None:
    told = parse_mpstat(f"14:40:26{KINDS}\n14:40:27  all{LOAD.replace('0 ', '% ')}%\n")
    assert told["usr_share"].tolist() == [0.12]


def test_mpstat_says_the_same_in_both_forms() -> None:
    # Since boot: two runs a moment apart print the same percentages.
    mpstat = require_tool("mpstat")
    text, other = (
        subprocess.run([mpstat, "-P", "ALL", *form], capture_output=True, text=True).stdout
        for form in ([], ["-o", "JSON"])
    )
    left, right = parse_mpstat(text), parse_mpstat(other)
    assert len(left) == len(right) >= 2
    assert left["cpu"].tolist() == right["cpu"].tolist()
    shares = [name for name in left if str(name).endswith("_share")]
    assert (left[shares] - right[shares]).abs().max().max() < 0.001
    sums = left[shares].drop(columns=["guest_share", "gnice_share"]).sum(axis=1)
    assert sums.between(0.98, 1.02).all()


SHARES = st.lists(st.integers(0, 10000), min_size=10, max_size=10)


@given(rows=st.lists(st.tuples(st.integers(0, 511), SHARES), min_size=1, max_size=6))
def test_mpstat_reads_back_what_was_printed(rows: list[tuple[int, list[int]]]) -> None:
    head = "%usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"
    text = f"\n16:00:00 CPU {head}\n"
    for cpu, values in rows:
        text += f"16:00:01 {cpu} " + " ".join(f"{value / 100:.2f}" for value in values) + "\n"
    told = parse_mpstat(text)
    assert told["cpu"].tolist() == [cpu for cpu, _ in rows]
    for (_, values), row in zip(rows, told.itertuples(index=False), strict=True):
        assert [round(10000 * float(share)) for share in row[3:]] == values


PIDSTAT_ONE_LINE = """\
Linux 6.1.0 (lab) \t11/20/26 \t_x86_64_\t(2 CPU)

# Time      UID    PID    %usr %system  %wait    %CPU CPU cswch/s nvcswch/s  Command
16:42:45      0      1    0.00    1.00   0.00    1.00   1    0.00      0.00  systemd
16:42:45   1000   4711   99.00    1.00   2.00  100.00   0   12.00    250.00  Web  Content (a b)

# Time      UID    PID    %usr %system  %wait    %CPU CPU cswch/s nvcswch/s  Command
16:42:46   1000   4711   50.00    0.00   0.00   50.00   0    1.00      2.00  Web  Content (a b)
"""
PIDSTAT_SECTIONS = """\
Linux 6.1.0 (lab) \t11/20/26 \t_x86_64_\t(2 CPU)

04:42:45 PM      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command
04:42:46 PM        0        70         -    1.00    2.00    0.00    0.00    3.00     1  openssl
04:42:46 PM        0         -        71    1.00    2.00    0.00    0.00    3.00     1  |__worker

04:42:45 PM     USER       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
04:42:46 PM     root        70     25.74      0.00    4576    3504   0.01  openssl

Average:         UID      TGID       TID   cswch/s nvcswch/s  Command
Average:           0        70        72      0.99      0.00  (openssl)__tokio worker
"""


def test_pidstat_on_one_line_keeps_names_with_blanks() -> None:
    told = parse_pidstat(PIDSTAT_ONE_LINE)
    assert told["comm"].tolist() == ["systemd", *["Web  Content (a b)"] * 2]
    assert told["pid"].tolist() == [1, 4711, 4711]
    assert told["usr_share"].tolist() == [0, 0.99, 0.5]
    assert told["nvcswch_per_s"].tolist() == [0, 250, 2]
    assert told["when"].tolist() == ["16:42:45", "16:42:45", "16:42:46"]


def test_pidstat_in_sections_with_threads() -> None:
    told = parse_pidstat(PIDSTAT_SECTIONS)
    assert told["comm"].tolist() == ["openssl", "worker", "openssl", "tokio worker"]
    assert plain(told["pid"]) == [70, None, 70, 70]
    assert plain(told["tid"]) == [None, 71, None, 72]
    assert told.loc[2, ["rss_kib", "user"]].tolist() == [3504, "root"]
    assert plain(told["cswch_per_s"]) == [None, None, None, 0.99]
    assert told["when"].tolist() == ["04:42:46 PM"] * 3 + [""]


def test_pidstat_of_the_samples() -> None:
    file = ROOT / "sample-data" / "local-regression" / "repeats"
    told = parse_pidstat(sorted(file.glob("*/1/pidstat.txt"))[0].read_text())
    assert told["comm"].tolist() == ["iperf3", "iperf3"]
    assert (told["usr_share"] + told["system_share"] - told["cpu_share"]).abs().max() < 0.011


@pytest.mark.parametrize("text", ["", "nonsense", "16:42 CPU\n16:42 0", "\0\n:\n", "Average:\n"])
def test_of_nothing_the_tables_are_empty(text: str) -> None:
    assert len(parse_mpstat(text)) == 0
    pidstat = parse_pidstat(f"# Time UID PID %usr Command\n16:42:45 x y z w\n{text}")
    assert (len(pidstat), list(pidstat)) == (0, ["when", "pid", "tid", "uid", "cpu", "comm"])
