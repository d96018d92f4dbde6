"""The results of sockperf, netperf, iperf3, wrk, redis-benchmark and fio."""

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .._native import CaptureError
from .fio import fio_figures
from .redis_benchmark import redis_figures
from .sockperf import sockperf_figures
from .wrk import wrk_figures

# Requests, transactions, messages and I/Os: each is one answer that a client waited for.
TRANSACTIONS = ("requests_per_s", "transactions_per_s", "messages_per_s", "ios_per_s")
# netperf's units: 10^6bits/s is decimal, MBytes/s is binary.
_DECIMAL, _BINARY = re.compile(r"10\^([0-9])bits/s"), re.compile(r"([KMG]?)Bytes/s")
_POWER = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LATENCIES = re.compile(r"(MIN|MAX|MEAN|P[0-9]{1,2})_LATENCY")


class ProgramWork(NamedTuple):
    """The result of one test of a program.

    Attributes
    ----------
    program : str
        sockperf, netperf, iperf3, wrk, redis-benchmark or fio.
    test : str
        The test's name if the program runs several, like ``get`` or ``write``; else empty.
    figures : dict of str to float
        By name. ``_per_s``: a rate, more is better. ``_ns``: a time, less is better;
        latency_p99_9_ns is the 99.9th percentile, round_trip_ covers both ways. ``_share``: the
        part that was lost or failed. retransmits: a count.
    """

    program: str
    test: str
    figures: dict[str, float]


def parse_work(text: str, command: str = "") -> list[ProgramWork]:
    """The results in the output of a known program.

    Parameters
    ----------
    text : str
        The output; JSON for iperf3 and fio.
    command : str, optional
        The command that was run. It identifies the program if the output has no result.

    Returns
    -------
    list of ProgramWork
        One per test. Empty if neither the text nor the command is of a known program.

    Raises
    ------
    CaptureError
        If the program is known, but the text has no result or is cut off.
    """
    program = _program_of(text, command)
    if program is None:
        return []
    try:
        tests = list(_PROGRAMS[program].figures(text))
    except CaptureError as error:
        reason = str(error)
        raise CaptureError(
            reason if program in reason else f"{program} wrote no result: {reason}"
        ) from None
    except (ValueError, OverflowError, ZeroDivisionError):
        tests = []
    done = [ProgramWork(program, test, figures) for test, figures in tests if figures]
    if not done or not all(math.isfinite(x) for work in done for x in work.figures.values()):
        raise CaptureError(f"{program} wrote no result: a number is missing")
    return done


def rates_of_work(done: list[ProgramWork]) -> dict[str, float]:
    """Bytes and transactions per second over all tests, by unit, without zeros.

    Empty for several tests of redis-benchmark, which run one after the other.
    """
    rates = {"byte": 0.0, "transaction": 0.0}
    if len(done) > 1 and done[0].program == "redis-benchmark":
        return {}
    for work in done:
        rates["byte"] += work.figures.get("bytes_per_s", 0)
        rates["transaction"] += sum(work.figures.get(name, 0) for name in TRANSACTIONS)
    return {unit: rate for unit, rate in rates.items() if rate > 0}


def _iperf3_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    from .iperf3 import parse_iperf3

    run = parse_iperf3(text)
    if run.error is not None:
        raise CaptureError(run.error)
    totals = run.totals.to_dict("index")
    for test, names in (
        ("", ("sent", "received")),
        ("reverse", ("sent_reverse", "received_reverse")),
    ):
        sent, received = (totals.get(name, {}) for name in names)
        # Prefer the receiver's rate; old versions of iperf3 have only the sender's.
        rate = received.get("bits_per_s", sent.get("bits_per_s"))
        if rate is None or rate != rate:
            continue
        figures = {"bytes_per_s": float(rate) / 8}
        counted = {**sent, **{name: value for name, value in received.items() if value == value}}
        # By bytes, since iperf3 counts reordered packets as lost.
        if sent.get("packets", 0) > 0 and sent.get("bytes", 0) > 0 and "bytes" in received:
            figures["lost_share"] = max(1 - received["bytes"] / sent["bytes"], 0.0)
        if "jitter_ms" in counted:
            figures["jitter_ns"] = counted["jitter_ms"] * 1e6
        if sent.get("retransmits") == sent.get("retransmits", math.nan):
            figures["retransmits"] = float(sent["retransmits"])
        yield test, {name: value for name, value in figures.items() if value == value}


def _netperf_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    from .netperf import parse_netperf

    if not text.rstrip(" ").endswith(("\n", "}")):
        raise CaptureError("its output is cut off within a line")
    result = parse_netperf(text)
    if "THROUGHPUT" in result.values and "THROUGHPUT_UNITS" not in result.values:
        raise CaptureError("its THROUGHPUT has no THROUGHPUT_UNITS")
    if (
        result.test == "UDP_STREAM"
        and "THROUGHPUT" not in result.values
        and result.received is None
    ):
        raise CaptureError("its output is cut off before what was received")
    rate = result.throughput if result.received is None else result.received
    if unit := _DECIMAL.match(result.units):
        figures = {"bytes_per_s": rate * 10 ** int(unit[1]) / 8}
    elif unit := _BINARY.match(result.units):
        figures = {"bytes_per_s": rate * _POWER[unit[1]]}
    else:
        figures = {"transactions_per_s": rate}
    for name, value in result.values.items():
        if latency := _LATENCIES.fullmatch(name):
            figures[f"latency_{latency[1].lower()}_ns"] = float(value) * 1e3
    yield "", figures


class _Program(NamedTuple):
    # mark: matches only this program's output. named: matches it in a command.
    mark: re.Pattern[str]
    named: re.Pattern[str]
    figures: Callable[[str], Iterator[tuple[str, dict[str, float]]]]


def _program(
    mark: str, named: str, figures: Callable[[str], Iterator[tuple[str, dict[str, float]]]]
) -> _Program:
    return _Program(
        re.compile(mark, re.M), re.compile(rf"(?<![\w.-])(?:{named})(?![\w./-])"), figures
    )


# In the order in which they are tried.
_PROGRAMS = {
    "sockperf": _program(r"^sockperf: ", "sockperf", sockperf_figures),
    "redis-benchmark": _program(
        r'^====== .* ======|^"test","rps"|: [0-9.]+ requests per second|: rps=[0-9.]+ \(overall',
        *("redis-benchmark|valkey-benchmark", redis_figures),
    ),
    "wrk": _program(r"^Running [0-9.]+[smh] test @ ", "wrk2?", wrk_figures),
    "fio": _program(r'^\s*"fio version"\s*:', "fio", fio_figures),
    "netperf": _program(
        r"^(?:MIGRATED |OMNI ).* TEST (?:from|to) |^THROUGHPUT=|^netperf: |^\s*\"THROUGHPUT\"",
        *("netperf", _netperf_figures),
    ),
    "iperf3": _program(
        r'"bits_per_second"\s*:|"version"\s*:\s*"iperf 3|"event"\s*:\s*"error"|^iperf3: ',
        *("iperf3", _iperf3_figures),
    ),
}


def _program_of(text: str, command: str) -> str | None:
    by_text = (name for name, program in _PROGRAMS.items() if program.mark.search(text))
    by_command = (name for name, program in _PROGRAMS.items() if program.named.search(command))
    return next(by_text, None) or next(by_command, None)
