# What mpstat, pidstat, iperf3 and netperf print, in several versions and locales: tables from it,
# and one line for what is none.

import json
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis import (
    CaptureError,
    parse_iperf3,
    parse_mpstat,
    parse_netperf,
    parse_pidstat,
    parse_schedstat,
    parse_task_stat,
)
from netcost_analysis.parsers.iperf3 import iperf3_sent
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


def iperf3_run(**end: object) -> dict[str, object]:
    return {
        "start": {"version": "iperf 3.12", "connecting_to": {}, "test_start": {"protocol": "UDP"}},
        "intervals": [
            {"sum": {"start": 0, "end": 1.5, "seconds": 1.5, "bytes": 300, "bits_per_second": 1600,
                     "packets": 3, "omitted": True, "sender": True}},
        ],
        "end": end,
    }  # fmt: skip


def test_iperf3_after_a_message_and_before_another() -> None:
    sums = {"seconds": 2, "bytes": 500, "bits_per_second": 2000.0, "packets": 5}
    run = iperf3_run(
        sum_sent=sums,
        sum_received={**sums, "lost_packets": 1, "jitter_ms": 0.5},
        cpu_utilization_percent={"host_total": 50.0, "remote_user": 2.5},
    )
    text = f"warning: {{odd}}\n{json.dumps(run, indent=1)}\niperf3: interrupt {{x}}\n"
    told = parse_iperf3(text)
    assert told[:5] == ("3.12", "UDP", False, False, None)
    received = told.totals.loc["received"]
    assert (received["bytes"], received["lost_packets"], received["jitter_ms"]) == (500, 1, 0.5)
    assert told.cpu == {"host_total_share": 0.5, "remote_user_share": 0.025}
    [interval] = told.intervals.to_dict("records")
    assert (interval["end_s"], interval["bits_per_s"], interval["is_omitted"]) == (1.5, 1600, True)


def test_iperf3_streams_events() -> None:
    run = iperf3_run(sum={"seconds": 1, "bytes": 9, "bits_per_second": 72})
    events = [
        {"event": "start", "data": run["start"]},
        *({"event": "interval", "data": one} for one in run["intervals"]),  # type: ignore[attr-defined]
        {"event": "end", "data": run["end"]},
    ]
    streamed = parse_iperf3("\n".join(map(json.dumps, events)))
    whole = parse_iperf3(json.dumps(run))
    pd.testing.assert_frame_equal(streamed.totals, whole.totals)
    pd.testing.assert_frame_equal(streamed.intervals, whole.intervals)
    assert streamed.totals.index.tolist() == ["sent"]
    failed = parse_iperf3(json.dumps({"event": "error", "data": "unable to connect"}))
    assert failed.error == "unable to connect"


def test_what_iperf3_sent_whatever_stands_beside_it() -> None:
    run = iperf3_run(error="interrupt - the client has terminated")
    sums = run["intervals"][0]["sum"]  # type: ignore[index]
    run["intervals"] = [{"sum": sums}, {"sum": sums | {"omitted": False, "packets": 4}}]
    events = [{"event": "start", "data": run["start"]}]
    events += [{"event": "interval", "data": one} for one in run["intervals"]]
    stream = "\n".join(map(json.dumps, [*events, {"event": "end", "data": {}}]))
    pretty = json.dumps(run, indent=1)
    for text in (
        json.dumps(run),
        f"iperf3: {{warning}} x\n{pretty}\niperf3: {{error}}",
        stream,
        f"{stream}\n{pretty}",
    ):
        assert iperf3_sent(text) == (600, 7)
    again = {"start": {"version": "iperf 3.13", "connecting_to": {}}}
    assert iperf3_sent(f"{pretty}\n{json.dumps(run | again)}\n{stream}") == (1800, 21)


