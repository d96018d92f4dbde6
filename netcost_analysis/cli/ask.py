# netcost ask: any question of the package from the shell, as text, JSON, CSV or Parquet.

import ast
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..units import plural, printable
from . import options
from .answer_output import plain_part, print_parts, shown_parts, with_index
from .arguments import options as of_question
from .table import columns_option, known_columns, say, show

if TYPE_CHECKING:
    from ..answers.question import Question


def _listed(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from ..answers.registry import TOPICS, listed
    from ..display.tables import questions_table

    show(questions_table(listed(), TOPICS))
    ctx.exit()


@cache
def _names() -> list[str]:
    # Parse each topic's imports: importing the topics takes a second, too long for completion.
    found: list[str] = []
    for home in sorted(Path(__file__).parents[1].glob("questions/*/__init__.py")):
        lines = ast.parse(home.read_text(encoding="utf-8")).body
        imports = (line for line in lines if isinstance(line, ast.ImportFrom))
        found += sorted(one.name for line in imports for one in line.names)
    return found


class _Asked(click.Command):
    # Takes the question's options beside the command's; --help describes both.

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name = next((word for word in args if word in _names()), None)
        ctx.obj = None if name is None else _question(name)
        if name is not None:
            # Usage and hints are about the question's options.
            ctx.info_name = f"{ctx.info_name} {name}"
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            if name is None:
                ctx.fail("name a question and then a PATH; netcost ask --list has all questions")
            raise

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        question_options = of_question(ctx.obj) if ctx.obj is not None else []
        return [*question_options, *super().get_params(ctx)]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [one for one in pieces if ctx.obj is None or one != "QUESTION"]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if ctx.obj is None:
            super().format_help_text(ctx, formatter)
        else:
            formatter.write(f"\n{textwrap.indent(ctx.obj.documentation, '  ')}\n")


@click.command("ask", cls=_Asked, short_help="Ask a question: netcost ask --list has all of them.")
@click.argument(
    "question",
    shell_complete=lambda _, __, begun: [name for name in _names() if name.startswith(begun)],
)
@options.capture_arguments
@options.output_option(".parquet", ".csv", help="Write to FILE.parquet or FILE.csv instead.")
@options.option("--table", "NAME", "Which table, if the answer has several.")
@columns_option
@options.wide_option
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_listed,
    help="List the questions and exit.",
)  # fmt: skip
@options.beside_options
@options.window_options
@options.json_option
def command(
    question: str,
    path: str,
    output: str | None,
    table: str | None,
    columns: tuple[str, ...] | None,
    as_json: bool,
    **others: Any,
) -> None:
    """Ask a question of the package; `--list` has them all.

    QUESTION --help shows the options of one. Columns and their meaning: docs/columns.md.
    """
    from ..answers.answer import NO_WINDOW

    declared, chosen, notes = _question(question), options.part(), list[str]()
    asked: Any = options.opened_many(path)
    if asked is None:
        asked = options.opened(path)
        # A question whose first source is not a timeline covers the whole recording.
        if declared.sources[0] == "Timeline" or chosen.is_given:
            asked = chosen.timeline(asked, "auto")
            # The default window is the victim's or the load's run, so say so.
            if not chosen.is_given and (during := asked.window.during):
                notes = [f"{during}; --window trace answers about all of the recording"]
    answer = asked.ask(question, **{name: of for name, of in others.items() if of is not None})
    answers = shown_parts(answer)
    if table is not None:
        if table not in answers:
            named = ", ".join(name for name in answers if name) or "one unnamed table"
            raise click.UsageError(f"{declared.name} has no part {table!r}; it has {named}")
        answers = {table: answers[table]}
    elif (output or columns is not None) and not answer.tables:
        # Without tables, the frame is one row of the single figures.
        answers = {"": answer.frame}
    if columns is not None:
        answers = _chosen(answers, columns, declared.main)
    if output:
        from ..display.export import write

        frame = with_index(answers[_one_table(answers, "-o", declared.main)])
        write(frame, output)
        print(f"{plural(len(frame), 'row')} in {output}")
    elif as_json:
        parts = {name: plain_part(of) for name, of in answers.items()}
        options.print_json(parts.get("", parts))
    else:
        print_parts(answer, answers, bool(options.given("wide")) or columns is not None)
        for note in (*notes, *answer.notes):
            say(f"note: {printable(note)}")
        return
    # Files and JSON carry no notes, so say on stderr what part of the recording they cover.
    for note in notes if answer.in_window else [NO_WINDOW]:
        print(f"note: {printable(note)}", file=sys.stderr)


def _chosen(answers: dict[str, Any], columns: tuple[str, ...], main: str | None) -> dict[str, Any]:
    name = _one_table(answers, "--columns", main)
    table = answers[name]
    frame = with_index(table).rename(columns=str)
    frame = frame[known_columns(list(frame.columns), columns)]
    # A matrix has one unit for all columns but its keys, so its keys stay in the index.
    keys = [key for key in table.index.names if key in columns] if table.columns.name else []
    return {name: frame.set_index(keys) if keys else frame}


def _question(name: str) -> "Question[Any]":
    from ..answers.registry import no_question, questions

    if name not in (known := questions()):
        raise click.UsageError(no_question(name))
    return known[name]


def _one_table(answers: dict[str, Any], option: str, main: str | None) -> str:
    # The name of the main table, or of the only one.
    import pandas as pd

    if main in answers:
        return main
    tables = [name for name, part in answers.items() if isinstance(part, pd.DataFrame)]
    if "" in tables:
        return ""
    if len(tables) != 1:
        named = ", ".join(tables) or "none"
        raise click.UsageError(f"{option} takes one table: choose it with --table ({named})")
    return tables[0]
