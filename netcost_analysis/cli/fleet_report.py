# netcost fleet-report: the write-up of a fleet, as text, JSON, or a page like netcost report's.

from pathlib import Path

import click

from .answer_output import plain_answer
from .options import json_option, output_option, path_argument, print_json
from .sweep import page, text_of

NOTEBOOK = "fleet"
# In the order of the notebook: what there is and what changed first.
QUESTIONS = {
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


@click.command("fleet-report", short_help="Write up a fleet: what costs most where, what changed.")
@path_argument
@output_option(
    *(".html", ".htm", ".md", ".txt"),
    help="Write to FILE.html, FILE.md or FILE.txt instead: only HTML has the pictures.",
)
@json_option
def command(path: str, output: str | None, as_json: bool) -> None:
    """Write up a fleet: the answers to many captures, which netcost fleet keeps in PATH.

    What changed and when, captures that are far from others like them, costs by kernel, driver,
    device and host; each with the capture and the command that opens it.
    """
    from ..fleet.fleet import open_fleet

    fleet = open_fleet(path)
    if output is not None and Path(output).suffix != ".txt":
        page(NOTEBOOK, "fleet-report", path, output)
    if output is None and not as_json:
        print(text_of(fleet, QUESTIONS), end="")
    elif output is not None and Path(output).suffix == ".txt":
        from ..files import replacing

        with replacing(output) as draft:
            draft.write_text(text_of(fleet, QUESTIONS), encoding="utf-8")
    if as_json:
        answers = {name: plain_answer(fleet.ask(name)) for name in QUESTIONS}
        print_json(answers if output is None else {"fleet": path, "output": output})
    elif output is not None:
        print(f"write-up in {output}")
