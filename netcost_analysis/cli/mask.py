# netcost mask: a recording or bundle without the names of its host, tasks and addresses.

import click

from .options import json_option, print_json


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
@click.option(
    "--name",
    metavar="NAME",
    help="What the folder in a packed OUT is called: bundle, or experiment, unless said.",
)
@json_option
def command(
    source: str, target: str, map_path: str | None, name: str | None, as_json: bool
) -> None:
    """Write OUT, of the same kind as IN, with host names, IP and MAC addresses, command lines and
    names of tasks and files replaced; kernel threads stay readable.

    IN is a bundle or an experiment, packed or not, or a recording; a folder is packed where OUT
    ends in .tar.zst or .tar.gz. OUT.masked.txt says what was replaced, zeroed, left out and not
    masked: docs/mask.md.
    """
    from ..masking import mask

    if source == "-":
        raise click.UsageError("mask reads the recording more than once: give it a file")
    masked = mask(source, target, map_path, name)
    if as_json:
        print_json(
            {
                "output": target,
                "replaced": masked.replaced,
                "changes": masked.changes,
                "not_masked": masked.not_masked,
            }
        )
        return
    click.echo(masked.summary, nl=False)
    click.echo(f"masked: {target}; the same list is in {target}.masked.txt")
