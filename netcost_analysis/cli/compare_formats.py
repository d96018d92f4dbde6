# The types of netcost compare --json, which docs/compare.schema.json is generated from, and the
# lines of --bench: observations in the Go benchmark format
# (golang.org/design/14313-benchmark-format), which benchstat judges by its own statistics.

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, defstruct, field

from .._native import __version__
from ..capture.checksum import checksum
from ..display.export import checked_json
from ..questions.thresholds import Condition
from ..report.provenance import recorder
from ..schema import columns
from ..units import absent, printable

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison
    from ..comparison.run import Run
    from ..report.write_up import WriteUp

FORMAT = 1
_SIDE = "side"
_BETTER = {"more": "higher", "less": "lower"}


class Recording(Struct, kw_only=True):
    """A recording of a run. command: what recorded it."""

    path: str
    sha256: str | None
    command: str | None


class RunOfSide(Struct, kw_only=True):
    """A run. recordings: empty where only figures were measured."""

    name: str
    labels: dict[str, str]
    figures: dict[str, float]
    recordings: list[Recording]


class SideOf(Struct, kw_only=True):
    """A side. called: what the write-up calls it."""

    called: str
    runs: list[RunOfSide]


# Types by the column's declared type. Floats may be null: JSON has neither NaN nor infinity.
_TYPES = {"float64": float | None, "int64": int, "Int64": int | None, "str": str, "bool": bool}


def _row(name: str, text: str, *names: str, **of: Any) -> type[Struct]:
    # The type of a frame's row. Types come from columns.toml unless `of` overrides them.
    fields = [(column, of.get(column) or _TYPES[columns()[column].type]) for column in names]
    return defstruct(name, fields, kw_only=True, module=__name__, namespace={"__doc__": text})


Change = _row(
    "Change",
    "A row of `changes`, with columns of docs/columns.md; null is unknown, or an open end.",
    *("metric", "per_unit", "base", "base_low", "base_high", "new", "new_low", "new_high"),
    *("change", "change_low", "change_high", "p_value", "p_adjusted", "p_least", "differs"),
    *("outcome", "more_repeats", "observed_in", "base_observations", "new_observations"),
    *("base_deviation_share", "new_deviation_share"),
    *("is_primary", "is_named", "is_relative", "is_unchanged", "refused_by"),
    differs=Literal["yes", "no", "too_few", "refused", "one_side"],
    outcome=Literal["better", "worse", ""],
    observed_in=Literal["repeats", "blocks"],
)
Branch = _row(
    *("Branch", "A row of `cost_tree`.", "level", "process_context", "cost_class", "thief"),
    *("base_ns", "new_ns", "base_ns_per_unit", "new_ns_per_unit"),
    *("difference_ns", "difference_share"),
)
Moved = _row(
    *("Moved", "A row of `cost_tree`'s moved.", "process_context"),
    *("decrease_ns", "increase_ns", "moved_ns", "added_ns"),
)


class CostTree(Struct, kw_only=True):
    """Where CPU time per unit of work went."""

    unit: str
    tree: list[Branch]  # type: ignore[valid-type]
    moved: list[Moved]  # type: ignore[valid-type]


class Document(Struct, kw_only=True):
    """A comparison. Fields may be added; those listed keep their meaning.

    subject: the one figure, in a line. verdict: the first paragraphs, as text. changes: empty for
    recordings of samples alone, whose component_changes are in others. others: the answers of
    further questions by name, as `netcost ask --json` prints them, without those that have none.
    """

    netcost_compare: int = FORMAT
    netcost: str
    subject: str
    verdict: str
    base: SideOf
    new: SideOf
    changes: list[Change]  # type: ignore[valid-type]
    cost_tree: CostTree | None
    others: dict[str, Any]
    notes: list[str]
    conditions: list[Condition]
    commands: list[str] = field(default_factory=list)


def document(written: "WriteUp", judged: Sequence[Condition]) -> bytes:
    """The document as JSON, checked against its types."""
    from ..display.templates import as_text
    from .answer_output import plain_part

    answers = written.answers
    changes, tree = answers["changes"], answers["cost_tree"]
    branches = None
    if tree.refusal is None:
        branches = {
            "unit": tree["unit"],
            "tree": _rows(tree.frame, Branch),
            "moved": _rows(tree["moved"], Moved),
        }
    others = {
        name: {part: plain_part(value) for part, value in answer.parts.items()}
        for name, answer in answers.items()
        if name not in ("changes", "cost_tree") and answer.refusal is None
    }
    comparison = written.comparison
    sides = {
        side: {"called": comparison.named(side), "runs": [_run(run) for run in runs]}
        for side, runs in comparison.sides.items()
    }
    fields = {
        "netcost": __version__,
        "subject": written.title,
        "verdict": as_text(written.verdict),
        **sides,
        "changes": [] if written.is_of_samples else _rows(changes.frame, Change),
        "cost_tree": branches,
        "others": others,
        "notes": list(written.first.notes),
        "conditions": [vars(condition) for condition in judged],
        "commands": written.commands,
    }
    return checked_json(fields, Document)


def _rows(frame: Any, kind: type[Struct]) -> list[dict[str, Any]]:
    from ..display.export import rows

    return rows(frame[list(kind.__struct_fields__)])


def _run(run: "Run") -> dict[str, Any]:
    return {
        "name": run.name,
        "labels": dict(run.labels),
        "figures": {name: value for name, value in run.figures.items() if not absent(value)},
        "recordings": [
            {"path": capture.path, "sha256": checksum(capture), "command": recorder(capture)}
            for capture in run.captures
        ],
    }


def bench_lines(comparison: "Comparison", observations: "Answer") -> Iterator[str]:
    """Lines for benchstat: units, then each side's labels and a line per observation."""
    keys = _keys([*comparison.base.labels, *comparison.new.labels])
    labels = [_SIDE, *(keys[name] for name in comparison.differs)]
    yield f"# benchstat -col {','.join(labels)} FILE"
    spread = observations.tables["spread"].drop_duplicates("metric")
    wanted = {(row["per_unit"], row["metric"]): row["wanted"] for row in spread.to_dict("records")}
    better: dict[str, set[str]] = {}
    for metric, direction in wanted.items():
        better.setdefault(_unit(*metric), set()).add(_BETTER.get(direction, ""))
    for metric_unit, directions in better.items():
        # benchstat has one direction per unit, and several metrics may share a unit.
        if len(directions) == 1 and (direction := directions.pop()):
            yield f"Unit {metric_unit} better={direction}"
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
    # One word. Shares and figures of a table of steps have no unit, so their metric stands in.
    # benchstat converts ns to seconds unless the value is 0, which would then have another unit:
    # write seconds.
    if per_unit.startswith("ns/"):
        return f"sec/{per_unit[3:]}"
    return re.sub(r"[^\w/]+", "-", "" if per_unit == "share" else per_unit) or _name(metric)


def _name(metric: str) -> str:
    # No lower-case letter may follow "Benchmark", and a name has no spaces. benchstat splits it at
    # a slash or an equals sign.
    words = re.sub(r"\W+", "_", metric)
    return words[:1].upper() + words[1:]


def _keys(labels: list[str]) -> dict[str, str]:
    # A configuration key begins with a lower-case letter and has no space, colon or capital.
    keys: dict[str, str] = {}
    for name in dict.fromkeys(labels):
        key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        key = key if key[:1].isalpha() else f"label-{key}".rstrip("-")
        free, number = key, 1
        while free in (_SIDE, *keys.values()):
            number += 1
            free = f"{key}-{number}"
        keys[name] = free
    return keys
