# netcost ask: any question of the package from the shell, as text, JSON, CSV or Parquet.

import ast
import re
import sys
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from .cli import (
    capture_arguments,
    json_option,
    opened,
    output_option,
    print_json,
    window_options,
)
from .units import printable

if TYPE_CHECKING:
    from .capture import Capture
    from .questions import Question
    from .timeline import Timeline

_ON_A_TERMINAL = 40


def _listed(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from .questions import questions
    from .tables import Table, show

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
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Ask a question of the package: QUESTION is one of its functions, `--list` has them all.

    Columns and their meaning: docs/definitions.md.
    """
    from .missed.unrecorded import lower_ends_of
    from .questions import ask, parts

    one = _question(question)
    given = _options(one, options)
    timelines: list[Timeline] = []

    def windowed(capture: "Capture") -> "Timeline":
        timelines.append(capture.timeline(start=start, end=end, cpus=list(cpus) or None))
        return timelines[-1]

    whole = start is None and end is None and not cpus
    of_victim = "Bundle" in one.sources and whole
    answer = ask(one, path, None if of_victim else windowed, opened, **given)
    answers = parts(answer)
    if table is not None:
        if table not in answers:
            named = ", ".join(name for name in answers if name) or "one table without a name"
            raise click.ClickException(f"{one.name} has no part {table!r}; it has {named}")
        answers = {table: answers[table]}
    if output:
        _write(answers, output)
    elif as_json:
        print_json({name: _plain(part) for name, part in answers.items()} if "" not in answers
                   else _plain(answers[""]))  # fmt: skip
    else:
        _print(answers, 0 if one.sources == ("Series",) else opened(path).start_ns)
        for timeline in timelines[:1]:
            for note in [*timeline.notes, *lower_ends_of(timeline)]:
                print(f"note: {printable(note)}")


def _question(name: str) -> "Question":
    from difflib import get_close_matches

    from .questions import questions

    known = questions()
    if name not in known:
        near = get_close_matches(name, known, n=3) or sorted(known)[:5]
        raise click.UsageError(
            f"no question {name!r}; near it: {', '.join(near)} (netcost ask --list has all)"
        )
    return known[name]


def _options(question: "Question", given: tuple[str, ...]) -> dict[str, Any]:
    values = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in question.options:
            known = ", ".join(f"{key}={value}" for key, value in question.options.items())
            raise click.UsageError(
                f"--with {one!r}: {question.name} takes {known or 'nothing'} (NAME=VALUE)"
            )
        values[name] = _value(one, text, question.kinds[name])
    return values


def _value(given: str, text: str, kind: str) -> Any:
    # A value of the parameter's type, as its annotation has it: "int | None", "float", "By".
    if text == "None" and "None" in kind:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = text
    if many := _MANY.search(kind):
        one, rest = many.groups()
        length = None if rest in (None, "...") else 1 + rest.count(one)
        values = tuple(value) if isinstance(value, list | tuple) else (value,)
        fits = all(_TAKES[one](each) for each in values)
        if values and fits and len(values) == (length or len(values)):
            return values
    elif any(name in kind and takes(value) for name, takes in _TAKES.items() if name != "str"):
        return float(value) if "float" in kind else value
    elif "str" in kind or "Literal" in kind:
        return value if isinstance(value, str) else text
    raise click.UsageError(f"--with {given!r}: it takes {_said(kind)}")


# "tuple[int, ...]", "tuple[int, int]", "collections.abc.Sequence[int]".
_MANY = re.compile(r"(?:tuple|Sequence)\[(\w+)(?:, (.*?))?\]")
_TAKES: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    # Times have 64 bits, and are added to others.
    "int": lambda value: type(value) is int and abs(value) < 2**62,
    "float": lambda value: type(value) in (int, float) and isfinite(value),
    "str": lambda value: isinstance(value, str),
}


def _said(kind: str) -> str:
    return re.sub(r"<class '(\w+)'>", r"\1", kind).removeprefix("collections.abc.")


def _write(answers: dict[str, Any], output: str) -> None:
    import pandas as pd

    from .export import write_csv, write_parquet
    from .files import replacing

    frames = [part for part in answers.values() if isinstance(part, pd.DataFrame)]
    if len(frames) != 1:
        named = ", ".join(n for n, part in answers.items() if isinstance(part, pd.DataFrame))
        raise click.UsageError(f"-o takes one table: choose it with --table ({named or 'none'})")
    frame = _with_index(frames[0])
    with replacing(output) as draft:
        (write_csv if draft.suffix == ".csv" else write_parquet)(frame, draft)
    print(f"{len(frame):,} rows in {output}")


def _with_index(frame: Any) -> Any:
    return frame.reset_index(drop=all(name is None for name in frame.index.names))


def _plain(part: Any) -> Any:
    import pandas as pd

    from .export import rows
    from .questions import parts
    from .tables import plain

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


def _print(answers: dict[str, Any], start_ns: int) -> None:
    import pandas as pd

    from .figures import figures
    from .tables import show

    most = _ON_A_TERMINAL if sys.stdout.isatty() else None
    for name, part in answers.items():
        if isinstance(part, pd.Series):
            part = part.to_frame(part.name or name)
        if not isinstance(part, pd.DataFrame):
            print(f"{name}: {printable(str(_figure(name, part)))}")
            continue
        if name or not len(part):
            print(f"\n{name or 'answer'}:" if len(part) else f"{name or 'answer'}: no rows")
        if len(part) or not name:
            # By their own names, which docs/definitions.md defines.
            names = {str(name): str(name) for name in [*part.index.names, *part.columns]}
            show(figures(part, start_ns, most, names))
        if most is not None and len(part) > most:
            print(f"the first {most} of {len(part):,}; a pipe or -o gets all", file=sys.stderr)


def _figure(name: str, value: Any) -> Any:
    import pandas as pd

    from .figures import figures
    from .questions import parts

    if "" not in (named := parts(value)):
        return "; ".join(f"{one} {_figure(one, of)}" for one, of in named.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value)) or "none"
    return figures(pd.DataFrame({name: [value]})).rows[0][0] or "unknown"
