# What a run got done: units of work, which costs are divided by, per block; and metrics of what its
# steps, load and victim printed.

import re
from contextlib import suppress
from typing import NamedTuple

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, ArgumentError, no_such
from ...parsers.iperf3 import iperf3_sent
from ...parsers.program_work import TRANSACTIONS, ProgramWork, parse_work, rates_of_work
from ...stats.resampling import Floats
from ...timeline.reading import once
from .run_blocks import busiest, packets_by_device, polled_by, run_blocks

# In order of preference.
UNITS = ("packet", "byte", "transaction", "block", "work", "second")
# A device with less than this share of the packets of the busiest device does not carry the load.
_CARRIES = 0.5


class Unit(NamedTuple):
    # name: one of UNITS. source: who counted it ("polls", "step", "load", "victim", "clock").
    # device: where polls counted packets.
    name: str
    source: str
    device: str = ""

    def __str__(self) -> str:
        return self.name


@once
def units_of(run: Run) -> dict[Unit, Floats]:
    # How many of each unit a recorded run did, per block. Polls are counted in the same time as the
    # costs; the rate of a step or a load is for its whole run, and assumed constant.
    recording = run_blocks(run)
    # A packet may pass several devices.
    packets = packets_by_device(recording)
    units = {
        Unit("packet", "polls", str(device)): polled_by(recording, device)[0]
        for device in packets.index[packets >= _CARRIES * packets.max()]
    }
    for name, (rate, source) in _rates(run).items():
        units[Unit(name, source)] = rate * recording.seconds
    return units | {Unit("second", "clock"): recording.seconds}


@once
def throughput_of(run: Run) -> dict[str, tuple[float, str]]:
    # Units per second of any run, and who counted them. What was measured outside the recording is
    # preferred.
    rates = _rates(run)
    if run.is_recorded and "packet" not in rates:
        polled = busiest(run_blocks(run))
        if polled is not None:
            rates["packet"] = float(polled[0].sum() / run_blocks(run).seconds.sum()), "polls"
    return rates


def _rates(run: Run) -> dict[str, tuple[float, str]]:
    figures = run.figures
    rates: dict[str, tuple[float, str]] = {}
    sent, received = figures.get("sent"), figures.get("received")
    if sent and received is not None and "sent_pps" in figures:
        rates["packet"] = figures["sent_pps"] * received / sent, "step"
    if figures.get("seconds"):
        for unit, name in (("packet", "received_packets"), ("byte", "received_bytes")):
            if name in figures:
                rates[unit] = figures[name] / figures["seconds"], "step"
    if "received_bits_per_second" in figures:
        rates["byte"] = figures["received_bits_per_second"] / 8, "step"
    bundle = run.bundle
    if bundle is None or len(run.captures) > 1:
        return rates
    for unit, rate in _of_load(bundle.load_output or "").items():
        rates.setdefault(unit, (rate, "load"))
    if len(bundle.work_rates) == 1:
        [((what, _), rate)] = bundle.work_rates.items()
        rates["work" if what == "work" else "block"] = rate, "victim"
    with suppress(CaptureError):
        for unit, rate in rates_of_work(bundle.program_work).items():
            rates.setdefault(unit, (rate, "victim"))
    return rates


def _of_load(text: str) -> dict[str, float]:
    # Per second, by what the load printed.
    try:
        done = parse_work(text)
    except CaptureError:
        return {}
    rates = rates_of_work(done)
    if done and done[0].program == "iperf3" and "byte" in rates:
        sent_bytes, sent_packets = iperf3_sent(text)
        if sent_bytes and sent_packets:
            rates["packet"] = rates["byte"] * sent_packets / sent_bytes
    return rates


def require_recorded(comparison: Comparison, unknown: str) -> None:
    # Raises CaptureError where a side has no recording. unknown: what nobody knows then.
    lacking = [side for side, runs in comparison.sides.items() if not runs.recorded]
    if lacking:
        of_side = f" of {lacking[0]}" if len(lacking) == 1 else ""
        raise CaptureError(f"no run{of_side} was recorded, so nobody knows {unknown}")


def unit_of(comparison: Comparison) -> Unit:
    # The unit that costs are divided by: the one asked for, else the first of UNITS that all
    # recorded runs have from the same source.
    if comparison.per is not None and comparison.per not in UNITS:
        raise ArgumentError(no_such("unit of work", comparison.per, UNITS))
    known = common_units(comparison)
    wanted = comparison.per or next(iter(known))
    if wanted not in known:
        raise AbsentError(
            f"not every run says how much it did in units of {wanted}: choose {', '.join(known)}"
            f"{counted_by(wanted)}"
        )
    return known[wanted]


# What a recording needs so that a unit is counted.
_COUNTS = {
    "packet": "a recording with napi:napi_poll",
    "byte": "a load or a victim that prints it, as iperf3",
    "transaction": "a load or a victim that prints it, as netperf or wrk",
    "block": "the victim openssl speed",
    "work": "netcost-record --work CMD, of both sides",
}


