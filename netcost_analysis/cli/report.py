# netcost report: a notebook run on a capture, as one HTML file or as Markdown.

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..timeline.window import NAMED, Named
from . import options
from .arguments import TASK

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline


@click.command("report", short_help="Write a report as one HTML or Markdown file.")
@options.capture_arguments
@options.output_option(
    *(".html", ".htm", ".md"),
    required=True,
    help="The file to write: HTML, or .md for Markdown without pictures.",
)
@options.option(
    "--notebook",
    "NAME",
    "Which notebook: one of netcost's by name or number (devices, 04), or a file. Default: "
    "stolen-time.",
)
@options.option(
    "--experiment",
    "DIR",
    "An experiment of capture/lab to include, a folder or packed: a sweep for "
    "anatomy-and-batches, a calibration for accounting, sizes for where-the-cycles-go.",
)
@click.option(
    "--victim",
    type=TASK,
    help="The task that the report is about, instead of the one that netcost chooses.",
)
@options.option(
    "--window",
    "NAME",
    "For stolen-time: victim, load or trace, as in netcost stolen. Default: auto.",
    type=click.Choice(NAMED),
)
@options.flag("--code", "Keep the code cells in the page.")
@options.beside_options
@options.json_option
def command(
    path: str,
    output: str,
    notebook: str | None,
    experiment: str | None,
    victim: int | str | None,
    window: Named | None,
    code: bool,
    as_json: bool,
) -> None:
    """Write the report on a capture: one HTML file that needs nothing else, or Markdown."""
    from ..opening.experiment import is_experiment, open_experiment
    from ..report.notebook import NotebookError
    from ..report.report import OF_SAMPLES, OTHERS, find_notebook, is_ours, short_name, write_report

    if path == "-":
        raise click.UsageError("report reads the capture more than once: give it a file")
    try:
        source = find_notebook(notebook)
    except NotebookError as error:
        raise click.UsageError(str(error)) from None
    is_own = is_ours(source)
    name = short_name(source) if is_own else None
    if name in OTHERS:
        made_by, about = OTHERS[name]
        raise click.UsageError(
            f"{name} is about {about}, not about one capture: {made_by} -o {output}"
        )
    if is_experiment(path):
        raise click.ClickException(
            f"{path} is an experiment: give one of its recordings (netcost info lists them) and "
            "the experiment with --experiment. netcost sweep writes up a sweep, netcost compare "
            "compares repeats"
        )
    if victim is not None and name in OF_SAMPLES:
        raise click.UsageError(f"{name} is not about a single task: leave out --victim")
    capture = options.opened(path)
    frame = check = None
    if not (_is_sampled(capture) and (name in OF_SAMPLES or not is_own)):
        timeline = capture.timeline(victim=victim)
        check = partial(_check, timeline, of_victim=victim is not None and is_own)
        frame = partial(_frame, timeline)
    if experiment is not None:
        open_experiment(experiment)
    chosen = {"victim": victim, "window": window}
    chosen |= {"buffer": capture.buffer, "experiment": experiment}
    try:
        write_report(
            *(source, path, output),
            with_code=code,
            parameters=chosen,
            beside=options.given_beside(),
            frame=frame,
            check=check,
        )
    except NotebookError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        size = Path(output).stat().st_size
        options.print_json(
            {"report": output, "notebook": source.name, "capture": path, "bytes": size}
        )
    else:
        print(f"report in {output}")


def _frame(timeline: "Timeline", names: dict[str, Any]) -> str:
    from ..capture.capture import Capture
    from ..report.report import section

    # The notebook's capture is already read, so use that one.
    capture = names.get("capture")
    if isinstance(capture, Capture):
        timeline = capture.timeline(victim=timeline.given_victim)
    return section(timeline)


def _is_sampled(capture: "Capture") -> bool:
    from ..errors import LackingError
    from ..questions.samples.sampled import sampled

    try:
        sampled(capture)
    except LackingError:
        return False
    return True


def _check(timeline: "Timeline", of_victim: bool) -> None:
    from .._native import CaptureError
    from ..report.report import OF_SAMPLES

    try:
        _ = timeline.summary
    except CaptureError as error:
        if not _is_sampled(timeline.capture):
            raise
        # A recording of samples alone has a notebook of its own.
        raise CaptureError(
            f"{error}; it has samples of functions, which --notebook {OF_SAMPLES[0]} is about"
        ) from None
    if of_victim:
        _ = timeline.victim
