# What iperf3 and netperf print, in several versions: tables from it. One line for what no parser
# of a program's output can read.

import json
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
from support.host import ROOT


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
    (parse_iperf3, '{"end": {"sum": {"bytes": Infinity}}}', ["not a run", "not a number"]),
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
