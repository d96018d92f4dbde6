# A comparison's observations in the Go benchmark format (golang.org/design/14313-benchmark-format),
# for benchstat to judge by its own statistics.

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..units import printable

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison

_SIDE = "side"
_BETTER = {"more": "higher", "less": "lower"}


def bench_lines(comparison: "Comparison", observations: "Answer") -> Iterator[str]:
    """Lines for `benchstat`: units, then of each side its labels and a line per observation."""
    keys = _keys([*comparison.base.labels, *comparison.new.labels])
    columns = [_SIDE, *(keys[name] for name in comparison.differs)]
    yield f"# benchstat -col {','.join(columns)} FILE"
    spread = observations.tables["spread"].drop_duplicates("metric")
    wanted = {(row["per_unit"], row["metric"]): row["wanted"] for row in spread.to_dict("records")}
    for metric_unit in dict.fromkeys(_unit(*one) for one in wanted):
        of_unit = [said for one, said in wanted.items() if _unit(*one) == metric_unit]
        better = {_BETTER.get(said, "") for said in of_unit}
        # benchstat knows one direction per unit, which metrics may share.
        if len(better) == 1 and (said := better.pop()):
            yield f"Unit {metric_unit} better={said}"
    for side, runs in comparison.sides.items():
        yield ""
        yield f"{_SIDE}: {side}"
        for name, key in keys.items():
            yield f"{key}: {printable(runs.labels.get(name, ('',))[0])}".rstrip()
        yield ""
        rows = observations.frame
        for row in rows[rows["side"] == side].to_dict("records"):
            unit = _unit(row["per_unit"], row["metric"])
            value = row["observed_value"] / (1e9 if unit.startswith("sec") else 1)
            yield f"Benchmark{_name(row['metric'])} 1 {value!r} {unit}"


def _unit(per_unit: str, metric: str) -> str:
    # A word. A share, and a figure of a table of steps, has its metric as unit. benchstat turns ns
    # into seconds except where they are 0, which would be another unit, so seconds are written.
    if per_unit.startswith("ns/"):
        return f"sec/{per_unit[3:]}"
    return re.sub(r"[^\w/]+", "-", "" if per_unit == "share" else per_unit) or _name(metric)


def _name(metric: str) -> str:
    # No lower-case letter may follow "Benchmark". Spaces are not allowed, and benchstat splits
    # names at a slash or an equals sign.
    words = re.sub(r"\W+", "_", metric)
    return words[:1].upper() + words[1:]


def _keys(labels: list[str]) -> dict[str, str]:
    # Configuration keys begin with a lower-case letter and have no space, colon or capital.
    found: dict[str, str] = {}
    for name in dict.fromkeys(labels):
        key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        key = key if key[:1].isalpha() else f"label-{key}".rstrip("-")
        free, number = key, 1
        while free in (_SIDE, *found.values()):
            number += 1
            free = f"{key}-{number}"
        found[name] = free
    return found
