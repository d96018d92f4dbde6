# netcost fleet, fleet-report: many captures asked on Dask, and the write-up of their answers.

import click

from .options import COUNT, flag, json_option, option, print_json
from .write_up import write_up, write_up_options

# In the order of the notebook: what there is and what changed first.
_QUESTIONS = {
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


@click.command("fleet", short_help="Ask many captures on Dask; keep the answers as Parquet.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder of the answers: a new one, or that of a run before.",
)
@option(
    "--scheduler",
    "ADDRESS",
    "A Dask cluster, as tcp://HOST:8786. Unless given a local one, of a worker per core.",
)
@option("--workers", "N", "Of the local cluster.", type=COUNT)
@flag("--prune", "Remove the answers to captures that are not named this time.")
@json_option
def command(
    paths: tuple[str, ...],
    output: str,
    scheduler: str | None,
    workers: int | None,
    prune: bool,
    as_json: bool,
) -> None:
    """Ask many captures, and keep their answers as a dataset of Parquet files.

    PATH is a recording, a bundle, a folder of these at any depth, a glob of them, or a URL that
    fsspec opens. A second run asks what is new or has changed. A capture that cannot be read is a
    row that says why. netcost fleet-report DIR shows what the answers come to.
    """
    from dataclasses import asdict

    from ..gathering.gather import gather_fleet
    from ..units import plural

    if workers == 0:
        raise click.UsageError("--workers is 1 or more")
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers is of a local cluster: a scheduler has its own")
    done = gather_fleet(paths, output, scheduler=scheduler, workers=workers, prune=prune)
    if as_json:
        print_json(asdict(done))
        return
    parts = [f"{plural(done.captures, 'capture')}: {done.asked:,} asked"]
    kept = done.captures - done.asked
    parts += [f"{kept:,} as they were"] if kept else []
    parts += [f"{done.failed:,} cannot be read"] if done.failed else []
    parts += [f"answers to {done.removed:,} removed"] if done.removed else []
    print(", ".join(parts))
    print(f"netcost fleet-report {output}")


@click.command("fleet-report", short_help="Write up a fleet: what costs most where, what changed.")
@write_up_options
def fleet_report(path: str, output: str | None, as_json: bool) -> None:
    """Write up a fleet: the answers to many captures, which netcost fleet keeps in PATH.

    What changed and when, captures that are far from others like them, costs by kernel, driver,
    device and host; each with the capture and the command that opens it.
    """
    from ..fleet import open_fleet

    write_up(open_fleet(path), _QUESTIONS, "fleet", output, as_json)
