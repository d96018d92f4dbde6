# netcost sweep: the write-up of a sweep.

import click

from .write_up import write_up, write_up_options

# In the order of the notebook: the verdict first, the command that repeats it last.
_QUESTIONS = {
    "cheaper_path": "Which data path costs less",
    "by_rate": "What each rate costs",
    "cpu_by_rate": "The CPU by mpstat",
    "saturation": "Where the curves end",
    "destinations": "One destination and two",
    "rate_curve": "Why the curves bend",
    "made_by": "How it was made",
}


@click.command("sweep", short_help="Write up a sweep over packet rates: which data path, how much.")
@write_up_options
def command(path: str, output: str | None, as_json: bool) -> None:
    """Write up a sweep: an experiment of capture/lab over rates of packets.

    PATH is its folder, or that folder in one file. The verdict comes first: which data path costs
    less at each rate, and by how much; then tables, where the curves end, and how it was made.
    """
    from ..opening.experiment import open_experiment
    from ..questions.sweep.steps import require_steps

    experiment = open_experiment(path)
    require_steps(experiment)
    write_up(experiment, _QUESTIONS, "data-path-comparison", output, as_json)