def test_what_iperf3_sent_is_what_it_sent() -> None:
    # An old iperf3 does not say of a sum whose it is: a client sends unless asked to receive.
    ends = {"start": 0, "end": 1}
    for start, said, sent in (
        ({"connecting_to": {}}, {"sender": True}, 9),
        ({"connecting_to": {}}, {"sender": False}, None),
        ({"connecting_to": {}}, {}, 9),
        ({"connecting_to": {}, "test_start": {"reverse": 1}}, {}, None),
        ({"accepted_connection": {}}, {}, None),
        ({"accepted_connection": {}, "test_start": {"reverse": 1}}, {}, 9),
    ):
        run = {"start": start, "intervals": [{"sum": ends | {"bytes": 9} | said}]}
        assert iperf3_sent(json.dumps(run)) == (sent, None)
    run["intervals"] = [{"sum": ends | {"bytes": float("inf"), "sender": True}}]
    for other in ("", "sent 5 datagrams", "{", "[1]", '{"end": 3}', "{" * 100_000, json.dumps(run)):
        assert iperf3_sent(other) == (None, None)


def test_iperf3_after_broken_documents() -> None:
    # Each of them is read to its end, from each line: so deep that this takes long, none is read.
    run, opened = json.dumps(iperf3_run()), '{"a":[\n'
    assert iperf3_sent(f"{opened * 3}\n{run}") == (300, 3)
    assert iperf3_sent(f"{opened * 300}{'0,' * 10_000}\n{run}") == (None, None)


def test_iperf3_of_the_samples() -> None:
    files = sorted((ROOT / "sample-data" / "local-regression").glob("repeats/*/1/iperf3.json"))
    told = [parse_iperf3(file.read_text()) for file in files]
    assert {run.protocol for run in told} == {"TCP", "UDP"}
    for run in told:
        assert run.error is None
        sent = run.totals.loc["sent"]
        assert sent["bits_per_s"] == pytest.approx(8 * sent["bytes"] / sent["seconds"], rel=0.01)
        counted = run.intervals[~run.intervals["is_omitted"]]
        assert counted["bytes"].sum() == pytest.approx(sent["bytes"], rel=0.02)


def test_iperf3_both_ways_has_both() -> None:
    def sums(sent: int, received: int, name: str = "") -> dict[str, Any]:
        return {f"sum_sent{name}": {"bytes": sent}, f"sum_received{name}": {"bytes": received}}

    other = "_bidir_reverse"
    interval = {
        "sum": {"start": 0, "end": 1, "bytes": 100, "sender": True},
        f"sum{other}": {"start": 0, "end": 1, "bytes": 300, "sender": False},
    }
    end = sums(100, 90) | sums(300, 290, other)
    run = parse_iperf3(json.dumps({"start": {}, "intervals": [interval], "end": end}))
    assert run.intervals["bytes"].tolist() == [100, 300]
    assert run.intervals["is_sender"].tolist() == [True, False]
    assert run.totals["bytes"].to_dict() == {
        "sent": 100,
        "received": 90,
        "sent_reverse": 300,
        "received_reverse": 290,
    }


TCP_STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

