"""What commands take: PATH and how it is read, which part of it, where the output goes.

Options that several commands share are kept in click's context, where given() reads them.
"""

# Import only click here, as in main.py.

import json
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._native import CaptureError
from ..display.tables import plain
from ..timeline.window import NAMED

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..fleet import Fleet
    from ..opening.experiment import Experiment
    from ..timeline.task import Task
    from ..timeline.timeline import Timeline
    from ..timeline.window import Named

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
PATH = "netcost.path"
# Names of the options that beside() declares.
_BESIDE: list[str] = []


class _Count(click.IntRange):
    name = "whole number"

    # The upper limit would tell a reader nothing.
    def _describe_range(self) -> str:
        return "x>=0"


# Counts and lengths. They are added to 64-bit times, so the limit leaves room.
COUNT = _Count(0, 2**62)


class Amount(click.FloatRange):
    """A number from 0 up. click's ranges accept "nan", which is refused here."""

    def __init__(self, min_open: bool = False) -> None:
        super().__init__(0, float("inf"), min_open, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As click does."""
        amount: float = super().convert(value, param, ctx)
        return amount if amount == amount else self.fail(f"{value} is not a number.", param, ctx)


def print_json(value: Any) -> None:
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    # JSON has no NaN.
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return plain(value)


def option(names: str, metavar: str | None, text: str, **settings: Any) -> Decorator:
    return click.option(*names.split(), metavar=metavar, help=text, **settings)


def flag(name: str, text: str, *named: str, **settings: Any) -> Decorator:
    return click.option(name, *named, is_flag=True, help=text, **settings)


def together(*options: Decorator) -> Decorator:
    # One decorator for several options, listed in the order of --help.
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


def _keep(ctx: click.Context, option: click.Parameter, value: Any) -> Any:
    ctx.meta[f"netcost.{option.name}"] = value
    return value


def kept(names: str, metavar: str | None, text: str, **settings: Any) -> Decorator:
    # An option that is not a parameter of the command: given() has its value.
    return option(names, metavar, text, expose_value=False, callback=_keep, **settings)


def given(name: str) -> Any:
    # None if the command lacks the option.
    context = click.get_current_context(silent=True)
    return context and context.meta.get(f"netcost.{name}")


def beside(name: str, metavar: str, text: str, kind: Any = None) -> Decorator:
    # An argument of open_capture beside PATH, which opened() passes on. Default: a path.
    _BESIDE.append(name[2:].replace("-", "_"))
    return kept(name, metavar, text, type=kind or click.Path())


json_option = flag("--json", "Print JSON: fields as in docs/cli.md, times in ns.", "as_json")
wide_option = kept(
    "--wide", None, "Show all columns on a terminal, not only those that fit.", is_flag=True
)
# The type is a path, so that shells complete files.
path_argument = click.argument("path", type=click.Path(allow_dash=True), callback=_keep)
# PATH and how to read it, which opened() uses.
capture_arguments = together(
    path_argument,
    kept("--buffer", "NAME", "Which ftrace instance of a trace.dat. Default: the top one."),
    beside(
        "--tsc-hz",
        "HZ",
        "Cycles per second of a clock that counts cycles (x86-tsc), if the capture does not say.",
        float,
    ),
)
# What a bundle keeps beside its trace and a bare recording lacks.
beside_options = together(
    beside("--victim-output", "FILE", "What `openssl speed` wrote during the recording."),
    beside("--victim-cpu", "N", "The CPU that the victim was pinned to.", COUNT),
    beside("--baseline-output", "FILE", "What the victim writes without the load."),
    beside("--kernel-config", "FILE", "The kernel's configuration; /proc/config.gz works too."),
    beside("--before", "DIR", "A folder with copies of /proc files from before the recording."),
    beside("--after", "DIR", "The same, from after the recording."),
)
# Sources of kernel symbols and of programs' functions.
names_options = together(
    beside("--kallsyms", "FILE", "A copy of /proc/kallsyms, if the recording has none."),
    kept(
        "--user",
        None,
        "Name functions of programs, from files on this machine with the recorded build ids.",
        is_flag=True,
    ),
    beside(
        "--symbols",
        "DIR",
        "Look for programs here first: .build-id, whole paths, or names. Implies --user.",
    ),
)


def wants_user() -> bool:
    return bool(given("user") or given("symbols"))


def given_beside() -> dict[str, Any]:
    return {name: value for name in _BESIDE if (value := given(name)) is not None}


def opened(path: str) -> "Capture":
    from ..opening.opening import open_capture

    click.get_current_context().meta[PATH] = path
    return open_capture(path, given("buffer"), **given_beside())


def opened_many(path: str) -> "Experiment | Fleet | None":
    # None for a recording. Experiments and fleets take no window.
    from ..opening.experiment import is_experiment, open_experiment

    source: Experiment | Fleet
    if is_experiment(path):
        nothing_beside_experiment()
        kind, source = "an experiment", open_experiment(path)
    else:
        from ..fleet import is_dataset, open_fleet

        if not is_dataset(path):
            return None
        kind, source = "a fleet", open_fleet(path)
    if part().is_given:
        raise click.UsageError(f"{kind} takes no --window, --start, --end or --cpu")
    return source


def nothing_beside_experiment() -> None:
    if given_beside():
        raise click.UsageError("an experiment's recordings are bundles: give no files beside them")


def output_option(*endings: str, **settings: Any) -> Callable[..., Any]:
    # -o FILE, whose ending selects the format. A wrong ending is refused before anything is read.
    def checked(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        path = Path(value)
        if not any(path.name.removesuffix(end) not in ("", path.name) for end in endings):
            known = " or ".join(endings)
            raise click.UsageError(f"-o takes a file ending in {known}, not {value!r}")
        if not path.parent.is_dir():
            raise click.ClickException(f"{path.parent} is not a directory")
        return value

    kind = click.Path(dir_okay=False)
    return click.option("-o", "--output", type=kind, callback=checked, **settings)


window_options = together(
    kept(
        "--window",
        "NAME",
        "victim or load: while it ran; duration: the time asked for; trace: all of it. auto: the "
        "first of these that is known.",
        type=click.Choice(NAMED),
    ),
    kept("--start", "S", "Begin at this many seconds from the capture's start.", type=Amount()),
    # An end of 0 would make an empty window.
    kept("--end", "S", "Stop at this many seconds from the capture's start.", type=Amount(True)),
    kept("--cpu cpus", "N", "Only this CPU; may be repeated.", type=COUNT, multiple=True),
)


class Part(NamedTuple):
    """The part of a capture that --window, --start, --end and --cpu select."""

    window: "Named | None"
    start: float | None
    end: float | None
    cpus: tuple[int, ...]

    @property
    def is_given(self) -> bool:
        """Whether any of the four options was given."""
        return self != Part(None, None, None, ())

    def timeline(
        self, capture: "Capture", unless_given: "Named" = "trace", victim: "Task | None" = None
    ) -> "Timeline":
        """That part of a capture.

        unless_given: the window if none was given. victim: whose run --window victim is.
        """
        has_ends = self.start is not None or self.end is not None
        window = self.window or ("trace" if has_ends else unless_given)
        if capture.bundle is not None:
            from ..questions.completeness.completeness import of_interrupts_ahead

            # Request this count before the first pass, which then makes it too.
            of_interrupts_ahead(capture)
            ran = capture.bundle.victim or capture.bundle.manifest.asked
            if window != "trace" and ran is not None and ran.start_ns is not None:
                # Reading the whole recording also finds the window's ends, which saves a pass.
                # If there is no ledger, the question itself says why.
                with suppress(CaptureError):
                    capture.whole.read()
        whose = victim if self.window == "victim" else None
        return capture.timeline(self.start, self.end, list(self.cpus) or None, whose, window)


def part() -> Part:
    """The part that the options select."""
    chosen = Part(given("window"), given("start"), given("end"), given("cpus") or ())
    if chosen.window is not None and (chosen.start is not None or chosen.end is not None):
        raise click.UsageError("give either --window or --start and --end")
    return chosen


def names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    # The callback of options that take "A,B,...".
    if value is None:
        return None
    chosen = tuple(filter(None, (name.strip() for name in value.split(","))))
    if not chosen:
        raise click.UsageError("give names separated by commas")
    return chosen
