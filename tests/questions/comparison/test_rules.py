# Rules of comparability on described recordings: each fires on what it is about, and no other one
# does beside it.

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import compare, open_capture
from netcost_analysis.comparison.run_set import RunSet
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.features import Header
from support.run_sets import compared, measured, only, plain, polling, recorded, severities
from support.told import NET_RX

STREAM = """MIGRATED TCP STREAM TEST from 0.0.0.0 port 0 AF_INET to 198.18.0.2 () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00    9411.22
"""
MISSED = f"""!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : 12.345%
!!!                       Local CPU util  : 3.000%
!!!                       Remote CPU util : 0.000%

{STREAM}"""
LOAD, NEIGHBOUR = h.Task(600, "udp-load"), h.Task(700, "sha256sum")
TWICE = (polling(work=8),)
BUSY = {"per": "second", "primary": "busy_ns_per_second"}


# What iperf3 says of a second of datagrams.
def iperf3(packets: int, bits: float = 11.2e6) -> dict[str, str]:
    counted = {"start": 0, "end": 1, "seconds": 1, "bytes": bits / 8, "bits_per_second": bits}
    sent = {**counted, "packets": packets, "sender": True}
    test = {"test_start": {"protocol": "UDP"}, "connecting_to": {"host": "198.18.0.2"}}
    ends = {"sum": sent, "sum_sent": sent, "sum_received": {**sent, "sender": False}}
    return {"output": json.dumps({"start": test, "intervals": [{"sum": sent}], "end": ends})}


def sysctls(**values: int) -> dict[str, Any]:
    return {"host": {"sysctls": {f"net.core.{name}": value for name, value in values.items()}}}


# A clock that the kernel scales: its limit in kHz, and what it was at one moment.
def scaled(limit: int | None, mhz: float, governor: str = "performance") -> dict[str, Any]:
    facts = {"driver": "acpi", "governor": governor, "max_freq": limit}
    lines = [f"{name} {fact}\n" for name, fact in facts.items() if fact is not None]
    folder = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_"
    return {"cpufreq": "".join(folder + line for line in lines), "mhz": mhz}


# A bundle that counts the ticks of two CPUs, and a softirq on the second.
def two_cpus() -> dict[str, Any]:
    ticks = "cpu{} 100 0 0 {} 0 0 0 100 0 0\n"
    stat = {
        f"{side}/stat": "".join(ticks.format(number, idle) for number in (0, 1))
        for side, idle in (("before", 100), ("after", 200))
    }
    second = cpu(1, h.SoftirqEntry(20_000, 1), h.SoftirqExit(30_000, 1))
    return {"cpus": (polling(), second), "files": stat}


# The load has the CPU, and from a moment on a neighbour.
def robbed_from(at_ns: int) -> dict[str, Any]:
    turns = ((10_000, LOAD), (at_ns, NEIGHBOUR), (1_000_000, LOAD))
    return {"cpus": (cpu(0, *(h.Switch(at, task) for at, task in turns), task=LOAD),)}


# As many polls, with six more events beside each.
def noisy() -> Cpu:
    more = [
        h.Waking(at + step, LOAD)
        for at in range(10_000, 1_010_000, 10_000)
        for step in range(3_000, 9_000, 1_000)
    ]
    return cpu(0, *sorted([*polling().happenings, *more], key=lambda one: one.at))


def lossy() -> Cpu:
    told = polling().happenings
    return cpu(0, *told[:200], h.Lost(told[200].at, 7), *told[204:])


# A softirq's exit without its entry: what was before it is in doubt.
def doubtful() -> Cpu:
    return cpu(0, *polling().happenings, h.spurious(h.SoftirqExit(1_100_000, NET_RX)))


# What is found, by its code the severity; the two sides; figures of the first that is found.
def case(
    new: dict[str, Any],
    base: dict[str, Any] | None = None,
    options: dict[str, str] | None = None,
    /,
    found: dict[str, str] | None = None,
    **figures: Any,
) -> tuple[dict[str, Any], ...]:
    return found or {}, base or {}, new, options or {}, figures


