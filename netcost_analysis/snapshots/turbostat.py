"""Parser for turbostat: watts by domain, per interval."""

import re
from typing import TYPE_CHECKING

import pandas as pd

from .mpstat_times import interval_s
from .perf_stat import FARTHEST_NS

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# The names in its manual, and those before 2014.
_WATTS = {
    "PkgWatt": "package",
    "Pkg_W": "package",
    "CorWatt": "cores",
    "Cor_W": "cores",
    "GFXWatt": "uncore",
    "GFX_W": "uncore",
    "RAMWatt": "dram",
    "RAM_W": "dram",
    "SysWatt": "psys",
}
_NUMBER = re.compile(r"\d{1,6}(?:\.\d+)?$")
_TYPES = {"interval": "int64", "domain": "str", "watts": "float64"}


def parse_turbostat(text: str) -> pd.DataFrame:
    """The watts of the whole machine, with or without --Summary; the heading may recur.

    A row per interval (from 0) and domain: watts, the interval's mean as turbostat measured it.
    Lines of single CPUs and unknown lines are skipped.
    """
    heading: list[str] = []
    rows: list[tuple[int, str, float]] = []
    interval = 0
    for line in text.splitlines():
        words = line.split()
        if set(words) & set(_WATTS):
            heading = words
        elif len(words) == len(heading) and _of_all(dict(zip(heading, words, strict=True))):
            watts = [
                (interval, _WATTS[name], float(word))
                for name, word in zip(heading, words, strict=True)
                if name in _WATTS and _NUMBER.match(word)
            ]
            rows += watts
            interval += bool(watts)
    return pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)


def _of_all(values: dict[str, str]) -> bool:
    # Without --Summary the machine's line has "-" for its CPU.
    return all(values.get(name, "-") == "-" for name in ("CPU", "Core", "Package", "Node", "Die"))


def turbostat_intervals(bundle: "Bundle") -> pd.DataFrame:
    """turbostat's output beside a recording, with the approximate times of its intervals.

    It prints no times, so intervals of the requested length are placed end to end.
    """
    turbostat = bundle.manifest.companion("turbostat")
    frame = parse_turbostat(bundle.text(turbostat.output or "turbostat.txt") or "")
    began = min(turbostat.start_ns or 0, FARTHEST_NS)
    # turbostat is run with whole seconds.
    step_s = max(round(interval_s(bundle) + 1e-9), 1)
    ends = ((frame["interval"] + offset) * step_s for offset in (0, 1))
    start_ns, end_ns = (began + (end.clip(upper=FARTHEST_NS // 10**9) * 10**9) for end in ends)
    return frame.assign(start_ns=start_ns, end_ns=end_ns)