def counted_by(unit: str) -> str:
    # What counts a unit, at the end of a line about one that is missing.
    return f"; it takes {_COUNTS[unit]}" if unit in _COUNTS else ""


def common_units(comparison: Comparison) -> dict[str, Unit]:
    # By name, in the order of UNITS: the units that all recorded runs have from the same source. Of
    # several devices the one with most packets.
    runs = [units_of(run) for run in comparison.recorded]
    alike = [unit for unit in (runs[0] if runs else ()) if all(unit in one for one in runs)]
    units: dict[str, Unit] = {}
    for name in UNITS:
        of_name = [unit for unit in alike if unit.name == name]
        polled = [unit for unit in of_name if unit.source == "polls"]
        if of_name:
            units[name] = max(
                polled or of_name[:1], key=lambda unit: sum(one[unit].sum() for one in runs)
            )
    return units or {"second": Unit("second", "clock")}


# Of the figures of a step: what the machine spent or lost on the way, not what was done.
_NOT_DONE = re.compile(r"_cpu_percent$|^dropped_|^unaccounted$")
# A program's or a test's name may stand before it.
_PRINTED = re.compile(
    r"(?:^|_)(?:(?:bytes|packets|transactions|requests|messages|ios|blocks|work)(?:_\d+)?_per_s"
    r"|(?:latency|round_trip)_\w+_ns|jitter_ns|lost_share|failed_share|retransmits)$"
)
# Of the network: what a victim gets done says nothing of the traffic.
_TRAFFIC = re.compile(
    r"_bits_per_second$|_pps$|(?:bytes|packets|transactions|requests|messages)_per_s$"
)
_RATES = ("received_bits_per_second", "sent_bits_per_second", "sent_pps")
# Units of these, of figures whose name says it.
_UNITS = (("_bits_per_second", "bit/s"), ("_pps", "packets/s"), ("_ns", "ns"), ("_share", "share"))
# Of a program's percentiles these: a comparison of all would find many times the same. A verdict
# begins with the first ones; mean and maximum are often of one outlier.
_PERCENTILES = ("p99", "p50", "p99_9", "p90", "mean", "max")
_COMPARED = re.compile(
    rf"{'|'.join(TRANSACTIONS)}|bytes_per_s|\w+_share|jitter_ns|retransmits"
    rf"|(?:latency|round_trip)_({'|'.join(_PERCENTILES)})_ns"
)
_FILES = ("iperf3.json", "netperf.txt", "load.txt")


def is_work(name: str, unit: str) -> bool:
    # Whether a metric of `changes` says what was done, rather than what it cost.
    return not _NOT_DONE.search(name) if unit == "" else bool(_PRINTED.search(name))


def is_traffic(name: str) -> bool:
    # Whether a metric is a rate of what went over the network.
    return bool(_TRAFFIC.search(name))


def unit_of_work(name: str) -> str:
    # "bytes/s" of bytes_per_s; "" where the name does not say.
    rate = re.fullmatch(r"([a-z]+)(_\d+)?_per_s", name)
    return f"{rate[1]}/s" if rate else next((of for end, of in _UNITS if name.endswith(end)), "")


@once
def printed(run: Run) -> dict[str, float]:
    # What its load and its victim printed, by name: _per_s is a rate, _ns a time, _share of what
    # was lost or failed; retransmits are a count. Of several tests their names come first.
    found: dict[str, float] = {}
    for done in _done(run):
        start = f"{done.test}_" if done.test else ""
        known = {name: of[1] for name in done.figures if (of := _COMPARED.fullmatch(name))}
        for name in sorted(known, key=lambda name: ("", *_PERCENTILES).index(known[name] or "")):
            found.setdefault(f"{start}{name}", done.figures[name])
    if any(name in run.figures for name in _RATES):
        # The step says it already.
        found.pop("bytes_per_s", None)
    if run.bundle is not None and run.bundle.victim is not None and len(run.captures) == 1:
        rates = run.bundle.work_rates
        for (what, size), rate in rates.items():
            name = "work" if what == "work" else "blocks"
            found[f"{name}_per_s" if len(rates) == 1 else f"{name}_{size}_per_s"] = rate
    return {name: value for name, value in found.items() if value == value}


def _done(run: Run) -> list[ProgramWork]:
    # The rule `work` of comparability says where an output has no result.
    bundle, done = run.bundle, []
    if bundle is not None:
        said = [bundle.text(f"files/{name}") for name in _FILES] + [bundle.load_output]
        with suppress(CaptureError):
            done = bundle.program_work
    else:
        said = [run.reader(name) for name in _FILES] if run.reader else []
    for text in said:
        with suppress(CaptureError):
            done = [*done, *parse_work(text or "")]
    return done
