# netcost sweep and fleet-report: answers in a fixed order, as text, JSON or a page.

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from ..progress import each
from .answer_output import plain_answer
from .options import json_option, output_option, path_argument, print_json, together
from .table import by_importance, fitting

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..fleet import Fleet
    from ..opening.experiment import Experiment

# The width of a mail.
_COLUMNS = 72
# In the order of the notebooks: a sweep begins with its verdict, a fleet with what it has.
_OF_SWEEP = {
    "cheaper_path": "Which data path costs less",
    "by_rate": "What each rate costs",
    "cpu_by_rate": "The CPU by mpstat",
    "saturation": "Where the curves end",
    "destinations": "One destination and two",
    "rate_curve": "Why the curves bend",
    "made_by": "How it was made",
}
_OF_FLEET = {
    "fleet_captures": "What there is",
    "trend": "What changed, and when",
    "outliers": "Captures far from others like them",
    "by_kernel": "By kernel",
    "by_driver": "By driver",
    "by_device": "By device",
    "by_host": "By host",
    "fleet_poll_sizes": "Packets per poll",
    "fleet_softirq_lengths": "How long softirqs ran",
    "unreadable": "What could not be read",
}


_options = together(
    path_argument,
    output_option(
        *(".html", ".htm", ".md", ".txt"),
        help="Write to FILE.html, FILE.md or FILE.txt instead. Only HTML has pictures.",
    ),
    json_option,
)


def _write_up(
    source: "Experiment | Fleet",
    questions: Mapping[str, str],
    notebook: str,
    output: str | None,
    as_json: bool,
) -> None:
    # questions: titles by name. notebook: the one that makes the page.
    context = click.get_current_context()
    path, command = str(context.params["path"]), str(context.info_name)
    text = ""
    if output is None or output.endswith(".txt"):
        answers = {name: source.ask(name) for name in each("asking the questions", [*questions])}
        if output is None and as_json:
            print_json({name: plain_answer(answer) for name, answer in answers.items()})
            return
        sections = (_section(answer, questions[name]) for name, answer in answers.items())
        text = "\n\n".join(sections) + "\n"
    if output is None:
        print(text, end="")
        return
    if text:
        from ..files import replacing

        with replacing(output) as draft:
            draft.write_text(text, encoding="utf-8")
    else:
        from ..report.notebook import NotebookError
        from ..report.report import find_notebook, write_report

        try:
            write_report(find_notebook(notebook), path, output, named=("netcost", command, path))
        except NotebookError as error:
            raise click.ClickException(str(error)) from None
    if as_json:
        print_json({command.partition("-")[0]: path, "output": output})
    else:
        print(f"write-up in {output}")


def _section(answer: "Answer", title: str) -> str:
    # The words, and the columns of the table that fit.
    from ..display.tables import figures
    from ..display.templates import as_text
    from ..units import printable

    lines = [title, "=" * len(title), ""]
    for line in as_text(answer.words).split("\n"):
        # Commands are copied, so they must not wrap.
        code = line.startswith("    ")
        lines += [line] if code or not line else wrap(line, _COLUMNS, break_long_words=False)
    text = "\n".join(map(printable, lines))
    question = answer.question
    if answer.refusal is None and question.rows and len(answer.frame):
        table = figures(answer.frame, 0, question.rows, shares=question.shares)
        named = dict(zip(answer.frame.columns, table.header, strict=True))
        order = by_importance(table, [named[name] for name in question.columns])
        text += f"\n\n{table.only(fitting(table, order, _COLUMNS)).text()}"
    return text.rstrip()


@click.command(
    "sweep",
    short_help="Write up a sweep over packet rates: which data path costs less, and by how much.",
)
@_options
def sweep(path: str, output: str | None, as_json: bool) -> None:
    """Write up a sweep: an experiment of capture/lab over rates of packets.

    PATH is its folder, or that folder in one file. The verdict comes first: which data path costs
    less at each rate, and by how much; then tables, where the curves end, and how it was made.
    """
    from ..opening.experiment import open_experiment
    from ..questions.sweep.steps import require_steps

    experiment = open_experiment(path)
    require_steps(experiment)
    _write_up(experiment, _OF_SWEEP, "data-path-comparison", output, as_json)


@click.command("fleet-report", short_help="Write up a fleet: what costs most where, what changed.")
@_options
def fleet_report(path: str, output: str | None, as_json: bool) -> None:
    """Write up a fleet: the answers to many captures, which netcost fleet keeps in PATH.

    What changed and when, captures that are far from others like them, costs by kernel, driver,
    device and host; each with the capture and the command that opens it.
    """
    from ..fleet import open_fleet

    _write_up(open_fleet(path), _OF_FLEET, "fleet", output, as_json)
