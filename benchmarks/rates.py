# The table of a format beside perf.data: time, rate and share of each way, the last against the way
# that it is compared with; and what was wanted of them.

from collections.abc import Mapping

from benchmarks.measure import Figure


# The first call of a process also pays for every page of memory: rates are of the later ones.
def best(one: Figure) -> float:
    return one.again_seconds or one.seconds


def seconds_of(one: Figure) -> list[str]:
    """The cells that every table begins with: way, time, spread, CPU, again."""
    again = f"{one.again_seconds:.3f}" if one.again_seconds else ""
    return [
        one.way.name,
        *(f"{at:.3f}" for at in (one.seconds, one.spread, one.cpu_seconds)),
        again,
    ]


def table(figures: list[Figure], count: int, unit: str, against: Mapping[str, str], of: str) -> str:
    """
    The figures as a markdown table.

    :param count: what each way read, in ``unit``
    :param against: by a way's name the one whose time is 1; ``of`` heads that column
    """
    seconds = {one.way.name: one.seconds for one in figures}
    head = f"| way | time (s) | spread | CPU (s) | again (s) | M {unit}/s | of {of} | peak (MiB) |"
    lines = [head, "|---" * 8 + "|"]
    for one in figures:
        cells = [
            *seconds_of(one),
            f"{count / best(one) / 1e6:.1f}",
            f"{best(one) / seconds[against[one.way.name]]:.3f}",
            f"{one.peak_mib:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def targets(rows: list[tuple[str, float, float]]) -> str:
    """What was wanted at least, and what was measured, by name."""
    lines = ["| target | wanted | measured | |", "|---|---|---|---|"]
    for name, wanted, measured in rows:
        verdict = "met" if measured >= wanted else "**missed**"
        lines.append(f"| {name} | {wanted:g} | {measured:.1f} | {verdict} |")
    return "\n".join(lines)
