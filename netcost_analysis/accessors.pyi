from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .export.dataset import Exported
from .export.perfetto import PerfettoTrace
from .parsers.program_work import ProgramWork
from .questions.accessors import ComparisonAsk, ExperimentAsk, FleetAsk, RecordingAsk
from .timeline.task import Task
from .timeline.timeline import Timeline
from .timeline.window import Named
from .view.widget import TimelineWidget

def load(home: str) -> Any: ...

class OfBundle:
    work_rates: dict[tuple[str, int], float]
    program_work: list[ProgramWork]

class OfCapture:
    whole: Timeline
    ask: RecordingAsk
    def timeline(
        self,
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        victim: Task | None = None,
        window: Named = "trace",
    ) -> Timeline: ...
    def victim_timeline(self) -> Timeline: ...

class OfTimeline:
    victim: Task | None
    lives: pd.DataFrame
    lower_ends: Sequence[str]
    ask: RecordingAsk
    def to_parquet(
        self,
        folder: str | Path,
        tables: Sequence[str] | None = None,
        *,
        events: Sequence[str] = (),
        samples: Sequence[str] = (),
        overwrite: bool = False,
    ) -> Exported: ...
    def to_perfetto(
        self,
        path: str | Path,
        victims: Sequence[Task] | None = None,
        *,
        overwrite: bool = False,
    ) -> PerfettoTrace: ...
    def view(self) -> TimelineWidget: ...

class OfExperiment:
    ask: ExperimentAsk

class OfComparison:
    ask: ComparisonAsk

class OfFleet:
    ask: FleetAsk

class OfAnswer:
    coverage: dict[str, Any] | None
    def view(self, row: int = 0) -> TimelineWidget: ...
