# Recordings that many tests ask: opened once in a process, each of their timelines computed once.

import shutil
from functools import cache, lru_cache
from pathlib import Path

import pandas as pd

from netcost_analysis import Answer, Timeline, compare
from netcost_analysis.capture.capture import Capture
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.opening.experiment import Experiment, open_experiment
from netcost_analysis.questions.accounting import hidden_cost
from netcost_analysis.timeline.window import Named
from support.host import ROOT, kept_folder


class Kept(Capture):
    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._timelines: dict[str, Timeline] = {}

    def timeline(
        self,
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        victim: int | str | None = None,
        window: Named = "trace",
    ) -> Timeline:
        key = repr((start_s, end_s, cpus, victim, window))
        if key not in self._timelines:
            self._timelines[key] = super().timeline(start_s, end_s, cpus, victim, window)
        return self._timelines[key]


# As many as a few questions need in turns: a sample's tables take some 100 MB.
@lru_cache(maxsize=12)
def kept(name: str) -> Kept:
    return Kept(ROOT / "sample-data" / name)


# What questions read of an experiment's recordings takes seconds, and is kept with it.
@cache
def kept_experiment(name: str) -> Experiment:
    return _few_steps() if name == SWEEP else open_experiment(ROOT / "sample-data" / name)


SWEEP = "datapath-sweep"


# Of the sweep's steps as many as its questions need: three rates, with a victim and without.
def _few_steps() -> Experiment:
    whole = ROOT / "sample-data" / SWEEP
    folder = kept_folder() / SWEEP
    folder.mkdir()
    shutil.copy(whole / "experiment.json", folder)
    steps = pd.read_csv(whole / "steps.tsv", sep="\t", dtype=str)
    rates = steps["offered_pps"].isin(["1000", "50000", "max"]) & (steps["victim"] == "pinned")
    idle = (steps["offered_pps"] == "50000") & (steps["destinations"] == "1")
    few = steps[(rates | idle) & (steps["repeat"] == "1")]
    few.to_csv(folder / "steps.tsv", sep="\t", index=False)
    for name in few["bundle"]:
        shutil.copy(whole / f"{name}.netcost.tar.zst", folder)
    return open_experiment(folder)


# Loopback traffic with RPS off and on, of whose client and server the traces say all.
@cache
def kept_comparison() -> Comparison:
    experiment = kept_experiment("local-regression-traced")
    sides = {"base_where": {"rps": "off"}, "new_where": {"rps": "on"}}
    return compare(experiment, where={"skb_defer_max": 0}, **sides)


# Two sizes of write and read, sampled with call graphs.
@cache
def kept_sizes() -> Comparison:
    experiment = kept_experiment("io-sizes")
    sides = {"base_where": {"io_bytes": 1_024}, "new_where": {"io_bytes": 16_384}}
    return compare(experiment, where={"protocol": "tcp"}, **sides)


def kept_calibration() -> Experiment:
    return kept_experiment("hidden-cost")


@cache
def kept_hidden_cost() -> Answer:
    return hidden_cost(kept_calibration())


def kept_hidden_ns() -> float:
    return float(kept_hidden_cost().frame["value"]["hidden_ns"])
