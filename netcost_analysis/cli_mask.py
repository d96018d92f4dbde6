# netcost mask: a recording or bundle without the names of its host, tasks and addresses.

import click

from .cli import json_option, print_json


@click.command("mask", short_help="Replace names and addresses in a recording or bundle.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--map",
    "map_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Names and what replaces them, taken over and extended. Keep it to yourself: it undoes "
    "the masking.",
)
@json_option
def command(source: str, target: str, map_path: str | None, as_json: bool) -> None:
    """Write OUT, of the same kind as IN, with host names, IP and MAC addresses, command lines and
    task names replaced; kernel threads stay readable.

    IN is a bundle, packed or not, or a recording. OUT.masked.txt says what was replaced, zeroed and
    left out: docs/mask.md.
    """
    from .masking import mask

    if source == "-":
        raise click.UsageError("mask reads the recording more than once: give it a file")
    masked = mask(source, target, map_path)
    if as_json:
        print_json({"output": target, "replaced": masked.replaced, "told": masked.told})
        return
    click.echo(masked.summary, nl=False)
    click.echo(f"masked: {target}; the same list is in {target}.masked.txt")
