# Recordings that many tests ask: opened once in a process, each of their timelines computed once.

from functools import cache, lru_cache
from pathlib import Path

from netcost_analysis import HiddenCost, Timeline
from netcost_analysis.capture.capture import Capture
from netcost_analysis.capture.experiment import Experiment, open_experiment
from netcost_analysis.questions.accounting import hidden_cost
from support.host import ROOT


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
    ) -> Timeline:
        key = repr((start_s, end_s, cpus, victim))
        if key not in self._timelines:
            self._timelines[key] = super().timeline(start_s, end_s, cpus, victim)
        return self._timelines[key]


# As many as a few questions need in turns: a sample's tables take some 100 MB.
@lru_cache(maxsize=12)
def kept(name: str) -> Kept:
    return Kept(ROOT / "sample-data" / name)


# What questions read of an experiment's recordings takes seconds, and is kept with it.
@cache
def kept_experiment(name: str) -> Experiment:
    return open_experiment(ROOT / "sample-data" / name)


def kept_calibration() -> Experiment:
    return kept_experiment("hidden-cost")


@cache
def kept_hidden_cost() -> HiddenCost:
    return hidden_cost(kept_calibration())
