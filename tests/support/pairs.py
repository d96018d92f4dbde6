# Softirqs, interrupts and polls of one CPU as rows that a test writes down, paired.

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from netcost_analysis.questions.batches.kernel_limits import KernelLimits
from netcost_analysis.questions.batches.paired import Paired, Picked, Recorded
from netcost_analysis.questions.inputs import Window
from netcost_analysis.spans import Spans

Rows = Iterable[Mapping[str, Any]]
_NUMBERS = ("raise_ns", "entry_ns", "exit_ns", "irq", "start_ns", "work", "softirq_ordinal", "tid")
# What a row is that says nothing else; ordinals count from 0.
_SOFTIRQ: dict[str, Any] = {
    "cpu": 0,
    "ordinal": 0,
    "raise_ns": None,
    "entry_ns": None,
    "exit_ns": None,
    "vec": 3,
    "action": "NET_RX",
    "tid": 500,
    "comm": "openssl",
    "origin": "irq",
    "in_kthread": False,
    "cost_class": "stolen",
    "self_ns": 0,
    "outside_polls_ns": 0,
    "polls": 0,
    "packets": 0,
}
_HARDIRQ: dict[str, Any] = {
    "cpu": 0,
    "entry_ns": None,
    "exit_ns": None,
    "irq": None,
    "name": "ipi",
    "context": "vector",
    "device": None,
    "self_ns": 0,
}


def paired_of(softirqs: Rows, hardirqs: Rows, polls: pd.DataFrame) -> Paired:
    # polls: rows of the table.
    window, gaps = Window(0, 2**62, False), Spans(*np.zeros((3, 0), "int64"))
    paired = Paired(Recorded(window, gaps, KernelLimits(), polls=True, raises=True), Picked())
    numbered = ({"ordinal": number, **row} for number, row in enumerate(softirqs))
    paired.add(_frame(_SOFTIRQ, numbered), _frame(_HARDIRQ, hardirqs), polls)
    return paired


def _frame(usual: dict[str, Any], rows: Rows) -> pd.DataFrame:
    frame = pd.DataFrame([{**usual, **row} for row in rows], columns=list(usual))
    return frame.astype({name: "Int64" for name in _NUMBERS if name in frame})
