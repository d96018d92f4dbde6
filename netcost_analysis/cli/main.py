"""The command line, ``netcost``. Commands and JSON fields: docs/cli.md."""

# Import only click here: `netcost info` on a small file takes a third of a second, and importing
# pandas alone would take half of that. Each command imports what it needs.

import gc
import os
import signal
import sys
from io import TextIOWrapper
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem, shell_complete

from .._native import __version__
from ..accessors import load
from .options import PATH

_COMMANDS = (
    *("ask", "compare", "convert", "digest", "energy", "events", "fleet", "fleet-report"),
    *("flame", "functions", "info", "kit", "ledger", "mask", "report", "stolen", "sweep", "view"),
)
# Commands that share a file with another.
_IN = {
    "fleet-report": "write_up:fleet_report",
    "flame": "functions:flame",
    "mask": "convert:mask",
    "sweep": "write_up:sweep",
}

# Printed if no command is given.
_FIRST = """\
netcost says what networking costs a host's CPUs, and which tasks pay for it.

  capture/netcost-record -o mine --duration 10   records, as root, on the host in question
  netcost stolen mine                            says who lost CPU time to what
  netcost report mine -o mine.html               writes that as a page with pictures

netcost kit capture writes the folder capture. netcost digest mine says all of it on one screen;
netcost --help lists all commands."""
# In this variable the shell asks for completions: bash_source, zsh_complete, ...
_COMPLETE = "_NETCOST_COMPLETE"


class _Group(click.Group):
    # Imports a command when it is called.

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = load(f"cli.{_IN.get(cmd_name, f'{cmd_name}:command')}")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Names alone: short help would import every command.
        named = [name for name in _COMMANDS if name.startswith(incomplete)]
        options = super().shell_complete(ctx, incomplete) if incomplete.startswith("-") else []
        return [*map(CompletionItem, named), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else "-"
        if name not in _COMMANDS and not name.startswith("-"):
            from ..answers.registry import questions
            from ..errors import no_such

            if name in questions():
                ctx.fail(f"no command {name!r}; it is a question: netcost ask {name} PATH")
            ctx.fail(no_such("command", name, _COMMANDS))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="netcost")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """What networking costs a host's CPUs, and which tasks pay for it.

    PATH is a perf.data or trace.dat file, the text of `perf script`, `trace-cmd report` or ftrace,
    the directory `perf record --threads` writes, a copy of tracefs, a bundle of netcost-record
    (also in one file, as netcost-pack makes it), or "-" for standard input.
    """
    if ctx.invoked_subcommand is None:
        print(_FIRST)


def main() -> None:
    """Run the console script; exits 0, 2 for usage, 1 with a line on stderr for bad input."""
    if instruction := os.environ.get(_COMPLETE):
        sys.exit(shell_complete(cli, {}, "netcost", _COMPLETE, instruction))
    given: dict[str, Any] = {}
    # Objects that imports make stay. Scanning them again and again takes a fifteenth of a report.
    gc.set_threshold(100_000, 20, 50)
    # Exit in the normal way on a signal, so that temporary folders are removed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda ended_by, _: sys.exit(128 + ended_by))
    for stream in (sys.stdout, sys.stderr):
        # A terminal whose encoding lacks µ gets its escape.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not cli(): click exits with status 1 on a closed pipe.
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
        # The reader has what it wanted. Flushing buffered output must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except BaseException as error:
        if os.environ.get("NETCOST_TRACEBACK") or isinstance(error, SystemExit):
            raise
        from ..errors import AbsentError, ArgumentError, absent_extra, is_refusal, line_of

        line = absent_extra(error, sys.argv[1]) or line_of(error)
        # Name the capture, for scripts that read many.
        path = given.get(PATH)
        if is_refusal(error) and path is not None and path not in line:
            line = f"{'standard input' if path == '-' else path}: {line}"
        usage = isinstance(error, ArgumentError) and not isinstance(error, AbsentError)
        _fail(line, 2 if usage else 1)


def _fail(message: str, status: int = 1) -> NoReturn:
    from ..units import printable

    print("netcost: " + printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(status)
