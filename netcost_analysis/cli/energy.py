# netcost energy: joules, wake-ups and the processor's counters of a recording or an experiment.

from typing import TYPE_CHECKING, Any

import click

from ..units import printable
from . import options
from .answer_output import plain_answer
from .table import say, show

if TYPE_CHECKING:
    from ..answers.answer import Answer

_OF_RECORDING = {
    "power": "What the machine used",
    "energy_by_owner": "Who used it, by busy time",
    "idle_wakeups": "What woke idle CPUs",
    "cpu_counters": "What the processor's counters say",
}
_OF_EXPERIMENT = {
    "energy_by_size": "What a gigabyte and a packet cost",
    "counters_by_step": "What the processor's counters say",
}


@click.command("energy", short_help="Show how much energy was used, and what woke idle CPUs.")
@options.capture_arguments
@options.wide_option
@options.window_options
@options.json_option
def command(path: str, as_json: bool) -> None:
    """Show what the machine used of energy, by whom, what woke idle CPUs, and its counters.

    PATH may be an experiment, its folder or that folder in one file: then what a gigabyte and a
    packet cost in each step. What was not measured is said to be so, and how it can be.
    """
    many = options.opened_many(path)
    titles = _OF_RECORDING if many is None else _OF_EXPERIMENT
    ask = _of_recording(path) if many is None else many.ask
    answers = {name: ask(name) for name in titles}
    first, *others = [answer.refusal for answer in answers.values()]
    if first is not None and None not in others:
        raise first
    if as_json:
        options.print_json({name: plain_answer(answer) for name, answer in answers.items()})
        return
    # Give each reason for a missing measurement once.
    shown: dict[str, str] = {}
    for name, answer in answers.items():
        shown.setdefault(str(answer.refusal or name), name)
    for name in shown.values():
        print(f"{titles[name]}\n")
        _show(answers[name])
        print()
    for note in dict.fromkeys(note for answer in answers.values() for note in answer.notes):
        say(f"note: {printable(note)}")


def _of_recording(path: str) -> Any:
    from ..answers.ask import Ask
    from ..capture.bundle import bundle_at

    bundle = bundle_at(path)
    if bundle is not None and bundle.has_no_trace:
        return Ask(bundle)
    return options.part().timeline(options.opened(path)).ask


def _show(answer: "Answer") -> None:
    from ..display.tables import figures, heading
    from ..display.templates import as_text

    say("\n".join(map(printable, as_text(answer.words).split("\n"))))
    question = answer.question
    if answer.refusal is not None or not len(answer.frame):
        return
    frame = answer.frame[: question.rows].dropna(axis="columns", how="all")
    print()
    main = [heading(column, answer.start_ns) for column in question.columns if column in frame]
    more = len(answer.frame) - len(frame)
    rows = f"{more:,} more rows: netcost ask {question.name}" if more else ""
    show(figures(frame, answer.start_ns, shares=question.shares), main, rows)
