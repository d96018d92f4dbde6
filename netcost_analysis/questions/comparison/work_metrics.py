# What a run got done, as metrics: what its steps, load and victim printed.

import re
from contextlib import suppress

from ..._native import CaptureError
from ...comparison.run import Run
from ...parsers.program_work import TRANSACTIONS, ProgramWork, parse_work
from ...timeline.reading import once

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
# Of a program's percentiles these: a comparison of all would find many times the same.
_COMPARED = re.compile(
    rf"{'|'.join(TRANSACTIONS)}|bytes_per_s|\w+_share|jitter_ns|retransmits"
    r"|(latency|round_trip)_(mean|p50|p90|p99|p99_9|max)_ns"
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
        for name, value in done.figures.items():
            if _COMPARED.fullmatch(name):
                found.setdefault(f"{start}{name}", value)
    if any(name in run.figures for name in _RATES):
        # The step says it already.
        found.pop("bytes_per_s", None)
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is not None and bundle.victim is not None and len(run.captures) == 1:
        rates = bundle.work_rates
        for (what, size), rate in rates.items():
            name = "work" if what == "work" else "blocks"
            found[f"{name}_per_s" if len(rates) == 1 else f"{name}_{size}_per_s"] = rate
    return {name: value for name, value in found.items() if value == value}


def _done(run: Run) -> list[ProgramWork]:
    # The rule `work` of comparability says where an output has no result.
    bundle = run.captures[0].bundle if run.is_recorded else None
    done = []
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
