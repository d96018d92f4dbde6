# Loads that are not alike, or not what was asked for: each rule fires on what it is about, and not
# on what a label says.

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Run
from netcost_analysis.comparison.comparison import Comparison
from support.run_sets import codes, compared, measured, only, plain, polling, recorded

ALWAYS = {"repeats"}
STREAM = """MIGRATED TCP STREAM TEST from 0.0.0.0 port 0 AF_INET to 198.18.0.2 () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00    9411.22
"""
MISSED = """!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : 12.345%
!!!                       Local CPU util  : 3.000%
!!!                       Remote CPU util : 0.000%

"""


# What iperf3 says of a second of datagrams.
def iperf3(bits: float, packets: int) -> str:
    counted = {"start": 0, "end": 1, "seconds": 1, "bytes": bits / 8, "bits_per_second": bits}
    sent = {**counted, "packets": packets, "sender": True}
    test = {"test_start": {"protocol": "UDP"}, "connecting_to": {"host": "198.18.0.2"}}
    ends = {"sum": sent, "sum_sent": sent, "sum_received": {**sent, "sender": False}}
    return json.dumps({"start": test, "intervals": [{"sum": sent}], "end": ends})


def sides(tmp_path: Path, base: dict[str, Any], new: dict[str, Any]) -> Comparison:
    first = recorded(tmp_path / "a", **base) if base else plain()
    return compared(first, recorded(tmp_path / "b", **new))


def test_other_packets_by_the_loads_own_count_are_refused(tmp_path: Path) -> None:
    base, new = {"output": iperf3(11.2e6, 1_000)}, {"output": iperf3(11.2e6, 900)}
    found = only(sides(tmp_path, base, new), "packet_size")
    assert (found.severity, round(found.found, 3)) == ("refused", 0.111)
    assert found.figures["bytes"] == pytest.approx({"base": 1_400, "new": 1_555.6}, abs=0.1)
    # What a label says is what is compared.
    named = [{**one, "labels": {"io_bytes": str(at)}} for at, one in enumerate((base, new))]
    assert only(sides(tmp_path / "l", *named), "packet_size").severity == "warning"


def test_other_packets_by_counters_are_warned_of(tmp_path: Path) -> None:
    found = only(sides(tmp_path, {}, {"octets": 110_000}), "packet_size")
    assert (found.severity, "counters of eth0" in found.why) == ("warning", True)
    assert codes(sides(tmp_path / "n", {}, {"octets": 104_000})) == ALWAYS


def test_counters_are_not_compared_with_what_a_load_says(tmp_path: Path) -> None:
    said = sides(tmp_path, {"output": iperf3(11.2e6, 1_000)}, {"octets": 110_000})
    assert "packet_size" not in codes(said)


def test_other_commands_are_warned_of_unless_a_label_says_so(tmp_path: Path) -> None:
    other = {"command": "udp-load send 198.18.0.2 9000 40000"}
    found = only(sides(tmp_path, {}, other), "load_command")
    assert found.severity == "warning"
    assert "80000" in found.why
    assert "40000" in found.why
    labelled = {"labels": {"offered_pps": "40000"}}, {"labels": {"offered_pps": "80000"}}
    assert codes(sides(tmp_path / "l", labelled[0], {**other, **labelled[1]})) == ALWAYS
    numbered = [{"command": f"nsenter --net=/run/netns/netcost-lab-{at}-rx cat"} for at in (11, 12)]
    assert codes(sides(tmp_path / "n", *numbered)) == ALWAYS


def test_packets_of_other_devices_are_warned_of(tmp_path: Path) -> None:
    base = recorded(tmp_path / "a", polling(device="eth0"))
    comparison = compared(base, recorded(tmp_path / "b", polling(device="veth1")))
    assert codes(comparison) == {"packets_counted"} | ALWAYS
    names = only(comparison, "packets_counted").figures["names"]
    assert names == {"base": ["eth0"], "new": ["veth1"]}


def test_another_throughput_is_noted(tmp_path: Path) -> None:
    base = plain()
    found = only(compared(base, recorded(tmp_path / "b", polling(work=8))), "throughput")
    assert (found.severity, round(found.found, 3)) == ("note", 1.0)
    assert found.figures["per"] == "packet"
    # Per second who does more takes more, and that is no verdict.
    by_time = compared(base, recorded(tmp_path / "c", polling(work=8)), per="second")
    assert only(by_time, "throughput").severity == "refused"


def test_a_missed_confidence_is_reported_with_its_width(tmp_path: Path) -> None:
    found = only(sides(tmp_path, {}, {"output": MISSED + STREAM}), "confidence")
    place = found.severity, found.side, found.of_run
    assert (*place, found.found) == ("warning", "new", "b", 0.12345)
    assert "TCP_STREAM" in found.why
    assert found.figures["width"]["throughput"] == 0.12345
    assert codes(sides(tmp_path / "n", {"output": STREAM}, {"output": STREAM})) == ALWAYS


def test_a_missed_confidence_of_a_step_is_reported() -> None:
    def told(run: Run, text: str) -> Run:
        return replace(run, reader=lambda name: text if name == "netperf.txt" else None)

    base, new = (
        measured("base", range(100, 106), range(0, 12, 2)),
        measured("new", range(100, 106), range(1, 13, 2)),
    )
    runs = [told(run, MISSED + STREAM if at == 3 else STREAM) for at, run in enumerate(new)]
    comparison = compared(base, type(new)(runs))
    assert only(comparison, "confidence").of_run == "new/3"


def test_other_outputs_are_no_netperf(tmp_path: Path) -> None:
    texts = ("{", "!!! Desired confidence was not achieved", "\x00\x1b[31m", "1 2 3")
    for at, text in enumerate(texts):
        assert "confidence" not in codes(sides(tmp_path / str(at), {}, {"output": text}))
