# How commands print an answer: each part as a table or a line, or all of them as JSON.

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..units import plural, printable
from .table import say, show

if TYPE_CHECKING:
    import pandas as pd

    from ..answers.answer import Answer
    from ..answers.form import Form

_ON_A_TERMINAL = 40
_NOTES = "notes"
# Parts that are sentences.
_SENTENCES = ("lines", "paragraph")


def shown_parts(answer: "Answer") -> dict[str, Any]:
    # The main table comes first. Sentences are left out: the answer's words have them.
    known = (name for name in answer.parts if name not in _SENTENCES)
    names = sorted(known, key=lambda name: name != answer.question.main)
    return {name: answer.tables.get(name, answer.parts[name]) for name in names}


def with_index(frame: Any) -> Any:
    return frame.reset_index(drop=all(name is None for name in frame.index.names))


def plain_answer(answer: "Answer") -> dict[str, Any]:
    # The parts by name, or why there are none.
    if answer.refusal is not None:
        return {"why_not": str(answer.refusal)}
    name = answer.question.name
    return {
        part or name: plain_part(answer.tables.get(part, of)) for part, of in answer.parts.items()
    }


def plain_part(part: Any) -> Any:
    import pandas as pd

    from ..answers.answer import parts
    from ..display.export import rows
    from ..display.tables import plain

    if isinstance(part, pd.DataFrame):
        return rows(with_index(part))
    # Parts nest: squeezes() has limits.
    if "" not in (named := parts(part)):
        part = named
    if isinstance(part, list | tuple):
        return [plain_part(item) for item in part]
    if isinstance(part, dict):
        return {str(name): plain_part(item) for name, item in part.items()}
    return plain(part) if pd.api.types.is_scalar(part) else str(part)


def print_parts(answer: "Answer", answers: dict[str, Any], wide: bool) -> None:
    import pandas as pd

    from ..answers.answer import parts
    from ..display.templates import as_text

    question, start_ns = answer.question, answer.start_ns
    for name, part in answers.items():
        if isinstance(part, pd.DataFrame):
            _print_table(question, name, part, start_ns, wide)
        elif "" not in parts(part):
            rows = [(key, _text(question, key, value)) for key, value in _flat(part)]
            print(f"\n{name}:")
            wide_as = max((len(key) for key, _ in rows), default=0)
            for key, text in rows:
                say(f"{key:<{wide_as}}  {printable(text)}")
        # The caller prints notes, after those of the timeline.
        elif name != _NOTES:
            say(f"{name}: {printable(_text(question, name, part))}")
    if not len(answer.frame):
        say(as_text(answer.words))


def _print_table(
    question: "Form", name: str, frame: "pd.DataFrame", start_ns: int, wide: bool
) -> None:
    from ..display.tables import figures, heading
    from ..schema import is_instant

    most = _ON_A_TERMINAL if sys.stdout.isatty() else None
    if not len(frame):
        print(f"{name or 'answer'}: no rows")
        if name:
            return
    elif name:
        print(f"\n{name}:")
    # Headings are the column names of docs/columns.md. Instants are seconds since the start.
    columns = map(str, (*frame.index.names, *frame.columns))
    names = {name: heading(name, start_ns) if is_instant(name) else name for name in columns}
    table = figures(frame, start_ns, most, names, shares=question.shares)
    main = [names[name] for name in question.columns if name in names]
    cut = most is not None and len(frame) > most
    rows = f"the first {most} of {len(frame):,} rows: a pipe or -o has all" if cut else ""
    show(table, main, rows, wide=wide, by_name=True)


def _flat(figures: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    # Nested figures are named "limits.budget".
    from ..answers.answer import parts

    for name, value in parts(figures).items():
        if "" in parts(value):
            yield f"{above}{name}", value
        else:
            yield from _flat(value, f"{above}{name}.")


def _text(question: "Form", name: str, value: Any) -> str:
    import pandas as pd

    from ..answers.answer import parts
    from ..display.tables import figures

    is_list = isinstance(value, list | tuple)
    if isinstance(value, pd.DataFrame) or (is_list and any("" not in parts(row) for row in value)):
        return f"{plural(len(value), 'row')}, which --json prints"
    if is_list:
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, str) and not value:
        return "none"
    name = name.rpartition(".")[2]
    table = figures(pd.DataFrame({name: [value]}), shares=question.shares)
    return table.rows[0][0] or "unknown"
