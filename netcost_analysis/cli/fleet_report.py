# netcost fleet-report: the write-up of a fleet.

import click

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


@click.command("fleet-report", short_help="Write up a fleet: what costs most where, what changed.")
@write_up_options
def command(path: str, output: str | None, as_json: bool) -> None:
    """Write up a fleet: the answers to many captures, which netcost fleet keeps in PATH.

    What changed and when, captures that are far from others like them, costs by kernel, driver,
    device and host; each with the capture and the command that opens it.
    """
    from ..fleet import open_fleet

    write_up(open_fleet(path), _QUESTIONS, "fleet", output, as_json)
