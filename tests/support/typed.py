# What every answer is, whatever was recorded: its columns have their types, its words are whole.

from netcost_analysis.questions.answer import Answer
from netcost_analysis.schema import column


def assert_whole(answer: Answer[object]) -> None:
    shown = answer._repr_html_()
    assert shown.count("<p>") == shown.count("</p>")
    if answer.refusal is not None:
        return
    for frame in answer.tables.values():
        # A matrix has a column for each of what its columns are named for.
        if frame.columns.name is not None:
            continue
        named = [key for key in frame.index.names if key is not None]
        flat = frame.reset_index() if named else frame
        for name in map(str, flat.columns):
            declared = column(name)
            assert declared is not None, f"columns.toml has no {name}"
            assert declared.type is not None, f"columns.toml has no type for {name}"
            assert str(flat[name].dtype) == declared.type, name
