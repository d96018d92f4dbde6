# netcost report: the notebook on a capture, as one HTML file or as Markdown.

from pathlib import Path

import click

from .arguments import TASK
from .main import (
    beside_options,
    capture_arguments,
    given_beside,
    json_option,
    opened,
    output_option,
    print_json,
)

EXTRA = "a page needs the notebook tools: pip install 'netcost-analysis[report]'"


@click.command("report", short_help="Write the report as one HTML or Markdown file.")
@capture_arguments
@output_option(
    *(".html", ".htm", ".md"),
    required=True,
    help="The file to write: HTML, or for .md Markdown without pictures.",
)
@click.option(
    "--notebook",
    metavar="NAME",
    help="Which question: a notebook of the project by name or number (devices, 04), or a file; "
    "stolen-time unless given.",
)
@click.option(
    "--experiment",
    metavar="DIR",
    help="An experiment of capture/lab beside it, its folder or packed: a sweep for "
    "anatomy-and-batches, a calibration for accounting.",
)
@click.option("--victim", type=TASK, help="The task it is about, instead of a chosen one.")
@click.option("--code", is_flag=True, help="Keep the code cells in the page.")
@beside_options
@json_option
def command(
    path: str,
    output: str,
    notebook: str | None,
    experiment: str | None,
    victim: int | str | None,
    code: bool,
    as_json: bool,
) -> None:
    """Write the report on a capture: one HTML file that needs nothing else, or Markdown."""
    from ..capture.experiment import is_experiment, open_experiment
    from ..report.execution import NotebookError
    from ..report.report import OTHERS, find_notebook, is_ours, short_name, write_report

    if path == "-":
        raise click.UsageError("report reads the capture more than once: give it a file")
    try:
        source = find_notebook(notebook)
    except NotebookError as error:
        raise click.UsageError(str(error)) from None
    if is_ours(source) and short_name(source) in OTHERS:
        made_by, about = OTHERS[short_name(source)]
        raise click.UsageError(
            f"{short_name(source)} is about {about}, not about one capture: {made_by} -o {output}"
        )
    if is_experiment(path):
        raise click.ClickException(
            f"{path} is an experiment: give report one of its recordings, as netcost info lists "
            "them, and the experiment with --experiment; netcost sweep writes up a sweep, netcost "
            "compare repeats"
        )
    # What the ledger refuses, it refuses here in a line, before a kernel starts.
    capture = opened(path)
    timeline = capture.timeline(victim=victim)
    _ = timeline.summary
    if victim is not None and is_ours(source):
        _ = timeline.victim
    if experiment is not None:
        open_experiment(experiment)
    chosen = {
        "victim": victim,
        "buffer": capture.buffer,
        "experiment": experiment,
    }
    try:
        write_report(source, path, output, with_code=code, parameters=chosen, beside=given_beside())
    except ImportError as error:
        raise click.ClickException(f"{EXTRA} (no module {error.name})") from None
    except NotebookError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        print_json(
            {
                "report": output,
                "notebook": source.name,
                "capture": path,
                "bytes": Path(output).stat().st_size,
            }
        )
    else:
        print(f"report in {output}")
