"""The command line, ``netcost``. Commands and JSON fields: docs/cli.md."""

# Only click here: `netcost info` on a small file has a third of a second, and pandas alone takes
# half of that. Each command imports what it needs.

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._native import CaptureError, __version__
from ..accessors import load
from ..timeline.window import NAMED

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.task import Task
    from ..timeline.timeline import Timeline
    from ..timeline.window import Named

_SUBCOMMANDS = (
    "ask",
    "compare",
    "convert",
    "energy",
    "events",
    "fleet",
    "fleet-report",
    "flame",
    "functions",
    "info",
    "ledger",
    "mask",
    "report",
    "stolen",
    "sweep",
    "view",
)

# Where a command's context keeps what was given.
_PATH, _BUFFER, _BESIDE = "netcost.path", "netcost.buffer", "netcost.beside"


class _Count(click.IntRange):
    name = "whole number"

    # What 64 bits hold is no reader's business.
    def _describe_range(self) -> str:
        return "x>=0"


# Counts and lengths. Times have 64 bits, and are added to others.
COUNT = _Count(0, 2**62)


class _Group(click.Group):
    # Knows its commands by name and loads one when it is called.

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SUBCOMMANDS:
            return None
        command: click.Command = load(f"cli.{cmd_name.replace('-', '_')}:command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _SUBCOMMANDS and not args[0].startswith("-"):
            from ..errors import no_such

            ctx.fail(no_such("command", args[0], _SUBCOMMANDS))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="netcost")
def cli() -> None:
    """What networking costs a host's CPUs, and whom it takes the time from.

    PATH is a perf.data or trace.dat file, the text of `perf script`, `trace-cmd report` or ftrace,
    the directory `perf record --threads` writes, a copy of tracefs, a bundle of netcost-record
    (also in one file, as netcost-pack makes it), or "-" for standard input.
    """


def main() -> None:
    """Run the console script; exits 0, 2 for usage, 1 with a line on stderr for bad input."""
    given: dict[str, Any] = {}
    # What lies in temporary folders goes with the process, whatever ends it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda ended_by, _: sys.exit(128 + ended_by))
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no µ gets its number.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not cli(): click answers a closed pipe with exit status 1.
        with cli.make_context("netcost", sys.argv[1:]) as context:
            given = context.meta
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        _fail(error.format_message())
    except BrokenPipeError:
        # The reader has what it wanted. What is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except BaseException as error:
        if os.environ.get("NETCOST_TRACEBACK") or isinstance(error, SystemExit):
            raise
        from ..errors import AbsentError, ArgumentError, is_refusal, line_of

        line = line_of(error)
        usage = isinstance(error, ArgumentError) and not isinstance(error, AbsentError)
        _fail(_of_capture(line, given.get(_PATH)) if is_refusal(error) else line, 2 if usage else 1)


def _of_capture(message: str, path: str | None) -> str:
    # Whoever reads many captures wants to know which one is meant.
    if path is None or path in message:
        return message
    return f"{'standard input' if path == '-' else path}: {message}"


def _fail(message: str, status: int = 1) -> None:
    from ..units import printable

    print("netcost: " + printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(status)


def print_json(value: Any) -> None:
    # Non-finite numbers are no JSON; callers turn them into None.
    print(json.dumps(value, indent=2, allow_nan=False))


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: fields as in docs/cli.md, times in ns."
)


def path_argument(function: Callable[..., None]) -> Callable[..., None]:
    return click.argument("path", callback=_keep(_PATH))(function)


def capture_arguments(function: Callable[..., None]) -> Callable[..., None]:
    # PATH, and how it is to be read: opened() takes all of it.
    function = click.option(
        "--tsc-hz",
        type=float,
        metavar="HZ",
        expose_value=False,
        callback=keep_beside,
        help="Cycles a second of a clock that counts them (x86-tsc), where the capture says none.",
    )(function)
    function = click.option(
        "--buffer",
        metavar="NAME",
        expose_value=False,
        callback=_keep(_BUFFER),
        help="Which ftrace instance of a trace.dat; the top one unless given.",
    )(function)
    return path_argument(function)


_BESIDE_OPTIONS = (
    ("--victim-output", click.Path(), "FILE", "What `openssl speed` wrote during the recording."),
    ("--victim-cpu", COUNT, "N", "The CPU that it was pinned to."),
    ("--baseline-output", click.Path(), "FILE", "What it writes without the load."),
    ("--kernel-config", click.Path(), "FILE", "The kernel's configuration, /proc/config.gz too."),
    ("--before", click.Path(), "DIR", "Copies of files of /proc, of before it started."),
    ("--after", click.Path(), "DIR", "The same, of after it ended."),
)


