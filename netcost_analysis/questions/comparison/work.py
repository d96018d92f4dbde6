# The units of work that costs are divided by: how many of each a run did, block by block.

from typing import NamedTuple

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, ArgumentError, no_such
from ...parsers.iperf3 import iperf3_sent, parse_iperf3
from ...parsers.netperf import parse_netperf
from ...stats.resampling import Floats
from ...timeline.reading import once
from .measured import Measured, busiest, measured, packets_by_device, polled_by

# In the order in which one is chosen.
UNITS = ("packet", "byte", "transaction", "block", "work", "second")
# A device whose polls brought less than this part of those of the device that most came by does
# not carry what is compared.
_CARRIES = 0.5


class Unit(NamedTuple):
    # name: of UNITS. source: who counted it ("polls", "step", "load", "victim", "clock"). device:
    # whose packets polls counted.
    name: str
    source: str
    device: str = ""

    def __str__(self) -> str:
        return self.name


@once
def units_of(run: Run) -> dict[Unit, Floats]:
    # How many of each unit a recorded run did, block by block. What polls counted is of the same
    # time as the costs; a step's or a load's rate is of all of its run, and supposed to be even.
    own = measured(run)
    found = {Unit("packet", "polls", device): done for device, done in _polled(own).items()}
    for name, (rate, source) in _rates(run).items():
        found[Unit(name, source)] = rate * own.seconds
    return found | {Unit("second", "clock"): own.seconds}


@once
def throughput_of(run: Run) -> dict[str, tuple[float, str]]:
    # Units a second, and who counted them, of any run: what was measured beside a recording, or
    # instead of one, before what is in it.
    rates = _rates(run)
    if run.is_recorded and "packet" not in rates:
        polled = busiest(measured(run))
        if polled is not None:
            rates["packet"] = float(polled[0].sum() / measured(run).seconds.sum()), "polls"
    return rates


def _polled(own: Measured) -> dict[str, Floats]:
    # Packets by device, of those that carry what is compared: one packet may pass several.
    packets = packets_by_device(own)
    carry = packets.index[packets >= _CARRIES * packets.max()]
    return {str(device): polled_by(own, device)[0] for device in carry}


def _rates(run: Run) -> dict[str, tuple[float, str]]:
    figures = run.figures
    found: dict[str, tuple[float, str]] = {}
    sent, received = figures.get("sent"), figures.get("received")
    if sent and received is not None and "sent_pps" in figures:
        found["packet"] = figures["sent_pps"] * received / sent, "step"
    if figures.get("seconds"):
        for unit, name in (("packet", "received_packets"), ("byte", "received_bytes")):
            if name in figures:
                found[unit] = figures[name] / figures["seconds"], "step"
    if "received_bits_per_second" in figures:
        found["byte"] = figures["received_bits_per_second"] / 8, "step"
    if not run.is_recorded:
        return found
    bundle = run.captures[0].bundle
    if bundle is None or len(run.captures) > 1:
        return found
    for unit, rate in _of_load(bundle.load_output or "").items():
        found.setdefault(unit, (rate, "load"))
    if len(bundle.work_rates) == 1:
        [rate] = bundle.work_rates.values()
        found["work" if bundle.victim and bundle.victim.attached else "block"] = rate, "victim"
    return found


def _of_load(text: str) -> dict[str, float]:
    # A second, by what iperf3 or netperf says.
    try:
        said = parse_iperf3(text)
        totals = said.totals.iloc[-1]
        rates = {"byte": float(totals["bits_per_s"]) / 8}
        sent_bytes, sent_packets = iperf3_sent(text)
        if sent_bytes and sent_packets:
            rates["packet"] = rates["byte"] * sent_packets / sent_bytes
        return {unit: rate for unit, rate in rates.items() if rate > 0}
    except (CaptureError, LookupError):
        pass
    try:
        result = parse_netperf(text)
    except CaptureError:
        return {}
    if result.units.startswith("10^6bits"):
        return {"byte": (result.received or result.throughput) * 1e6 / 8}
    return {"transaction": result.throughput} if result.units.startswith("trans") else {}


def unit_of(comparison: Comparison) -> Unit:
    # The unit that costs are divided by: the one that was asked for, else the first of UNITS that
    # all recorded runs have, counted by the same.
    if comparison.per is not None and comparison.per not in UNITS:
        raise ArgumentError(no_such("unit of work", comparison.per, UNITS))
    known = common_units(comparison)
    wanted = comparison.per or next(iter(known))
    if wanted not in known:
        raise AbsentError(
            f"not every run says how much it did in units of {wanted}: choose {', '.join(known)}"
        )
    return known[wanted]


def common_units(comparison: Comparison) -> dict[str, Unit]:
    # By name, in the order of UNITS, those that all recorded runs have, counted in one way. Of
    # several devices that all polled the one that most packets came by.
    runs = [units_of(run) for side in comparison.sides.values() for run in side.recorded]
    found: dict[str, Unit] = {}
    for name in UNITS:
        every = [
            unit
            for unit in (runs[0] if runs else ())
            if unit.name == name and all(unit in one for one in runs)
        ]
        polled = [unit for unit in every if unit.source == "polls"]
        if every:
            found[name] = max(
                polled or every[:1], key=lambda unit: sum(float(one[unit].sum()) for one in runs)
            )
    return found or {"second": Unit("second", "clock")}
