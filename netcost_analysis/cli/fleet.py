# netcost fleet: many captures asked on Dask.

import click

from .options import COUNT, flag, json_option, option, print_json


@click.command("fleet", short_help="Ask many captures on Dask; keep the answers as Parquet.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder for the answers: a new one, or that of an earlier run.",
)
@option(
    "--scheduler",
    "ADDRESS",
    "A Dask cluster, as tcp://HOST:8786. Default: a local one, with a worker per core.",
)
@option("--workers", "N", "Workers of the local cluster.", type=COUNT)
@flag("--prune", "Remove the answers about captures that are not named this time.")
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
        raise click.UsageError("--workers must be 1 or more")
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers is for a local cluster: a scheduler has its own")
    done = gather_fleet(paths, output, scheduler=scheduler, workers=workers, prune=prune)
    if as_json:
        print_json(asdict(done))
        return
    parts = [f"{plural(done.captures, 'capture')}: {done.asked:,} asked"]
    kept = done.captures - done.asked
    parts += [f"{kept:,} as they were"] if kept else []
    parts += [f"{done.failed:,} cannot be read"] if done.failed else []
    parts += [f"answers about {done.removed:,} removed"] if done.removed else []
    print(", ".join(parts))
    print(f"netcost fleet-report {output}")
