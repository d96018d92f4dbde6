# netcost stolen: per victim, where its time on CPU went.

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from .cli import capture_arguments, json_option, opened, print_json, window_options
from .cli_ledger import victim_fields, window_fields
from .units import absent, duration, printable

if TYPE_CHECKING:
    import pandas as pd

    from .accounting import Accounting
    from .tables import Table

_ROWS = 12
_THIEVES = tuple(f"stolen_{kind}_" for kind in ("hardirq", "vector", "nmi", "softirq", "device"))


@click.command("stolen", short_help="Show what each task lost.")
@capture_arguments
@click.option("--victim", metavar="COMM", help="Only this one, in full.")
@window_options
@json_option
def command(
    path: str,
    victim: str | None,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Show how much of each task's time on CPU was its own, and what a monitor would say."""
    from .accounting import accounting
    from .losses import stolen
    from .tables import show, window_text

    capture = opened(path)
    timeline = capture.timeline(start=start, end=end, cpus=list(cpus) or None)
    frame = stolen(timeline)
    if victim is not None and victim not in frame.index:
        raise click.ClickException(_no_such_victim(victim, list(frame.index)))
    frame = frame if victim is None else frame.loc[[victim]]
    regime = accounting(capture.bundle.kernel_config) if capture.bundle else None
    if as_json:
        print_json(
            {
                **window_fields(timeline.summary, timeline.covered),
                "accounting": regime.regime if regime else None,
                "victims": [
                    {**victim_fields(key, "comm"), **_plain(row)} for key, row in frame.iterrows()
                ],
            }
        )
        return
    window = window_text(timeline.duration_ns, timeline.summary["cpus"], timeline.covered)
    if victim is None:
        print(f"Where each task's time on CPU went, in {window}\n")
        show(_overview(frame))
        if regime:
            print(f"\naccounting {regime.text}")
    else:
        print(f"Where the time of {printable(victim)} on CPU went, in {window}\n")
        show(_detail(frame.iloc[0], regime))
    for note in timeline.notes:
        print(f"note: {printable(note)}")


def _plain(row: Any) -> dict[str, Any]:
    from .tables import plain

    return {str(name): plain(value) for name, value in row.items()}


def _no_such_victim(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3) or known[:5]
    return f"no task {name!r} in the window; there are {', '.join(near)}"


def _overview(frame: "pd.DataFrame") -> "Table":
    from .tables import Table

    rows = [[str(comm), *_cells(row)] for comm, row in frame[:_ROWS].iterrows()]
    if len(frame) > _ROWS:
        # A column that is unknown for one is unknown for their sum.
        rest = frame[_ROWS:].sum(skipna=False)
        for part in ("stolen", "stolen_max"):
            rest[f"{part}_share"] = rest[f"{part}_ns"] / rest["on_cpu_ns"]
        rows.append([f"{len(frame) - _ROWS} others", *_cells(rest)])
    header = ["task", *_COLUMNS]
    # A column of blanks says nothing, nor does a monitor of whom nothing is known.
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    if frame["monitor_ns"].isna().all():
        kept.remove(len(_COLUMNS))
    return Table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


_COLUMNS = (
    *("on CPU", "itself", "stolen", "share", "of it network"),
    *("own traffic", "scheduled", "displaced", "unknown", "monitor says"),
)


def _cells(row: "pd.Series[Any]") -> list[str]:
    from .tables import between, share_between

    def figure(name: str) -> str:
        value = row[name]
        return duration(value) if absent(value) or value else ""

    return [
        figure("on_cpu_ns"),
        figure("task_ns"),
        between(row["stolen_ns"], row["stolen_max_ns"]),
        share_between(row["stolen_share"], row["stolen_max_share"])
        if row["stolen_max_ns"] and not absent(row["stolen_share"])
        else "",
        between(row["stolen_network_ns"], row["stolen_network_max_ns"]),
        *map(figure, ("synchronous_ns", "scheduled_ns", "displaced_ns", "unknown_ns")),
        figure("monitor_ns"),
    ]


def _detail(row: "pd.Series[Any]", regime: "Accounting | None") -> "Table":
    from .tables import Table, between, share_between

    whole = row["on_cpu_ns"]

    def part(name: str, low: Any, high: Any | None = None) -> list[str]:
        high = low if high is None else high
        unknown = absent(whole) or not whole
        return [
            name,
            between(low, high) or "0",
            "" if unknown else share_between(low / whole, high / whole),
        ]

    rows = []
    if not absent(whole):
        rows += [part("on CPU", whole), part("ran itself", row["task_ns"])]
    rows.append(part("stolen", row["stolen_ns"], row["stolen_max_ns"]))
    rows.append(part("  network", row["stolen_network_ns"], row["stolen_network_max_ns"]))
    for name in map(str, row.index):
        if name.startswith(_THIEVES) and row[name]:
            thief = name.removeprefix("stolen_").removesuffix("_ns").replace("_", " ", 1)
            rows.append(part(f"  by {thief}", row[name]))
    rows += [
        part("synchronous", row["synchronous_ns"]),
        part("scheduled network work", row["scheduled_ns"]),
        part("unknown", row["unknown_ns"]),
        ["displaced (waited, off CPU)", duration(row["displaced_ns"]), ""],
        part(f"a monitor says ({regime.regime})", row["monitor_ns"])
        if regime
        else ["a monitor says", "unknown", ""],
    ]
    return Table(["", "time", "of its time on CPU"], rows)
