# netcost sweep: the write-up of a sweep, as text, JSON, or a page like netcost report's.

from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from .answer_output import plain_answer
from .options import json_option, output_option, path_argument, print_json
from .report import EXTRA
from .table import by_importance, fitting

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..display.tables import Table
    from ..fleet.fleet import Fleet
    from ..opening.experiment import Experiment

NOTEBOOK = "data-path-comparison"
# In the order of the notebook: the verdict first, the command that repeats it last.
QUESTIONS = {
    "cheaper_path": "Which data path costs less",
    "by_rate": "What each rate costs",
    "cpu_by_rate": "The CPU by mpstat",
    "saturation": "Where the curves end",
    "destinations": "One destination and two",
    "rate_curve": "Why the curves bend",
    "made_by": "How it was made",
}
# Of a mail.
_COLUMNS = 72


@click.command("sweep", short_help="Write up a sweep over packet rates: which data path, how much.")
@path_argument
@output_option(
    *(".html", ".htm", ".md", ".txt"),
    help="Write to FILE.html, FILE.md or FILE.txt instead: only HTML has the pictures.",
)
@json_option
def command(path: str, output: str | None, as_json: bool) -> None:
    """Write up a sweep: an experiment of capture/lab over rates of packets.

    PATH is its folder, or that folder in one file. The verdict comes first: which data path costs
    less at each rate, and by how much; then tables, where the curves end, and how it was made.
    """
    from ..opening.experiment import open_experiment
    from ..questions.sweep.steps import require_steps

    experiment = open_experiment(path)
    require_steps(experiment)
    if output is not None and Path(output).suffix != ".txt":
        page(NOTEBOOK, "sweep", path, output)
    if output is None and not as_json:
        print(text_of(experiment, QUESTIONS), end="")
    elif output is not None and Path(output).suffix == ".txt":
        from ..files import replacing

        with replacing(output) as draft:
            draft.write_text(text_of(experiment, QUESTIONS), encoding="utf-8")
    if as_json:
        answers = {name: plain_answer(experiment.ask(name)) for name in QUESTIONS}
        print_json(answers if output is None else {"sweep": path, "output": output})
    elif output is not None:
        print(f"write-up in {output}")


def page(notebook: str, command: str, path: str, output: str) -> None:
    # The notebook that a command's answers are written up in, executed.
    from ..report.execution import NotebookError
    from ..report.report import find_notebook, write_report

    try:
        write_report(find_notebook(notebook), path, output, named=("netcost", command, path))
    except ImportError as error:
        raise click.ClickException(f"{EXTRA} (no module {error.name})") from None
    except NotebookError as error:
        raise click.ClickException(str(error)) from None


def text_of(source: "Experiment | Fleet", questions: Mapping[str, str]) -> str:
    """The write-up as text of 72 columns: words, and of each table the columns that fit.

    source: what is asked. questions: their titles by name. Returns lines, the last one ended.
    """
    parts = [_text(source.ask(name), title) for name, title in questions.items()]
    return "\n\n".join(parts) + "\n"


def _text(answer: "Answer", title: str) -> str:
    from ..display.figures import figures
    from ..display.templates import as_text
    from ..units import printable

    lines = [title, "=" * len(title), ""]
    for line in as_text(answer.words).split("\n"):
        # A command is copied whole.
        code = line.startswith("    ")
        lines += [line] if code or not line else wrap(line, _COLUMNS, break_long_words=False)
    question = answer.question
    if answer.refusal is None and question.rows and len(answer.frame):
        table = figures(answer.frame, 0, question.rows, shares=question.shares)
        named = dict(zip(answer.frame.columns, table.header, strict=True))
        main = [named[name] for name in question.columns]
        lines += ["", _narrow(table, by_importance(table, main))]
    return "\n".join(printable(line) if "\n" not in line else line for line in lines).rstrip()


def _narrow(table: "Table", order: list[int]) -> str:
    from ..display.tables import Table

    places = fitting(table, order, _COLUMNS)
    return Table(
        [table.header[place] for place in places],
        [[row[place] for place in places] for row in table.rows],
        left={at for at, place in enumerate(places) if place in table.left},
    ).text()
