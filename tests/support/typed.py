# What every answer is, whatever was recorded: its columns are declared and have their types, its
# words are whole sentences.

import re
from typing import Any

import pandas as pd

from netcost_analysis.answers.answer import Answer, parts
from netcost_analysis.display.templates import as_text
from netcost_analysis.schema import column

# What is left of a sentence whose figure is missing.
BROKEN = re.compile(
    r"\(\)|\(\s|\s\)| [,.;:)](?=\s|$)|\S  +\S|\bof (?!\(no_device\))[(.,]|"
    r"\*\*\*\*|(?<=\w )None\b|\bnan\b|<NA>"
)


def assert_whole(answer: Answer) -> None:
    name, shown = answer.question.name, answer._repr_html_()
    assert shown.strip() or len(answer.frame), f"{name} shows nothing"
    assert shown.count("<p>") == shown.count("</p>")
    # What is quoted is not ours: commands, names.
    text = as_text(re.sub(r"(?m)^(> )?    .*|`[^`\n]*`", "CODE", answer.words))
    broken = [text[max(0, at.start() - 60) : at.end() + 60] for at in BROKEN.finditer(text)]
    assert not broken, f"{name}: {broken}"
    if answer.refusal is not None:
        return
    assert_typed(answer)
    found = names_in(name, answer.parts)
    unknown = {one for one in found if column(one) is None}
    assert not unknown, f"columns.toml has no {', '.join(sorted(unknown))}"
    # What a narrow terminal shows first is there; the keys of another by are not always.
    declared = {*answer.question.columns, *answer.question.shares}
    assert declared <= found | {"comm", "tid", "cpu"}, name


def assert_typed(answer: Answer) -> None:
    for name, frame in {**answer.tables, "its frame": answer.frame}.items():
        # A matrix has a column for each of what its columns are named for.
        if frame.columns.name is not None:
            continue
        named = [key for key in frame.index.names if key is not None]
        flat = frame.reset_index() if named else frame
        for called, dtype in flat.dtypes.items():
            declared = column(str(called))
            assert declared is not None, f"columns.toml has no {called}"
            assert str(dtype) == str(declared.dtype), f"{called} of {name}"
    # Frames are long: of things that stand across, only thieves, and only in the ledger.
    across = {frame.columns.name for frame in answer.tables.values()} - {None}
    assert across == ({"thief"} if answer.question.name == "ledger" else set())


# Its columns and figures; its tables, where it has several, by QUESTION.TABLE.
def names_in(question: str, result: Any) -> set[str]:
    found: set[str] = set()
    for name, part in parts(result).items():
        frame = part.to_frame(part.name or name) if isinstance(part, pd.Series) else part
        if isinstance(frame, pd.DataFrame):
            columns = [frame.columns.name] if frame.columns.name else list(frame.columns)
            found |= {str(one) for one in [*columns, *frame.index.names] if one is not None}
            found |= {f"{question}.{name}"} if name else set()
        elif part is None and column(f"{question}.{name}"):
            found.add(f"{question}.{name}")
        elif list(named := parts(part)) == [""]:
            found.add(name)
        else:
            found |= {f"{question}.{name}", *named}
            found |= {
                one for of in named.values() if hasattr(of, "_asdict") for one in of._asdict()
            }
    return found