def beside_options(function: Callable[..., None]) -> Callable[..., None]:
    # What a bare recording lacks, and a bundle keeps beside its trace: opened() takes it.
    for name, kind, metavar, text in reversed(_BESIDE_OPTIONS):
        function = click.option(
            name,
            type=kind,
            metavar=metavar,
            expose_value=False,
            callback=keep_beside,
            help=text,
        )(function)
    return function


def nothing_beside_experiment() -> None:
    if given_beside():
        raise click.UsageError("an experiment's recordings are bundles: give nothing beside it")


def given_beside() -> dict[str, Any]:
    # What open_capture is given beside PATH and its buffer.
    given: dict[str, Any] = click.get_current_context().meta.get(_BESIDE, {})
    return given


def keep_beside(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None:
        ctx.meta.setdefault(_BESIDE, {})[option.name] = value


def _keep(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
        ctx.meta[key] = value
        return value

    return keep


def opened(path: str) -> "Capture":
    from ..opening.opening import open_capture

    meta = click.get_current_context().meta
    meta[_PATH] = path
    return open_capture(path, meta[_BUFFER], **given_beside())


def output_option(*endings: str, **settings: Any) -> Callable[..., Any]:
    # -o FILE, whose ending says what is written; refused before anything is read.
    def checked(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
        from pathlib import Path

        name = "" if value is None else Path(value).name
        if value is not None and not any(
            name.removesuffix(end) not in ("", name) for end in endings
        ):
            known = " or ".join(endings)
            raise click.UsageError(f"-o takes a file ending in {known}, not {value!r}")
        if value is not None and not Path(value).parent.is_dir():
            raise click.ClickException(f"{Path(value).parent} is no directory")
        return value

    kind = click.Path(dir_okay=False)
    return click.option("-o", "--output", type=kind, callback=checked, **settings)


class _Seconds(click.FloatRange):
    # From the capture's start on; "nan" is in every range, and is no time.
    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value} is no time.", param, ctx)
        return seconds


_FROM = _Seconds(min=0, max=float("inf"), max_open=True)
# A window that ends where it starts is none.
_UNTIL = _Seconds(min=0, min_open=True, max=float("inf"), max_open=True)


class Part(NamedTuple):
    """Which part of a capture is asked: --window, --start, --end and --cpu as they were given."""

    window: "Named | None"
    start: float | None
    end: float | None
    cpus: tuple[int, ...]

    @property
    def is_given(self) -> bool:
        """Whether any of the four was."""
        return self != Part(None, None, None, ())

    def timeline(
        self, capture: "Capture", unless_given: "Named" = "trace", victim: "Task | None" = None
    ) -> "Timeline":
        """That part of a capture.

        unless_given: its window where none was given. victim: whose run --window victim is.
        """
        has_ends = self.start is not None or self.end is not None
        window = self.window or ("trace" if has_ends else unless_given)
        if capture.bundle is not None:
            from ..questions.completeness.completeness import of_interrupts_ahead

            # The first pass counts them, whatever it is of.
            of_interrupts_ahead(capture)
            ran = capture.bundle.victim
            if window != "trace" and ran is not None and ran.start_ns is not None:
                # Its pass counts events too, so that a window's ends take none of their own. What
                # has no ledger is told so by what is asked.
                with suppress(CaptureError):
                    capture.whole.read()
        whose = victim if self.window == "victim" else None
        return capture.timeline(self.start, self.end, list(self.cpus) or None, whose, window)


def window_options(function: Callable[..., None]) -> Callable[..., None]:
    # --window, --start, --end and --cpu, which every command on a timeline takes: its `part`.
    @wraps(function)
    def command(
        *given: Any,
        window: "Named | None",
        start: float | None,
        end: float | None,
        cpus: tuple[int, ...],
        **others: Any,
    ) -> None:
        if window is not None and (start is not None or end is not None):
            raise click.UsageError("give --window, or --start and --end, not both")
        function(*given, part=Part(window, start, end, cpus), **others)

    for option in (
        click.option(
            "--cpu",
            "cpus",
            type=COUNT,
            multiple=True,
            metavar="N",
            help="Only this CPU; may be repeated.",
        ),
        click.option(
            "--end",
            type=_UNTIL,
            metavar="S",
            help="Stop at this many seconds from the capture's start.",
        ),
        click.option(
            "--start",
            type=_FROM,
            metavar="S",
            help="Begin at this many seconds from the capture's start.",
        ),
        click.option(
            "--window",
            type=click.Choice(NAMED),
            metavar="NAME",
            help="While the victim ran, while the load ran, or all of the trace: victim, load, "
            "trace; auto: the first of these that is known.",
        ),
    ):
        command = option(command)
    return command