131072  16384  16384    10.00      39940.36   25.01    25.02    0.205   0.206
"""
UDP_STREAM = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : interval
!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : 5.712%
!!!                       Local CPU util  : 2.300%
!!!                       Remote CPU util : 0.000%

Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   10.00      512345      0    26850.11
212992           10.00      510000           26727.20
"""
TCP_RR = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 to 127.0.0.1 () port 0 : demo
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00    52345.12
16384  131072
"""


def test_netperf_of_the_classic_tables() -> None:
    stream = parse_netperf(TCP_STREAM)
    assert stream[:4] == ("TCP_STREAM", 39940.36, "10^6bits/s", 10.0)
    assert stream.values["remote_demand"] == "0.206"
    assert stream.is_confident
    sent = parse_netperf(UDP_STREAM)
    assert (sent.test, sent.throughput, sent.received) == ("UDP_STREAM", 26850.11, 26727.20)
    assert not sent.is_confident
    assert sent.confidence == pytest.approx(
        {"throughput": 0.05712, "local cpu util": 0.023, "remote cpu util": 0.0}
    )
    asked = parse_netperf(TCP_RR)
    assert asked[:4] == ("TCP_RR", 52345.12, "transactions/s", 10.0)


def test_netperf_of_named_values() -> None:
    pairs = {"THROUGHPUT": "941.20", "THROUGHPUT_UNITS": "10^6bits/s", "ELAPSED_TIME": "10.01"}
    listed = "OMNI Send|Recv TEST from 0.0.0.0 to host\n" + "".join(
        f"{key}={value}\n" for key, value in pairs.items()
    )
    for text in (listed, "some banner\n" + json.dumps(pairs)):
        told = parse_netperf(text)
        assert told[:4] == ("omni", 941.2, "10^6bits/s", 10.01)


@pytest.mark.parametrize("text", ["", "nonsense", "16:42 CPU\n16:42 0", "\0\n:\n", "Average:\n"])
def test_of_nothing_the_tables_are_empty(text: str) -> None:
    assert len(parse_mpstat(text)) == 0
    pidstat = parse_pidstat(f"# Time UID PID %usr Command\n16:42:45 x y z w\n{text}")
    assert (len(pidstat), list(pidstat)) == (0, ["when", "pid", "tid", "uid", "cpu", "comm"])


HUGE = f"1{'0' * 400}"
LOAD_JSON = '{"sysstat": {"hosts": [{"statistics": [{"cpu-load": [{"cpu": "0", "usr": 1}]}]}]}}'
NO_MPSTAT = ("{", '{"sysstat": 1}', '{"sysstat": {"hosts": [{}]}}', LOAD_JSON.replace("1", HUGE))
REFUSED: list[tuple[Callable[[str], Any], str, list[str]]] = [
    *((parse_mpstat, text, ["not complete JSON"]) for text in (*NO_MPSTAT, "{" * 9999)),
    *(
        (parse_iperf3, text, ["iperf3"])
        for text in ("", "{}", "iperf3: error", "[1]", '{"end": [1]}', '{"end": {"sum": 3}}')
    ),
    (parse_iperf3, '{"event": ["start"], "data": {}}', ["no run"]),
    (parse_iperf3, f'{{"end": {{"sum": {{"bytes": {HUGE}}}}}}}', ["iperf3"]),
    (parse_iperf3, '{"end": {"sum": {"bytes": Infinity}}}', ["no run", "no number"]),
    # iperf3 3.0 writes what no reader of JSON takes; why is said by its line.
    (parse_iperf3, 'iperf3: x\n{\n "start": {},\n "end": {"ms": -nan}\n}\n', ["line 4", "-nan"]),
    (parse_iperf3, '{"intervals": [{"bytes": 5.9e 06}]}', ["line 1", "5.9e 06"]),
    (parse_iperf3, "- - - - -\n[ ID] Interval\n", ["--json"]),
    *((parse_netperf, text, ["no result"]) for text in ("", "are you sure?", "1 2")),
    # Without its banner nobody knows whether it is UDP_STREAM's or TCP_RR's.
    (parse_netperf, "16384  131072 1  1   10.00    25000.00\n16384  131072\n", ["no result"]),
]


@pytest.mark.parametrize(
    ("parse", "text", "words"), REFUSED, ids=[parse.__name__ for parse, *_ in REFUSED]
)
def test_what_is_none_is_one_line(parse: Callable[[str], Any], text: str, words: list[str]) -> None:
    with pytest.raises(CaptureError) as refused:
        parse(text)
    assert [word for word in words if word not in str(refused.value)] == []
    assert "\n" not in str(refused.value)


@given(st.text(max_size=200))
def test_any_text_gets_tables_or_a_capture_error(text: str) -> None:
    parse_pidstat(text)
    for parse in (parse_mpstat, parse_iperf3, parse_netperf, parse_schedstat, parse_task_stat):
        with suppress(CaptureError):
            parse(text)
