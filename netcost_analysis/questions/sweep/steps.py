# The steps of a sweep: runs that are repeats of each other, by curve and rate. And how it was made.

from dataclasses import dataclass
from math import inf, nan

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.checksum import checksum_of_all
from ...capture.requires import unrecorded
from ...comparison.run import REPEATS, Run
from ...comparison.run_set import run_set
from ...errors import ArgumentError
from ...opening.experiment import Experiment
from ...timeline.reading import once
from ..batches.curves import PATHS, RATES, named
from ..batches.rate_curve import NEEDS
from ..completeness.completeness import MAX_MISSING, network_missing
from ..completeness.recording import made_with


@dataclass(frozen=True, eq=False)
class Step:
    # name: of its first run. curve: the labels that differ between curves, joined. labels: all but
    # the rate. offered: the rate as its label says, None without one. cpu: the one measured, None
    # for all. runs: its repeats. bundles: theirs.
    name: str
    curve: str
    labels: dict[str, str]
    offered: str | None
    cpu: int | None
    runs: tuple[Run, ...]
    bundles: tuple[Bundle, ...]

    @property
    def offered_pps(self) -> float:
        # NaN for "max".
        try:
            return float(self.offered or nan)
        except ValueError:
            return nan

    @property
    def data_path(self) -> str | None:
        return next((self.labels[name] for name in PATHS if name in self.labels), None)

    @property
    def recorded(self) -> tuple[Run, ...]:
        # Runs whose trace shows what the network cost.
        return tuple(
            run
            for run in self._traced
            if not any(network_missing(one, self.cpu) > MAX_MISSING for one in run.captures)
        )

    @property
    def lacking(self) -> int:
        # How many runs are left out because softirqs that the kernel counted are missing.
        return len(self._traced) - len(self.recorded)

    @property
    def _traced(self) -> list[Run]:
        return [run for run in self.runs if run.is_recorded and _has_events(run)]


def _has_events(run: Run) -> bool:
    try:
        return not any(unrecorded(capture, *NEEDS) for capture in run.captures)
    except CaptureError:
        return False


@once
def steps_of(experiment: Experiment) -> list[Step]:
    # By curve, in the order in which curves begin, then by rate with "max" last.
    try:
        runs = run_set(experiment)
    except ArgumentError as error:
        raise CaptureError(str(error)) from None
    differing = [
        name for name, values in runs.labels.items() if len(values) > 1 and name not in RATES
    ]
    groups: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        labels = {name: value for name, value in run.labels.items() if name not in REPEATS}
        groups.setdefault(tuple(sorted(labels.items())), []).append(run)
    steps = [_step(experiment, group, differing) for group in groups.values()]
    curves = list(dict.fromkeys(step.curve for step in steps))
    return sorted(steps, key=lambda step: (curves.index(step.curve), _rate(step)))


def _rate(step: Step) -> float:
    return step.offered_pps if step.offered_pps == step.offered_pps else inf


def _step(experiment: Experiment, runs: list[Run], differing: list[str]) -> Step:
    labels = dict(runs[0].labels)
    offered = next((labels[name] for name in RATES if name in labels), None)
    names = [run.name.removeprefix(f"{experiment.path.name}/") for run in runs]
    bundles = tuple(experiment.bundle(name) for name in names if experiment.has(name))
    cpus = {bundle.victim_cpu for bundle in bundles} - {None}
    known = [name for name in differing if name in labels]
    return Step(
        names[0],
        ", ".join(named(name, labels[name]) for name in known) or "all steps",
        {name: value for name, value in labels.items() if name not in (*RATES, *REPEATS)},
        offered,
        cpus.pop() if len(cpus) == 1 else experiment.experiment.victim_cpu,
        tuple(runs),
        bundles,
    )


def require_steps(experiment: Experiment) -> None:
    # Raises CaptureError where it is no sweep.
    steps = experiment.steps
    if not any(name in steps for name in RATES):
        raise CaptureError(
            f"{experiment.path} is not a sweep: its steps have no column {' or '.join(RATES)}"
        )
    if "bundle" not in steps:
        raise CaptureError(f"{experiment.path} has no recordings: its table has no column bundle")


@question(rows=0)
def made_by(experiment: Experiment) -> Answer:
    """How an experiment was made: kernel, times, checksum, versions, and the command to repeat it.

    sha256 is that of its file, or of what sha256sum prints for the files of its folder, in order of
    their names. Source: experiment.json, the files, and the installed versions.
    """
    names, manifest = ("experiment", "kernel", "started", "ended", "command"), experiment.experiment
    return Answer(
        path=str(experiment.path),
        sha256=checksum_of_all(experiment.path),
        **{name: getattr(manifest, name) for name in names},
        step_count=len(experiment.steps),
        recording_count=sum(map(experiment.has, experiment.recordings)),
        notes=tuple(manifest.notes),
        **made_with(),
    )