FAST = scaled(3_000_000, 3_000)
RATE = "udp-load send 198.18.0.2 9000 {}"
CASES = {
    "alike": case({}),
    "processor": case(
        {"host": {"cpu_model": "Xeon"}},
        found={"processor": "refused"},
        values={"base": ["EPYC"], "new": ["Xeon"]},
    ),
    "clock far": case(
        {"mhz": 2_860}, found={"clock_speed": "refused"}, limit=0.05, least=2_600, most=2_860
    ),
    "clock": case({"mhz": 2_650}, found={"clock_speed": "warning"}, limit=0.01),
    "clock near": case({"mhz": 2_620}),
    "clocksource": case(
        {"host": {"clocksource": "hpet"}}, found={"settings": "warning"}, values=["hpet", "tsc"]
    ),
    "sysctl": case(
        *(sysctls(netdev_budget=64), sysctls(netdev_budget=300)),
        found={"settings": "warning"},
        name="net.core.netdev_budget",
        values=["300", "64"],
    ),
    "sysctl of a label": case(
        {**sysctls(skb_defer_max=64), "labels": {"skb_defer_max": "64"}},
        {**sysctls(skb_defer_max=0), "labels": {"skb_defer_max": "0"}},
    ),
    "hypervisor": case(
        {"ticks": (100, 96, 4)}, found={"hypervisor": "warning"}, found_share=0.02, of_run="b"
    ),
    "hypervisor little": case({"ticks": (100, 99, 1)}),
    "CPUs": case(two_cpus(), found={"cpu_number": "refused"}, values={"base": [1], "new": [2]}),
    # As fast as it was at a moment, before it had work.
    "clock of one limit": case(FAST, scaled(3_000_000, 800)),
    "clock of two limits": case(
        FAST, scaled(2_000_000, 3_000), found={"clock_speed": "refused"}, is_moment=False
    ),
    "clock without a limit": case(
        *(scaled(None, 800), scaled(None, 3_000)), found={"clock_speed": "warning"}, is_moment=True
    ),
    "governor": case(FAST, scaled(3_000_000, 3_000, "powersave"), found={"governor": "warning"}),
    "neighbour": case(
        *(robbed_from(910_000), robbed_from(990_000), BUSY),
        found={"neighbour": "warning"},
        tasks=[("sha256sum", pytest.approx(0.0909, abs=1e-3))],
    ),
    # Nobody knows whose work it is where nobody recorded what the load was.
    "neighbour or load": case(
        *({**robbed_from(910_000), "command": None}, robbed_from(990_000), BUSY),
        found={"neighbour": "note", "unknown": "note"},
        is_load_known=False,
    ),
    "packets of the load": case(
        *(iperf3(900), iperf3(1_000)),
        found={"packet_size": "refused"},
        bytes={"base": 1_400, "new": pytest.approx(1_555.6, abs=0.1)},
    ),
    "packets of a label": case(
        {**iperf3(900), "labels": {"io_bytes": "2"}},
        {**iperf3(1_000), "labels": {"io_bytes": "1"}},
        found={"packet_size": "warning"},
    ),
    # Which side's are larger is said of either.
    "smaller packets": case(
        *(iperf3(1_000), iperf3(900)),
        found={"packet_size": "refused"},
        bytes={"base": pytest.approx(1_555.6, abs=0.1), "new": 1_400},
        change=pytest.approx(-0.1),
    ),
    "packets by counters": case(
        {"octets": 110_000}, found={"packet_size": "warning"}, source="counters", devices=["eth0"]
    ),
    "packets by counters near": case({"octets": 104_000}),
    # Counters are not compared with what a load says.
    "packets counted twice": case({"octets": 110_000}, iperf3(1_000)),
    "command": case(
        {"command": RATE.format(40_000)},
        found={"load_command": "warning"},
        commands=[RATE.format(80_000), RATE.format(40_000)],
    ),
    "command of a label": case(
        {"labels": {"offered_pps": "40000"}, "command": RATE.format(40_000)},
        {"labels": {"offered_pps": "80000"}},
    ),
    "command with a number": case(
        *({"command": f"nsenter --net=/run/netns/netcost-lab-{at}-rx cat"} for at in (11, 12))
    ),
    "devices": case(
        {"cpus": (polling(device="veth1"),)},
        found={"packets_counted": "warning"},
        names={"base": ["eth0"], "new": ["veth1"]},
    ),
    "throughput": case(
        {"cpus": TWICE},
        found={"throughput": "note", "tracing": "warning"},
        per="packet",
        counted_by="packets a second by polls while recorded",
    ),
    # Per second who does more takes more, and that is no verdict.
    "throughput by time": case(
        {"cpus": TWICE}, {}, {"per": "second"}, found={"throughput": "refused"}
    ),
    "confidence": case(
        {"output": MISSED}, found={"confidence": "warning"}, found_share=0.12345, test="TCP_STREAM"
    ),
    "confident": case({"output": STREAM}, {"output": STREAM}),
    "recorders": case(
        {"header": Header(tool_version="6.9.1")},
        found={"recorders": "warning"},
        names={"base": ["perf 6.1.187"], "new": ["perf 6.9.1"]},
    ),
    "tracing": case(
        {"cpus": (noisy(),)}, found={"tracing": "warning"}, unit="packet", base=300, new=750
    ),
    # Tracing is nothing beside a difference that is ten times as large.
    "much more than tracing": case({"cpus": (polling(8_000),)}, {"cpus": (polling(500),)}),
    "losses": case({"cpus": (lossy(),)}, found={"coverage": "warning"}, of_run="b", lost=7),
    "owners": case(
        {"cpus": (doubtful(),)},
        found={"coverage": "warning", "uneven": "refused", "throughput": "note"},
        lost=0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_finds_what_it_is_about(tmp_path: Path, name: str) -> None:
    expected, *sides, options, figures = CASES[name]
    runs = [
        recorded(tmp_path / folder, *given.pop("cpus", ()), **given) if given else plain(folder)
        for folder, given in zip("ab", map(dict, sides), strict=True)
    ]
    comparison = compared(*runs, **options)
    # One run a side says nothing of others, whatever they are of.
    assert severities(comparison) == {**expected, "repeats": "note"}
    for code in list(expected)[:1]:
        found = only(comparison, code)
        known = {**found._asdict(), "found_share": pytest.approx(found.found), **found.figures}
        assert {name: known[name] for name in figures} == figures
        assert found.side in ("", "new")
        assert found.why


def test_other_events_are_warned_of(tmp_path: Path) -> None:
    fewer = tuple(one for one in t.FORMATS if not one.event.startswith("irq_vectors:"))
    comparison = compared(plain(), recorded(tmp_path / "b", formats=fewer))
    assert severities(comparison) == {"events": "warning", "repeats": "note"}
    unlike = only(comparison, "events").figures["unlike"]
    assert {one.partition(":")[0] for one in unlike["base"]} == {"irq_vectors"}
    assert not unlike["new"]


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    files = {"before/settings/cpuinfo": "", "after/stat": ""}
    bare = recorded(tmp_path / "b", command=None, host={"cpu_model": None}, files=files)
    found = only(compared(plain(), bare), "unknown")
    assert (found.severity, found.side, len(found.figures["names"])) == ("note", "new", 4)
    paths = [recording(polling(cost)).write(tmp_path / f"{cost}.data") for cost in (2_000, 3_000)]
    for given in (paths, map(open_capture, paths)):
        assert severities(compare(*given)) == {"unknown": "note", "repeats": "note"}


def test_a_missed_confidence_of_a_step_is_reported() -> None:
    def reading(text: str) -> Any:
        return lambda name: text if name == "netperf.txt" else None

    base, new = (measured(name, range(100, 106)) for name in ("base", "new"))
    texts = [MISSED if at == 3 else STREAM for at in range(6)]
    runs = [replace(run, reader=reading(text)) for run, text in zip(new, texts, strict=True)]
    assert only(compared(base, RunSet(runs)), "confidence").of_run == "new/3"


@pytest.mark.parametrize("side", ["base", "new"])
def test_what_cannot_be_read_is_refused_and_crashes_nothing(tmp_path: Path, side: str) -> None:
    silent = cpu(0, task=LOAD) if side == "base" else cpu(0, h.SoftirqEntry(1_000, NET_RX))
    paths = [
        recording(silent if name == side else polling()).write(tmp_path / f"{name}.data")
        for name in ("base", "new")
    ]
    comparison = compare(*paths)
    found = only(comparison, "unreadable")
    assert (found.severity, found.side) == ("refused", side)
    assert len(comparison.ask.comparison.comparability().parts["refusals"]) == 1


# Time that one side sees as interrupts is its tasks' own on the other.
def test_interrupts_of_one_side_alone_are_refused(tmp_path: Path) -> None:
    def busy(number: int) -> Cpu:
        told = (
            happening
            for at in range(10_000, 10_000 * (number + 1), 10_000)
            for happening in (h.VectorEntry(at), h.VectorExit(at + 900))
        )
        return cpu(0, *told, *polling().happenings[-4:], task=LOAD)

    fewer = tuple(one for one in t.FORMATS if not one.event.startswith("irq_vectors:"))
    for number, severity in ((1, "warning"), (90, "refused")):
        base = recorded(tmp_path / f"a{number}", busy(number))
        new = recorded(tmp_path / f"b{number}", polling(task=LOAD), formats=fewer)
        assert severities(compared(base, new))["events"] == severity
