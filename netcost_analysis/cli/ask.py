# netcost ask: any question of the package from the shell, as text, JSON, CSV or Parquet.

import sys
from typing import TYPE_CHECKING, Any

import click

from ..units import plural, printable
from .arguments import arguments
from .main import capture_arguments, json_option, opened, output_option, print_json, window_options
from .table import by_importance, columns_option, left_out, say, show, wide_option, with_columns

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture
    from ..questions.catalogue import Question
    from ..timeline.timeline import Timeline

_ON_A_TERMINAL = 40
_NOTES = "notes"
# Parts whose columns are named for things; of what, their own name says.
_MATRICES = ("cpu_share", "interrupts_per_s")


def _listed(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from ..display.tables import Table
    from ..questions.catalogue import questions

    rows: list[list[str]] = []
    heads: dict[str, int] = {}
    for one in questions().values():
        if one.topic not in heads:
            heads[one.topic] = len(rows)
            rows.append([one.topic, ""])
        rows.append([f"  {one.name}", one.summary])
    show(Table(["question", "answers"], rows, strong=set(heads.values()), left={0, 1}))
    ctx.exit()


@click.command("ask", short_help="Ask any question of the package: netcost ask --list.")
@click.argument("question")
@capture_arguments
@click.option(
    "--with",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="An argument of the question's function; may be repeated.",
)
@output_option(".parquet", ".csv", help="Write to FILE.parquet or FILE.csv instead.")
@click.option("--table", metavar="NAME", help="Of an answer with several tables, this one.")
@columns_option
@wide_option
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_listed,
    help="List the questions and exit.",
)  # fmt: skip
@window_options
@json_option
def command(
    question: str,
    path: str,
    options: tuple[str, ...],
    output: str | None,
    table: str | None,
    columns: tuple[str, ...] | None,
    wide: bool,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Ask a question of the package: QUESTION is one of its functions, `--list` has them all.

    Columns and their meaning: docs/definitions.md.
    """
    from ..questions.catalogue import ask, parts
    from ..questions.completeness.unrecorded import lower_ends_of

    one = _question(question)
    given = arguments(one, options)
    timelines: list[Timeline] = []

    def windowed(capture: "Capture") -> "Timeline":
        timelines.append(capture.timeline(start=start, end=end, cpus=list(cpus) or None))
        return timelines[-1]

    whole = start is None and end is None and not cpus
    of_victim = "Bundle" in one.sources and whole
    answer = ask(one, path, None if of_victim else windowed, opened, **given)
    answers = parts(answer)
    own_notes = answers.get(_NOTES)
    if table is not None:
        if table not in answers:
            named = ", ".join(name for name in answers if name) or "one table without a name"
            raise click.UsageError(f"{one.name} has no part {table!r}; it has {named}")
        answers = {table: answers[table]}
    if columns is not None:
        answers = _chosen(answers, columns)
    if output:
        _write(answers, output)
    elif as_json:
        print_json({name: _plain(part) for name, part in answers.items()} if "" not in answers
                   else _plain(answers[""]))  # fmt: skip
    else:
        start_ns = 0 if one.sources == ("Series",) else opened(path).start_ns
        _print(one, answers, start_ns, wide or columns is not None)
        # An answer's own have the timeline's, and say what its figures lack.
        notes = [*timelines[0].notes, *lower_ends_of(timelines[0])] if timelines else []
        for note in dict.fromkeys(notes if own_notes is None else own_notes):
            say(f"note: {printable(note)}")


def _chosen(answers: dict[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    # The answer with these columns of its one table.
    name = _one_table(answers, "--columns")
    whole = answers[name]
    frame = with_columns(_with_index(whole).rename(columns=str), columns)
    # The unit of a matrix is that of all but its keys.
    keys = [key for key in whole.index.names if key in columns] if whole.columns.name else []
    return {name: frame.set_index(keys) if keys else frame}


def _question(name: str) -> "Question":
    from difflib import get_close_matches

    from ..questions.catalogue import questions

    known = questions()
    if name not in known:
        near = get_close_matches(name, known, n=3) or sorted(known)[:5]
        raise click.UsageError(
            f"no question {name!r}; near it: {', '.join(near)} (netcost ask --list has all)"
        )
    return known[name]


def _one_table(answers: dict[str, Any], option: str) -> str:
    # The name of the only table among an answer's parts.
    import pandas as pd

    tables = [name for name, part in answers.items() if isinstance(part, pd.DataFrame)]
    if len(tables) != 1:
        named = ", ".join(tables) or "none"
        raise click.UsageError(f"{option} takes one table: choose it with --table ({named})")
    return tables[0]


def _write(answers: dict[str, Any], output: str) -> None:
    from ..display.export import write_csv, write_parquet
    from ..files import replacing

    frame = _with_index(answers[_one_table(answers, "-o")])
    with replacing(output) as draft:
        (write_csv if draft.suffix == ".csv" else write_parquet)(frame, draft)
    print(f"{plural(len(frame), 'row')} in {output}")


def _with_index(frame: Any) -> Any:
    return frame.reset_index(drop=all(name is None for name in frame.index.names))


def _plain(part: Any) -> Any:
    import pandas as pd

    from ..display.export import rows
    from ..display.tables import plain
    from ..questions.catalogue import parts

    if isinstance(part, pd.DataFrame):
        return rows(_with_index(part))
    # A part may have parts of its own, as the limits of squeezes().
    if "" not in (named := parts(part)):
        part = named
    if isinstance(part, list | tuple):
        return [_plain(one) for one in part]
    if isinstance(part, dict):
        return {str(name): _plain(one) for name, one in part.items()}
    return plain(part) if _is_scalar(part) else str(part)


def _is_scalar(part: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_scalar(part))


def _print(question: "Question", answers: dict[str, Any], start_ns: int, wide: bool) -> None:
    import pandas as pd

    for name, part in answers.items():
        if isinstance(part, pd.Series):
            part = part.to_frame(part.name or name)
        if isinstance(part, pd.DataFrame):
            _print_table(question, name, part, start_ns, wide)
        # Notes stand below, with those of the timeline.
        elif name != _NOTES:
            say(f"{name}: {printable(str(_figure(question, name, part)))}")


def _print_table(
    question: "Question", name: str, frame: "pd.DataFrame", start_ns: int, wide: bool
) -> None:
    from ..display.figures import figures

    most = _ON_A_TERMINAL if sys.stdout.isatty() else None
    if name or not len(frame):
        print(f"\n{name or 'answer'}:" if len(frame) else f"{name or 'answer'}: no rows")
    missing = 0
    columns = 1
    if len(frame) or not name:
        # By their own names, which docs/definitions.md defines; a matrix has names of things, and
        # what they are in its own.
        unit = name.rpartition("_")[2] if frame.columns.name and name in _MATRICES else None
        kept = [*frame.index.names, *(() if unit else frame.columns)]
        names = {str(one): str(one) for one in kept}
        table = figures(frame, start_ns, most, names, unit, question.shares)
        columns = len(table.header)
        missing = show(table, by_importance(table, question.main_columns), wide)
    cut = most is not None and len(frame) > most
    rows = f"the first {most} of {len(frame):,} rows: a pipe or -o gets all" if cut else ""
    left_out(missing, columns, rows)


def _figure(question: "Question", name: str, value: Any) -> Any:
    import pandas as pd

    from ..display.figures import figures
    from ..questions.catalogue import parts

    if "" not in (named := parts(value)):
        return "; ".join(f"{one} {_figure(question, one, of)}" for one, of in named.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value)) or "none"
    table = figures(pd.DataFrame({name: [value]}), shares=question.shares)
    return table.rows[0][0] or "unknown"
